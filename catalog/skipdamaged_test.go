package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// stripesOf lists the stripes of a shard in the order of their names, which is that of their records.
func stripesOf(t *testing.T, tbl *Table, root string) (out []string) {
	t.Helper()
	objects, _, err := tbl.reach(context.Background(), tbl.cat.client, root, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if strings.HasSuffix(o, ".amudai.stripe") {
			out = append(out, o)
		}
	}
	slices.Sort(out)
	return out
}

// TestLostStripes: of a shard of five stripes of four rows, some are lost. A plain scan fails; one that skips what is damaged
// returns all other rows and reports these; a repair that accepts the loss keeps the others, and changes nothing else.
func TestLostStripes(t *testing.T) {
	for name, c := range map[string]struct {
		lose  []int
		how   func([]byte) []byte
		where string
		ids   []int64
		lost  int64
	}{
		"one":               {[]int{2}, nothing, "", without(between(0, 30), func(i int64) bool { return i >= 8 && i < 12 }), 4},
		"first and last":    {[]int{0, 4}, nothing, "", append(between(4, 16), between(20, 30)...), 8},
		"cut short":         {[]int{1}, remains, "", without(between(0, 30), func(i int64) bool { return i >= 4 && i < 8 }), 4},
		"all":               {[]int{0, 1, 2, 3, 4}, nothing, "", between(20, 30), 20},
		"with a filter":     {[]int{2}, nothing, "id >= 6 AND id < 22", append([]int64{6, 7}, between(12, 22)...), 4},
		"beside the filter": {[]int{2}, nothing, "id < 6", between(0, 6), 4},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			g := newGround(t)
			tbl := g.create(g.open(nil, nil))
			ingest(t, tbl, IngestOptions{StripeRows: 4}, rows(0, 20))
			ingest(t, tbl, IngestOptions{}, rows(20, 10))
			shard := firstEntry(t, tbl)
			for e, err := range tbl.Entries(ctx, At{}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Records == 20 {
					shard = e
				}
			}
			stripes := stripesOf(t, tbl, shard.Path)
			if len(stripes) != 5 {
				t.Fatalf("%d stripes", len(stripes))
			}
			for _, i := range c.lose {
				swap(t, tbl.cat.client, stripes[i], c.how)
			}
			tbl = g.load(g.open(nil, nil))
			o := ScanOptions{Ordered: true}
			if c.where != "" {
				o.Where = where(t, c.where)
			}
			var plain error
			for _, err := range tbl.Scan(ctx, o, nil) {
				plain = err
			}
			hidden := name == "beside the filter" // bounds rule the damaged stripe out
			if hidden != (plain == nil) || !hidden && !errors.Is(plain, blobio.ErrNotFound) && !errors.Is(plain, corrupt.ErrCorrupt) && !errors.Is(plain, blobio.ErrRange) {
				t.Errorf("a plain scan: %v", plain)
			}
			o.SkipDamaged = true
			if ids, _ := scanIDs(t, tbl, o); !slices.Equal(ids, c.ids) {
				t.Errorf("rows %v", ids)
			}
			p, err := tbl.Plan(ctx, o)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := p.Count(ctx, nil); err != nil || n != int64(len(c.ids)) {
				t.Errorf("counted %d, %v", n, err)
			}
			if hidden {
				if len(p.Damaged) != 0 {
					t.Errorf("damage that nothing reads: %+v", p.Damaged)
				}
			} else if len(p.Damaged) != 1 || p.Damaged[0].Shard != shard.Path || p.Damaged[0].Rows != c.lost || !slices.Equal(p.Damaged[0].Stripes, c.lose) || p.Damaged[0].Why == "" {
				t.Errorf("damage: %+v", p.Damaged)
			}
			if c.where != "" {
				return
			}
			action := repairStripes
			if len(c.lose) == 5 {
				action = repairDrop
			}
			r, err := tbl.Repair(ctx, RepairOptions{})
			if err != nil || r.OK || r.RowsLost != 0 || len(r.Repairs) != 1 || r.Repairs[0].Action != RepairNone || r.Repairs[0].Lost != c.lost {
				t.Errorf("without a loss: %+v, %v", r, err)
			}
			r, err = tbl.Repair(ctx, RepairOptions{AcceptLoss: true, DryRun: true})
			if err != nil || r.RowsLost != c.lost || len(r.Repairs) != 1 || r.Repairs[0].Action != action {
				t.Errorf("dry run: %+v, %v", r, err)
			}
			if r, err = tbl.Repair(ctx, RepairOptions{AcceptLoss: true}); err != nil || r.RowsLost != c.lost || r.Repairs[0].Action != action {
				t.Fatalf("repair: %+v, %v", r, err)
			}
			if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !sameIDs(ids, c.ids) {
				t.Errorf("rows after the repair: %v", ids)
			}
			if d := tbl.Describe(); d.Records != int64(len(c.ids)) {
				t.Errorf("%d records by the totals", d.Records)
			}
			verifyAll(t, tbl)
		})
	}
}

