// Package lease has the leases of a table, which save work: they keep two runs from doing the same at the same time. Nothing is safe because of them, for
// no catalog checks a token when something is committed; deletions are safe by two marks and a delay, commits by what
// they assert of the table.
//
// A lease is an object <folder><kind>-<token>.json, created if absent. Tokens grow; the largest one is the holder's,
// unless it was released (<token>.released.json) or is older than its kind's time. A holder that works for long writes
// <token>.renewed-<n>.json from time to time, whose age counts then.
package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/backoff"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// Kind of leases, as it stands in the names of their objects.
type Kind string

// The kinds.
const (
	Collect Kind = "lease-collect"
	Compact Kind = "lease-compact"
)

// Time is how long a lease of the kind lasts: how long a collection may take, and how long after a compactor's last sign of life its lease ends.
func (k Kind) Time() time.Duration {
	if k == Compact {
		return 5 * time.Minute
	}
	return time.Hour
}

// maxRecord is how many bytes of a lease's record are read where the store gives its object no time.
const maxRecord = 64 << 10

// Folder is where the leases of a table lie.
type Folder struct {
	Client *blobio.Client
	// URL has a trailing slash.
	URL string
	// Table is the table's name, which a rename changes.
	Table func() string
	Now   func() time.Time
	Log   *slog.Logger
}

// record is the content of a lease.
type record struct {
	Version int       `json:"version"`
	Holder  string    `json:"holder"`
	Attempt string    `json:"attempt"`
	Taken   time.Time `json:"taken"`
}

// Lease that this process holds.
type Lease struct {
	// Token grows with every lease of its kind.
	Token string
	// Taken is the store's clock at that moment.
	Taken  time.Time
	folder Folder
	at     string
	// number is the token's.
	number int
	kind   Kind
	old    []string
	// renewals counts signs of life.
	renewals int
}

// Take takes the lease of a kind. It is caterr.ErrConflict while another process holds it, and caterr.ErrLeaseLost if this process was stopped for so long after
// it took the lease that another one has taken over, released it and cleared this one away.
func (f Folder) Take(ctx context.Context, kind Kind) (*Lease, error) {
	last, released, old, err := f.last(ctx, kind)
	if err != nil {
		return nil, err
	}
	if last.number > 0 && !released && f.Now().Sub(last.since) < kind.Time() {
		return nil, fmt.Errorf("%w: another run holds the lease %s since %s; wait for it, or %s if it is dead",
			caterr.ErrConflict, last.url, last.since.UTC().Format(time.RFC3339), kind.Time())
	}
	l := &Lease{folder: f, kind: kind, number: last.number + 1, Token: fmt.Sprintf("%08d", last.number+1), old: old}
	l.at = f.URL + string(kind) + "-" + l.Token
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	mine := record{Version: records.Version, Holder: fmt.Sprintf("%s/%d", host, os.Getpid()), Attempt: uuid.NewString(), Taken: f.Now().UTC()}
	err = f.records().PutNote(ctx, l.at+".json", mine)
	if errors.Is(err, blobio.ErrExists) {
		return nil, fmt.Errorf("%w: another run has taken the lease %s", caterr.ErrConflict, l.at)
	}
	if err != nil {
		if ctx.Err() != nil {
			l.releaseIfTaken(context.WithoutCancel(ctx), mine.Attempt)
		}
		return nil, err
	}
	info, err := f.Client.Stat(ctx, l.at+".json")
	if errors.Is(err, blobio.ErrNotFound) {
		// A holder of a later lease has cleared this one away.
		return nil, fmt.Errorf("%w: lease %s of table %s was taken over before this process used it", caterr.ErrLeaseLost, l.at, f.Table())
	}
	if err != nil {
		l.Release(ctx)
		return nil, err
	}
	l.Taken = info.ModTime
	return l, nil
}

// Holder is the process that took the lease of a kind last, as HOST/PID, "" if nobody holds it.
func (f Folder) Holder(ctx context.Context, kind Kind) (string, error) {
	last, released, _, err := f.last(ctx, kind)
	if err != nil || released || last.number == 0 {
		return "", err
	}
	var r record
	err = f.records().Read(ctx, fmt.Sprintf("%s%s-%08d.json", f.URL, kind, last.number), &r)
	if errors.Is(err, blobio.ErrNotFound) {
		return "", nil
	}
	return r.Holder, err
}

