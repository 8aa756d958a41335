package manifest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// bench is a table without a catalog: metadata in memory, files in a folder.
type bench struct {
	t     *testing.T
	meta  table.Metadata
	clock time.Time
}

func newBench(t *testing.T, spec *iceberg.PartitionSpec) *bench {
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 2, Name: "ts", Type: iceberg.PrimitiveTypes.TimestampTz},
		iceberg.NestedField{ID: 3, Name: "name", Type: iceberg.PrimitiveTypes.String})
	location := "file://" + filepath.ToSlash(t.TempDir())
	meta, err := table.NewMetadata(sc, spec, table.UnsortedSortOrder, location, iceberg.Properties{"format-version": "2"})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, meta: meta, clock: time.UnixMilli(meta.LastUpdatedMillis())}
}

func (b *bench) stage(c Change) (*Staged, error) {
	b.clock = b.clock.Add(time.Second)
	return Stage(Base{Metadata: b.meta, FS: io.LocalFS{}, Now: b.clock}, c)
}

func (b *bench) commit(c Change) *table.Snapshot {
	b.t.Helper()
	s, err := b.stage(c)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range s.Requirements {
		if err := r.Validate(b.meta); err != nil {
			b.t.Fatal(err)
		}
	}
	meta, err := table.UpdateTableMetadata(b.meta, s.Updates, "")
	if err != nil {
		b.t.Fatal(err)
	}
	b.meta = meta
	return s.Snapshot
}

// live reads the entries of the current snapshot.
func (b *bench) live() []*Entry {
	b.t.Helper()
	manifests, err := b.meta.CurrentSnapshot().Manifests(io.LocalFS{})
	if err != nil {
		b.t.Fatal(err)
	}
	var out []*Entry
	for _, m := range manifests {
		entries, err := Entries(io.LocalFS{}, m)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, e := range entries {
			if e.Status() != iceberg.EntryStatusDELETED {
				out = append(out, EntryOf(e))
			}
		}
	}
	slices.SortFunc(out, func(x, y *Entry) int { return int(x.Columns[1].lowID() - y.Columns[1].lowID()) })
	return out
}

func (c Column) lowID() int64 { return long(c.Lower) }

// fake is the entry of a shard of 100 rows whose ids start at 100*i.
func fake(i int) *Entry {
	low, high := int64(100*i), int64(100*i+99)
	return &Entry{
		Path: fmt.Sprintf("file:///vault/%032d.amudai.shard", i), Format: Format, RootBytes: 1000 + int64(i), Records: 100,
		Columns: map[int]Column{
			1: {Bytes: 800, Values: 100, Nulls: 0, NaNs: Unknown, Lower: appendLong(low), Upper: appendLong(high)},
			3: {Bytes: 300, Values: 100, Nulls: 100, NaNs: Unknown},
		},
		Private: Private{
			Created: CreationRange{low + 1, high}, Stripes: 2, Deleted: 3, MetadataBytes: 900,
			StoredBytes: 5000, Objects: 3, Flags: Foreign | StandardProperties,
		},
	}
}

func TestEntryRoundTrip(t *testing.T) {
	b := newBench(t, nil)
	snap := b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(7)}})
	got := b.live()
	if len(got) != 1 {
		t.Fatalf("%d entries", len(got))
	}
	want := fake(7)
	want.Sequence, want.SnapshotID = 1, snap.SnapshotID
	want.Partition = got[0].Partition
	if g, w := fmt.Sprintf("%+v", *got[0]), fmt.Sprintf("%+v", *want); g != w {
		t.Errorf("entry\n%s came back as\n%s", w, g)
	}
	if !got[0].IsShard() || !(&Entry{Format: "AMUDAI"}).IsShard() || (&Entry{Format: "PARQUET"}).IsShard() {
		t.Error("the format is compared wrongly")
	}
}

func TestSummaries(t *testing.T) {
	b := newBench(t, nil)
	check := func(s *table.Snapshot, want map[string]string) {
		t.Helper()
		for k, v := range want {
			if s.Summary.Properties[k] != v {
				t.Errorf("%s: %s = %q, want %q", s.Summary.Operation, k, s.Summary.Properties[k], v)
			}
		}
	}
	check(b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(1), fake(2), fake(3)}, JobID: "j1"}), map[string]string{
		"added-data-files": "3", "added-records": "300", "added-files-size": "3006", "deleted-data-files": "",
		"total-data-files": "3", "total-records": "300", "total-files-size": "3006", "total-delete-files": "0",
		"total-position-deletes": "0", "total-equality-deletes": "0", "shardcat.job-id": "j1",
		"shardcat.operation": "append", "shardcat.total-data-bytes": "15000", "changed-partition-count": "1",
	})
	merged := fake(9)
	merged.Records = 200
	check(b.commit(Change{Operation: table.OpReplace, Add: []*Entry{merged}, Remove: []string{fake(1).Path, fake(3).Path}}), map[string]string{
		"added-data-files": "1", "added-records": "200", "deleted-data-files": "2", "deleted-records": "200",
		"removed-files-size": "2004", "total-data-files": "2", "total-records": "300", "total-files-size": "2011",
		"shardcat.total-data-bytes": "10000", "shardcat.job-id": "",
	})
}

