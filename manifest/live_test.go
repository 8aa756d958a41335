package manifest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// byLibrary reads the live entries of a manifest by iceberg-go.
func byLibrary(t *testing.T, m iceberg.ManifestFile) []*Entry {
	t.Helper()
	var out []*Entry
	otherwise(io.LocalFS{}, m, nil, func(e *Entry, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
		return true
	})
	return out
}

// projected reads them by this package, and makes sure that it doesn't leave the manifest to iceberg-go.
func projected(t *testing.T, m iceberg.ManifestFile, p *Projection) []*Entry {
	t.Helper()
	data, err := readFile(io.LocalFS{}, m.FilePath())
	if err == nil {
		_, err = newDecoder(data, m, p)
	}
	if err != nil {
		t.Fatalf("left to iceberg-go: %v", err)
	}
	var out []*Entry
	for e, err := range LiveEntries(io.LocalFS{}, m, p) {
		if err != nil {
			t.Fatal(err)
		}
		if p != nil && p.Keep == nil {
			kept := *e
			kept.Columns = map[int]Column{}
			for id, c := range e.Columns {
				c.Lower, c.Upper = bytes.Clone(c.Lower), bytes.Clone(c.Upper)
				kept.Columns[id] = c
			}
			e = &kept
		}
		out = append(out, e)
	}
	return out
}

func sameEntry(a, b *Entry) bool {
	x, y := *a, *b
	if len(x.Partition)+len(y.Partition) == 0 {
		x.Partition, y.Partition = nil, nil
	}
	// NaN is no equal of itself, its text is.
	return reflect.DeepEqual(x, y) || fmt.Sprintf("%+v", x) == fmt.Sprintf("%+v", y) &&
		fmt.Sprintf("%T", x.Partition[1000]) == fmt.Sprintf("%T", y.Partition[1000])
}

// compare compares both readers with each other over the manifests of a snapshot, and gives how many entries they read.
func compare(t *testing.T, s *table.Snapshot) (n int) {
	t.Helper()
	manifests, err := s.Manifests(io.LocalFS{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		want := byLibrary(t, m)
		whole := projected(t, m, nil)
		brief := projected(t, m, &Projection{Columns: []int{1, 77}})
		kept := projected(t, m, &Projection{Columns: []int{1}, Keep: func(e *Entry) bool { return e.RootBytes%2 == 0 }})
		if len(whole) != len(want) || len(brief) != len(want) {
			t.Fatalf("%d entries, %d whole, %d brief", len(want), len(whole), len(brief))
		}
		for i, e := range want {
			if !sameEntry(whole[i], e) {
				t.Errorf("entry\n%+v is read as\n%+v", e, whole[i])
			}
			if short := e.brief([]int{1, 77}); !sameEntry(brief[i], short) && len(short.Columns)+len(brief[i].Columns) > 0 {
				t.Errorf("brief\n%+v is read as\n%+v", short, brief[i])
			}
			if e.RootBytes%2 == 0 {
				if len(kept) == 0 || !sameEntry(kept[0], e) {
					t.Fatalf("kept entry\n%+v is read as\n%+v", e, kept)
				}
				kept = kept[1:]
			}
		}
		if n += len(want); len(kept) > 0 {
			t.Errorf("%d entries more than were kept", len(kept))
		}
	}
	return n
}

// TestReadersAgree: what the projected reader makes of a manifest is what iceberg-go makes of it: added, existing and
// deleted entries, all columns and all types of partitions.
func TestReadersAgree(t *testing.T) {
	b := newBench(t, nil)
	var many []*Entry
	for i := range 300 { // more than a block of Avro holds
		e := fake(i)
		e.SortOrderID = i % 3
		e.Columns[9] = Column{Bytes: 1, Values: 3, Nulls: Unknown, NaNs: int64(i), Lower: []byte{}, Upper: []byte(strings.Repeat("x", i))}
		many = append(many, e)
	}
	b.commit(Change{Operation: table.OpAppend, Add: many})
	merged := fake(1000)
	merged.Records, merged.Created = 200, CreationRange{}
	if n := compare(t, b.commit(Change{Operation: table.OpReplace, Add: []*Entry{merged}, Remove: []string{fake(1).Path, fake(2).Path}})); n != 299 {
		t.Errorf("%d entries", n)
	}
	for name, values := range partitionCases() {
		typ, transform, _ := strings.Cut(name, "/")
		if strings.HasPrefix(typ, "fixed") { // plain fixed values are left to iceberg-go
			continue
		}
		apply, err := iceberg.ParseTransform(transform)
		if err != nil {
			t.Fatal(err)
		}
		sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "x", Type: typeNamed(t, typ)})
		spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: apply})
		meta, err := table.NewMetadata(sc, &spec, table.UnsortedSortOrder, "file://"+filepath.ToSlash(t.TempDir()), iceberg.Properties{"format-version": "2"})
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t: t, meta: meta}
		var entries []*Entry
		for i, v := range append(values, nil, values[0]) {
			e := fake(i)
			e.Columns = map[int]Column{1: {Bytes: 1, Values: 100, Nulls: Unknown, NaNs: Unknown}}
			e.Partition = map[int]any{1000: v}
			entries = append(entries, e)
		}
		t.Run(name, func(t *testing.T) { compare(t, b.commit(Change{Operation: table.OpAppend, Add: entries})) })
	}
}

