package vparquet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Every type and every way of nesting comes back as it is in the shard, with and without nulls, from several stripes and pages.
func TestEveryTypeAndNesting(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	for i, nulls := range []float64{0, 0.3, 1} {
		s := parseSchema(t, everyType)
		f := &filler{rand.New(rand.NewPCG(1, uint64(i))), nulls}
		batches := []arrow.RecordBatch{randomBatch(s, f, 9000), randomBatch(s, f, 1), randomBatch(s, f, 1003)}
		shard := writeShard(t, c, fmt.Sprintf("mem://vparquet-types/%d.amudai.shard", i), s, batches...)
		b := whole(t, openFile(t, shard, Options{}))
		if path := os.Getenv("VPARQUET_DUMP"); path != "" {
			if err := os.WriteFile(fmt.Sprintf("%s/types%d.parquet", path, i), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		checkRows(t, b, s, batches...)
	}
}

// typesShard is a shard of every type with two stripes of several pages.
func typesShard(t testing.TB, c *blobio.Client, url string) *shardfmt.Shard {
	s := parseSchema(t, everyType)
	f := &filler{rand.New(rand.NewPCG(2, 2)), 0.2}
	return writeShard(t, c, url, s, randomBatch(s, f, 9000), randomBatch(s, f, 500))
}

// A range has the bytes that the whole has there, whatever was read before, with a cache, with one too small, and without; another process
// makes the same bytes.
func TestRangesAreTheWhole(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	shard := typesShard(t, c, "mem://vparquet-ranges/a.amudai.shard")
	want := whole(t, openFile(t, shard, Options{}))
	r := rand.New(rand.NewPCG(3, 3))
	for name, o := range map[string]Options{"no cache": {}, "cache": {Cache: NewCache(256 << 20)}, "small cache": {Cache: NewCache(1 << 20)}, "one worker": {Workers: 1}} {
		f := openFile(t, shard, o)
		for range 60 {
			off := r.Int64N(f.Size())
			n := min(r.Int64N(1<<(6+r.IntN(16))), f.Size()-off)
			got := make([]byte, n)
			if err := f.ReadRange(t.Context(), off, got); err != nil {
				t.Fatal(name, err)
			}
			if !bytes.Equal(got, want[off:off+n]) {
				t.Fatalf("%s: %d bytes at %d differ", name, n, off)
			}
		}
		if got := whole(t, f); !bytes.Equal(got, want) {
			t.Fatalf("%s: the whole differs", name)
		}
		if o.Cache != nil && o.Cache.Used() > o.Cache.limit {
			t.Errorf("%s: %d bytes in use", name, o.Cache.Used())
		}
	}
	f := openFile(t, shard, Options{})
	for _, bad := range [][2]int64{{-1, 1}, {0, -1}, {f.Size(), 1}, {f.Size() + 1, 0}, {1, f.Size()}} {
		if err := f.WriteRange(t.Context(), io.Discard, bad[0], bad[1]); !errors.Is(err, errRange) {
			t.Errorf("range %v: %v", bad, err)
		}
	}
}

// metadataOf reads the footer of a file by arrow-go.
func metadataOf(t testing.TB, f *File) *metadata.FileMetaData {
	t.Helper()
	r, err := file.NewParquetReader(&readerAt{f: f})
	if err != nil {
		t.Fatal(err)
	}
	return r.MetaData()
}

// readerAt reads a file by ranges.
type readerAt struct {
	f  *File
	at int64
}

func (r *readerAt) ReadAt(p []byte, off int64) (int, error) {
	n := min(int64(len(p)), r.f.Size()-off)
	if err := r.f.ReadRange(context.Background(), off, p[:n]); err != nil {
		return 0, err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (r *readerAt) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.at)
	r.at += int64(n)
	return n, err
}

func (r *readerAt) Seek(off int64, whence int) (int64, error) {
	r.at = off + []int64{0, r.at, r.f.Size()}[whence]
	return r.at, nil
}

// The work of a range is that of the rows that it covers; the footer of flat columns is made of the root.
func TestARangeDecodesWhatItCovers(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, "a: Int64, b: Float64, s: String, l: List<Int32>")
	r := &filler{rand.New(rand.NewPCG(4, 4)), 0.1}
	const rows = 100_000
	batch := randomBatch(s, r, rows)
	shard := writeShard(t, c, "mem://vparquet-work/a.amudai.shard", s, batch, batch)
	flat := []int{1, 2, 3, 0, 0}
	work := func(f *File, off, n int64) Stats {
		before := f.Stats()
		if err := f.WriteRange(t.Context(), io.Discard, off, n); err != nil {
			t.Fatal(err)
		}
		s := f.Stats()
		s.RowsDecoded -= before.RowsDecoded
		s.BlocksRead -= before.BlocksRead
		s.PagesMade -= before.PagesMade
		s.PagesCached -= before.PagesCached
		s.ChunksCounted -= before.ChunksCounted
		return s
	}
	f := openFile(t, shard, Options{FieldIDs: flat, Cache: NewCache(64 << 20)})
	tail := f.footerLen + 8 + tailGap
	if w := work(f, f.Size()-tail, tail); w != (Stats{}) {
		t.Errorf("footer and gap: %+v", w)
	}
	m := metadataOf(t, f)
	at := func(group, column int) (off, n int64) {
		k, err := m.RowGroup(group).ColumnChunk(column)
		if err != nil {
			t.Fatal(err)
		}
		return k.DataPageOffset(), k.TotalCompressedSize()
	}
	off, n := at(0, 0)
	full := f.leaves[0].pageSize(pageRows, pageRows, 0)
	if w := work(f, off+5*full+100, 2*full-200); w.RowsDecoded != 2*pageRows || w.PagesMade != 2 || w.BlocksRead > 2*pageRows/256 {
		t.Errorf("two pages: %+v", w)
	}
	if w := work(f, off+5*full+100, 2*full-200); w.RowsDecoded != 0 || w.PagesCached != 2 {
		t.Errorf("the same two pages: %+v", w)
	}
	if w := work(f, off, n); w.RowsDecoded > rows+pageRows || w.PagesMade != 11 || w.PagesCached != 2 {
		t.Errorf("the chunk around them: %+v", w)
	}
	off, n = at(1, 2)
	if w := work(f, off, n); w.RowsDecoded != rows || w.PagesMade != 13 || w.ChunksCounted != 0 {
		t.Errorf("a chunk of strings: %+v", w)
	}
	if w := work(f, off+n/2, 1000); w.RowsDecoded != 0 || w.PagesCached == 0 || w.ChunksCounted != 0 {
		t.Errorf("a part of it: %+v", w)
	}
	off, n = at(0, 2)
	if w := work(f, off+n/2, 1000); w.ChunksCounted != 1 || w.PagesMade > 2 || w.RowsDecoded > rows+2*pageRows {
		t.Errorf("a part of another one: %+v", w)
	}
	all := openFile(t, shard, Options{Cache: NewCache(64 << 20)})
	if w := all.Stats(); w != (Stats{}) {
		t.Errorf("opening with a list: %+v", w)
	}
	if w := work(all, all.Size()-8, 8); w.ChunksCounted != 2 || w.RowsDecoded != 2*rows || w.PagesMade != 0 {
		t.Errorf("the footer with a list: %+v", w)
	}
	if w := work(openFile(t, shard, Options{Cache: all.o.Cache}), all.Size()-8, 8); w.ChunksCounted != 0 {
		t.Errorf("the footer of a file whose counts are cached: %+v", w)
	}
}

// The bytes of a file belong to a version of the layout: whoever changes them changes Version, and with it the names of objects.
func TestBytesOfTheVersion(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, everyType)
	written := writeShard(t, c, "mem://vparquet-version/a.amudai.shard", s, randomBatch(s, &filler{rand.New(rand.NewPCG(14, 14)), 0.2}, 9000),
		randomBatch(s, &filler{rand.New(rand.NewPCG(15, 15)), 0}, 50))
	at, err := filepath.Abs("../testdata/deleted/deleted-count-one.amudai.shard")
	if err != nil {
		t.Fatal(err)
	}
	other, err := shardfmt.Open(t.Context(), c, "file://"+at, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for name, test := range map[string]struct {
		shard *shardfmt.Shard
		want  string
	}{
		"every type":          {written, "1 262773ff81725334"},
		"a reference's shard": {other, "1 2954beb1bd01a3c6"},
	} {
		sum := sha256.Sum256(whole(t, openFile(t, test.shard, Options{})))
		if got := fmt.Sprintf("%d %x", Version, sum[:8]); got != test.want {
			t.Errorf("%s: version and hash are %s, want %s: other bytes need another version, unless the shard itself has changed", name, got, test.want)
		}
	}
}

// The first page of a column chunk is written before the second one is made, and after one batch of its rows was decoded: an answer begins with that
// work, however many rows the row group has.
func TestAChunkBeginsWithItsFirstPage(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, "i: Int64, d: Float64, s: String, t: DateTime, b: Boolean, l: List<Int32>, st: Struct<x: Int64>, dec: Decimal")
	const rows = 1 << 18
	batch := randomBatch(s, &filler{rand.New(rand.NewPCG(12, 12)), 0.1}, rows)
	f := openFile(t, writeShard(t, c, "mem://vparquet-first/a.amudai.shard", s, batch), Options{Cache: NewCache(1 << 20)})
	for column, l := range f.leaves {
		before, first := f.Stats(), Stats{}
		begun := errors.New("begun")
		k := &f.groups[0].chunks[column]
		err := f.WriteRange(t.Context(), writerFunc(func(p []byte) (int, error) {
			first = f.Stats()
			return 0, begun
		}), k.start, k.room)
		if !errors.Is(err, begun) {
			t.Errorf("%s: %v", l.column, err)
		}
		if made, decoded, counted := first.PagesMade-before.PagesMade, first.RowsDecoded-before.RowsDecoded, first.ChunksCounted-before.ChunksCounted; made != 1 ||
			decoded > shardfmt.DefaultBatchRows || counted != 0 {
			t.Errorf("%s: %d pages of %d rows were made before the first byte, %d chunks counted", l.column, made, decoded, counted)
		}
	}
}

