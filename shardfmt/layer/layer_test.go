package layer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileformat"
)

// objects numbers the objects of the tests: the memory bucket is one for the process.
var objects atomic.Int64

func open(t testing.TB, data []byte, types string) (*File, *blobio.Client, error) {
	t.Helper()
	c := blobio.NewClient()
	t.Cleanup(func() { c.Close() })
	url := fmt.Sprintf("mem://layer-test/%d.layer", objects.Add(1))
	if err := c.Put(context.Background(), url, data); err != nil {
		t.Fatal(err)
	}
	var pairs []Pair
	if types != "" {
		var err error
		if pairs, err = ParseTypes(types); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(context.Background(), c, url, pairs)
	return f, c, err
}

func mustOpen(t testing.TB, data []byte, types string) (*File, *blobio.Client) {
	t.Helper()
	f, c, err := open(t, data, types)
	if err != nil {
		t.Fatal(err)
	}
	return f, c
}

func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".feldera"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// splitmix is the auxiliary value of row r of the golden files.
func splitmix(r uint64) int64 {
	x := r + 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return int64(x ^ x>>31)
}

var goldens = []struct{ name, types string }{
	{"writer1-golden-batch-v5-small-bloom", "opaque(80),i64"},
	{"writer1-golden-batch-v5-snappy-small-bloom", "opaque(80),i64"},
	{"writer2-golden-batch-v5-small-roaring", "i64,()/opaque(80),i64"},
	{"writer2-golden-batch-v5-snappy-small-roaring", "i64,()/opaque(80),i64"},
}

// The golden files of the database that the format comes from are read: every row, both ways, and their filters.
func TestGoldenFiles(t *testing.T) {
	ctx := context.Background()
	for _, g := range goldens {
		f, _ := mustOpen(t, golden(t, g.name), g.types)
		r, err := f.Verify(ctx, fileformat.VerifyOptions{})
		if err != nil || !r.OK || r.UnprotectedBytes != 0 {
			t.Errorf("%s: %+v, %v", g.name, r, err)
		}
		last := f.Columns() - 1
		c := Group{f, last, 0, f.Rows(last)}.Cursor()
		if f.Rows(last) != 256 {
			t.Fatalf("%s: %d rows", g.name, f.Rows(last))
		}
		for row := range uint64(256) {
			if err := c.Next(ctx); err != nil {
				t.Fatal(err)
			}
			if aux, err := c.Aux(); err != nil || aux.Int != splitmix(row) {
				t.Errorf("%s row %d: %v, %v, want %d", g.name, row, aux.Int, err, splitmix(row))
			}
		}
		for row := uint64(255); ; row-- {
			if aux, err := c.Aux(); err != nil || aux.Int != splitmix(row) {
				t.Errorf("%s row %d backwards: %v, %v", g.name, row, aux.Int, err)
			}
			if row == 0 {
				break
			}
			if err := c.Prev(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if last == 0 {
			continue
		}
		first := f.Group().Cursor()
		filter, err := f.Filter(ctx)
		if err != nil || filter == nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		for key := int64(0); key < 600; key++ {
			there := key >= 2 && key <= 512 && key%2 == 0
			if filter.MayContain(Value{Int: key}) != there {
				t.Errorf("%s: the filter is wrong about %d", g.name, key)
			}
			first.Before()
			if err := first.SeekGE(ctx, Value{Int: key}); err != nil {
				t.Fatal(err)
			}
			if v, _ := first.Key(); first.Valid() && (v.Int < key || v.Int > key+1 && key >= 2) {
				t.Errorf("%s: seeking %d gives %d", g.name, key, v.Int)
			}
		}
	}
}

// Fed with the items of the uncompressed golden files, the writer makes their very bytes. Their keys have bytes that only
// their own code understands: they are copied.
func TestGoldenFilesAreWritten(t *testing.T) {
	ctx := context.Background()
	for _, x := range []struct {
		golden int
		filter FilterKind
	}{{0, NoFilter}, {2, Roaring}} {
		g := goldens[x.golden]
		want := golden(t, g.name)
		f, _ := mustOpen(t, want, g.types)
		var out bytes.Buffer
		w, err := NewWriter(&out, f.types, WriteOptions{Filter: x.filter})
		if err != nil {
			t.Fatal(err)
		}
		last := f.Columns() - 1
		c := Group{f, last, 0, 256}.Cursor()
		for row := range uint64(256) {
			if err := c.Next(ctx); err != nil {
				t.Fatal(err)
			}
			key, _ := c.Key()
			aux, _ := c.Aux()
			if row%4 != 1 {
				at := c.data.items.at(int(c.at - c.leaf.start))
				key.Bytes = c.data.b[at-8 : at+80]
			}
			if err := w.Write(last, key, aux); err != nil {
				t.Fatal(err)
			}
			if last == 1 {
				if err := w.Write(0, Value{Int: int64(2*row + 2)}, Value{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if x.filter == NoFilter { // their keys are hashed as only their own code can
			for _, c := range w.columns {
				r, err := w.closeColumn(c)
				if err != nil {
					t.Fatal(err)
				}
				if r != f.t.columns[0] {
					t.Errorf("%s: root %+v, want %+v", g.name, r, f.t.columns[0])
				}
			}
			want = want[:f.t.filter.offset]
		} else if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		at := 0
		for at < min(out.Len(), len(want)) && out.Bytes()[at] == want[at] {
			at++
		}
		if at < len(want) || out.Len() != len(want) {
			t.Errorf("%s: %d bytes, want %d, first difference at %d: % x, want % x", g.name, out.Len(), len(want), at,
				out.Bytes()[at:min(at+32, out.Len())], want[at:min(at+32, len(want))])
		}
	}
}

// The hashes and the Bloom filter of the golden files: Rust's own numbers.
func TestHashes(t *testing.T) {
	if got := hashKey(Type{Kind: I32}, Value{Int: 1}); got != 15781232456890734344 {
		t.Errorf("the hash of 1 is %d", got)
	}
	for want, v := range map[uint64]float64{0x7FF8000000000000: math.NaN(), (Type{Kind: F64}).floatHash(0): math.Copysign(0, -1)} {
		if got := (Type{Kind: F64}).floatHash(v); got != want {
			t.Errorf("%v hashes %x, want %x", v, got, want)
		}
	}
	if f := newBloom(Type{Kind: I64}, 256); len(f.words[0]) != 77 || f.hashes != 13 {
		t.Errorf("256 keys: %d words, %d hashes, want 77 and 13", len(f.words[0]), f.hashes)
	}
	if f := newBloom(Type{Kind: I64}, 1); len(f.words[0]) != 20 || f.hashes != 13 {
		t.Errorf("1 key: %d words, %d hashes, want 20 and 13", len(f.words[0]), f.hashes)
	}
}

// The places of key and aux in an item, as the compiler of the other side lays them out.
func TestLayouts(t *testing.T) {
	for types, want := range map[string][3]int{ // key, aux, size
		"i64,()": {0, 0, 8}, "i64,i64": {0, 8, 16}, "u8,i64": {8, 0, 16}, "u16,i64": {8, 0, 16}, "u32,i64": {8, 0, 16}, "bool,i64": {8, 0, 16},
		"u32,()": {0, 0, 4}, "string,()": {0, 0, 16}, "string,i64": {0, 16, 24}, "bytes,i64": {0, 16, 24}, "i128,i64": {0, 16, 32},
		"u64,string": {16, 0, 24}, "i64,bytes": {16, 0, 24}, "f64,string": {16, 0, 24}, "u32,string": {16, 0, 24}, "i128,string": {0, 16, 32},
	} {
		p, err := ParseTypes(types)
		if err != nil {
			t.Fatal(err)
		}
		if aux := p[0].auxAt; p[0].keyAt != want[0] || p[0].Aux.Kind != Unit && aux != want[1] || p[0].size != want[2] {
			t.Errorf("%s: key at %d, aux at %d, %d bytes, want %v", types, p[0].keyAt, aux, p[0].size, want)
		}
	}
	for _, bad := range []string{"", "i64", "i64,x", "opt<opt<i64>>,()", "opt<()>,()", "i64,opaque(3)", "i64,()/", "opaque(0),()"} {
		if _, err := ParseTypes(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if p, err := ParseTypes("opt<i32>,u64/string,bytes"); err != nil || TypesText(p) != "opt<i32>,u64/string,bytes" {
		t.Errorf("%v, %v", p, err)
	}
}

func text(v int64) Value { return Value{Bytes: []byte(fmt.Sprintf("%0*d", 1+int(v*7919%29), v))} }

// tree writes n rows of 3 columns (or fewer), with tiny blocks, and gives the keys of each column in order.
func tree(t testing.TB, n int, columns int, o WriteOptions) (data []byte, types string, keys [3][]int64, groups [3][]int) {
	t.Helper()
	types = strings.Join([]string{"i64,u64", "string,()", "u32,string"}[:columns], "/")
	pairs, err := ParseTypes(types)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, pairs, o)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 7))
	var write func(column int, key int64)
	put := func(column int, key int64) {
		k := Value{Int: key, Uint: uint64(key)}
		aux := Value{Uint: uint64(key) * 3}
		switch column {
		case 1:
			k = Value{Bytes: fmt.Appendf(nil, "%020d", key)}
		case 2:
			aux = text(key)
		}
		if err := w.Write(column, k, aux); err != nil {
			t.Fatal(err)
		}
		keys[column] = append(keys[column], key)
	}
	write = func(column int, key int64) {
		if column < columns-1 {
			m, k := 1+r.IntN(4), int64(0)
			for range m {
				k += 1 + int64(r.IntN(5))
				write(column+1, k)
			}
			groups[column] = append(groups[column], m)
		}
		put(column, key)
	}
	for i := range n {
		write(0, int64(i)*3-500)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), types, keys, groups
}

var tiny = WriteOptions{MinDataBlock: 512, MinIndexBlock: 512, MinBranch: 2}

func keyOf(column int, v Value) int64 {
	switch column {
	case 0:
		return v.Int
	case 1:
		var n int64
		fmt.Sscan(strings.TrimLeft(string(v.Bytes), "0"), &n)
		return n
	}
	return int64(v.Uint)
}

// Cursors over one to three columns do what a sorted slice does: both ways, by row and by value, inside their group.
func TestCursorsAgainstSlices(t *testing.T) {
	ctx := context.Background()
	for columns := 1; columns <= 3; columns++ {
		for _, compression := range []Compression{None, Snappy, LZ4, Zstd} {
			o := tiny
			o.Compression, o.Filter = compression, Bloom
			data, types, keys, groups := tree(t, 700, columns, o)
			f, _ := mustOpen(t, data, types)
			r, err := f.Verify(ctx, fileformat.VerifyOptions{})
			if err != nil || !r.OK || len(r.Warnings) > 0 {
				t.Fatalf("%d columns, %v: %+v, %v", columns, compression, r, err)
			}
			group, at := f.Group(), 0
			for column := 0; column < columns; column++ {
				want := keys[column][at : at+int(group.Len())]
				against(t, group, column, want)
				if column == columns-1 {
					break
				}
				c := group.Cursor()
				n := group.Len() / 2
				if err := c.Nth(ctx, n); err != nil {
					t.Fatal(err)
				}
				start := 0
				for _, m := range groups[column][:at+int(n)] {
					start += m
				}
				if group, err = c.Group(); err != nil || group.Len() != uint64(groups[column][at+int(n)]) || group.start != uint64(start) {
					t.Fatalf("group %+v, %v, want %d rows from %d on", group, err, groups[column][at+int(n)], start)
				}
				at = start
			}
		}
	}
}

func against(t *testing.T, g Group, column int, want []int64) {
	t.Helper()
	ctx := context.Background()
	c := g.Cursor()
	check := func(what string, err error, i int) {
		t.Helper()
		key, keyErr := c.Key()
		switch {
		case err != nil:
			t.Fatalf("%s: %v", what, err)
		case i < 0 || i >= len(want):
			if c.Valid() || !errors.Is(keyErr, ErrNoRow) {
				t.Fatalf("%s: on row %d, key %v, want none", what, c.Row(), key)
			}
		case !c.Valid() || keyOf(column, key) != want[i] || c.Row() != g.start+uint64(i):
			t.Fatalf("%s: column %d, row %d key %d (%v), want row %d key %d", what, column, c.Row(), keyOf(column, key), keyErr, i, want[i])
		}
	}
	for i := range len(want) + 1 {
		check("next", c.Next(ctx), i)
	}
	for i := len(want) - 1; i >= -1; i-- {
		check("prev", c.Prev(ctx), i)
	}
	check("first", c.First(ctx), 0)
	check("last", c.Last(ctx), len(want)-1)
	value := func(k int64) Value {
		if column == 1 {
			return Value{Bytes: fmt.Appendf(nil, "%020d", k)}
		}
		return Value{Int: k, Uint: uint64(k)}
	}
	for i := 0; i < len(want); i += 1 + len(want)/40 {
		check("nth", c.Nth(ctx, uint64(i)), i)
		check("move", c.MoveTo(ctx, g.start+uint64(i)), i)
		for _, k := range []int64{want[i] - 1, want[i], want[i] + 1} {
			if k < 0 && column > 0 {
				continue
			}
			at, found := slices.BinarySearch(want, k)
			c.Before()
			check(fmt.Sprintf("seek >= %d", k), c.SeekGE(ctx, value(k)), at)
			if !found {
				at--
			}
			c.After()
			check(fmt.Sprintf("seek <= %d", k), c.SeekLE(ctx, value(k)), at)
		}
	}
	half := g.Subset(uint64(len(want)/4), uint64(len(want)/2))
	if half.Len() != uint64(len(want)/2-len(want)/4) {
		t.Fatalf("a subset of %d rows", half.Len())
	}
}

// A search reads as many blocks as the tree has levels; a sequential scan reads each block once.
func TestBlocksRead(t *testing.T) {
	ctx := context.Background()
	data, types, keys, _ := tree(t, 5000, 1, tiny)
	f, _ := mustOpen(t, data, types)
	x, err := f.Inspect(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	depth, blocks := len(x.Parts[1].Parts), 0
	for _, level := range x.Parts[1].Parts {
		blocks += level.Facts[0].Value.(int)
	}
	if depth < 3 {
		t.Fatalf("a tree of %d levels", depth)
	}
	for _, k := range []int64{keys[0][0], keys[0][1234], keys[0][4999], keys[0][77] + 1} {
		f, _ := mustOpen(t, data, types)
		c := f.Group().Cursor()
		if err := c.SeekGE(ctx, Value{Int: k}); err != nil {
			t.Fatal(err)
		}
		if got := f.Stats().Blocks; got > int64(depth)+1 || got < int64(depth) {
			t.Errorf("seeking %d read %d blocks of %d levels", k, got, depth)
		}
	}
	f, _ = mustOpen(t, data, types)
	c := f.Group().Cursor()
	for range keys[0] {
		if err := c.Next(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.Stats().Blocks; got != int64(blocks) {
		t.Errorf("a scan read %d blocks of %d", got, blocks)
	}
	f, _ = mustOpen(t, data, types)
	if low, high, ok, err := f.KeyRange(ctx); err != nil || !ok || low.Int != keys[0][0] || high.Int != keys[0][4999] || f.Stats().Blocks != 1 {
		t.Errorf("keys from %v to %v, %v, %d blocks", low.Int, high.Int, err, f.Stats().Blocks)
	}
}

// Filters never deny a key that is there, and seldom admit one that is not.
func TestFilters(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []FilterKind{Bloom, Roaring} {
		o := tiny
		o.Filter = kind
		data, types, keys, _ := tree(t, 5000, 1, o)
		f, _ := mustOpen(t, data, types)
		filter, err := f.Filter(ctx)
		if err != nil || filter == nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for _, k := range keys[0] {
			if !filter.MayContain(Value{Int: k}) {
				t.Fatalf("%s denies %d", kind, k)
			}
		}
		wrong := 0
		for k := range int64(100_000) {
			if filter.MayContain(Value{Int: 1_000_000 + k}) {
				wrong++
			}
		}
		if limit := map[FilterKind]int{Bloom: 100, Roaring: 0}[kind]; wrong > limit {
			t.Errorf("%s: %d of 100000 absent keys", kind, wrong)
		}
	}
	// A bitmap whose base is below the first key: the lowest number is the distance of the first key.
	r := &roar{t: Type{Kind: I64}, base: 100}
	f, err := func() (Filter, error) {
		var w Writer
		w.o.Filter, w.columns = Roaring, []*columnWriter{{data: dataBuilder{pair: newPair(Type{Kind: I64}, Type{})}}}
		for _, k := range []int64{100, 107, 120} {
			if err := w.note(Value{Int: k}); err != nil {
				return nil, err
			}
		}
		shifted := *w.roar
		shifted.bits = shifted.bits.Clone()
		shifted.bits.Clear()
		for _, d := range []uint32{40, 47, 60} {
			shifted.bits.Add(d)
		}
		b, err := shifted.block()
		if err != nil {
			return nil, err
		}
		return parseRoaring(r.t, b, Value{Int: 100})
	}()
	if err != nil || !f.MayContain(Value{Int: 107}) || f.MayContain(Value{Int: 147}) {
		t.Errorf("a bitmap with a smaller base: %v", err)
	}
	// Modules, as other writers make them: one chain of hashes through all.
	m := &bloom{t: Type{Kind: I64}, hashes: 3, words: [][]uint64{make([]uint64, 40), make([]uint64, 40)}}
	for k := range int64(50) {
		m.insert(hashKey(m.t, Value{Int: k}))
	}
	b := make([]byte, 8)
	b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 2), 3)
	b = binary.LittleEndian.AppendUint64(b, 40)
	for _, words := range m.words {
		set := 0
		for _, w := range words {
			for ; w != 0; w &= w - 1 {
				set++
			}
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(set))
	}
	for _, words := range m.words {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	modules, err := parseModules(m.t, b)
	if err != nil || !modules.MayContain(Value{Int: 49}) || modules.MayContain(Value{Int: 4711}) {
		t.Errorf("modules: %v", err)
	}
}

// What would make no file is refused, with the row.
func TestWriterRefuses(t *testing.T) {
	pairs, _ := ParseTypes("i64,()/i64,()")
	w, err := NewWriter(io.Discard, pairs, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(0, Value{Int: 1}, Value{}); !errors.Is(err, ErrGroup) {
		t.Errorf("a row without a group: %v", err)
	}
	w, _ = NewWriter(io.Discard, pairs, WriteOptions{})
	if err := errors.Join(w.Write(1, Value{Int: 2}, Value{}), w.Write(0, Value{Int: 5}, Value{}), w.Write(1, Value{Int: 1}, Value{})); err != nil {
		t.Errorf("a new group may begin anywhere: %v", err)
	}
	if err := w.Write(1, Value{Int: 1}, Value{}); !errors.Is(err, ErrOrder) || !strings.Contains(err.Error(), "row 2 of column 1") {
		t.Errorf("the same key twice: %v", err)
	}
	w, _ = NewWriter(io.Discard, pairs[1:], WriteOptions{Filter: Roaring})
	if err := errors.Join(w.Write(0, Value{Int: 0}, Value{}), w.Write(0, Value{Int: 1 << 33}, Value{})); !errors.Is(err, corrupt.ErrUnsupported) {
		t.Errorf("a roaring filter over a wide span: %v", err)
	}
}

// counting counts what is written and refuses to go back, as an upload does.
type counting struct{ bytes int64 }

func (c *counting) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

// Files of more than 2^40 bytes have the offsets they should: the arithmetic, without the bytes.
func TestLargeOffsets(t *testing.T) {
	pairs, _ := ParseTypes("i64,()")
	out := &counting{}
	w, err := NewWriter(out, pairs, WriteOptions{MinBranch: 2, MinDataBlock: 512, MinIndexBlock: 512})
	if err != nil {
		t.Fatal(err)
	}
	w.at = 1 << 41
	for i := range int64(1000) {
		if err := w.Write(0, Value{Int: i}, Value{}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.closeColumn(w.columns[0])
	if err != nil || r.offset < 1<<41 || !r.index || w.at-1<<41 != out.bytes {
		t.Errorf("%+v, %v", r, err)
	}
	x := w.columns[0].levels[0]
	if got := x.places[len(x.places)-1].offset; got < 1<<41 || widthOf(uint64(got)) != 6 {
		t.Errorf("offset %d", got)
	}
}

// Memory of the writer does not grow with the rows: what it holds is a block of each level.
func TestWriterHoldsBlocksOnly(t *testing.T) {
	pairs, _ := ParseTypes("i64,bytes")
	held := func(rows int64) (n int) {
		w, err := NewWriter(io.Discard, pairs, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if err := w.Write(0, Value{Int: i}, Value{Bytes: []byte("0123456789abcdef")}); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range w.columns {
			n += cap(c.data.b) + 4*cap(c.data.offsets)
			for _, x := range c.levels {
				n += cap(x.b) + 4*cap(x.bounds) + 24*cap(x.places)
			}
		}
		return n
	}
	if few, many := held(150_000), held(600_000); many > 3*few/2 {
		t.Errorf("%d bytes for 150000 rows, %d for 600000", few, many)
	}
}

// Large values make large blocks, which still have their 32 items.
func TestLargeValues(t *testing.T) {
	pairs, _ := ParseTypes("bytes,()")
	var out bytes.Buffer
	w, err := NewWriter(&out, pairs, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := w.Write(0, Value{Bytes: append(binary.BigEndian.AppendUint32(nil, uint32(i)), make([]byte, 64<<10)...)}, Value{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, _ := mustOpen(t, out.Bytes(), "bytes,()")
	x, err := f.Inspect(context.Background(), 2)
	if err != nil || x.Parts[1].Parts[0].Facts[2].Value != uint64(4) {
		t.Errorf("%+v, %v", x, err)
	}
	if r, err := f.Verify(context.Background(), fileformat.VerifyOptions{}); err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

// A flipped bit anywhere in a file is found.
func TestFlippedBits(t *testing.T) {
	for _, compression := range []Compression{None, Snappy} {
		o := tiny
		o.Compression, o.Filter = compression, Bloom
		data, types, _, _ := tree(t, 60, 2, o)
		missed := 0
		for i := 0; i < len(data); i += 3 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << (i % 8)
			f, _, err := open(t, bad, types)
			if err == nil {
				var r *corrupt.Report
				if r, err = f.Verify(context.Background(), fileformat.VerifyOptions{}); err == nil && !r.OK {
					continue
				}
			}
			if err == nil {
				missed++
				// Behind a compressed block there is padding that no checksum covers.
				if compression == None {
					t.Errorf("byte %d: not found", i)
				}
			} else if !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
				t.Errorf("byte %d: %v", i, err)
			}
		}
		if missed > len(data)/3 {
			t.Errorf("%v: %d flips missed", compression, missed)
		}
	}
}

// What contradicts the format although its checksums hold is refused: each lie is sealed anew.
func TestLies(t *testing.T) {
	data, types, _, _ := tree(t, 600, 1, tiny)
	f, _ := mustOpen(t, data, types)
	root := f.t.columns[0].location
	x, err := f.index(context.Background(), root, f.Rows(0))
	if err != nil {
		t.Fatal(err)
	}
	leaf, _, _ := x.child(0)
	for x.childIndex {
		_, _, rows := x.child(0)
		if x, err = f.index(context.Background(), leaf, rows); err != nil {
			t.Fatal(err)
		}
		leaf, _, _ = x.child(0)
	}
	le := binary.LittleEndian
	for name, lie := range map[string]struct {
		at   location
		make func(b []byte)
	}{
		"rows of a leaf":         {leaf, func(b []byte) { le.PutUint32(b[8:], 7) }},
		"value map":              {leaf, func(b []byte) { le.PutUint32(b[12:], 1<<30) }},
		"width":                  {leaf, func(b []byte) { b[20] = 5 }},
		"stride":                 {leaf, func(b []byte) { at := le.Uint32(b[12:]); le.PutUint32(b[at+4:], 1<<31) }},
		"row groups in the last": {leaf, func(b []byte) { b[21] = 1 }},
		"order":                  {leaf, func(b []byte) { le.PutUint64(b[blockHeader:], 1<<40) }},
		"children":               {root, func(b []byte) { le.PutUint16(b[24:], 0) }},
		"more children":          {root, func(b []byte) { le.PutUint16(b[24:], 0xFFFF) }},
		"child type":             {root, func(b []byte) { b[26] = 2 }},
		"child is its ancestor": {root, func(b []byte) {
			at, width := le.Uint32(b[16:]), int(b[29])
			for i := range width {
				b[int(at)+i] = byte(root.offset / blockUnit >> (8 * i))
			}
		}},
		"child outside": {root, func(b []byte) { b[le.Uint32(b[16:])+uint32(b[29])-1] = 0xFF }},
		"row totals":    {root, func(b []byte) { b[le.Uint32(b[12:])] = 0 }},
		"bound":         {root, func(b []byte) { b[blockHeader] ^= 1 }},
		"magic":         {root, func(b []byte) { copy(b[4:], magicData) }},
	} {
		bad := bytes.Clone(data)
		b := bad[lie.at.offset : lie.at.offset+lie.at.size]
		lie.make(b)
		le.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
		f, _, err := open(t, bad, types)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Verify(context.Background(), fileformat.VerifyOptions{})
		if err != nil || r.OK {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for name, lie := range map[string]func(b []byte){
		"version":       func(b []byte) { le.PutUint32(b[8:], 4) },
		"compression":   func(b []byte) { b[12] = 9 },
		"columns":       func(b []byte) { le.PutUint32(b[13:], 1000) },
		"no columns":    func(b []byte) { le.PutUint32(b[13:], 0) },
		"root type":     func(b []byte) { b[29] = 2 },
		"root offset":   func(b []byte) { le.PutUint64(b[17:], 1<<50) },
		"features":      func(b []byte) { le.PutUint64(b[secondColumn+20:], 1<<9) },
		"filter offset": func(b []byte) { le.PutUint64(b[secondColumn:], 1<<50); le.PutUint32(b[secondColumn+8:], 512) },
	} {
		bad := bytes.Clone(data)
		b := bad[len(bad)-trailerSize:]
		lie(b)
		le.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
		if _, _, err := open(t, bad, types); !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := 0; n < len(data); n += 97 {
		if _, _, err := open(t, data[:n], types); err == nil {
			t.Errorf("cut to %d bytes: no error", n)
		}
	}
}

// Values of every type survive a file, as keys, as auxiliary values, optional and not, in their order.
func TestEveryType(t *testing.T) {
	ctx := context.Background()
	samples := map[string][]Value{
		"bool": {{Int: 0}, {Int: 1}}, "char": {{Uint: 'a'}, {Uint: 0x1F600}}, "i8": {{Int: -128}, {Int: 127}}, "i16": {{Int: -1}, {Int: 5}},
		"i32": {{Int: math.MinInt32}, {Int: math.MaxInt32}}, "i64": {{Int: math.MinInt64}, {Int: math.MaxInt64}}, "u8": {{Uint: 0}, {Uint: 255}},
		"u16": {{Uint: 1}, {Uint: 65535}}, "u32": {{Uint: 1}, {Uint: math.MaxUint32}}, "u64": {{Uint: 1}, {Uint: math.MaxUint64}},
		"i128": {{Int: -1, Uint: 5}, {Int: 1, Uint: 0}}, "u128": {{Int: 0, Uint: 5}, {Int: -1, Uint: 1}},
		"f32": {{Float: -1.5}, {Float: 0.25}, {Float: math.Inf(1)}}, "f64": {{Float: math.Inf(-1)}, {Float: 0}, {Float: 1e300}},
		"string": {{Bytes: []byte("")}, {Bytes: []byte("exactly 15 byte")}, {Bytes: []byte("sixteen bytes ö!")}}, "bytes": {{Bytes: []byte{}}, {Bytes: []byte{0}}, {Bytes: bytes.Repeat([]byte{0xFF}, 300)}},
	}
	for name, values := range samples {
		for _, types := range []string{name + ",()", name + ",opt<" + name + ">", "opt<" + name + ">," + name} {
			pairs, err := ParseTypes(types)
			if err != nil {
				t.Fatal(err)
			}
			keys := values
			if pairs[0].Key.Optional {
				keys = append([]Value{{None: true}}, values...)
			}
			var out bytes.Buffer
			w, err := NewWriter(&out, pairs, WriteOptions{Filter: Bloom})
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range keys {
				aux := values[i%len(values)]
				if pairs[0].Aux.Optional && i == 1 {
					aux = Value{None: true}
				}
				if err := w.Write(0, k, aux); err != nil {
					t.Fatalf("%s: %v", types, err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f, _ := mustOpen(t, out.Bytes(), types)
			if r, err := f.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK {
				t.Fatalf("%s: %+v, %v", types, r, err)
			}
			c := f.Group().Cursor()
			for i, k := range keys {
				if err := c.Next(ctx); err != nil {
					t.Fatal(err)
				}
				key, err := c.Key()
				if err != nil || pairs[0].Key.compare(key, k) != 0 {
					t.Errorf("%s: key %d is %+v, %v, want %+v", types, i, key, err, k)
				}
				a, b := pairs[0].Key.appendOrdered(nil, k), []byte(nil)
				if i > 0 {
					b = pairs[0].Key.appendOrdered(nil, keys[i-1])
				}
				if bytes.Compare(b, a) >= 0 {
					t.Errorf("%s: the bytes of key %d are not behind those before", types, i)
				}
				spilled, rest, err := pairs[0].Key.takeValue(pairs[0].Key.appendValue(nil, k))
				if err != nil || len(rest) > 0 || pairs[0].Key.compare(spilled, k) != 0 {
					t.Errorf("%s: key %d spilled is %+v, %v", types, i, spilled, err)
				}
			}
		}
	}
	if hex.EncodeToString((Type{Kind: I64}).appendOrdered(nil, Value{Int: -1})) != "7fffffffffffffff" {
		t.Error("ordered bytes of -1")
	}
}

// Files without rows, also with columns behind the first.
func TestEmptyFiles(t *testing.T) {
	for _, types := range []string{"i64,()", "i64,()/string,u64"} {
		pairs, _ := ParseTypes(types)
		var out bytes.Buffer
		w, err := NewWriter(&out, pairs, WriteOptions{Filter: Bloom})
		if err == nil {
			err = w.Close()
		}
		if err != nil || out.Len() != trailerSize {
			t.Fatalf("%d bytes, %v", out.Len(), err)
		}
		f, _ := mustOpen(t, out.Bytes(), types)
		src, err := f.Read(context.Background(), fileformat.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.Next(context.Background()); err != io.EOF {
			t.Errorf("%v", err)
		}
	}
}

// A source yields a row for every row of the last column, whatever the sizes of batches.
func TestSourceRows(t *testing.T) {
	data, types, keys, groups := tree(t, 300, 3, tiny)
	f, _ := mustOpen(t, data, types)
	for _, size := range []int{1, 7, 10_000} {
		src, err := f.Read(context.Background(), fileformat.ReadOptions{BatchRows: size})
		if err != nil {
			t.Fatal(err)
		}
		row, first, left := 0, -1, 0
		for {
			b, err := src.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(b.NumRows()) {
				if left == 0 {
					first++
					for _, m := range groups[1][prefix(groups[0], first) : prefix(groups[0], first)+groups[0][first]] {
						left += m
					}
				}
				left--
				if got := int64(b.Column(3).(*array.Uint32).Value(i)); got != keys[2][row] {
					t.Fatalf("row %d: k2 %d, want %d", row, got, keys[2][row])
				}
				if got := b.Column(0).(*array.Int64).Value(i); got != keys[0][first] {
					t.Fatalf("row %d: k0 %d, want %d", row, got, keys[0][first])
				}
				row++
			}
		}
		if row != len(keys[2]) {
			t.Errorf("%d rows, want %d", row, len(keys[2]))
		}
	}
}

func prefix(counts []int, n int) (sum int) {
	for _, c := range counts[:n] {
		sum += c
	}
	return sum
}

// FuzzOpen: whatever the bytes, reading ends, with rows or with a typed error.
func FuzzOpen(f *testing.F) {
	for _, g := range goldens {
		f.Add(golden(f, g.name), g.types)
	}
	data, types, _, _ := tree(f, 100, 2, tiny)
	f.Add(data, types)
	f.Fuzz(func(t *testing.T, data []byte, types string) {
		pairs, err := ParseTypes(types)
		if err != nil {
			return
		}
		// A checksum is no obstacle to whoever wants to do harm.
		if n := len(data); n >= trailerSize && n%blockUnit == 0 {
			data = bytes.Clone(data)
			seal(data[n-trailerSize:], magicTrailer)
		}
		c := blobio.NewClient()
		defer c.Close()
		const url = "mem://fuzz-layer/x.layer"
		if err := c.Put(context.Background(), url, data); err != nil {
			t.Fatal(err)
		}
		defer c.Delete(context.Background(), url, "")
		file, err := Open(context.Background(), c, url, pairs)
		if err != nil {
			return
		}
		if _, err := file.Verify(context.Background(), fileformat.VerifyOptions{}); err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
			t.Error(err)
		}
	})
}

// FuzzBlocks: the parsers of single blocks, without checksums in the way.
func FuzzBlocks(f *testing.F) {
	data, types, _, _ := tree(f, 100, 1, tiny)
	pairs, _ := ParseTypes(types)
	file, _ := mustOpen(f, data, types)
	root := file.t.columns[0]
	f.Add(data[:512], uint64(10))
	f.Add(data[root.offset:root.offset+root.size], root.rows)
	f.Fuzz(func(t *testing.T, b []byte, rows uint64) {
		if d, err := parseData(b, pairs[0], rows, true); err == nil {
			for i := range d.n {
				_, _ = pairs[0].Key.get(d.b, int(d.items.at(i))+pairs[0].keyAt)
			}
		}
		if x, err := parseIndex(b, rows, 1<<40); err == nil {
			for i := range 2 * x.n {
				_, _ = pairs[0].Key.get(x.b, int(x.bounds.at(i)))
			}
		}
		if len(b) >= 32 {
			_, _ = parseBloom(pairs[0].Key, b)
			_, _ = parseModules(pairs[0].Key, b)
			_, _ = parseRoaring(pairs[0].Key, b, Value{Int: 1})
		}
		for _, c := range []Compression{Snappy, LZ4, Zstd} {
			_, _ = c.unpack(b)
		}
	})
}
