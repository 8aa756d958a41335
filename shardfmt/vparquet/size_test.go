package vparquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// fromJSON makes a batch of the canonical types.
func fromJSON(t testing.TB, s *schema.Schema, text string) arrow.RecordBatch {
	t.Helper()
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A file of several GiB costs what is read of it: values beyond 4 GiB are those of the shard, in many stripes.
func TestLargeFile(t *testing.T) {
	const width, rows, stripes = 100_000, 1000, 48
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, fmt.Sprintf("a: FixedSizeBinary(%d), n: Int64", width))
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	value := make([]byte, width)
	value[7] = 7
	for i := range rows {
		b.Field(0).(*array.FixedSizeBinaryBuilder).Append(value)
		b.Field(1).(*array.Int64Builder).Append(int64(i))
	}
	batch := b.NewRecordBatch()
	writeShard(t, c, "mem://vparquet-large/one.amudai.shard", s, batch)
	var inputs []merge.Input
	for range stripes {
		inputs = append(inputs, merge.Input{URL: "mem://vparquet-large/one.amudai.shard"})
	}
	if _, err := merge.Concat(t.Context(), c, "mem://vparquet-large/all.amudai.shard", inputs, merge.Options{}); err != nil {
		t.Fatal(err)
	}
	f := openFile(t, openShard(t, c, "mem://vparquet-large/all.amudai.shard"), Options{})
	if f.Size() < 1<<32 || f.Rows() != rows*stripes || len(f.RowGroups()) != stripes {
		t.Fatalf("%d bytes, %d rows, %d row groups", f.Size(), f.Rows(), len(f.RowGroups()))
	}
	r, err := file.NewParquetReader(&readerAt{f: f})
	if err != nil {
		t.Fatal(err)
	}
	if n := f.Stats().RowsDecoded; n != 0 {
		t.Errorf("%d rows decoded for the footer", n)
	}
	last, err := r.RowGroup(stripes - 1).Column(1)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]int64, rows)
	if total, _, err := last.(*file.Int64ColumnChunkReader).ReadBatch(rows, got, make([]int16, rows), nil); err != nil || total != rows || got[rows-1] != rows-1 {
		t.Errorf("%d rows of the last row group, the last %d: %v", total, got[rows-1], err)
	}
	full := f.leaves[0].pageSize(80, 80, 0)
	k := f.groups[44].chunks[0]
	p := make([]byte, 16)
	if err := f.ReadRange(t.Context(), k.start+full+headerBytes+levelBytes(80, 1), p); err != nil || p[7] != 7 || k.start < 1<<32 {
		t.Errorf("page 1 of row group 44 at %d: %x, %v", k.start, p, err)
	}
	if n := f.Stats().RowsDecoded; n > rows+100 {
		t.Errorf("%d rows decoded", n)
	}
}

// Where the values contradict the counts of their descriptor, reading ends before a byte that the footer denies.
func TestContradictions(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, "a: String, l: List<Int32>")
	fill := &filler{rand.New(rand.NewPCG(7, 7)), 0.1}
	shard := writeShard(t, c, "mem://vparquet-lies/a.amudai.shard", s, randomBatch(s, fill, 9000))
	for name, lie := range map[string]func(f *File){
		"more bytes":  func(f *File) { f.groups[0].chunks[0].size--; f.groups[0].chunks[0].room-- },
		"fewer bytes": func(f *File) { f.groups[0].chunks[0].size++; f.groups[0].chunks[0].room++ },
		"room":        func(f *File) { f.groups[0].chunks[1].room = 1000 },
	} {
		f := openFile(t, shard, Options{})
		lie(f)
		var n bytes.Buffer
		if err := f.WriteRange(t.Context(), &n, 0, f.dataEnd); !errors.Is(err, corrupt.ErrCorrupt) || int64(n.Len()) >= f.dataEnd {
			t.Errorf("%s: %v after %d bytes", name, err, n.Len())
		}
		k := f.groups[0].chunks[0]
		if name == "room" {
			k = f.groups[0].chunks[1]
		}
		if err := f.WriteRange(t.Context(), io.Discard, k.start+500, 10); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s, a part: %v", name, err)
		}
	}
}

// One cache serves files of one shard whose columns or types differ.
func TestCacheOfSeveralViews(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, "a: Int32, t: DateTime, s: String")
	fill := &filler{rand.New(rand.NewPCG(8, 8)), 0.1}
	shard := writeShard(t, c, "mem://vparquet-views/a.amudai.shard", s, randomBatch(s, fill, 100))
	cache := NewCache(1 << 20)
	for _, o := range []Options{
		{}, {FieldIDs: []int{0, 2, 3}}, {FieldIDs: []int{1, 0, 3}}, {Types: func(id int) string { return map[int]string{1: "decimal(10, 0)"}[id] }},
		{Types: func(id int) string { return map[int]string{1: "decimal(12, 0)"}[id] }}, {FieldIDs: []int{1, 2, 4}},
	} {
		plain := openFile(t, shard, o)
		o.Cache = cache
		f := openFile(t, shard, o)
		want := whole(t, plain)
		for range 2 { // made, then from the cache
			if !bytes.Equal(whole(t, f), want) {
				t.Errorf("%v: the cache changes bytes", o.FieldIDs)
			}
		}
	}
}

