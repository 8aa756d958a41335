package layer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/bloom"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// write makes a file of n rows, whose keys are even numbers.
func write(t testing.TB, n int, types string, o WriteOptions, row func(i int) (key, aux Value)) []byte {
	t.Helper()
	pairs, err := ParseTypes(types)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, pairs, o)
	for i := 0; i < n && err == nil; i++ {
		key, aux := row(i)
		err = w.Write(0, key, aux)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func even(i int) (Value, Value) { return Value{Int: int64(2 * i)}, Value{Int: int64(i)} }

// blocksOf lists the blocks of a file without compression by their magics, in order.
func blocksOf(t *testing.T, data []byte) (out []string) {
	t.Helper()
	for at := 0; at < len(data); at += blockUnit {
		switch magic := string(data[at+4 : at+8]); magic {
		case magicData, magicIndex, magicRows, magicPartition, magicTable, magicExtension, magicTrailer:
			out = append(out, magic)
		}
	}
	return out
}

// A filter is written at a lowest index block once 32,768 keys have gathered; it covers many data blocks, whole lowest
// index blocks, and never more keys than that and one such block. There is one table of them, and no filter anywhere else.
func TestPartitionedFilters(t *testing.T) {
	ctx := context.Background()
	const n = 200_000
	data := write(t, n, "i64,i64", WriteOptions{Filter: Partitioned, MinBranch: 8, MinDataBlock: 512, MinIndexBlock: 1024}, even)
	f, _ := mustOpen(t, data, "i64,i64")
	table, err := f.partitions(ctx)
	if err != nil || len(table) < 4 {
		t.Fatalf("%d filters, %v", len(table), err)
	}
	level1 := map[uint64]bool{} // rows where lowest index blocks end
	most := uint64(0)
	var visit func(n node)
	visit = func(n node) {
		x, err := n.open(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		if !x.childIndex {
			level1[n.end], most = true, max(most, n.end-n.start)
			return
		}
		for i := range x.n {
			visit(n.child(x, i))
		}
	}
	visit(f.top(0))
	for i, p := range table {
		last := i == len(table)-1
		if !level1[p.first+p.rows] {
			t.Errorf("filter %d ends at row %d, inside an index block", i, p.first+p.rows)
		}
		if !last && (p.rows < partitionKeys || p.rows >= partitionKeys+most) {
			t.Errorf("filter %d covers %d rows; an index block has up to %d", i, p.rows, most)
		}
	}
	count := map[string]int{}
	for _, magic := range blocksOf(t, data) {
		count[magic]++
	}
	if count[magicPartition] != len(table) || count[magicTable] != 1 || count[magicData] < 20*len(table) {
		t.Errorf("%v for %d filters", count, len(table))
	}
	if r, err := f.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK || r.UnprotectedBytes != 0 || len(r.Warnings) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	// Other readers see a file of version 5 that has no filter.
	if f.t.filter.size != 0 || f.t.incompatible != 0 {
		t.Errorf("%+v", f.t)
	}
}

// What the writer holds for filters does not grow with the file.
func TestPartitionedFiltersAreWrittenInConstantMemory(t *testing.T) {
	pairs, _ := ParseTypes("i64,()")
	held := func(rows int64) int {
		w, err := NewWriter(io.Discard, pairs, WriteOptions{Filter: Partitioned, MinIndexBlock: 1024})
		most := 0
		for i := int64(0); i < rows && err == nil; i++ {
			err = w.Write(0, Value{Int: i}, Value{})
			most = max(most, cap(w.parts.pending))
		}
		if err != nil {
			t.Fatal(err)
		}
		return most
	}
	if few, many := held(200_000), held(600_000); many > few+few/4 {
		t.Errorf("%d keys held of 200000, %d of 600000", few, many)
	}
}

// A lookup of an absent key reads the index and one unit of a filter, and no data; a key that is there costs its block. In
// a file of one block no filter is read.
func TestLookups(t *testing.T) {
	ctx := context.Background()
	const n = 100_000
	o := WriteOptions{Filter: Partitioned, FilterBits: 16}
	data := write(t, n, "i64,i64", o, even)
	f, _ := mustOpen(t, data, "i64,i64")
	if _, err := f.Lookup(ctx, Value{Int: 10}); err != nil {
		t.Fatal(err)
	}
	warm := f.Stats()
	absent := 0
	for i := range 1000 {
		c, err := f.Lookup(ctx, Value{Int: int64(198*i + 1)})
		if err != nil || c != nil {
			t.Fatalf("%d: %v, %v", i, c, err)
		}
		absent++
	}
	got := f.Stats()
	if got.Probes-warm.Probes < int64(absent)*9/10 || got.Blocks-warm.Blocks > 8 {
		t.Errorf("%d absent keys: %d probes, %d blocks", absent, got.Probes-warm.Probes, got.Blocks-warm.Blocks)
	}
	// Beyond the bounds of the index not even a filter is read.
	for _, k := range []int64{-5, 2 * n, 1 << 60} {
		before := f.Stats()
		if ok, err := f.MayContain(ctx, Value{Int: k}); ok || err != nil || f.Stats() != before {
			t.Errorf("%d: %v, %v, %+v", k, ok, err, f.Stats())
		}
	}
	var keys []Value
	for i := range 300 {
		keys = append(keys, Value{Int: int64(i * 301)})
	}
	before, found := f.Stats(), 0
	err := f.LookupAll(ctx, keys, func(i int, c *Cursor) error {
		found++
		aux, err := c.Aux()
		if aux.Int*2 != keys[i].Int {
			t.Errorf("%d has %d", keys[i].Int, aux.Int)
		}
		return err
	})
	if blocks := f.Stats().Blocks - before.Blocks; err != nil || found != 150 || blocks > 150 {
		t.Errorf("%d found, %v, %d blocks", found, err, blocks)
	}
	small, _ := mustOpen(t, write(t, 50, "i64,i64", o, even), "i64,i64")
	if c, err := small.Lookup(ctx, Value{Int: 7}); c != nil || err != nil || small.Stats().Probes != 0 || small.Stats().Blocks != 1 {
		t.Errorf("%v, %v, %+v", c, err, small.Stats())
	}
	whole, _ := mustOpen(t, write(t, n, "i64,i64", WriteOptions{Filter: Bloom}, even), "i64,i64")
	if c, err := whole.Lookup(ctx, Value{Int: 40_001}); c != nil || err != nil || whole.Stats().Probes != 1 {
		t.Errorf("%v, %v, %+v", c, err, whole.Stats())
	}
}

// A cold lookup of an absent key is one request for the end of the file, with the index, and one of 36 bytes for the filter.
func TestProbesAreShortReads(t *testing.T) {
	ctx := context.Background()
	data := write(t, 150_000, "i64,i64", WriteOptions{Filter: Partitioned, FilterBits: 16}, even)
	f, c := mustOpen(t, data, "i64,i64")
	if _, err := f.MayContain(ctx, Value{Int: 60_001}); err != nil { // reads what index and table lie outside the tail
		t.Fatal(err)
	}
	before, asked := c.Counters(), int64(0)
	for i := range int64(40) {
		if ok, err := f.MayContain(ctx, Value{Int: 6002*i + 1001}); err != nil || ok {
			t.Fatalf("%v, %v", ok, err)
		}
		asked++
	}
	// Some units lie in the end of the file that was read first.
	if got := c.Counters().Sub(before); got.Gets < asked/2 || got.Gets > asked || got.GetBytes != got.Gets*unitSize {
		t.Errorf("%d requests, %d bytes for %d keys", got.Gets, got.GetBytes, asked)
	}
}

// The rate of absent keys that pass, by the bits for each key, over a million of them.
func TestFilterRates(t *testing.T) {
	const n, absent = 100_000, 1_000_000
	for bits, limit := range map[int]float64{8: 0.04, 10: 0.015, 12: 0.007, 16: 0.002} {
		p := partitioner{bits: bits}
		for i := range n {
			p.pending = append(p.pending, keyHash{uint64(i), hashKey(Type{Kind: I64}, Value{Int: int64(i)})})
		}
		b, units := p.block(n)
		if got := float64(units*bloom.BlockSize*8) / n; got < float64(bits) || got > float64(bits)+0.1 {
			t.Errorf("%g bits a key, want %d", got, bits)
		}
		passed := 0
		for i := range absent {
			h := hashKey(Type{Kind: I64}, Value{Int: int64(n + i)})
			if bloom.Has(b[blockHeader+bloom.Block(h, units)*unitSize:], h) {
				passed++
			}
		}
		t.Logf("%d bits: %.3f %% of absent keys pass", bits, 100*float64(passed)/absent)
		if rate := float64(passed) / absent; rate > limit || rate == 0 {
			t.Errorf("%d bits: %g of the absent keys pass, want %g at most", bits, rate, limit)
		}
	}
}

// Small keys may be left out of the filters: they always may be there.
func TestSmallKeysAreLeftOut(t *testing.T) {
	ctx := context.Background()
	key := func(i int) (Value, Value) {
		k := binary.BigEndian.AppendUint32(nil, uint32(2*i))
		if i%2 == 1 {
			k = append(k, "a long key"...)
		}
		return Value{Bytes: k}, Value{}
	}
	data := write(t, 60_000, "bytes,()", WriteOptions{Filter: Partitioned, FilterMinKey: 5, FilterBits: 16}, key)
	f, _ := mustOpen(t, data, "bytes,()")
	if r, err := f.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK {
		t.Fatalf("%+v, %v", r, err)
	}
	f, _ = mustOpen(t, data, "bytes,()")
	short, long := 0, 0
	for i := range 500 {
		k := binary.BigEndian.AppendUint32(nil, uint32(2*i+20_001))
		if ok, err := f.MayContain(ctx, Value{Bytes: k}); err != nil || ok {
			short++
		}
		if ok, err := f.MayContain(ctx, Value{Bytes: append(k, "a long key"...)}); err != nil || ok {
			long++
		}
	}
	if short < 490 || long > 20 {
		t.Errorf("of 500 absent keys %d short ones and %d long ones pass", short, long)
	}
}

// Damage and lies in filters and their table are found, and never deny a key in silence.
func TestPartitionedFiltersLie(t *testing.T) {
	ctx := context.Background()
	data := write(t, 80_000, "i64,()", WriteOptions{Filter: Partitioned, MinDataBlock: 512, MinIndexBlock: 512, MinBranch: 4}, even)
	f, _ := mustOpen(t, data, "i64,()")
	table, err := f.partitions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	at := f.x.table.offset
	le := binary.LittleEndian
	for name, lie := range map[string]func(b []byte){
		"more filters":  func(b []byte) { le.PutUint32(b[at+8:], 1<<30) },
		"fewer":         func(b []byte) { le.PutUint32(b[at+8:], 1) },
		"first row":     func(b []byte) { le.PutUint64(b[at+blockHeader:], 5) },
		"rows":          func(b []byte) { le.PutUint64(b[at+blockHeader+8:], 1<<60) },
		"offset":        func(b []byte) { le.PutUint64(b[at+blockHeader+16:], 1<<50) },
		"size":          func(b []byte) { le.PutUint32(b[at+blockHeader+24:], 512) },
		"units":         func(b []byte) { le.PutUint32(b[at+blockHeader+28:], 1<<20) },
		"another block": func(b []byte) { le.PutUint64(b[at+blockHeader+16:], 0) },
	} {
		bad := bytes.Clone(data)
		lie(bad)
		b := bad[at : at+f.x.table.size]
		le.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
		g, _ := mustOpen(t, bad, "i64,()")
		if r, err := g.Verify(ctx, fileformat.VerifyOptions{}); err != nil || r.OK {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	bad := bytes.Clone(data)
	for i := range int(table[0].units) {
		bad[table[0].offset+blockHeader+int64(i)*unitSize] ^= 0x55
	}
	g, _ := mustOpen(t, bad, "i64,()")
	if ok, err := g.MayContain(ctx, Value{Int: 100}); ok || !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("a damaged unit: %v, %v", ok, err)
	}
	if r, err := g.Verify(ctx, fileformat.VerifyOptions{}); err != nil || r.OK {
		t.Errorf("damaged units: %+v, %v", r, err)
	}
}
