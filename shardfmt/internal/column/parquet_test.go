package column

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetchunk"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// files is a stripe of one field over objects by name.
type files struct {
	objects map[string][]byte
	field   *metapb.StripeFieldDescriptor
	gets    []string
}

func (f *files) StripeField(context.Context, int, uint32) (*metapb.StripeFieldDescriptor, string, error) {
	return f.field, "root", nil
}

func (f *files) Resolve(anchor, ref string) (string, error) {
	if ref == "" {
		return anchor, nil
	}
	return ref, nil
}

func (f *files) read(node *schema.Node, r colstream.Range) (arrow.Array, error) {
	c, err := Open(context.Background(), Field{Source: f, Node: node, Records: f.field.Field.PositionCount}, nil)
	if err != nil {
		return nil, err
	}
	for {
		q, err := c.Need([]colstream.Range{r}, false)
		if err != nil {
			return nil, err
		}
		if len(q) == 0 {
			break
		}
		for _, x := range q {
			f.gets = append(f.gets, fmt.Sprintf("%s %d", x.URL, x.End-x.Start))
			if x.End > uint64(len(f.objects[x.URL])) {
				return nil, errors.New("a range beyond the object")
			}
			if err := x.Fill(f.objects[x.URL][x.Start:x.End]); err != nil {
				return nil, err
			}
		}
	}
	d, err := c.Read(r)
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(d), nil
}

var numberNode = &schema.Node{Name: "n", Basic: schema.Int64, Signed: true, Nullable: true}

