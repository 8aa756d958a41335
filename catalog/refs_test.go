package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/manifest"
)

// TestAuditBranch: write to a branch, look at it, publish it; readers of main see it then and not before.
func TestAuditBranch(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	if _, err := tbl.CreateBranch(ctx, "audit", 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("a branch of nothing: %v", err)
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
	if ref, err := tbl.CreateBranch(ctx, "audit", 0); err != nil || ref.SnapshotID != tbl.Head() {
		t.Fatalf("%+v, %v", ref, err)
	}
	ingest(t, tbl, IngestOptions{Ref: "audit", JobID: "load"}, rows(5, 5))
	if again := ingest(t, tbl, IngestOptions{Ref: "audit", JobID: "load"}, rows(5, 5)); !again.Before {
		t.Error("the delivery to the branch was done twice")
	}
	counts := func(main, audit int) {
		t.Helper()
		for ref, want := range map[string]int{"main": main, "audit": audit} {
			if ids, _ := scanIDs(t, tbl, ScanOptions{At: At{Ref: ref}}); len(ids) != want {
				t.Errorf("%s has %d rows, want %d", ref, len(ids), want)
			}
		}
	}
	counts(5, 10)
	if _, err := tbl.FastForward(ctx, "main", At{Ref: "audit"}); err != nil {
		t.Fatal(err)
	}
	counts(10, 10)
	// Both move on: no fast-forward any more, but what was appended can be picked.
	ingest(t, tbl, IngestOptions{}, rows(10, 1))
	picked := ingest(t, tbl, IngestOptions{Ref: "audit"}, rows(20, 2))
	if _, err := tbl.FastForward(ctx, "main", At{Ref: "audit"}); !errors.Is(err, ErrConflict) {
		t.Errorf("fast-forward of a branch that moved on: %v", err)
	}
	done, err := tbl.CherryPick(ctx, picked.SnapshotID)
	if err != nil {
		t.Fatal(err)
	}
	counts(13, 12)
	if again, err := tbl.CherryPick(ctx, picked.SnapshotID); err != nil || !again.Before || again.SnapshotID != done.SnapshotID {
		t.Errorf("picked twice: %+v, %v", again, err)
	}
	if _, err := tbl.CherryPick(ctx, done.SnapshotID); !errors.Is(err, ErrExists) {
		t.Errorf("picked from main: %v", err)
	}
	if _, err := tbl.FastForward(ctx, "nobody", At{Ref: "main"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("fast-forward of a branch that is not there: %v", err)
	}
	if _, err := tbl.CreateTag(ctx, "fixed", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.FastForward(ctx, "fixed", At{Ref: "main"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("fast-forward of a tag: %v", err)
	}
	for _, ref := range []string{"fixed", "audit"} {
		if err := tbl.DropRef(ctx, ref); err != nil {
			t.Fatal(err)
		}
	}
	if refs := g.load(g.open(nil, nil)).Refs(); len(refs) != 1 || refs[0].Name != "main" {
		t.Errorf("refs: %v", refs)
	}
}

func TestTagsAndRollback(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	var snapshots []int64
	for i := range 3 {
		done, err := appendFake(tbl, fmt.Sprintf("job-%d", i), i)
		if err != nil {
			t.Fatal(err)
		}
		snapshots = append(snapshots, done.SnapshotID)
	}
	if _, err := tbl.CreateTag(ctx, "first", snapshots[0]); err != nil {
		t.Fatal(err)
	}
	if err := tbl.Rollback(ctx, snapshots[1]); err != nil {
		t.Fatal(err)
	}
	if got := live(t, tbl); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("after the rollback: %v", got)
	}
	if undone, err := tbl.undone(); err != nil || !slices.Equal(undone, snapshots[2:]) {
		t.Errorf("undone: %v, %v", undone, err)
	}
	if _, err := tbl.FastForward(ctx, "main", At{SnapshotID: snapshots[2]}); err != nil {
		t.Fatal(err)
	}
	if undone, err := tbl.undone(); err != nil || len(undone) != 0 {
		t.Errorf("undone after it was done again: %v, %v", undone, err)
	}
	expireNow(t, tbl)
	if _, err := tbl.snapshot(At{Ref: "first"}); err != nil {
		t.Errorf("a tagged snapshot expired: %v", err)
	}
	for name, err := range map[string]error{
		"rollback to what expired": tbl.Rollback(ctx, snapshots[1]),
		"unknown snapshot":         second(tbl.CreateTag(ctx, "x", snapshots[1])),
		"unknown ref":              tbl.DropRef(ctx, "frist"),
	} {
		if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "available: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"commit to a tag": second(tbl.Ingest(ctx, source(rows(0, 1)), IngestOptions{Ref: "first"})),
		"drop of main":    tbl.DropRef(ctx, "main"),
		"name":            second(tbl.CreateTag(ctx, "a b", 0)),
		"off the branch":  tbl.Rollback(ctx, sideSnapshot(t, tbl)),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tbl.CreateBranch(ctx, "first", 0); !errors.Is(err, ErrExists) {
		t.Errorf("name that is taken: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// sideSnapshot makes a snapshot that is not in the history of main.
func sideSnapshot(t *testing.T, tbl *Table) int64 {
	t.Helper()
	if _, err := tbl.CreateBranch(context.Background(), "side", 0); err != nil {
		t.Fatal(err)
	}
	return ingest(t, tbl, IngestOptions{Ref: "side"}, rows(0, 1)).SnapshotID
}

// TestChanges: appends, deletes and overwrites show as the rows that they added and removed, compaction not at all.
func TestChanges(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	first := ingest(t, tbl, IngestOptions{}, rows(0, 4))
	more := ingest(t, tbl, IngestOptions{}, rows(4, 2))
	if _, err := tbl.Delete(ctx, where(t, "id = 2"), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// The same rows in another shard, as a compaction would leave them.
	if err := rewriteAll(t, tbl); err != nil {
		t.Fatal(err)
	}
	if got, want := changesOf(t, tbl, first.SnapshotID, 0), "+4 +5 -2"; got != want {
		t.Errorf("changes %q, want %q", got, want)
	}
	if got := changesOf(t, tbl, first.SnapshotID, more.SnapshotID); got != "+4 +5" {
		t.Errorf("changes of the append: %q", got)
	}
	if _, err := tbl.Changes(more.SnapshotID, first.SnapshotID); !errors.Is(err, ErrInvalid) {
		t.Errorf("backwards: %v", err)
	}
	if _, err := tbl.Changes(5, 0); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "available: ") {
		t.Errorf("unknown: %v", err)
	}
}

// An overwrite shows as the difference of two multisets of rows, whether all rows of a batch have changed, some or none: those in both
// stay, as often as they are in both.
func TestChangesOfRowsThatComeAgain(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	first := ingest(t, tbl, IngestOptions{}, rows(0, 700), rows(600, 100), rows(600, 100), rows(0, 1))
	if _, err := tbl.Overwrite(ctx, where(t, "id >= 500"), source(rows(650, 300), rows(650, 10)), IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	var want []string
	times := map[string]int{}
	for id := 500; id < 960; id++ {
		before, after := 0, 0
		for _, span := range [][2]int{{0, 700}, {600, 700}, {600, 700}} {
			before += inSpan(id, span)
		}
		for _, span := range [][2]int{{650, 950}, {650, 660}} {
			after += inSpan(id, span)
		}
		times[fmt.Sprint("-", id)] = max(0, before-after)
		times[fmt.Sprint("+", id)] = max(0, after-before)
	}
	for change, n := range times {
		for range n {
			want = append(want, change)
		}
	}
	got := strings.Fields(changesOf(t, tbl, first.SnapshotID, 0))
	if !slices.IsSortedFunc(got, func(a, b string) int { return cmp.Compare(b[0], a[0]) }) { // - above +
		t.Error("what was added comes before what was removed")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("changes\n%v, want\n%v", got, want)
	}
}

func inSpan(id int, span [2]int) int {
	if id >= span[0] && id < span[1] {
		return 1
	}
	return 0
}

// rewriteAll replaces all shards by one with the same rows.
func rewriteAll(t *testing.T, tbl *Table) error {
	t.Helper()
	ctx := context.Background()
	var inputs []string
	rowsLeft := int64(0)
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			return err
		}
		inputs, rowsLeft = append(inputs, e.Path), rowsLeft+e.Records
	}
	j, _, err := tbl.BeginJob(ctx, JobCompact, "", inputs, anything(tbl))
	if err != nil {
		return err
	}
	merged := fake(tbl, 77)
	merged.Records = rowsLeft
	_, err = j.Replace(ctx, inputs, []*manifest.Entry{merged})
	return err
}

// changesOf lists ids with the signs of their changes.
func changesOf(t *testing.T, tbl *Table, from, to int64) string {
	t.Helper()
	c, err := tbl.Changes(from, to)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for b, err := range c.Run(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			sign := map[string]string{Inserted: "+", Removed: "-"}[b.Column(0).(*array.LargeString).Value(i)]
			out = append(out, sign+fmt.Sprint(b.Column(projection.ColumnIndex(b, "id")).(*array.Int64).Value(i)))
		}
	}
	return strings.Join(out, " ")
}