// A reader of some columns of a row group is given at most a tenth more than these have in the PLAIN encoding, the footer and what it guesses at the
// tail included.
func TestBytesOfAReader(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, "a: Int64, b: Float64, s: String, i: Int32, t: DateTime, g: Guid, l: List<Int64>")
	const rows = 200_000
	batch := randomBatch(s, &filler{rand.New(rand.NewPCG(13, 13)), 0}, rows)
	f := openFile(t, writeShard(t, c, "mem://vparquet-bytes/a.amudai.shard", s, batch, batch), Options{})
	for _, columns := range [][]int{{0, 1}, {2}, {3, 4}, {5}, {6}, {0, 1, 2, 3, 4, 5, 6}} {
		counted := &countingReader{readerAt: readerAt{f: f}}
		r, err := file.NewParquetReader(counted)
		if err != nil {
			t.Fatal(err)
		}
		plain := int64(0)
		for _, column := range columns {
			k, err := r.MetaData().RowGroup(1).ColumnChunk(column)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := counted.ReadAt(make([]byte, k.TotalCompressedSize()), k.DataPageOffset()); err != nil {
				t.Fatal(err)
			}
			plain += plainBytes(batch.Column(column))
		}
		if counted.n > plain*11/10 {
			t.Errorf("columns %v: %d bytes read, %d plain", columns, counted.n, plain)
		}
	}
}

