package commitqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
)

// Objects is a queue as objects of the table's vault folder, for catalogs that can't keep rows:
//
//	_line/<number, 16 digits>.<beats>.json
//
// A holder that beats creates the name of the next beat and deletes the last one, so that a ticket is taken from a holder by
// a name that is gone if the holder has beaten meanwhile. No object is overwritten.
type Objects struct {
	client *blobio.Client
	vault  func(table string) string
}

// NewObjects is a queue of objects; vault gives the folder of a table's shards by its UUID.
func NewObjects(client *blobio.Client, vault func(table string) string) *Objects {
	return &Objects{client: client, vault: vault}
}

const (
	// Folder of the objects in that of a table's shards.
	Folder = "_line"
	// mostTickets bounds how many are looked at: of a queue that is longer than any crowd, the first will do.
	mostTickets = 1000
	// requestTime bounds what a request may take: whether a change is committed does not depend on it.
	requestTime = 10 * time.Second
)

// pace: each look is a request to an object store, a beat is three. An append that was not rejected looks only after a commit of the last
// seconds, and those look less often who have more before them.
func (q *Objects) pace() pace {
	const next, last = 40 * time.Millisecond, time.Second
	return pace{beat: 4 * time.Second, pause: func(_, ahead int) time.Duration {
		return jitter(next/2, min(last, next*time.Duration(max(1, ahead))))
	}}
}

func (q *Objects) folder(table uuid.UUID) string { return q.vault(table.String()) + Folder + "/" }

// url of a ticket.
func (q *Objects) url(table uuid.UUID, number, beats int64) string {
	return fmt.Sprintf("%s%016d.%d.json", q.folder(table), number, beats)
}

// parseTicket reads the name of a ticket.
func parseTicket(name string) (t ticket, ok bool) {
	name, ok = strings.CutSuffix(name, ".json")
	if !ok {
		return t, false
	}
	n, err := fmt.Sscanf(name, "%016d.%d", &t.number, &t.beats)
	return t, err == nil && n == 2 && t.number > 0 && t.beats >= 0 && name == fmt.Sprintf("%016d.%d", t.number, t.beats)
}

func (q *Objects) waiting(ctx context.Context, table uuid.UUID) (out []ticket, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	beats, names := map[int64]int64{}, 0
	for info, err := range q.client.List(ctx, q.folder(table)) {
		if err != nil {
			return nil, err
		}
		if names++; names > mostTickets {
			break
		}
		if t, ok := parseTicket(path.Base(info.URL)); ok { // two of one number where it beats
			beats[t.number] = max(beats[t.number], t.beats)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(beats)) {
		out = append(out, ticket{number, beats[number]})
	}
	return out, nil
}

func (q *Objects) take(ctx context.Context, table uuid.UUID) (number int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	for range takeTries {
		var ahead []ticket
		if ahead, err = q.waiting(ctx, table); err != nil {
			return 0, err
		}
		if number++; len(ahead) > 0 {
			number = max(number, ahead[len(ahead)-1].number+1)
		}
		if err = q.client.Put(ctx, q.url(table, number, 0), []byte("{}\n")); !errors.Is(err, blobio.ErrExists) {
			return number, err
		}
	}
	return 0, fmt.Errorf("taking a ticket in the commit queue: %w", err)
}

func (q *Objects) beat(ctx context.Context, table uuid.UUID, number int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	ahead, err := q.waiting(ctx, table)
	if err != nil {
		return false, err
	}
	for _, t := range ahead {
		if t.number != number {
			continue
		}
		if err := q.client.Put(ctx, q.url(table, number, t.beats+1), []byte("{}\n")); err != nil && !errors.Is(err, blobio.ErrExists) {
			return true, err
		}
		return true, q.remove(ctx, table, t)
	}
	return false, nil
}

func (q *Objects) leave(ctx context.Context, table uuid.UUID, number, beats int64) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if beats != anyBeats {
		return q.remove(ctx, table, ticket{number, beats})
	}
	for info, err := range q.client.List(ctx, fmt.Sprintf("%s%016d.", q.folder(table), number)) {
		if err != nil {
			return err
		}
		if t, ok := parseTicket(path.Base(info.URL)); ok && t.number == number {
			if err := q.remove(ctx, table, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *Objects) remove(ctx context.Context, table uuid.UUID, t ticket) error {
	err := q.client.Delete(ctx, q.url(table, t.number, t.beats), "")
	if errors.Is(err, blobio.ErrNotFound) {
		return nil
	}
	return err
}