// numbersFile is a Parquet file of the numbers 0 … 10·rows−1 in ten row groups of small pages, and a stripe over it.
func numbersFile(t *testing.T, rows int) *files {
	t.Helper()
	leaf, err := pqschema.NewPrimitiveNode("n", parquet.Repetitions.Required, parquet.Types.Int64, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := pqschema.NewPrimitiveNode("m", parquet.Repetitions.Required, parquet.Types.Int64, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	root, err := pqschema.NewGroupNode("schema", parquet.Repetitions.Required, pqschema.FieldList{other, leaf}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(parquet.WithDataPageSize(256), parquet.WithBatchSize(16))))
	for g := range 10 {
		values := make([]int64, rows)
		for i := range values {
			values[i] = int64(g*rows + i)
		}
		rg, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			c, err := rg.NextColumn()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.(*file.Int64ColumnChunkWriter).WriteBatch(values, nil, nil); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return over(t, out.Bytes(), 1)
}

// over is a stripe over a column of a file.
func over(t *testing.T, b []byte, column int) *files {
	t.Helper()
	f := &files{objects: map[string][]byte{"file": b, "root": make([]byte, 64)}}
	footer, _, err := parquetchunk.ParseTail(b, int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	ref := &metapb.ParquetFileColumnRef{FileRef: meta.NewRef("file", 0, uint64(len(b)))}
	positions := uint64(0)
	for g := range footer.RowGroups() {
		c, err := footer.Chunk(g, column)
		if err != nil {
			t.Fatal(err)
		}
		chunk := c.Reference(g, column)
		m, err := c.Map(b[c.Pages.Start:c.Pages.End], nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := uint64(len(f.objects["root"]))
		f.objects["root"] = m.Append(f.objects["root"])
		chunk.DataPageMap, chunk.DataPageCount = meta.SelfRef(at, uint64(len(f.objects["root"]))), uint64(m.Blocks())
		ref.ColumnChunks = append(ref.ColumnChunks, chunk)
		positions += c.Rows
	}
	f.field = &metapb.StripeFieldDescriptor{Field: count(positions), Encodings: []*metapb.DataEncoding{{Kind: &metapb.DataEncoding_Parquet{
		Parquet: &metapb.ExternalParquetDataEncoding{FileColumnRefs: []*metapb.ParquetFileColumnRef{ref}}}}}}
	return f
}

func (f *files) chunk(i int) *metapb.ParquetColumnChunkRef {
	return f.field.Encodings[0].GetParquet().FileColumnRefs[0].ColumnChunks[i]
}

// want reads a range that must be the numbers of its positions.
func (f *files) want(t *testing.T, r colstream.Range) {
	t.Helper()
	a, err := f.read(numberNode, r)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range a.(*array.Int64).Int64Values() {
		if v != int64(r.Start)+int64(i) || a.Len() != int(r.Len()) {
			t.Fatalf("value %d of [%d, %d) is %d", i, r.Start, r.End, v)
		}
	}
}

func TestParquetWithoutPageMap(t *testing.T) {
	f := numbersFile(t, 500)
	f.want(t, colstream.Range{Start: 1234, End: 1235})
	some := len(f.gets)
	for i := range 10 {
		f.chunk(i).DataPageMap = nil
	}
	for _, r := range []colstream.Range{{Start: 0, End: 5000}, {Start: 499, End: 501}, {Start: 1234, End: 1235}} {
		f.want(t, r)
	}
	if some < 3 {
		t.Errorf("%d requests: footer, map, page", some)
	}
}

// The dictionary of a chunk is given back with its last position, and takes memory for one chunk at a time.
func TestParquetDictionariesAreReleased(t *testing.T) {
	const limit, rows, entries = 1 << 20, 500, 50
	types := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range int64(10 * rows) {
		b.Append(i % entries)
	}
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(types, &out, parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(rows)), pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.Write(array.NewRecordBatch(types, []arrow.Array{b.NewArray()}, 10*rows))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	free := func(release bool) uint64 {
		f, mem := over(t, out.Bytes(), 0), budget.New(limit).Account()
		c, err := Open(t.Context(), Field{Source: f, Node: numberNode, Records: f.field.Field.PositionCount}, mem)
		if err != nil {
			t.Fatal(err)
		}
		for g := range uint64(10) {
			r := colstream.Range{Start: g * rows, End: (g + 1) * rows}
			mem.NextBatch(false)
			mem.Fetched(limit)
			for q := f.mustNeed(t, c, r); len(q) > 0; q = f.mustNeed(t, c, r) {
				for _, x := range q {
					if err := x.Fill(f.objects[x.URL][x.Start:x.End]); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := c.Read(r); err != nil {
				t.Fatal(err)
			}
			if release {
				c.Release(r.End)
			}
		}
		mem.NextBatch(false)
		return uint64(sort.Search(limit, func(n int) bool {
			err := mem.Hold(uint64(n))
			if err == nil {
				mem.Drop(uint64(n))
			}
			return err != nil
		}))
	}
	if kept, released := free(false), free(true); released < kept+10*entries*8 {
		t.Errorf("%d bytes are free where dictionaries are released, %d otherwise", released, kept)
	}
}

func (f *files) mustNeed(t *testing.T, c Column, r colstream.Range) []colstream.Request {
	t.Helper()
	q, err := c.Need([]colstream.Range{r}, false)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// The pages may be in another file than the footer, which is read for the footer alone.
func TestParquetPagesInAnotherFile(t *testing.T) {
	f := numbersFile(t, 100)
	f.objects["pages"] = f.objects["file"]
	summary := bytes.Clone(f.objects["file"])
	for i := range 10 {
		name := "pages"
		f.chunk(i).FileUrl = &name
		clear(summary[f.chunk(i).DataPagesRange.Start:f.chunk(i).DataPagesRange.End])
	}
	f.objects["file"] = summary
	f.want(t, colstream.Range{Start: 0, End: 1000})
}

// A reference that states something else than the footer is corrupt, and so is one to a part of a chunk.
func TestParquetReferencesAreHeldToTheFooter(t *testing.T) {
	for name, change := range map[string]func(f *files, c *metapb.ParquetColumnChunkRef){
		"storage type":   func(_ *files, c *metapb.ParquetColumnChunkRef) { c.StorageType = metapb.ParquetStorageType_DOUBLE },
		"schema element": func(_ *files, c *metapb.ParquetColumnChunkRef) { c.SchemaElementId = 1 },
		"row group":      func(_ *files, c *metapb.ParquetColumnChunkRef) { c.RowGroupId = 4 },
		"no row group":   func(_ *files, c *metapb.ParquetColumnChunkRef) { c.RowGroupId = 1 << 31 },
		"column chunk":   func(_ *files, c *metapb.ParquetColumnChunkRef) { c.ColumnChunkId = 0 },
		"no chunk":       func(_ *files, c *metapb.ParquetColumnChunkRef) { c.ColumnChunkId = 2 },
		"part":           func(_ *files, c *metapb.ParquetColumnChunkRef) { c.DataPagesRange.End-- },
		"start":          func(_ *files, c *metapb.ParquetColumnChunkRef) { c.DataPagesRange.Start++ },
		"backwards":      func(_ *files, c *metapb.ParquetColumnChunkRef) { c.DataPagesRange.Start = 1 << 60 },
		"dictionary": func(_ *files, c *metapb.ParquetColumnChunkRef) {
			c.DictionaryRange = &metapb.UInt64Range{Start: c.DataPagesRange.Start - 9, End: c.DataPagesRange.Start}
		},
		"page count":    func(_ *files, c *metapb.ParquetColumnChunkRef) { c.DataPageCount++ },
		"count, no map": func(_ *files, c *metapb.ParquetColumnChunkRef) { c.DataPageCount++; c.DataPageMap = nil },
		"map of another": func(f *files, c *metapb.ParquetColumnChunkRef) {
			var b colstream.MapBuilder
			b.Add(uint32(100), uint32(c.DataPagesRange.End-c.DataPagesRange.Start-1))
			at := uint64(len(f.objects["root"]))
			f.objects["root"] = b.Append(f.objects["root"])
			c.DataPageMap, c.DataPageCount = meta.SelfRef(at, uint64(len(f.objects["root"]))), 1
		},
		"positions": func(f *files, _ *metapb.ParquetColumnChunkRef) { f.field.Field.PositionCount++ },
		"file size": func(f *files, _ *metapb.ParquetColumnChunkRef) {
			f.field.Encodings[0].GetParquet().FileColumnRefs[0].FileRef.Range.End--
		},
		"part of file": func(f *files, _ *metapb.ParquetColumnChunkRef) {
			f.field.Encodings[0].GetParquet().FileColumnRefs[0].FileRef.Range.Start = 4
		},
	} {
		f := numbersFile(t, 100)
		f.want(t, colstream.Range{Start: 300, End: 301})
		f.field = proto.CloneOf(f.field)
		change(f, f.chunk(3))
		if _, err := f.read(numberNode, colstream.Range{Start: 0, End: 1000}); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// INT96 holds years that 64 bits of nanoseconds do not, and is refused outside of those of a DateTime.
func TestParquetInt96(t *testing.T) {
	leaf, err := pqschema.NewPrimitiveNode("at", parquet.Repetitions.Optional, parquet.Types.Int96, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	root, err := pqschema.NewGroupNode("schema", parquet.Repetitions.Required, pqschema.FieldList{leaf}, -1)
	if err != nil {
		t.Fatal(err)
	}
	int96 := func(day uint32, nanos uint64) (v parquet.Int96) {
		for i := range 8 {
			v[i] = byte(nanos >> (8 * i))
		}
		for i := range 4 {
			v[8+i] = byte(day >> (8 * i))
		}
		return v
	}
	times := func(values ...parquet.Int96) *files {
		var out bytes.Buffer
		w := file.NewParquetWriter(&out, root)
		rg, err := w.AppendRowGroupChecked()
		if err != nil {
			t.Fatal(err)
		}
		c, err := rg.NextColumn()
		if err != nil {
			t.Fatal(err)
		}
		levels := []int16{1, 0, 1}
		if _, err := c.(*file.Int96ColumnChunkWriter).WriteBatch(values, levels[:2*len(values)-1], nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return over(t, out.Bytes(), 0)
	}
	node := &schema.Node{Name: "at", Basic: schema.DateTime, Nullable: true}
	a, err := times(int96(1721426, 100), int96(2440588, 1_000_000_099)).read(node, colstream.Range{Start: 0, End: 3})
	if err != nil {
		t.Fatal(err)
	}
	ticks := a.(*arrowtype.DateTimeArray).Ticks()
	if ticks[0] != 1 || !a.IsNull(1) || ticks[2] != 621_355_968_000_000_000+10_000_000 {
		t.Errorf("%v", ticks)
	}
	// Nanoseconds beyond the day are of the next, as where the file is copied.
	a, err = times(int96(2440587, 86_400_000_000_000), int96(1721425, 86_400_000_000_200)).read(node, colstream.Range{Start: 0, End: 3})
	if err != nil {
		t.Fatal(err)
	}
	if ticks := a.(*arrowtype.DateTimeArray).Ticks(); ticks[0] != 621_355_968_000_000_000 || ticks[2] != 2 {
		t.Errorf("%v", ticks)
	}
	for _, bad := range []parquet.Int96{int96(1721425, 0), int96(1<<31, 0), int96(5373484, 86_400_000_000_000)} {
		if _, err := times(bad).read(node, colstream.Range{Start: 0, End: 1}); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
