package layer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

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
