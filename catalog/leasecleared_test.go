package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

// pausedAfterPut is a store that runs between before it answers the first Stat of a key that contains at.
type pausedAfterPut struct {
	blobio.Bucket
	at      string
	between func()
}

func (b *pausedAfterPut) Stat(ctx context.Context, key string, o blobio.ReadOptions) (blobio.Info, error) {
	if run := b.between; run != nil && strings.Contains(key, b.at) {
		b.between = nil
		run()
	}
	return b.Bucket.Stat(ctx, key, o)
}

// TestLeaseClearedBeforeUse: a process is stopped right after it has written its lease. Others take over, release and clear the lease away. The process
// that goes on has lost its lease; neither kind of lease makes that a missing object.
func TestLeaseClearedBeforeUse(t *testing.T) {
	for _, kind := range []string{collectLease, compactLease} {
		t.Run(kind, func(t *testing.T) {
			ctx, g := t.Context(), newTimed(t)
			others := g.create(g.catalog(nil))
			c, b := timelessCatalog(t, g)
			paused := &pausedAfterPut{Bucket: b.Bucket.Bucket, at: "_gc/" + kind + "-00000001.json"}
			paused.between = func() {
				g.clock.Advance(leaseTimes[kind] + 1)
				next, err := others.takeLease(ctx, kind)
				if err != nil {
					t.Errorf("the other process: %v", err)
					return
				}
				next.release(ctx)
			}
			b.Bucket.Bucket = paused
			if _, err := g.load(c).takeLease(ctx, kind); !errors.Is(err, ErrLeaseLost) {
				t.Errorf("a lease that was cleared away: %v, want ErrLeaseLost", err)
			}
			last, err := g.load(c).takeLease(ctx, kind)
			if err != nil || last.number != 3 {
				t.Errorf("the next lease: %+v, %v; want number 3", last, err)
			}
		})
	}
}