// countingReader counts the bytes that are read.
type countingReader struct {
	readerAt
	n int64
}

func (r *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.readerAt.ReadAt(p, off)
	r.n += int64(n)
	return n, err
}

// plainBytes is the size of a column without nulls in the PLAIN encoding, without levels and headers.
func plainBytes(a arrow.Array) int64 {
	switch a := a.(type) {
	case *array.LargeString:
		return a.ValueOffset64(a.Len()) - a.ValueOffset64(0) + 4*int64(a.Len())
	case *array.LargeList:
		start, _ := a.ValueOffsets(0)
		_, end := a.ValueOffsets(a.Len() - 1)
		return 8 * (end - start)
	case array.ExtensionArray:
		return 16 * int64(a.Len())
	}
	return int64(a.DataType().(arrow.FixedWidthDataType).Bytes()) * int64(a.Len())
}

// memoryCounts is a store of counts.
type memoryCounts struct {
	sync.Map
}

func (m *memoryCounts) Load(_ context.Context, key string, chunk int) []byte {
	v, _ := m.Map.Load(fmt.Sprint(key, chunk))
	b, _ := v.([]byte)
	return b
}

func (m *memoryCounts) Store(_ context.Context, key string, chunk int, b []byte) {
	m.Map.Store(fmt.Sprint(key, chunk), b)
}

