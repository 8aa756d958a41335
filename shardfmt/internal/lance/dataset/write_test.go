package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
)

// folder is a place of its own in memory.
func folder(t testing.TB) (*blobio.Client, string) {
	t.Helper()
	c := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { c.Close() })
	return c, fmt.Sprintf("mem://dataset-test/%d/out.lance", folders.Add(1))
}

// sample is a batch of n rows of most kinds of columns, with nulls.
func sample(t testing.TB, n int) arrow.RecordBatch {
	t.Helper()
	pair := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true})
	point := arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Float64})
	m := arrow.NewMetadata([]string{"owner"}, []string{"someone"})
	s := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "at", Type: pair},
		{Name: "point", Type: point, Metadata: arrow.NewMetadata([]string{"packed"}, []string{"true"})},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
		{Name: "kind", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, Nullable: true},
	}, &m)
	var rows strings.Builder
	for i := range n {
		name, tags, vector := fmt.Sprintf(`"row %d"`, i), fmt.Sprintf(`["%d",null]`, i%5), fmt.Sprintf(`[%d,0.5]`, i)
		if i%7 == 0 {
			name, tags, vector = "null", "null", "null"
		}
		fmt.Fprintf(&rows, `{"id":%d,"name":%s,"tags":%s,"at":{"x":%d,"y":"y%d"},"point":{"a":%d,"b":0.25},"vector":%s,"kind":"k%d"}`+"\n",
			i, name, tags, i, i%3, i, vector, i%4)
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader("["+strings.ReplaceAll(strings.TrimSpace(rows.String()), "\n", ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fill writes parts of a batch.
func fill(t testing.TB, w *Writer, b arrow.RecordBatch, rows int64) {
	t.Helper()
	for from := int64(0); from < b.NumRows(); from += rows {
		if err := w.Write(b.NewSlice(from, min(b.NumRows(), from+rows))); err != nil {
			t.Fatal(err)
		}
	}
}

// holds compares the dataset at url with a batch.
func holds(t testing.TB, c *blobio.Client, url string, want arrow.RecordBatch) *Dataset {
	t.Helper()
	ctx := context.Background()
	d, err := Open(ctx, c, url, "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewSource(ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := columns(t, s)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want.Schema().Fields() {
		if f := d.Schema().Field(i); f.Name != w.Name || f.Nullable != w.Nullable || !arrow.TypeEqual(f.Type, w.Type) {
			t.Errorf("field %v, want %v", f, w)
		}
		for row := range got[i].Len() { // the items of dictionaries may stand in another order
			if a, b := got[i].ValueStr(row), want.Column(i).ValueStr(row); a != b {
				t.Fatalf("%s, row %d: %s, want %s", w.Name, row, a, b)
			}
		}
		if got[i].Len() != int(want.NumRows()) {
			t.Errorf("%s: %d rows, want %d", w.Name, got[i].Len(), want.NumRows())
		}
	}
	if r, err := d.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
	return d
}

// objects lists what lies below a dataset.
func objects(t testing.TB, c *blobio.Client, url string) (out []string) {
	t.Helper()
	for info, err := range c.List(context.Background(), url+"/") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimPrefix(info.URL, url+"/"))
	}
	return out
}

// A dataset holds the rows in fragments of so many, whatever the batches; before Close there is none.
func TestWrite(t *testing.T) {
	ctx := context.Background()
	c, url := folder(t)
	want := sample(t, 2500)
	w, err := NewWriter(ctx, c, url, want.Schema(), WriteOptions{FragmentRows: 1000, Files: lance.WriteOptions{PageBytes: 700}})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, w, want, 1700)
	if _, err := Open(ctx, c, url, ""); !errors.Is(err, ErrNoDataset) {
		t.Errorf("before Close: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Abort() // does nothing any more
	d := holds(t, c, url, want)
	var rows []uint64
	for _, f := range d.m.fragments {
		rows = append(rows, f.physical)
		info, err := c.Stat(ctx, d.dataURL(f.files[0]))
		if err != nil || uint64(info.Size) != f.files[0].size || len(f.files) != 1 || f.id != uint64(len(rows)-1) {
			t.Errorf("fragment %d: %+v, %+v, %v", f.id, f.files, info, err)
		}
	}
	if !slices.Equal(rows, []uint64{1000, 1000, 500}) || d.Version() != 1 || d.m.storage != "2.0" || d.m.writer == "" || d.m.written.IsZero() {
		t.Errorf("fragments of %v rows, %+v", rows, d.m)
	}
	if v, ok := d.Schema().Metadata().GetValue("owner"); !ok || v != "someone" {
		t.Errorf("metadata %v", d.Schema().Metadata())
	}
	if _, err := NewWriter(ctx, c, url, want.Schema(), WriteOptions{}); !errors.Is(err, ErrDataset) || !errors.Is(err, blobio.ErrExists) {
		t.Errorf("a dataset again: %v", err)
	}
	if all := objects(t, c, url); len(all) != 4 || !slices.Contains(all, "_versions/18446744073709551614.manifest") {
		t.Errorf("%v", all)
	}
}

// Without rows there are no fragments, and by default a fragment is 2^20 rows long.
func TestWriteNothing(t *testing.T) {
	ctx := context.Background()
	c, url := folder(t)
	want := sample(t, 1).NewSlice(0, 0)
	w, err := NewWriter(ctx, c, url, want.Schema(), WriteOptions{})
	if err != nil || w.o.FragmentRows != 1<<20 {
		t.Fatalf("%+v, %v", w, err)
	}
	if err := errors.Join(w.Write(want), w.Close()); err != nil {
		t.Fatal(err)
	}
	if d := holds(t, c, url, want); len(d.m.fragments) != 0 || len(objects(t, c, url)) != 1 {
		t.Errorf("%+v, %v", d.m, objects(t, c, url))
	}
}

// What is given up leaves nothing behind; a name that a file has is refused; an error names the row of the batch.
func TestWriteGivesUp(t *testing.T) {
	ctx := context.Background()
	c, url := folder(t)
	b := sample(t, 30)
	w, err := NewWriter(ctx, c, url, b.Schema(), WriteOptions{FragmentRows: 12})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, w, b, 30)
	if n := len(objects(t, c, url)); n != 2 {
		t.Errorf("%d data files are complete, want 2", n)
	}
	w.Abort()
	if left := objects(t, c, url); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := c.Put(ctx, url, []byte("a file")); err != nil {
		t.Fatal(err)
	}
	if _, err := NewWriter(ctx, c, url, b.Schema(), WriteOptions{}); !errors.Is(err, ErrDataset) {
		t.Errorf("a file of the name: %v", err)
	}

	c, url = folder(t)
	s := arrow.NewSchema([]arrow.Field{{Name: "s", Type: b.Column(3).DataType(), Nullable: true}}, nil)
	nulls, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[{"s":{"x":1}},{"s":{"x":2}},{"s":null}]`))
	if err != nil {
		t.Fatal(err)
	}
	if w, err = NewWriter(ctx, c, url, s, WriteOptions{FragmentRows: 2}); err != nil {
		t.Fatal(err)
	}
	var row *arrowtype.RowError
	if err := w.Write(nulls); !errors.As(err, &row) || row.Row != 2 || row.Field != "s" {
		t.Errorf("a null struct in row 2: %v", err)
	}
	w.Abort()
}

// meddler is a store where something happens when a manifest is made.
type meddler struct {
	*blobio.Client
	before func()
	after  error
}

func (m *meddler) Create(ctx context.Context, url string, o blobio.CreateOptions) (blobio.Writer, error) {
	if !strings.Contains(url, "/_versions/") {
		return m.Client.Create(ctx, url, o)
	}
	if m.before != nil {
		m.before()
	}
	w, err := m.Client.Create(ctx, url, o)
	return &answered{w, m.after}, err
}

// answered is a writer whose answer is lost.
type answered struct {
	blobio.Writer
	err error
}

func (a *answered) Close() error { return errors.Join(a.Writer.Close(), a.err) }

// Of two writers at once one makes the dataset, the other one is refused and leaves nothing; where nobody knows whether the
// manifest is there, the data files stay.
func TestWritersMeet(t *testing.T) {
	ctx := context.Background()
	c, url := folder(t)
	ours, theirs := sample(t, 20), sample(t, 33)
	first, err := NewWriter(ctx, c, url, theirs.Schema(), WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, first, theirs, 33)
	st := &meddler{Client: c, before: func() {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}}
	second, err := NewWriter(ctx, st, url, ours.Schema(), WriteOptions{FragmentRows: 7})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, second, ours, 20)
	if err := second.Close(); !errors.Is(err, ErrDataset) {
		t.Errorf("the second: %v", err)
	}
	second.Abort()
	holds(t, c, url, theirs)
	if all := objects(t, c, url); len(all) != 2 {
		t.Errorf("%v", all)
	}

	c, url = folder(t)
	lost := errors.New("no answer")
	w, err := NewWriter(ctx, &meddler{Client: c, after: lost}, url, ours.Schema(), WriteOptions{FragmentRows: 7})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, w, ours, 20)
	if err := w.Close(); !errors.Is(err, lost) {
		t.Errorf("a lost answer: %v", err)
	}
	w.Abort()
	holds(t, c, url, ours)
}
