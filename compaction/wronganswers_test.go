package compaction

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// TestOneWrongAnswerHaltsNoTable: each request of a compaction in turn, and each two in a row, are answered "not found" or with a flipped bit, over a cache
// that keeps what came: no table is halted for it, and its rows stay.
func TestOneWrongAnswerHaltsNoTable(t *testing.T) {
	where, err := filter.Parse("id = 3")
	if err != nil {
		t.Fatal(err)
	}
	policies := map[string]Policy{"concat": {}, "pack": {PackObjects: 1}, "rebuild": {RebuildDeletedRatio: 0.001}}
	for mode, policy := range policies {
		for _, how := range []string{"hide", "flip 40"} {
			for _, more := range []int{0, 1} {
				for n := 1; ; n++ {
					g := newGround(t)
					fill(t, g.create(), 3)
					if mode == "rebuild" {
						if _, err := g.load(nil).Delete(ctx, where, catalog.DeleteOptions{}); err != nil {
							t.Fatal(err)
						}
					}
					before := contents(t, g.load(nil))
					bucket := blobfake.NewFaulty(t, memblob.Open(g.bucket), "")
					o := g.options()
					cached := blobio.ClientOptions{Cache: blobio.CacheOptions{Memory: 1 << 20, Cacheable: func(url string) bool { return strings.HasSuffix(url, ".amudai.shard") }}}
					o.Client, o.Metadata = blobio.NewClient(cached), blobio.NewClient(cached)
					tbl, err := g.over(bucket, o).Load(ctx, name)
					if err != nil {
						t.Fatal(err)
					}
					held, err := LoadQuarantine(ctx, tbl, nil)
					if err != nil {
						t.Fatal(err)
					}
					kind := "get"
					if how == "hide" {
						kind = "any"
					}
					script := fmt.Sprintf("%s %d-%d: %s", kind, n, n+more, how)
					bucket.Play(t, script)
					report, err := Compact(ctx, tbl, policy, Options{Quarantine: held})
					requests := bucket.Requests(kind)
					bucket.Play(t, "")
					for _, f := range report.Failed {
						if f.Halts {
							t.Errorf("%s, %s: %s", mode, script, f.Error)
						}
					}
					if after, err := LoadQuarantine(ctx, tbl, nil); err != nil || after.halted() != nil {
						t.Errorf("%s, %s: %v, %v", mode, script, after.halted(), err)
					}
					if got := contents(t, g.load(nil)); !slices.Equal(got, before) {
						t.Errorf("%s, %s: %d rows became %d others", mode, script, len(before), len(got))
					}
					if requests < n {
						of := func(r Result) bool { return string(r.Mode) == mode }
						if err != nil || !slices.ContainsFunc(report.Results, of) {
							t.Errorf("%s: %+v, %v", mode, report, err)
						}
						break
					}
				}
			}
		}
	}
}

// TestDamageHaltsATableInTheThirdRun: what a run reads besides its groups halts the table only if it is damaged in three runs in a row; what groups have read
// again, and a merge that changes rows, at once.
func TestDamageHaltsATableInTheThirdRun(t *testing.T) {
	damaged := fmt.Errorf("a manifest: %w", corrupt.ErrCorrupt)
	for name, c := range map[string]struct {
		errs []error
		want State
	}{
		"once":             {[]error{damaged}, Failing},
		"twice":            {[]error{damaged, damaged}, Failing},
		"three times":      {[]error{damaged, damaged, damaged}, Halted},
		"with one between": {[]error{damaged, damaged, nil, damaged}, Failing},
		"of a group":       {[]error{fmt.Errorf("%w: %w", ErrGroups, damaged)}, Halted},
		"other rows":       {[]error{ErrContent}, Halted},
		"unsafe":           {[]error{catalog.ErrUnsafe}, Halted},
		"another failure":  {[]error{blobio.ErrTransient, blobio.ErrTransient, blobio.ErrTransient, damaged}, Failing},
	} {
		s := &tableState{}
		for _, err := range c.errs {
			s.finish(measurement{}, Run{}, err, time.Now())
		}
		if s.status.State != c.want {
			t.Errorf("%s: %s, want %s", name, s.status.State, c.want)
		}
	}
}
