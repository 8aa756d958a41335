package shardfmt

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const (
	wideColumns = 200
	// wideRows make each column larger than what is fetched whole for a few rows.
	wideRows = 16_000
)

// writeWide writes a struct of 200 numbers, packed or not.
func writeWide(t testing.TB, sp *blobio.Client, url string, o WriterOptions) *Written {
	t.Helper()
	ctx := context.Background()
	g := &schema.Node{Name: "g", Basic: schema.Struct}
	for i := range wideColumns {
		g.Children = append(g.Children, &schema.Node{Name: fmt.Sprint("c", i), Basic: schema.Int64, Signed: true})
	}
	s := &schema.Schema{Fields: []*schema.Node{g}}
	o.Profile = Plain
	w, err := NewWriter(ctx, sp, url, s, o)
	if err != nil {
		t.Fatal(err)
	}
	types := arrowtype.Schema(s)
	vals := make([]int64, wideRows+wideColumns)
	for i := range vals {
		vals[i] = int64(i) * 7919
	}
	children := make([]arrow.ArrayData, wideColumns)
	for i := range children {
		b := memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(vals[i : i+wideRows]))
		children[i] = array.NewData(arrow.PrimitiveTypes.Int64, wideRows, []*memory.Buffer{nil, b}, nil, 0, 0)
	}
	d := array.NewData(types.Field(0).Type, wideRows, []*memory.Buffer{nil}, children, 0, 0)
	if err := w.Write(ctx, array.NewRecordBatch(types, []arrow.Array{array.MakeFromData(d)}, wideRows)); err != nil {
		t.Fatal(err)
	}
	written, err := w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// lookup reads one row cold and gives what it took beyond the root.
func lookup(t testing.TB, w *Written, row int64) (blobio.Counters, int64) {
	t.Helper()
	cold := blobio.NewClient(blobio.ClientOptions{})
	defer cold.Close()
	before := cold.Counters()
	s := open(t, cold, w.URL, w.Size)
	root := cold.Counters().Sub(before)
	got := readAll(t, s, ScanOptions{Start: uint64(row), End: uint64(row) + 1})
	st := got[0].Column(0).(*array.Struct)
	if st.NumField() != wideColumns {
		t.Fatalf("%d fields", st.NumField())
	}
	for i := range wideColumns {
		if v := st.Field(i).(*array.Int64).Value(0); v != (row+int64(i))*7919 {
			t.Fatalf("column %d of row %d is %d", i, row, v)
		}
	}
	c := cold.Counters().Sub(before)
	return c, c.GetBytes - root.GetBytes
}

// One GET for a whole group: beside root and block map, a row of 200 fields is one request. Unpacked it is one for nearly every
// field, since no two of their blocks are neighbours.
func TestPackedRowIsOneRequest(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	packed := writeWide(t, sp, "mem://packed/a.amudai.shard", WriterOptions{Pack: map[string][]string{"g": nil}})
	c, bytes := lookup(t, packed, 12_345)
	t.Logf("packed: %d GETs, %d bytes beyond the root, depth %d", c.Gets, bytes, c.Depth)
	if c.Gets != 3 || c.Depth != 3 {
		t.Errorf("packed: %+v", c)
	}
	apart := writeWide(t, sp, "mem://packed/b.amudai.shard", WriterOptions{})
	u, bytes := lookup(t, apart, 12_345)
	t.Logf("unpacked: %d GETs, %d bytes beyond the root, depth %d", u.Gets, bytes, u.Depth)
	if u.Gets < 100*c.Gets {
		t.Errorf("unpacked: %+v", u)
	}
}

// A member that is not named with its group, or no struct, is refused before anything is written.
func TestPackRefuses(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	list := &schema.Node{Name: "l", Basic: schema.List, Children: []*schema.Node{{Basic: schema.Int8}}}
	s := &schema.Schema{Fields: []*schema.Node{{Name: "n", Basic: schema.Int8},
		{Name: "s", Basic: schema.Struct, Children: []*schema.Node{list, {Name: "a", Basic: schema.Int8}}},
		{Name: "e", Basic: schema.Struct, Children: []*schema.Node{{Name: "u", Basic: schema.Unit}}}}}
	for _, pack := range []map[string][]string{{"n": nil}, {"x": nil}, {"s": {"l"}}, {"s": {"b"}}, {"s": {"a", "a"}}, {"e": nil}} {
		if _, err := NewWriter(context.Background(), sp, "mem://packed/c.amudai.shard", s, WriterOptions{Pack: pack}); err == nil {
			t.Errorf("%v is accepted", pack)
		}
	}
}