func (f Folder) records() records.Client { return records.New(f.Client) }

// lastLease is the lease with the largest token.
type lastLease struct {
	number int
	url    string
	since  time.Time
}

// last finds the lease of a kind with the largest token, and all objects of its leases.
func (f Folder) last(ctx context.Context, kind Kind) (last lastLease, released bool, all []string, err error) {
	prefix, done := f.URL+string(kind)+"-", map[int]bool{}
	for info, err := range f.Client.List(ctx, prefix) {
		if err != nil {
			return last, false, nil, err
		}
		name := strings.TrimPrefix(info.URL, prefix)
		var n int
		if _, err := fmt.Sscanf(name, "%08d", &n); err != nil {
			continue
		}
		all = append(all, info.URL)
		since := info.ModTime
		if !blobio.KnownTime(since) {
			if since, err = f.recordedTime(ctx, info.URL); err != nil {
				return last, false, nil, err
			}
		}
		if strings.HasSuffix(name, ".released.json") {
			done[n] = true
		} else if n > last.number {
			last = lastLease{number: n, url: info.URL, since: since}
		} else if n == last.number && since.After(last.since) {
			last.since = since
		}
	}
	return last, done[last.number], all, nil
}

// recordedTime is the time in a lease's record, by the clock of the process that wrote it: for stores that give objects no time. A lease
// that is released meanwhile has none.
func (f Folder) recordedTime(ctx context.Context, url string) (time.Time, error) {
	var r record
	text, _, err := f.Client.ReadAll(ctx, url, maxRecord)
	if errors.Is(err, blobio.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return time.Time{}, fmt.Errorf("lease %s: not a record of a lease: %w", url, err)
	}
	return r.Taken, nil
}

// Release gives the lease back and clears those before it away. What fails here costs the next run a wait.
func (l *Lease) Release(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if err := l.folder.records().PutNote(ctx, l.at+".released.json", record{Version: records.Version, Taken: l.folder.Now().UTC()}); err != nil {
		l.folder.Log.Warn("a lease could not be released; it expires", "lease", l.at, "error", err)
		return
	}
	for n := range l.renewals {
		l.old = append(l.old, l.renewal(n+1))
	}
	for _, url := range l.old {
		if err := l.folder.Client.Delete(ctx, url, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			l.folder.Log.Debug("an expired lease could not be deleted", "lease", url, "error", err)
		}
	}
}

// Renew gives a sign of life.
func (l *Lease) Renew(ctx context.Context) error {
	l.renewals++
	return l.folder.records().PutNote(ctx, l.renewal(l.renewals), record{Version: records.Version, Taken: l.folder.Now().UTC()})
}

// Keep renews the lease several times within its time, until the context ends.
func (l *Lease) Keep(ctx context.Context) {
	for backoff.Wait(ctx, l.kind.Time()/4) == nil {
		if err := l.Renew(ctx); err != nil && ctx.Err() == nil {
			l.folder.Log.Warn("a lease could not be renewed; another process may take it over", "lease", l.at, "error", err)
		}
	}
}

// releaseIfTaken releases a lease whose taking was canceled, if its record was written all the same: the next run would wait for nobody.
func (l *Lease) releaseIfTaken(ctx context.Context, attempt string) {
	var taken record
	if err := l.folder.records().Read(ctx, l.at+".json", &taken); err == nil && taken.Attempt == attempt {
		l.Release(ctx)
	}
}

func (l *Lease) renewal(n int) string { return fmt.Sprintf("%s.renewed-%d.json", l.at, n) }

// Check is caterr.ErrLeaseLost if another process has taken the lease since.
func (l *Lease) Check(ctx context.Context) error {
	last, _, _, err := l.folder.last(ctx, l.kind)
	if err == nil && last.number != l.number {
		err = fmt.Errorf("%w: of table %s by %s, while this process, with token %s, sent no heartbeat", caterr.ErrLeaseLost, l.folder.Table(), last.url, l.Token)
	}
	return err
}
