package layer

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

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
