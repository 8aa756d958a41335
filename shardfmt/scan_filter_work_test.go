package shardfmt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
)

// leaving is a context that is cancelled once it was called so many times: a client that leaves in the middle of a batch.
type leaving struct {
	context.Context
	asked, after atomic.Int64
}

// Err implements context.Context.
func (c *leaving) Err() error {
	if c.asked.Add(1) > c.after.Load() {
		return context.Canceled
	}
	return nil
}

// manyLiterals is a filter that no row passes, with so many conditions, which take their time.
func manyLiterals(n int) map[string]string {
	or, in := make([]string, n), make([]string, n)
	for i := range n {
		or[i] = fmt.Sprintf("c0 = %d AND c1 = 7", i)
		in[i] = fmt.Sprint(i)
	}
	return map[string]string{"OR": strings.Join(or, " OR "), "IN": "c0 IN (" + strings.Join(in, ",") + ")"}
}

// A scan ends within a batch when its context does, and when its filter requests work out of proportion to what is read.
func TestWorkOfFilters(t *testing.T) {
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	shard, _ := writeRandom(t, client, 2, 10_000, 1)
	for name, expr := range manyLiterals(1000) {
		run := func(ctx context.Context, o ScanOptions) (rows int64, err error) {
			o.Filter, o.Workers = bind(t, shard, expr), 1
			for b, err := range shard.Scan(ctx, o) {
				if err != nil {
					return rows, err
				}
				rows += b.NumRows()
			}
			return rows, nil
		}
		all := &leaving{Context: t.Context()}
		all.after.Store(1 << 40)
		if rows, err := run(all, ScanOptions{}); err != nil || rows != 0 {
			t.Fatalf("%s: %d rows, %v", name, rows, err)
		}
		left := &leaving{Context: t.Context()}
		left.after.Store(all.asked.Load() / 2)
		if _, err := run(left, ScanOptions{}); !errors.Is(err, context.Canceled) || all.asked.Load() < 100 {
			t.Errorf("%s: a context that was asked %d times: %v", name, all.asked.Load(), err)
		}
	}
	b := NewBudget(1 << 20)
	a := b.b.Account()
	defer a.Close()
	a.Fetched(1000)
	if err := a.Compare(64<<20 + 4096*1000); err != nil {
		t.Error(err)
	}
	if err := a.Compare(1); !errors.Is(err, budget.ErrExceeded) {
		t.Errorf("comparisons out of proportion: %v", err)
	}
}
