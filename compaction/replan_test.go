package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// loser is a Fence that lets another writer delete a row of each of four shards before each of its first n calls.
func loser(t *testing.T, g *ground, n int) (fence func(context.Context) error, deleted *int) {
	var mu sync.Mutex
	deleted = new(int)
	return func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if *deleted == n {
			return nil
		}
		where, err := filter.Parse(fmt.Sprintf("id IN (%d, %d, %d, %d)", *deleted, 10+*deleted, 20+*deleted, 30+*deleted))
		if err != nil {
			t.Fatal(err)
		}
		*deleted++
		d, err := g.load(nil).Delete(ctx, where, catalog.DeleteOptions{})
		if err != nil || d.Rows != 4 {
			t.Errorf("%+v, %v", d, err)
		}
		return nil
	}, deleted
}

// TestLostRacesArePlannedAgain: a compaction whose inputs another writer changed before its commit plans again, on the table as it is then; three times, and then
// it gives up. It takes the other's rows back in neither case.
func TestLostRacesArePlannedAgain(t *testing.T) {
	for _, races := range []int{0, 1, maxReplans, maxReplans + 1} {
		for _, workers := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d races with %d workers", races, workers), func(t *testing.T) {
				g := newGround(t)
				fill(t, g.create(), 4)
				all := contents(t, g.load(nil))
				fence, deleted := loser(t, g, races)
				tbl := g.load(nil)
				report, err := Compact(ctx, tbl, Policy{Concurrency: workers, MaxRows: int64(40 / workers)}, Options{Fence: fence})
				if *deleted != races {
					t.Errorf("%d races of %d", *deleted, races)
				}
				want := slices.DeleteFunc(slices.Clone(all), func(row string) bool {
					id, err := strconv.Atoi(row[:strings.IndexByte(row, '|')])
					return err != nil || id%10 < races
				})
				if len(want) != len(all)-4*races {
					t.Fatalf("%d rows of %d", len(want), len(all))
				}
				sameContents(t, g.load(nil), want)
				if len(report.Failed) != 0 {
					t.Errorf("groups that failed: %+v", report.Failed)
				}
				switch one := workers == 1; {
				case races > maxReplans && one:
					if !errors.Is(err, catalog.ErrConflict) || report.Lost != maxReplans || len(report.Results) != 0 {
						t.Errorf("%+v, %v", report, err)
					}
					return
				case races > maxReplans: // of which each of two groups may have lost some
					return
				case err != nil || len(report.Results) != workers || report.ShardsAfter != workers || (report.Lost > 0) != (races > 0) || one && report.Lost != races:
					t.Errorf("%+v, %v", report, err)
				}
				sameContents(t, tbl, want)
			})
		}
	}
}

// TestEndedCompactionsHaveNoFailedGroups: a context that ends stops a compaction; its groups have not failed.
func TestEndedCompactionsHaveNoFailedGroups(t *testing.T) {
	for _, workers := range []int{1, 2} {
		g := newGround(t)
		fill(t, g.create(), 4)
		all := contents(t, g.load(nil))
		ended, end := context.WithCancel(ctx)
		fence := func(ctx context.Context) error {
			end()
			return ctx.Err()
		}
		report, err := Compact(ended, g.load(nil), Policy{Concurrency: workers, MaxRows: int64(40 / workers)}, Options{Fence: fence})
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrGroups) || len(report.Failed) != 0 || len(report.Results) != 0 {
			t.Errorf("%+v, %v", report, err)
		}
		sameContents(t, g.load(nil), all)
	}
}
