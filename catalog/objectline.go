package catalog

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

// objectLine is the line of writers as objects of the table's vault folder, for catalogs that have no place for it:
//
//	_line/<number, 16 digits>.<beats>.json
//
// A holder that beats creates the name of the next beat and deletes the last one, so that a ticket is taken from a holder by
// a name that is gone if the holder has beaten meanwhile. No object is overwritten.
type objectLine struct{ cat *Catalog }

const (
	lineFolder = "_line"
	// mostInLine bounds how many tickets are looked at: of a line that is longer than any crowd, the first will do.
	mostInLine = 1000
	// lineRequest bounds what a request for the line may take: whether a change is committed does not depend on it.
	lineRequest = 10 * time.Second
)

func (l *objectLine) costly() bool { return true }

func (l *objectLine) folder(table uuid.UUID) string {
	return l.cat.vaultFolder(table.String()) + lineFolder + "/"
}

func (l *objectLine) ticket(table uuid.UUID, number, beats int64) string {
	return fmt.Sprintf("%s%016d.%d.json", l.folder(table), number, beats)
}

// parseTicket reads the name of a ticket.
func parseTicket(name string) (p placed, ok bool) {
	name, ok = strings.CutSuffix(name, ".json")
	if !ok {
		return p, false
	}
	n, err := fmt.Sscanf(name, "%016d.%d", &p.number, &p.beats)
	return p, err == nil && n == 2 && p.number > 0 && p.beats >= 0 && name == fmt.Sprintf("%016d.%d", p.number, p.beats)
}

func (l *objectLine) waiting(ctx context.Context, table uuid.UUID) (out []placed, err error) {
	ctx, cancel := context.WithTimeout(ctx, lineRequest)
	defer cancel()
	beats, names := map[int64]int64{}, 0
	for info, err := range l.cat.client.List(ctx, l.folder(table)) {
		if err != nil {
			return nil, err
		}
		if names++; names > mostInLine {
			break
		}
		if p, ok := parseTicket(path.Base(info.URL)); ok { // two of one number where it beats
			beats[p.number] = max(beats[p.number], p.beats)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(beats)) {
		out = append(out, placed{number, beats[number]})
	}
	return out, nil
}

func (l *objectLine) take(ctx context.Context, table uuid.UUID) (number int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, lineRequest)
	defer cancel()
	for range takeTries {
		var ahead []placed
		if ahead, err = l.waiting(ctx, table); err != nil {
			return 0, err
		}
		if number++; len(ahead) > 0 {
			number = max(number, ahead[len(ahead)-1].number+1)
		}
		if err = l.cat.client.Put(ctx, l.ticket(table, number, 0), []byte("{}\n")); !errors.Is(err, blobio.ErrExists) {
			return number, err
		}
	}
	return 0, fmt.Errorf("taking a ticket in the commit queue: %w", err)
}

func (l *objectLine) beat(ctx context.Context, table uuid.UUID, number int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, lineRequest)
	defer cancel()
	ahead, err := l.waiting(ctx, table)
	if err != nil {
		return false, err
	}
	for _, p := range ahead {
		if p.number != number {
			continue
		}
		if err := l.cat.client.Put(ctx, l.ticket(table, number, p.beats+1), []byte("{}\n")); err != nil && !errors.Is(err, blobio.ErrExists) {
			return true, err
		}
		return true, l.remove(ctx, table, p)
	}
	return false, nil
}

func (l *objectLine) leave(ctx context.Context, table uuid.UUID, number, beats int64) error {
	ctx, cancel := context.WithTimeout(ctx, lineRequest)
	defer cancel()
	if beats != anyBeats {
		return l.remove(ctx, table, placed{number, beats})
	}
	for info, err := range l.cat.client.List(ctx, fmt.Sprintf("%s%016d.", l.folder(table), number)) {
		if err != nil {
			return err
		}
		if p, ok := parseTicket(path.Base(info.URL)); ok && p.number == number {
			if err := l.remove(ctx, table, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *objectLine) remove(ctx context.Context, table uuid.UUID, p placed) error {
	err := l.cat.client.Delete(ctx, l.ticket(table, p.number, p.beats), "")
	if errors.Is(err, blobio.ErrNotFound) {
		return nil
	}
	return err
}
