package compaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// wider has a list that earlier shards lack: no descriptor can stand for it.
func wider() *schema.Schema {
	s := fields()
	s.Fields = append(s.Fields, &schema.Node{Name: "marks", Basic: schema.List, Nullable: true,
		Children: []*schema.Node{{Name: "item", Basic: schema.Int64, Signed: true, Nullable: true}}})
	s.Number()
	return s
}

func widerRows(first, n int) *source {
	var out []string
	for i := first; i < first+n; i++ {
		out = append(out, fmt.Sprintf(`{"id":%d,"name":"n","tags":["a"],"marks":[%d]}`, i, i))
	}
	return &source{wider(), "[" + strings.Join(out, ",") + "]"}
}

// entriesOf are the live entries of a table.
func entriesOf(t *testing.T, tbl *catalog.Table) (out []*manifest.Entry) {
	t.Helper()
	for e, err := range tbl.Entries(ctx, catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// A column that old shards can't be given by metadata alone must not stop compaction: they are planned as a rebuild, never as a
// merge that then fails.
func TestAddedListIsPlannedAsRebuild(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	if err := tbl.AddColumns(ctx, wider()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if _, err := tbl.Ingest(ctx, widerRows(100+10*i, 10), catalog.IngestOptions{CreationTime: time.Date(2024, 1, 1, 12, i, 0, 0, time.UTC)}); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, tbl)
	first, err := Compact(ctx, tbl, Policy{}, Options{Check: true})
	if err != nil {
		t.Fatal(err)
	}
	var modes []Mode
	for i, r := range first.Results {
		modes = append(modes, r.Mode)
		if planned := first.Plan.Groups[i].Mode; planned != r.Mode {
			t.Errorf("planned as %s, done as %s", planned, r.Mode)
		}
	}
	slices.Sort(modes)
	if !slices.Equal(modes, []Mode{Concat, Rebuild}) || first.BytesMoved == 0 || first.ShardsAfter != 2 {
		t.Errorf("%v, %d bytes moved, %d shards", modes, first.BytesMoved, first.ShardsAfter)
	}
	second, err := Compact(ctx, tbl, Policy{}, Options{Check: true})
	if err != nil || second.ShardsAfter != 1 || second.BytesMoved != 0 {
		t.Errorf("the rebuilt shard does not merge with the others: %+v, %v", second, err)
	}
	again := g.load(nil)
	sameContents(t, again, before)
	created := entriesOf(t, again)[0].Created
	if want := literal.Ticks(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)); created.First != want {
		t.Errorf("created from %d, want %d", created.First, want)
	}
}

func TestRebuildIsRefusedWhereNotAllowed(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	if err := tbl.AddColumns(ctx, wider()); err != nil {
		t.Fatal(err)
	}
	report, err := Compact(ctx, tbl, Policy{NoRebuild: true}, Options{})
	if err != nil || len(report.Results) != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	left := 0
	for why, n := range report.Plan.Left {
		if strings.Contains(why, "not allowed") {
			left += n
		}
	}
	if left != 3 {
		t.Errorf("the plan does not say why it leaves 3 shards: %v", report.Plan.Left)
	}
}

// Shards that come together with many small stripes are rebuilt at once, and then left alone; where a run may not move so much they are concatenated, and
// rebuilt by one that may.
func TestSmallStripesAreRebuilt(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 9)
	before := contents(t, tbl)
	policy, little := Policy{RebuildStripes: 9}, Policy{RebuildStripes: 9, MaxBytesPerRun: 1000}
	plan, err := NewPlan(ctx, tbl, policy)
	if err != nil || len(plan.Groups) != 1 || plan.Groups[0].Mode != Rebuild || !plan.Groups[0].SmallStripes || plan.Groups[0].Inputs.Len() != 9 {
		t.Fatalf("%+v, %v", plan, err)
	}
	for i, want := range []struct {
		policy  Policy
		mode    Mode
		stripes int64
	}{{little, Concat, 9}, {policy, Rebuild, 1}} {
		policy := want.policy
		report, err := Compact(ctx, tbl, policy, Options{Check: true})
		if err != nil || len(report.Results) != 1 || report.Results[0].Mode != want.mode {
			t.Fatalf("run %d: %+v, %v", i, report, err)
		}
		if e := entriesOf(t, tbl); len(e) != 1 || e[0].Stripes != want.stripes || e[0].Records != 90 {
			t.Errorf("run %d: %+v", i, e[0])
		}
	}
	report, err := Compact(ctx, tbl, policy, Options{})
	if err != nil || len(report.Results) != 0 {
		t.Errorf("rebuilt again: %+v, %v", report, err)
	}
	sameContents(t, g.load(nil), before)
}