// TestLeftToTheLibrary: partitions of types that the projected reader does not read are read all the same.
func TestLeftToTheLibrary(t *testing.T) {
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "x", Type: typeNamed(t, "fixed[2]")})
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: iceberg.IdentityTransform{}})
	meta, err := table.NewMetadata(sc, &spec, table.UnsortedSortOrder, "file://"+filepath.ToSlash(t.TempDir()), iceberg.Properties{"format-version": "2"})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, meta: meta}
	e := fake(1)
	e.Partition = map[int]any{1000: []byte{1, 2}}
	manifests, err := b.commit(Change{Operation: table.OpAppend, Add: []*Entry{e}}).Manifests(io.LocalFS{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for got, err := range LiveEntries(io.LocalFS{}, manifests[0], &Projection{Columns: []int{1}}) {
		if err != nil || got.Path != e.Path || len(got.Columns) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d entries", n)
	}
}

// TestCutManifests: a manifest that is cut off anywhere is an error that names it, or ends between two blocks.
func TestCutManifests(t *testing.T) {
	m, data := someManifest(t, 20)
	for at := range data {
		cut := iceberg.NewManifestFile(2, "file:///cut.avro", int64(at), 0, m.SnapshotID()).Content(iceberg.ManifestContentData).Build()
		n := 0
		var failed error
		for _, err := range LiveEntries(fileOf(data[:at]), cut, nil) {
			if n++; err != nil {
				failed = err
			}
		}
		if failed == nil && n > 0 || failed != nil && !strings.Contains(failed.Error(), "cut.avro") {
			t.Fatalf("cut at %d of %d: %d entries, %v", at, len(data), n, failed)
		}
	}
}

// someManifest is a manifest of n entries, and its bytes.
func someManifest(t testing.TB, n int) (iceberg.ManifestFile, []byte) {
	t.Helper()
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64})
	meta, err := table.NewMetadata(sc, nil, table.UnsortedSortOrder, "file://"+filepath.ToSlash(t.TempDir()), iceberg.Properties{"format-version": "2"})
	if err != nil {
		t.Fatal(err)
	}
	var entries []*Entry
	for i := range n {
		entries = append(entries, fake(i))
	}
	s, err := Stage(Base{Metadata: meta, FS: io.LocalFS{}}, Change{Operation: table.OpAppend, Add: entries})
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := s.Snapshot.Manifests(io.LocalFS{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := readFile(io.LocalFS{}, manifests[0].FilePath())
	if err != nil {
		t.Fatal(err)
	}
	return manifests[0], data
}

// fileOf is an IO that has the same bytes under every name.
type fileOf []byte

func (f fileOf) Open(string) (io.File, error)    { return nil, corrupt.At(0, "not asked for") }
func (f fileOf) ReadFile(string) ([]byte, error) { return f, nil }
func (f fileOf) Remove(string) error             { return nil }

// TestBriefEntriesNeedNoMemory: what is made of an entry is its path; everything else lies in memory that is reused.
func TestBriefEntriesNeedNoMemory(t *testing.T) {
	const entries = 2000
	m, data := someManifest(t, entries)
	read := func() {
		n := 0
		for _, err := range LiveEntries(fileOf(data), m, &Projection{Columns: []int{1}}) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n != entries {
			t.Fatalf("%d entries", n)
		}
	}
	if perEntry := testing.AllocsPerRun(3, read) / entries; perEntry > 2 {
		t.Errorf("%.1f allocations per entry", perEntry)
	}
}

// FuzzLiveEntries: manifests are anyone's bytes.
func FuzzLiveEntries(f *testing.F) {
	m, data := someManifest(f, 3)
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		read := 0
		for e, err := range LiveEntries(fileOf(data), m, &Projection{Columns: []int{1}, Keep: func(*Entry) bool { return true }}) {
			if err == nil && e == nil {
				t.Fatal("neither entry nor error")
			}
			if read++; read > 1000 {
				return
			}
		}
	})
}

// BenchmarkLiveEntries reads a manifest of 20,000 entries by either reader.
func BenchmarkLiveEntries(b *testing.B) {
	const entries = 20_000
	m, data := someManifest(b, entries)
	for name, read := range map[string]func(){
		"brief": func() {
			for _, err := range LiveEntries(fileOf(data), m, &Projection{Columns: []int{1}}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		},
		"iceberg-go": func() {
			read, err := iceberg.ReadManifest(m, bytes.NewReader(data), false)
			if err != nil {
				b.Fatal(err)
			}
			for _, e := range read {
				EntryOf(e)
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/entry")
		})
	}
}