// Deleted rows are in the file, so that positions are those of the shard.
func TestDeletedRowsAreThere(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	for _, name := range []string{"one", "two"} {
		url, err := c.Mount(t.Context(), "../testdata/deleted/deleted-count-"+name+".amudai.shard")
		if err != nil {
			t.Fatal(err)
		}
		s := parseSchema(t, "n: Int64")
		f := openFile(t, openShard(t, c, url), Options{})
		checkRows(t, whole(t, f), s, fromJSON(t, s, `[{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}]`))
	}
}

// Columns of types that only other engines' tables have.
func TestTypesOfTheTable(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, "day: DateTime, local: DateTime, small: Decimal, mid: Decimal, wide: Decimal, whole: Int32, big: UInt8")
	types := map[int]string{1: "date", 2: "timestamp", 3: "decimal(9, 2)", 4: "decimal(18, 0)", 5: "decimal(38, 10)", 6: "decimal(20, 0)", 7: "decimal(20,0)"}
	decimals := func(texts ...string) (out [][]byte) {
		for _, text := range texts {
			v, err := decimal.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, decimalBytes(v))
		}
		return out
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	ticks := func(i int, v ...int64) {
		b.Field(i).(*array.ExtensionBuilder).StorageBuilder().(*array.Int64Builder).AppendValues(v, nil)
	}
	ticks(0, epochTicks-1, epochTicks+864_000_000_000)
	ticks(1, epochTicks-1, epochTicks+19)
	for i, texts := range [][]string{{"-1234567.89", "0.1"}, {"-999999999999999999", "12E3"}, {"-123456789012345678901234.0123456789", "1E-10"}} {
		for _, v := range decimals(texts...) {
			b.Field(2 + i).(*array.ExtensionBuilder).StorageBuilder().(*array.FixedSizeBinaryBuilder).Append(v)
		}
	}
	b.Field(5).(*array.Int32Builder).AppendValues([]int32{-5, 7}, nil)
	b.Field(6).(*array.Uint8Builder).AppendValues([]uint8{255, 0}, nil)
	shard := writeShard(t, c, "mem://vparquet-typed/a.amudai.shard", s, b.NewRecordBatch())
	f := openFile(t, shard, Options{Types: func(id int) string { return types[id] }})
	var got []string
	for _, column := range readColumns(t, whole(t, f)) {
		for i := range column.Len() {
			got = append(got, column.DataType().String()+" "+column.ValueStr(i))
		}
	}
	want := []string{"date32 1969-12-31", "date32 1970-01-02", "timestamp[us] 1969-12-31T23:59:59.999999", "timestamp[us] 1970-01-01T00:00:00.000001",
		"decimal(9, 2) -1234567.89", "decimal(9, 2) 0.1", "decimal(18, 0) -999999999999999999", "decimal(18, 0) 12000",
		"decimal(38, 10) -123456789012345678901234.0123456789", "decimal(38, 10) 1e-10", "decimal(20, 0) -5", "decimal(20, 0) 7",
		"decimal(20, 0) 255", "decimal(20, 0) 0"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nexpected %q", got, want)
	}
	types[3] = "decimal(8, 2)"
	f = openFile(t, shard, Options{Types: func(id int) string { return types[id] }})
	if err := f.WriteRange(t.Context(), io.Discard, 0, f.Size()); err == nil || !strings.Contains(err.Error(), "-1234567.89: no decimal(8, 2)") {
		t.Errorf("a number of too many digits: %v", err)
	}
}

// A page ends before the row by which its values would be too large, wherever batches end.
func TestPagesOfLargeValues(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, "s: String, l: List<String>")
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	text := strings.Repeat("x", 13<<10)
	for i := range 12 {
		b.Field(0).(*array.LargeStringBuilder).Append(text[:len(text)-i])
		l := b.Field(1).(*array.LargeListBuilder)
		l.Append(true)
		for range i % 3 {
			l.ValueBuilder().(*array.LargeStringBuilder).Append(text[:len(text)/2])
		}
	}
	batch := b.NewRecordBatch()
	shard := writeShard(t, c, "mem://vparquet-huge/a.amudai.shard", s, batch)
	f, err := open(t.Context(), shard, Options{}, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	want := []int{4, 4, 4} // four of 13 KiB are within 64 KiB, five are not
	for column, most := range [][]int{want, nil} {
		n, err := f.count(t.Context(), 0, column)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, p := range n.pages {
			got = append(got, int(p.rows))
		}
		if most != nil && !reflect.DeepEqual(got, most) {
			t.Errorf("pages of %v rows, expected %v", got, most)
		}
		for at := range 3 { // from the start of each page on, they are the same
			if at >= len(n.pages) {
				break
			}
			row := 0
			for _, r := range got[:at] {
				row += r
			}
			var again []int
			if err := f.shred(t.Context(), chunkRows{0, column, int64(row), f.groups[0].rows}, func(p *page) error { again = append(again, p.rows); return nil }); err != nil || !reflect.DeepEqual(again, got[at:]) {
				t.Errorf("from row %d: pages of %v rows, expected %v, %v", row, again, got[at:], err)
			}
		}
	}
	checkRows(t, whole(t, f), s, batch)
	if f.groups[0].chunks[0].exact {
		t.Error("the number of pages is not known")
	}
}

