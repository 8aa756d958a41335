package catalog

import (
	"context"
	"sync"

	"github.com/shardcat/shardcat/catalog/internal/lease"
)

// CompactLease keeps several compactors from doing the same work on a table. See Table.LeaseForCompaction.
type CompactLease struct {
	lease *lease.Lease
	stop  context.CancelFunc
	done  sync.WaitGroup
}

// leases of the table.
func (t *Table) leases() lease.Folder {
	return lease.Folder{Client: t.cat.client, URL: t.gcFolder(), Table: func() string { return t.name.String() }, Now: t.cat.opts.Now, Log: t.cat.opts.Log}
}

// LeaseForCompaction takes the table's lease for compaction, ErrConflict while another process holds it, and renews it until Release. A
// holder that gives no sign of life for 5 minutes (lease.Compact.Time) has lost it to whoever comes next. The lease saves work and nothing else:
// commits are safe without it.
func (t *Table) LeaseForCompaction(ctx context.Context) (*CompactLease, error) {
	if err := t.within(ctx).checkWritable(); err != nil {
		return nil, err
	}
	l, err := t.leases().Take(ctx, lease.Compact)
	if err != nil {
		return nil, err
	}
	alive, stop := context.WithCancel(ctx)
	c := &CompactLease{lease: l, stop: stop}
	c.done.Go(func() { l.Keep(alive) })
	return c, nil
}

// Token grows with every lease of the table.
func (c *CompactLease) Token() string { return c.lease.Token }

// Check is ErrLeaseLost if another process has taken over. It is called before every commit.
func (c *CompactLease) Check(ctx context.Context) error { return c.lease.Check(ctx) }

// Release gives the lease back.
func (c *CompactLease) Release(ctx context.Context) {
	c.stop()
	c.done.Wait()
	c.lease.Release(ctx)
}

// CompactionHolder is the process that took the table's lease for compaction last, as HOST/PID, "" if nobody holds it.
func (t *Table) CompactionHolder(ctx context.Context) (string, error) {
	return t.leases().Holder(ctx, lease.Compact)
}
