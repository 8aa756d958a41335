package layer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// indexPercent is the size of the index of the first column in percent of its data.
func indexPercent(t *testing.T, f *File) float64 {
	t.Helper()
	x, err := f.Inspect(context.Background(), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range x.Parts {
		for _, fact := range p.Facts {
			if p.Name == "column 0" && fact.Name == "index_percent" {
				return fact.Value.(float64)
			}
		}
	}
	t.Fatal("no index_percent")
	return 0
}

// A column whose value index is off has an index of row numbers alone: a small fraction of the other's size, without keys
// and without a map of them. Rows are read forward, backward and by number, and followed to their groups; a search by
// value is refused.
func TestRowIndexes(t *testing.T) {
	ctx := context.Background()
	row := func(i int) (Value, Value) {
		k := make([]byte, 1024)
		copy(k, []byte{byte(i >> 16), byte(i >> 8), byte(i)})
		return Value{Bytes: k}, Value{}
	}
	with, _ := mustOpen(t, write(t, 20_000, "bytes,()", WriteOptions{}, row), "bytes,()")
	without, _ := mustOpen(t, write(t, 20_000, "bytes,()", WriteOptions{NoValueIndex: []int{0}}, row), "bytes,()")
	if p := indexPercent(t, with); p > 6.6 || p < 5 {
		t.Errorf("a value index of %g %%", p)
	}
	if p := indexPercent(t, without); p > 0.2 {
		t.Errorf("a row index of %g %%", p)
	}
	if r, err := without.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK || r.UnprotectedBytes != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	low, high, ok, err := without.KeyRange(ctx)
	if err != nil || !ok || low.Bytes[2] != 0 || high.Bytes[2] != byte(19_999&0xFF) {
		t.Errorf("keys from %x to %x, %v", low.Bytes[:4], high.Bytes[:4], err)
	}
	c := without.Group().Cursor()
	if err := c.SeekGE(ctx, Value{Bytes: []byte{0}}); !errors.Is(err, ErrNoValueIndex) {
		t.Errorf("a search: %v", err)
	}
	if _, err := without.Lookup(ctx, Value{}); !errors.Is(err, ErrNoValueIndex) {
		t.Errorf("a lookup: %v", err)
	}
	if err := c.Nth(ctx, 12_345); err != nil {
		t.Fatal(err)
	}
	if k, err := c.Key(); err != nil || !bytes.Equal(k.Bytes[:3], []byte{0, 12_345 >> 8, 12_345 & 0xFF}) {
		t.Errorf("row 12345: %x, %v", k.Bytes[:3], err)
	}
}

// In files of three columns the index of each may be without keys; the other columns are searched as ever.
func TestRowIndexesOfSomeColumns(t *testing.T) {
	ctx := context.Background()
	for _, compression := range []Compression{None, Snappy} {
		o := tiny
		o.NoValueIndex, o.Compression = []int{1}, compression
		data, types, keys, groups := tree(t, 700, 3, o)
		f, _ := mustOpen(t, data, types)
		if r, err := f.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK {
			t.Fatalf("%+v, %v", r, err)
		}
		if compression == None && !slices.Contains(blocksOf(t, data), magicRows) {
			t.Error("no index of row numbers")
		}
		against(t, f.Group(), 0, keys[0])
		c := f.Group().Cursor()
		if err := c.Nth(ctx, 300); err != nil {
			t.Fatal(err)
		}
		g, err := c.Group()
		if err != nil || int(g.Len()) != groups[0][300] || int(g.start) != prefix(groups[0], 300) {
			t.Errorf("%+v, %v", g, err)
		}
		if err := g.Cursor().SeekLE(ctx, Value{}); err != nil { // before the first row there is nothing to search
			t.Error(err)
		}
		src, err := f.Read(ctx, fileformat.ReadOptions{BatchRows: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		b, err := src.Next(ctx)
		if err != nil || int(b.NumRows()) != len(keys[2]) {
			t.Errorf("%v, %v", b, err)
		}
	}
	if _, err := NewWriter(io.Discard, make([]Pair, 2), WriteOptions{NoValueIndex: []int{2}}); err == nil {
		t.Error("column 2 of 2")
	}
	if _, err := NewWriter(io.Discard, make([]Pair, 2), WriteOptions{NoValueIndex: []int{0}, Filter: Partitioned}); err == nil {
		t.Error("a partitioned filter without a value index")
	}
}
