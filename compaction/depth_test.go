package compaction

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
)

// The depth is that of trying every value; bounds that touch share the value they touch in.
func TestDepthOfBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 500 {
		var b bounds
		var all []valueRange
		for range r.IntN(12) {
			low := float64(r.IntN(20))
			v := valueRange{low, low + float64(r.IntN(6)), knownRange}
			b.add(v)
			all = append(all, v)
		}
		want := 0
		for at := 0.0; at < 30; at++ {
			n := 0
			for _, v := range all {
				if v.low <= at && at <= v.high {
					n++
				}
			}
			want = max(want, n)
		}
		if got := b.depth(); got != want {
			t.Fatalf("%v: %d, want %d", all, got, want)
		}
	}
	var b bounds
	b.add(valueRange{math.NaN(), 1, knownRange})
	b.add(valueRange{0, 1, unknownRange})
	if b.depth() != 0 {
		t.Error("what has no place has a depth")
	}
}

// A plan reports how deep the bounds of all shards overlap, of those that are left alone too; compaction lowers it.
func TestPlanTellsOverlap(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	for _, first := range []int{0, 1, 2} { // 0, 3, … 27; 1, 4, … 28; 2, 5, … 29
		if _, err := tbl.Ingest(ctx, everyNth(first, 3, 10), catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tbl.Ingest(ctx, everyNth(100, 1, 10), catalog.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, policy := range []Policy{{}, {NoConcat: true, NoRebuild: true, NoPack: true}} {
		plan, err := NewPlan(ctx, tbl, policy)
		if err != nil || plan.Overlap == nil || *plan.Overlap != (Overlap{"id", 3, 4}) {
			t.Fatalf("%+v, %v", plan.Overlap, err)
		}
	}
	if _, err := Compact(ctx, tbl, Policy{}, Options{}); err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(ctx, tbl, Policy{})
	if err != nil || plan.Overlap == nil || *plan.Overlap != (Overlap{"id", 1, 1}) {
		t.Fatalf("%+v, %v", plan.Overlap, err)
	}
}

// What a plan predicts as retained is the rest in the vault, beside the merged root, when expiry and collection have been there.
func TestPlanTellsWhatIsHeld(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	for i := range 5 {
		if _, err := tbl.Ingest(ctx, everyNth(2000*i, 1, 2000), catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	report, err := Compact(ctx, tbl, Policy{NoRebuild: true}, Options{})
	if err != nil || len(report.Plan.Groups) != 1 || report.Plan.Groups[0].Mode != Concat {
		t.Fatalf("%+v, %v", report, err)
	}
	old, err := tbl.PlanExpire(catalog.ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Execute(ctx); err != nil {
		t.Fatal(err)
	}
	atOnce := catalog.CollectOptions{Execute: true, MinAge: time.Nanosecond, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1}
	for range 2 {
		if _, err := tbl.Collect(ctx, atOnce); err != nil {
			t.Fatal(err)
		}
	}
	var left, objects int64
	for info, err := range tbl.Catalog().Client().List(ctx, tbl.VaultFolder()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info.URL, ".amudai.") && info.URL != report.Results[0].Output {
			left, objects = left+info.Size, objects+1
		}
	}
	const framing = 256 // of an object, which entries don't count
	if held := report.Plan.Groups[0].HeldBytes; objects != 5 || held > left || held < left-framing*objects {
		t.Errorf("%d bytes were to be held, %d are in %d objects", held, left, objects)
	}
}