// Shards of the reference read as they do by scans.
func TestInterop(t *testing.T) {
	root := os.Getenv("SHARDCAT_INTEROP")
	if root == "" {
		t.Skip("SHARDCAT_INTEROP is not set: shards of the reference are not read")
	}
	paths, err := filepath.Glob(filepath.Join(root, "*", "shard.amudai.shard"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	cache := NewCache(64 << 20)
	opened := 0
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			url, err := c.Mount(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			shard := openShard(t, c, url)
			f := openFile(t, shard, Options{Cache: cache})
			if f.Stats().ChunksCounted == 0 {
				opened++
			}
			s, batches := scanAll(t, shard)
			checkRows(t, whole(t, f), s, batches...)
		})
	}
	t.Logf("%d of %d shards were opened without decoding", opened, len(paths))
}

func scanAll(t *testing.T, shard *shardfmt.Shard) (*schema.Schema, []arrow.RecordBatch) {
	t.Helper()
	ctx := context.Background()
	s, err := shard.Project(ctx, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	var out []arrow.RecordBatch
	for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{IncludeDeleted: true, BatchRows: 5000}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return s, out
}

// Statistics in the footer are bounds of the values, and there are none where the order of values is another one.
func TestStatistics(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, `i: Int8, u: UInt64, f: Float64, nan: Float64, s: String, t: DateTime, b: Boolean, d: Decimal, dyn: Dynamic, g: FixedSizeBinary(2),
		l: List<Int64>, st: Struct<x: Int64>, none: Int64, sp: TimeSpan`)
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	for i := range 3 {
		b.Field(0).(*array.Int8Builder).Append(int8(-i))
		b.Field(1).(*array.Uint64Builder).Append(math.MaxUint64 - uint64(i))
		b.Field(2).(*array.Float64Builder).Append(float64(i) / 2)
		b.Field(3).(*array.Float64Builder).Append([]float64{1, math.NaN(), 2}[i])
		b.Field(4).(*array.LargeStringBuilder).Append([]string{"b", "\u00e9", "a"}[i])
		b.Field(5).(*array.ExtensionBuilder).StorageBuilder().(*array.Int64Builder).Append(epochTicks + int64(i)*19)
		b.Field(6).(*array.BooleanBuilder).Append(true)
		b.Field(7).(*array.ExtensionBuilder).StorageBuilder().(*array.FixedSizeBinaryBuilder).Append(decimalBytes(decimal.FromInt(int64(i))))
		b.Field(8).(*array.ExtensionBuilder).StorageBuilder().(*array.BinaryBuilder).Append([]byte("1"))
		b.Field(9).(*array.FixedSizeBinaryBuilder).Append([]byte{byte(i), 1})
		l := b.Field(10).(*array.LargeListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.Int64Builder).Append(int64(i))
		st := b.Field(11).(*array.StructBuilder)
		if i == 0 {
			st.AppendNull()
		} else {
			st.Append(true)
			st.FieldBuilder(0).(*array.Int64Builder).Append(int64(i))
		}
		b.Field(12).AppendNull()
		b.Field(13).(*array.ExtensionBuilder).StorageBuilder().(*array.Int64Builder).Append(int64(-i))
	}
	f := openFile(t, writeShard(t, c, "mem://vparquet-stats/a.amudai.shard", s, b.NewRecordBatch()), Options{})
	m := metadataOf(t, f)
	var got []string
	for column, l := range f.leaves {
		k, err := m.RowGroup(0).ColumnChunk(column)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(l.path, ".")
		if st, err := k.Statistics(); err == nil && st != nil {
			if st.HasMinMax() {
				text += fmt.Sprintf(" %x..%x", st.EncodeMin(), st.EncodeMax())
			}
			if f.groups[0].chunks[column].stats.counted { // HasNullCount is true without a count, too
				text += fmt.Sprint(" nulls ", st.NullCount())
			}
		}
		got = append(got, text)
	}
	want := []string{
		"i feffffff..00000000 nulls 0", "u 00fffffffffffffffd..00ffffffffffffffff nulls 0", "f 0000000000000080..000000000000f03f nulls 0",
		"nan nulls 0", "s 61..c3a9 nulls 0", "t 0000000000000000..0300000000000000 nulls 0", "b 01..01 nulls 0", "d nulls 0", "dyn nulls 0",
		"g 0001..0201 nulls 0", "l.list.element 0000000000000000..0200000000000000", "st.x 0100000000000000..0200000000000000", "none nulls 3",
		"sp feffffffffffffff..0000000000000000 nulls 0",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func readColumns(t *testing.T, b []byte) (out []arrow.Array) {
	t.Helper()
	table := readTable(t, b)
	for i := range int(table.NumCols()) {
		out = append(out, table.Column(i).Data().Chunk(0))
	}
	return out
}
