package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/backoff"
)

// CompactLease keeps several compactors from doing the same work on a table. See Table.LeaseForCompaction.
type CompactLease struct {
	lease *lease
	stop  context.CancelFunc
	done  sync.WaitGroup
}

// LeaseForCompaction takes the table's lease for compaction, ErrConflict while another process holds it, and renews it until Release. A
// holder that gives no sign of life for compactLeaseTime has lost it to whoever comes next. The lease saves work and nothing else:
// commits are safe without it.
func (t *Table) LeaseForCompaction(ctx context.Context) (*CompactLease, error) {
	if err := t.within(ctx).checkWritable(); err != nil {
		return nil, err
	}
	l, err := t.takeLease(ctx, compactLease)
	if err != nil {
		return nil, err
	}
	alive, stop := context.WithCancel(ctx)
	c := &CompactLease{lease: l, stop: stop}
	c.done.Go(func() { c.keep(alive) })
	return c, nil
}

// keep renews the lease several times within its time.
func (c *CompactLease) keep(ctx context.Context) {
	for backoff.Wait(ctx, compactLeaseTime/4) == nil {
		if err := c.lease.renew(ctx); err != nil && ctx.Err() == nil {
			c.lease.table.cat.opts.Log.Warn("a lease could not be renewed; another process may take it over", "lease", c.lease.at, "error", err)
		}
	}
}

// Token grows with every lease of the table.
func (c *CompactLease) Token() string { return c.lease.token }

// Check is ErrLeaseLost if another process has taken over. It is called before every commit.
func (c *CompactLease) Check(ctx context.Context) error { return c.lease.check(ctx) }

// Release gives the lease back.
func (c *CompactLease) Release(ctx context.Context) {
	c.stop()
	c.done.Wait()
	c.lease.release(ctx)
}

// CompactionHolder is the process that took the table's lease for compaction last, as HOST/PID, "" if nobody holds it.
func (t *Table) CompactionHolder(ctx context.Context) (string, error) {
	last, released, _, err := t.leases(ctx, compactLease)
	if err != nil || released || last.number == 0 {
		return "", err
	}
	var record leaseRecord
	err = t.cat.records.Read(ctx, fmt.Sprintf("%s%s-%08d.json", t.gcFolder(), compactLease, last.number), &record)
	if errors.Is(err, blobio.ErrNotFound) {
		return "", nil
	}
	return record.Holder, err
}