func TestReplaceKeepsHistory(t *testing.T) {
	b := newBench(t, nil)
	first := b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(1), fake(2)}})
	b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(3)}})
	merged := fake(1)
	merged.Path, merged.Records = "file:///vault/merged.amudai.shard", 200
	third := b.commit(Change{Operation: table.OpReplace, Add: []*Entry{merged}, Remove: []string{fake(1).Path, fake(3).Path}})

	var paths []string
	for _, e := range b.live() {
		paths = append(paths, e.Path)
		if e.Path == fake(2).Path && (e.Sequence != 1 || e.SnapshotID != first.SnapshotID) {
			t.Errorf("a kept entry changed its origin: %+v", e)
		}
		if e.Path == merged.Path && e.Sequence != third.SequenceNumber {
			t.Errorf("merged entry has sequence %d", e.Sequence)
		}
	}
	if len(paths) != 2 || !slices.Contains(paths, merged.Path) || !slices.Contains(paths, fake(2).Path) {
		t.Errorf("live: %v", paths)
	}
	manifests, _ := third.Manifests(io.LocalFS{})
	for _, m := range manifests {
		entries, err := Entries(io.LocalFS{}, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Status() == iceberg.EntryStatusDELETED && (e.SnapshotID() != third.SnapshotID || e.SequenceNum() < 1 || e.FileSequenceNum() == nil) {
				t.Errorf("deleted entry of %s: snapshot %d, sequence %d", e.DataFile().FilePath(), e.SnapshotID(), e.SequenceNum())
			}
		}
	}
	// The manifest of the second append holds nothing live any more; the next snapshot lets go of it.
	last := b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(5)}})
	manifests, _ = last.Manifests(io.LocalFS{})
	if len(manifests) != 3 {
		t.Errorf("%d manifests", len(manifests))
	}
}

// The rest of manifests that a change empties is in one, however many they were.
func TestEmptiedManifestsBecomeOne(t *testing.T) {
	b := newBench(t, nil)
	remove := []string{}
	for i := range 7 {
		b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(i)}})
		remove = append(remove, fake(i).Path)
	}
	s, err := b.stage(Change{Operation: table.OpOverwrite, Add: []*Entry{fake(9)}, Remove: remove})
	if err != nil || len(s.Files) != 3 { // what goes, what comes, and the list
		t.Fatalf("%v, %v", s.Files, err)
	}
	manifests, err := s.Snapshot.Manifests(io.LocalFS{})
	if err != nil {
		t.Fatal(err)
	}
	gone := map[string]int64{}
	for _, m := range manifests {
		entries, err := Entries(io.LocalFS{}, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Status() == iceberg.EntryStatusDELETED && e.SnapshotID() == s.Snapshot.SnapshotID {
				gone[e.DataFile().FilePath()] = e.SequenceNum()
			}
		}
	}
	for i, path := range remove {
		if gone[path] != int64(i+1) {
			t.Errorf("%s goes with the sequence number %d", path, gone[path])
		}
	}
}