// What is small is rewritten, what is not stays where it is: so a record is not rewritten whenever its shard takes in small ones.
func TestLargeStripesStayWhereTheyAre(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 9)
	late := time.Date(2024, 1, 1, 1, 0, 0, 0, time.UTC)
	if _, err := tbl.Ingest(ctx, rows(1000, 1000), catalog.IngestOptions{CreationTime: late}); err != nil {
		t.Fatal(err)
	}
	before, policy := contents(t, tbl), Policy{RebuildStripes: 10}
	for i, want := range []struct {
		mode    Mode
		stripes []int64
	}{{Rebuild, []int64{1, 1}}, {Concat, []int64{2}}} {
		report, err := Compact(ctx, tbl, policy, Options{Check: true})
		if err != nil || len(report.Results) != 1 || report.Results[0].Mode != want.mode {
			t.Fatalf("run %d: %+v, %v", i, report, err)
		}
		if want.mode == Rebuild && (!report.Plan.Groups[0].SmallStripes || report.BytesMoved <= 0 || report.BytesMoved > report.Plan.Groups[0].Bytes/4) {
			t.Errorf("%d bytes moved, of %d", report.BytesMoved, report.Plan.Groups[0].Bytes)
		}
		var stripes []int64
		for _, e := range entriesOf(t, tbl) {
			stripes = append(stripes, e.Stripes)
			if e.Created.Last != literal.Ticks(late) {
				t.Errorf("run %d: %s was created up to %d", i, e.Path, e.Created.Last)
			}
		}
		if !slices.Equal(stripes, want.stripes) {
			t.Errorf("run %d: shards of %v stripes, want %v", i, stripes, want.stripes)
		}
	}
	sameContents(t, g.load(nil), before)
	if report, err := Compact(ctx, tbl, policy, Options{}); err != nil || len(report.Results) != 0 {
		t.Errorf("not left alone: %+v, %v", report, err)
	}
}

// Which stripes are rewritten: at least half of them, into one that is as many times as large as that allows.
func TestSmallest(t *testing.T) {
	full := int64(shardfmt.DefaultStripeRows)
	for _, c := range []struct {
		records []int64
		want    int
	}{
		{[]int64{1, 1, 1, 1, 1, 1, 1, 1, 100}, 8},
		{[]int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10},
		{[]int64{1, 2, 4, 8, 16, 32, 64, 128}, 8}, // nothing doubles: all
		{[]int64{5, 5, 5, 5, full / 4, full / 4, full / 4, full}, 4},
		{slices.Repeat([]int64{full / 8}, 64), 64},
		{[]int64{1, 2, 4, 8, 16, 32, 64, full + 1}, 8},                                                 // larger than what is written
		{[]int64{1, 1, 1, 1, 1, 1, 1, 1, 100, 300, 900, 2700, 8100, 24300, 72900, 218700, 656100}, 17}, // less than half are alike
		{[]int64{1, 1, 1, 1, 1, 1, 1, 1, 100, 300, 900, 2700, 8100, 24300, 72900, 218700}, 8},          // half
		{[]int64{0, 5}, 2},
	} {
		if got := smallest(c.records); got != c.want {
			t.Errorf("%v: %d, want %d", c.records, got, c.want)
		}
	}
}

// One group that fails does not keep the others from being done.
func TestOneFailingGroupStopsNoOther(t *testing.T) {
	g := newGround(t)
	tbl := g.create("name")
	fill(t, tbl, 3)
	victim := entriesOf(t, tbl)[0]
	client := tbl.Catalog().Client()
	folder := tbl.VaultFolder() + "data/" + strings.TrimSuffix(victim.Path[len(tbl.VaultFolder()):], ".amudai.shard") + "/"
	lost := 0
	for info, err := range client.List(ctx, folder) {
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Delete(ctx, info.URL, ""); err != nil {
			t.Fatal(err)
		}
		lost++
	}
	if lost == 0 {
		t.Fatal("no stripe found to lose")
	}
	report, err := Compact(ctx, tbl, Policy{RebuildAll: true}, Options{})
	if !errors.Is(err, ErrGroups) || len(report.Failed) != 1 || len(report.Results) != len(report.Plan.Groups)-1 || len(report.Results) < 3 {
		t.Errorf("%d of %d groups done, %d failed: %v", len(report.Results), len(report.Plan.Groups), len(report.Failed), err)
	}
}

// A rebuild parts its rows again by the table's current partitions, and the check of its rows knows that.
func TestRebuildFollowsNewPartitions(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	before := contents(t, tbl)
	if err := tbl.Repartition(ctx, []string{"name"}); err != nil {
		t.Fatal(err)
	}
	report, err := Compact(ctx, tbl, Policy{RebuildAll: true}, Options{Check: true})
	if err != nil || len(report.Results) != 1 || report.ShardsAfter != 7 {
		t.Fatalf("%+v, %v", report, err)
	}
	sameContents(t, g.load(nil), before)
	// What is not the same is found, in whatever order it comes.
	plan, err := NewPlan(ctx, tbl, Policy{RebuildAll: true, Order: "id desc"})
	if err != nil || len(plan.Groups) == 0 {
		t.Fatal(plan, err)
	}
	one := plan.Groups[0]
	if err := checkContent(ctx, tbl, &one, entriesOf(t, tbl)); !errors.Is(err, ErrContent) {
		t.Errorf("other rows pass for the same: %v", err)
	}
}

// Nothing is left of shards whose records are all deleted.
func TestRebuildOfNothing(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 1)
	where, err := filter.Parse("name LIKE 'n%'")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Delete(ctx, where, catalog.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	report, err := Compact(ctx, tbl, Policy{RebuildAll: true}, Options{Check: true})
	if err != nil || report.ShardsAfter != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if got := contents(t, g.load(nil)); len(got) != 0 {
		t.Errorf("%d rows", len(got))
	}
}