// Counts that were kept elsewhere are used; what contradicts the shard is not.
func TestCountsAreKept(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	shard := typesShard(t, c, "mem://vparquet-kept/a.amudai.shard")
	kept := &memoryCounts{}
	want := whole(t, openFile(t, shard, Options{Counts: kept, Cache: NewCache(64 << 20)}))
	again := openFile(t, shard, Options{Counts: kept})
	if got := whole(t, again); !bytes.Equal(got, want) || again.Stats().ChunksCounted != 0 {
		t.Errorf("%d chunks counted again", again.Stats().ChunksCounted)
	}
	kept.Range(func(k, v any) bool {
		kept.Map.Store(k, v.([]byte)[:pageCountBytes*(len(v.([]byte))/pageCountBytes-1)])
		return true
	})
	again = openFile(t, shard, Options{Counts: kept})
	if got := whole(t, again); !bytes.Equal(got, want) {
		t.Errorf("counts of too few rows were used")
	}
}

// The offset index names pages that lie one behind the other and fill the chunk.
func TestOffsetIndex(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	f := openFile(t, typesShard(t, c, "mem://vparquet-index/a.amudai.shard"), Options{})
	b := whole(t, f)
	m := metadataOf(t, f)
	all, err := f.extents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for g := range f.groups {
		for column := range f.leaves {
			k, err := m.RowGroup(g).ColumnChunk(column)
			if err != nil {
				t.Fatal(err)
			}
			n := all[f.number(g, column)].indexLength
			pages := parseIndex(t, b[f.groups[g].chunks[column].index:][:n])
			at, row := k.DataPageOffset(), int64(0)
			for i, p := range pages {
				if p[0] != at || p[2] < row || i == 0 && p[2] != 0 || !bytes.HasPrefix(b[p[0]:], []byte{0x15, 0x80, 0x80, 0x80, 0x80, 0x00, 0x15}) {
					t.Fatalf("group %d, column %d, page %d: %v, expected at %d", g, column, i, p, at)
				}
				at, row = at+p[1], p[2]+1
			}
			if at != k.DataPageOffset()+k.TotalCompressedSize() || len(pages) != int(ceil(f.groups[g].rows, pageRows)) {
				t.Errorf("group %d, column %d: %d pages end at %d", g, column, len(pages), at)
			}
		}
	}
}

// parseIndex reads an offset index: offset, size and first row of each page.
func parseIndex(t *testing.T, b []byte) (out [][3]int64) {
	t.Helper()
	next := func() int64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return int64(v>>1) ^ -int64(v&1)
	}
	if b[0] != 0x19 || b[1]&15 != 12 {
		t.Fatalf("no list: %x", b[:2])
	}
	n := int(b[1] >> 4)
	if b = b[2:]; n == 15 {
		v, used := binary.Uvarint(b)
		n, b = int(v), b[used:]
	}
	for range n {
		var p [3]int64
		for i, head := range []byte{0x16, 0x15, 0x16} {
			if b[0] != head {
				t.Fatalf("field %d: %x", i, b[0])
			}
			b = b[1:]
			p[i] = next()
		}
		if b[0] != 0 {
			t.Fatal("no end of a page")
		}
		b = b[1:]
		out = append(out, p)
	}
	if len(b) != 1 || b[0] != 0 {
		t.Fatalf("%x behind the pages", b)
	}
	return out
}

// The size of an index is known before it is written, for every number of pages at which the length of the list's head changes.
func TestIndexBytes(t *testing.T) {
	for _, pages := range []int{1, 14, 15, 127, 128, 16383, 16384} {
		tr := &thrift{}
		tr.open()
		tr.list(1, thriftStruct, pages)
		tr.close()
		if got, want := indexBytes(int64(pages)), int64(len(tr.b)+pages*indexPerPage); got != want {
			t.Errorf("%d pages: %d bytes, expected %d", pages, got, want)
		}
	}
}

