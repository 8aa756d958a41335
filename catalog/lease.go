package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// A lease saves work: it keeps two runs from doing the same at the same time. Nothing is safe because of it, for
// no catalog checks its token when something is committed; deletions are safe by two marks and a delay, commits by what
// they assert of the table.
//
// It is an object _gc/<kind>-<token>.json, created if absent. Tokens grow; the largest one is the holder's,
// unless it was released (<token>.released.json) or is older than its kind's time. A holder that works for long writes
// <token>.renewed-<n>.json from time to time, whose age counts then.
const (
	collectLease = "lease-collect"
	// leaseTime is how long a collection may take.
	leaseTime = time.Hour

	compactLease = "lease-compact"
	// compactLeaseTime is how long after its last sign of life a compactor's lease ends.
	compactLeaseTime = 5 * time.Minute

	// maxLeaseRecord is how many bytes of a lease's record are read.
	maxLeaseRecord = 64 << 10
)

// ErrLeaseLost: another process has taken over what this one held a lease for. Nothing was committed by this one.
var ErrLeaseLost = errors.New("the lease was taken over")

// leaseRecord is the content of a lease.
type leaseRecord struct {
	Version int       `json:"version"`
	Holder  string    `json:"holder"`
	Attempt string    `json:"attempt"`
	Taken   time.Time `json:"taken"`
}

// lease that this process holds.
type lease struct {
	table *Table
	at    string
	// token grows with every lease of its kind.
	token string
	// number is the token's.
	number int
	kind   string
	// taken is the store's clock at that moment.
	taken time.Time
	old   []string
	// renewals counts signs of life.
	renewals int
}

// leaseTimes are how long leases of a kind last.
var leaseTimes = map[string]time.Duration{collectLease: leaseTime, compactLease: compactLeaseTime}

// takeLease takes the lease of a kind. It is ErrConflict while another process holds it, and ErrLeaseLost if this process was stopped for so long after
// it took the lease that another one has taken over, released it and cleared this one away.
func (t *Table) takeLease(ctx context.Context, kind string) (*lease, error) {
	last, released, old, err := t.leases(ctx, kind)
	if err != nil {
		return nil, err
	}
	if last.number > 0 && !released && t.cat.opts.Now().Sub(last.since) < leaseTimes[kind] {
		return nil, fmt.Errorf("%w: another run holds the lease %s since %s; wait for it, or %s if it is dead",
			ErrConflict, last.url, last.since.UTC().Format(time.RFC3339), leaseTimes[kind])
	}
	l := &lease{table: t, kind: kind, number: last.number + 1, token: fmt.Sprintf("%08d", last.number+1), old: old}
	l.at = t.gcFolder() + kind + "-" + l.token
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	record := leaseRecord{Version: records.Version, Holder: fmt.Sprintf("%s/%d", host, os.Getpid()), Attempt: uuid.NewString(), Taken: t.cat.opts.Now().UTC()}
	err = t.cat.records.PutNote(ctx, l.at+".json", record)
	if errors.Is(err, blobio.ErrExists) {
		return nil, fmt.Errorf("%w: another run has taken the lease %s", ErrConflict, l.at)
	}
	if err != nil {
		if ctx.Err() != nil {
			l.releaseIfTaken(context.WithoutCancel(ctx), record.Attempt)
		}
		return nil, err
	}
	info, err := t.cat.client.Stat(ctx, l.at+".json")
	if errors.Is(err, blobio.ErrNotFound) {
		// A holder of a later lease has cleared this one away.
		return nil, fmt.Errorf("%w: lease %s of table %s was taken over before this process used it", ErrLeaseLost, l.at, t.name)
	}
	if err != nil {
		l.release(ctx)
		return nil, err
	}
	l.taken = info.ModTime
	return l, nil
}

// lastLease is the lease with the largest token.
type lastLease struct {
	number int
	url    string
	since  time.Time
}

func (t *Table) leases(ctx context.Context, kind string) (last lastLease, released bool, all []string, err error) {
	done := map[int]bool{}
	for info, err := range t.cat.client.List(ctx, t.gcFolder()+kind+"-") {
		if err != nil {
			return last, false, nil, err
		}
		name := strings.TrimPrefix(info.URL, t.gcFolder()+kind+"-")
		var n int
		if _, err := fmt.Sscanf(name, "%08d", &n); err != nil {
			continue
		}
		all = append(all, info.URL)
		since := info.ModTime
		if !blobio.KnownTime(since) {
			if since, err = t.cat.recordedTime(ctx, info.URL); err != nil {
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
func (c *Catalog) recordedTime(ctx context.Context, url string) (time.Time, error) {
	var record leaseRecord
	text, _, err := c.client.ReadAll(ctx, url, maxLeaseRecord)
	if errors.Is(err, blobio.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return time.Time{}, fmt.Errorf("lease %s: not a record of a lease: %w", url, err)
	}
	return record.Taken, nil
}

// release gives the lease back and clears those before it away. What fails here costs the next run a wait.
func (l *lease) release(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	c := l.table.cat
	if err := c.records.PutNote(ctx, l.at+".released.json", leaseRecord{Version: records.Version, Taken: c.opts.Now().UTC()}); err != nil {
		c.opts.Log.Warn("a lease could not be released; it expires", "lease", l.at, "error", err)
		return
	}
	for n := range l.renewals {
		l.old = append(l.old, l.renewal(n+1))
	}
	for _, url := range l.old {
		if err := c.client.Delete(ctx, url, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			c.opts.Log.Debug("an expired lease could not be deleted", "lease", url, "error", err)
		}
	}
}

// renew gives a sign of life.
func (l *lease) renew(ctx context.Context) error {
	l.renewals++
	return l.table.cat.records.PutNote(ctx, l.renewal(l.renewals), leaseRecord{Version: records.Version, Taken: l.table.cat.opts.Now().UTC()})
}

// releaseIfTaken releases a lease whose taking was canceled, if its record was written all the same: the next run would wait for nobody.
func (l *lease) releaseIfTaken(ctx context.Context, attempt string) {
	var taken leaseRecord
	if err := l.table.cat.records.Read(ctx, l.at+".json", &taken); err == nil && taken.Attempt == attempt {
		l.release(ctx)
	}
}

func (l *lease) renewal(n int) string { return fmt.Sprintf("%s.renewed-%d.json", l.at, n) }

// check is ErrLeaseLost if another process has taken the lease since.
func (l *lease) check(ctx context.Context) error {
	last, _, _, err := l.table.leases(ctx, l.kind)
	if err == nil && last.number != l.number {
		err = fmt.Errorf("%w: of table %s by %s, while this process, with token %s, sent no heartbeat", ErrLeaseLost, l.table.name, last.url, l.token)
	}
	return err
}