func sameIDs(a, b []int64) bool {
	slices.Sort(a)
	return slices.Equal(a, slices.Sorted(slices.Values(b)))
}

// TestSkipDamagedOfWholeShards: nothing is left out of an intact table; a lost root costs its own rows only; a store that denies is
// an error, and no damage.
func TestSkipDamagedOfWholeShards(t *testing.T) {
	ctx := context.Background()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	ingest(t, tbl, IngestOptions{}, rows(10, 10))
	o := ScanOptions{SkipDamaged: true}
	if p, err := tbl.Plan(ctx, o); err != nil || len(p.Damaged) != 0 || len(p.Shards) != 2 {
		t.Errorf("intact: %+v, %v", p, err)
	}
	swap(t, tbl.cat.client, firstEntry(t, tbl).Path, nothing)
	tbl = g.load(g.open(nil, nil))
	p, err := tbl.Plan(ctx, o)
	if err != nil || len(p.Damaged) != 1 || p.Damaged[0].Rows != 10 || len(p.Damaged[0].Stripes) < p.Damaged[0].Of {
		t.Fatalf("lost root: %+v, %v", p.Damaged, err)
	}
	if n, err := p.Count(ctx, nil); err != nil || n != 10 {
		t.Errorf("%d rows, %v", n, err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := tbl.Plan(stopped, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestRepairDropsOnlyWhatIsLost: of a shard of five stripes one is damaged, and each request of a repair in turn is answered once with a
// flipped bit or "not found". No row of the other stripes is dropped for that, and none is left out by a scan that skips what is damaged.
func TestRepairDropsOnlyWhatIsLost(t *testing.T) {
	ctx := context.Background()
	kept := without(between(0, 20), func(i int64) bool { return i >= 8 && i < 12 })
	works := map[string]func(tbl *Table) (lost int64, err error){
		"repair": func(tbl *Table) (int64, error) {
			r, err := tbl.Repair(ctx, RepairOptions{AcceptLoss: true})
			if err != nil {
				return 0, err
			}
			if !r.OK && r.RowsLost == 0 { // what was found is not the stripe
				return 0, errors.New("another repair is due")
			}
			return r.RowsLost, nil
		},
		"scan": func(tbl *Table) (int64, error) {
			p, err := tbl.Plan(ctx, ScanOptions{Ordered: true, SkipDamaged: true})
			if err != nil {
				return 0, err
			}
			lost := int64(0)
			for _, d := range p.Damaged {
				lost += d.Rows
			}
			n, err := p.Count(ctx, nil)
			if err == nil && n+lost != 20 {
				t.Errorf("%d rows counted, %d lost", n, lost)
			}
			return lost, err
		},
	}
	for work, do := range works {
		faults := []string{"flip -1", "flip 40", "hide"}
		if work == "repair" { // a scan meets the copy in the cache again
			faults = append(faults, "flip -1 in a cache", "flip 40 in a cache")
		}
		for _, fault := range faults {
			t.Run(work+" "+fault, func(t *testing.T) {
				fault, cached := strings.CutSuffix(fault, " in a cache")
				done, failed := 0, 0
				for n := 1; ; n++ {
					g := newDamagedGround(t, "")
					if cached {
						g.cache = blobio.CacheOptions{Memory: 1 << 20, Cacheable: func(url string) bool { return strings.Contains(url, ".amudai.") }}
					}
					c := g.open(g.bucket)
					tbl := g.create(c)
					ingest(t, tbl, IngestOptions{StripeRows: 4}, rows(0, 20))
					swap(t, c.client, stripesOf(t, tbl, firstEntry(t, tbl).Path)[2], nothing)
					tbl = g.load(g.open(g.bucket))
					g.bucket.Play(t, fmt.Sprintf("get %d: %s", n, fault))
					lost, err := do(tbl)
					if g.bucket.Requests("get") < n {
						break
					}
					g.bucket.Play(t, "")
					switch {
					case err != nil:
						failed++
					case lost != 4:
						t.Errorf("request %d: %d rows lost", n, lost)
					default:
						done++
					}
					if work == "repair" {
						if ids, _ := scanIDs(t, g.load(g.open(g.bucket)), ScanOptions{SkipDamaged: true}); !sameIDs(ids, kept) {
							t.Errorf("request %d: rows %v", n, ids)
						}
					}
				}
				t.Logf("%d done, %d failed", done, failed)
				if done < 10 {
					t.Errorf("%d done, %d failed", done, failed)
				}
			})
		}
	}
}