// A shard without rows is a file without row groups; a stripe without rows has none.
func TestNoRows(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, everyType)
	f := openFile(t, writeShard(t, c, "mem://vparquet-none/a.amudai.shard", s), Options{})
	if m := metadataOf(t, f); m.NumRows != 0 || len(m.GetRowGroups()) != 0 || f.Rows() != 0 || len(f.RowGroups()) != 0 {
		t.Errorf("%d rows in %d row groups", m.NumRows, len(m.GetRowGroups()))
	}
	checkRows(t, whole(t, f), s)
}

// Columns without a field id are left out with all below them, and groups of which nothing is left.
func TestLeftOutColumns(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, "a: Int64, st: Struct<x: Int64, y: String>, l: List<Int32>, m: Map<String, Int32>, u: Union<a: Int64, b: String>, st2: Struct<x: Int64>")
	f := &filler{rand.New(rand.NewPCG(5, 5)), 0.2}
	shard := writeShard(t, c, "mem://vparquet-left/a.amudai.shard", s, randomBatch(s, f, 100))
	ids := make([]int, s.Count)
	s.Walk(func(path string, n *schema.Node) bool {
		switch path {
		case "st", "st.y", "l", "m", "m.key", "u", "u.b", "st2":
			ids[n.ID] = 100 + int(n.ID)
		}
		return true
	})
	v := openFile(t, shard, Options{FieldIDs: ids})
	var got []string
	for _, l := range v.leaves {
		got = append(got, fmt.Sprint(strings.Join(l.path, "."), " ", l.id))
	}
	if want := fmt.Sprintf("[st.y %d u.b %d]", ids[lookup(t, s, "st.y").ID], ids[lookup(t, s, "u.b").ID]); fmt.Sprint(got) != want {
		t.Errorf("%v, expected %s", got, want)
	}
	m := metadataOf(t, v)
	if n := m.Schema.Root().Field(0).FieldID(); n != int32(ids[lookup(t, s, "st").ID]) || m.Schema.Root().NumFields() != 2 {
		t.Errorf("field id %d", n)
	}
	if _, err := Open(t.Context(), shard, Options{FieldIDs: []int{1}}); err == nil {
		t.Error("one id for all nodes")
	}
}

func lookup(t *testing.T, s *schema.Schema, path string) *schema.Node {
	t.Helper()
	n, err := s.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A request ends with its client, before it has begun and while it is served.
func TestCancelled(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	f := openFile(t, typesShard(t, c, "mem://vparquet-cancel/a.amudai.shard"), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	w := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	if err := f.WriteRange(ctx, w, 0, f.Size()); !errors.Is(err, context.Canceled) {
		t.Errorf("while served: %v", err)
	}
	if made := f.Stats().PagesMade; made > 1 {
		t.Errorf("%d pages were made", made)
	}
	gone := errors.New("gone")
	if err := f.WriteRange(t.Context(), writerFunc(func([]byte) (int, error) { return 0, gone }), 0, f.Size()); !errors.Is(err, gone) {
		t.Errorf("of a client that is gone: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// Several clients read at the same time what all of them need counted, each once.
func TestConcurrentReaders(t *testing.T) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, "a: Int64, s: String, l: List<String>")
	shard := writeShard(t, c, "mem://vparquet-together/a.amudai.shard", s, randomBatch(s, &filler{rand.New(rand.NewPCG(10, 10)), 0.2}, 20_000))
	want := whole(t, openFile(t, shard, Options{}))
	f := openFile(t, shard, Options{Cache: NewCache(64 << 20)})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(11, uint64(i)))
			for range 10 {
				off := r.Int64N(f.Size())
				got := make([]byte, min(50_000, f.Size()-off))
				if err := f.ReadRange(t.Context(), off, got); err != nil || !bytes.Equal(got, want[off:off+int64(len(got))]) {
					t.Errorf("%d bytes at %d: %v", len(got), off, err)
				}
			}
			if err := f.ReadRange(t.Context(), f.Size()-1000, make([]byte, 1000)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := f.Stats().ChunksCounted; n > 2 {
		t.Errorf("%d chunks counted, there are two whose size is not known", n)
	}
}