func TestRefusedChanges(t *testing.T) {
	b := newBench(t, nil)
	b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(1), fake(2)}})
	merged := fake(8)
	for name, c := range map[string]struct {
		change Change
		want   error
	}{
		"unknown input":   {Change{Operation: table.OpReplace, Add: []*Entry{merged}, Remove: []string{"file:///x"}}, ErrInputGone},
		"fewer rows":      {Change{Operation: table.OpReplace, Add: []*Entry{merged}, Remove: []string{fake(1).Path, fake(2).Path}}, errRowsChanged},
		"path used twice": {Change{Operation: table.OpAppend, Add: []*Entry{fake(2)}, CheckDuplicates: true}, ErrDuplicate},
		"replaced twice":  {Change{Operation: table.OpReplace, Add: []*Entry{fake(2)}, Remove: []string{fake(2).Path}}, ErrDuplicate},
	} {
		if _, err := b.stage(c.change); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestManifestsAreMerged: appends of one entry each leave manifests of the order of the square root of their number, each of which holds
// entries that follow one another; a large append, and any change that is no append, merges the small ones.
func TestManifestsAreMerged(t *testing.T) {
	b := newBench(t, nil)
	b.clock = b.clock.Add(-time.Hour) // a change of properties is made now
	b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(0)}})
	mergeFrom := func(manifests string) {
		t.Helper()
		var err error
		b.meta, err = table.UpdateTableMetadata(b.meta, []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{mergeCountProperty: manifests})}, "")
		if err != nil {
			t.Fatal(err)
		}
	}
	mergeFrom("10")
	const appends = 80
	for i := range appends - 1 {
		b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(i + 1)}})
	}
	files := func() []iceberg.ManifestFile {
		t.Helper()
		manifests, err := b.meta.CurrentSnapshot().Manifests(io.LocalFS{})
		if err != nil {
			t.Fatal(err)
		}
		return manifests
	}
	sizes := func() (out []int) {
		for _, m := range files() {
			out = append(out, int(m.AddedDataFiles()+m.ExistingDataFiles()))
		}
		return out
	}
	if got := sizes(); !slices.Equal(got, []int{1, 1, 1, 1, 5, 6, 7, 8, 9, 10, 11, 12, 8}) {
		t.Errorf("entries of the manifests after %d appends: %v", appends, got)
	}
	check := func(n int) {
		t.Helper()
		live := b.live()
		if len(live) != n {
			t.Fatalf("%d entries, want %d", len(live), n)
		}
		for i, e := range live {
			if e.Path != fake(i).Path || e.Sequence < 1 || e.Private != fake(i).Private || i < appends && e.Sequence != int64(i+1) {
				t.Fatalf("entry %d is now %+v", i, e)
			}
		}
	}
	check(appends)
	var many []*Entry
	for i := range 15 {
		many = append(many, fake(appends+i))
	}
	b.commit(Change{Operation: table.OpAppend, Add: many})
	if got := sizes(); !slices.Equal(slices.Sorted(slices.Values(got)), []int{15, appends}) {
		t.Errorf("entries of the manifests after a large append: %v", got)
	}
	for i := range 8 {
		b.commit(Change{Operation: table.OpAppend, Add: []*Entry{fake(appends + 15 + i)}})
	}
	mergeFrom("5")
	last := fake(appends + 15 + 7)
	again := *last
	again.Path += "2"
	b.commit(Change{Operation: table.OpReplace, Add: []*Entry{&again}, Remove: []string{last.Path}})
	if got := sizes(); len(got) != 3 {
		t.Errorf("entries of the manifests after a replace: %v, want 3", got)
	}
}

func TestPartitions(t *testing.T) {
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{
		SourceIDs: []int{2}, FieldID: 1000, Name: "ts_day", Transform: iceberg.DayTransform{}})
	b := newBench(t, &spec)
	e := fake(1)
	day := int64(19000)
	e.Columns[2] = Column{Values: 100, Nulls: 0, NaNs: Unknown,
		Lower: appendLong(day * microsPerDay), Upper: appendLong((day+1)*microsPerDay - 1)}
	tuple, err := PartitionOf(e, b.meta.PartitionSpec(), b.meta.CurrentSchema())
	if err != nil || tuple[1000] != iceberg.Date(day) {
		t.Fatalf("partition %v, %v", tuple, err)
	}
	e.Partition = tuple
	s := b.commit(Change{Operation: table.OpAppend, Add: []*Entry{e}})
	if got := b.live()[0]; got.Partition[1000] != iceberg.Date(day) {
		t.Errorf("partition came back as %v", got.Partition)
	}
	manifests, _ := s.Manifests(io.LocalFS{})
	if p := manifests[0].Partitions(); len(p) != 1 || p[0].LowerBound == nil {
		t.Errorf("no partition summary: %v", p)
	}
	c := e.Columns[2]
	c.Upper = appendLong((day + 1) * microsPerDay)
	e.Columns[2] = c
	if _, err := PartitionOf(e, b.meta.PartitionSpec(), b.meta.CurrentSchema()); !errors.Is(err, ErrPartition) {
		t.Errorf("two days are one partition: %v", err)
	}
}

// TestFormatIsPatchedInOnePlace notices when an upgrade of iceberg-go changes the ground under DataFile.
func TestFormatIsPatchedInOnePlace(t *testing.T) {
	b := newBench(t, nil)
	f, err := fake(1).DataFile(b.meta.PartitionSpec(), b.meta.CurrentSchema())
	if err != nil {
		t.Fatal(err)
	}
	if f.FileFormat() != Format || f.Count() != 100 || f.FilePath() != fake(1).Path {
		t.Errorf("data file %s %s %d", f.FileFormat(), f.FilePath(), f.Count())
	}
	if _, err := iceberg.NewDataFileBuilder(b.meta.PartitionSpec(), iceberg.EntryContentData, "file:///x", Format, nil, nil, nil, 1, 1); err == nil {
		t.Error("iceberg-go builds data files of any format now: DataFile can do without its detour")
	}
	if _, err := patchFormat([]byte("nothing"), "file:///x"); err == nil {
		t.Error("an unknown encoding was patched")
	}
}

func TestStageListsItsFiles(t *testing.T) {
	b := newBench(t, nil)
	s, err := b.stage(Change{Operation: table.OpAppend, Add: []*Entry{fake(1)}})
	if err != nil || len(s.Files) != 2 {
		t.Fatalf("%v, %v", s.Files, err)
	}
	for _, f := range s.Files {
		if _, err := (io.LocalFS{}).Open(f); err != nil {
			t.Error(err)
		}
	}
}
