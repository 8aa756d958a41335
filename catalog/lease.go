package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
)

// A lease saves work: it keeps two runs from doing the same at the same time. Nothing is safe because of it, for
// no catalog checks its token when something is committed; deletions are safe by two marks and a delay.
//
// It is an object _gc/<kind>-<token>.json, created if absent. Tokens grow; the largest one is the holder's,
// unless it was released (<token>.released.json) or is older than leaseTime.
const (
	collectLease = "lease-collect"
	leaseTime    = time.Hour
)

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
	// taken is the store's clock at that moment.
	taken time.Time
	old   []string
}

// takeLease takes the lease of a kind, or is ErrConflict while another process holds it.
func (t *Table) takeLease(ctx context.Context, kind string) (*lease, error) {
	last, released, old, err := t.leases(ctx, kind)
	if err != nil {
		return nil, err
	}
	if last.number > 0 && !released && t.cat.opts.Now().Sub(last.since) < leaseTime {
		return nil, fmt.Errorf("%w: another run holds the lease %s since %s; wait for it, or %s if it is dead",
			ErrConflict, last.url, last.since.UTC().Format(time.RFC3339), leaseTime)
	}
	l := &lease{table: t, token: fmt.Sprintf("%08d", last.number+1), old: old}
	l.at = t.gcFolder() + kind + "-" + l.token
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	record := leaseRecord{Version: recordVersion, Holder: fmt.Sprintf("%s/%d", host, os.Getpid()), Attempt: uuid.NewString(), Taken: t.cat.opts.Now().UTC()}
	err = t.cat.putNote(ctx, l.at+".json", record)
	if errors.Is(err, blobio.ErrExists) {
		return nil, fmt.Errorf("%w: another run has taken the lease %s", ErrConflict, l.at)
	}
	if err != nil {
		return nil, err
	}
	info, err := t.cat.client.Stat(ctx, l.at+".json")
	if err != nil {
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
		if strings.HasSuffix(name, ".released.json") {
			done[n] = true
		} else if n > last.number {
			last = lastLease{number: n, url: info.URL, since: info.ModTime}
		}
	}
	return last, done[last.number], all, nil
}

// release gives the lease back and clears those before it away. What fails here costs the next run a wait.
func (l *lease) release(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	c := l.table.cat
	if err := c.putNote(ctx, l.at+".released.json", leaseRecord{Version: recordVersion, Taken: c.opts.Now().UTC()}); err != nil {
		c.opts.Log.Warn("a lease is not released; it ends by itself", "lease", l.at, "error", err)
		return
	}
	for _, url := range l.old {
		if err := c.client.Delete(ctx, url, ""); err != nil && !errors.Is(err, blobio.ErrNotFound) {
			c.opts.Log.Debug("an old lease stays", "lease", url, "error", err)
		}
	}
}
