package column

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Rows that are read one by one, several of one block and back to one before, are those of the column.
func TestSingleRows(t *testing.T) {
	const n = 20_000
	for _, node := range types(t)[:24] {
		for _, profile := range []encode.Profile{encode.Plain, encode.Balanced} {
			for _, nulls := range []float64{0, 0.01} {
				g := &generator{rand.New(rand.NewPCG(5, uint64(node.Basic))), nulls}
				a := g.array(node, n)
				o := store(t, node, a, &Options{Profile: profile}, 1)
				c, err := Open(context.Background(), Field{Source: o, Node: node, Records: n}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := o.fetch(c, []colstream.Range{{Start: 0, End: n}}, true); err != nil {
					t.Fatal(err)
				}
				for _, row := range []uint64{0, 1, 9_999, 3, 3, 19_999, 10_000, 10_003, 0} {
					d, err := c.Read(colstream.Range{Start: row, End: row + 1})
					if err != nil {
						t.Fatal(err)
					}
					if want := array.NewSlice(a, int64(row), int64(row)+1); !equal(array.MakeFromData(d), want) {
						t.Fatalf("%v, row %d: %v, want %v", a.DataType(), row, array.MakeFromData(d), want)
					}
				}
			}
		}
	}
}

// One value of a block is read in the memory of one value, where its encoding keeps values apart.
func TestSingleRowsNeedNoBlock(t *testing.T) {
	const n = 20_000
	for _, node := range []*schema.Node{
		{Name: "i", Basic: schema.Int64, Signed: true}, {Name: "f", Basic: schema.Float64}, {Name: "s", Basic: schema.String},
	} {
		(&schema.Schema{Fields: []*schema.Node{node}}).Number()
		g := &generator{rand.New(rand.NewPCG(5, 6)), 0}
		a := g.array(node, n)
		o := store(t, node, a, &Options{Profile: encode.Plain}, 1)
		c, err := Open(context.Background(), Field{Source: o, Node: node, Records: n}, budget.New(1<<12).Account())
		if err != nil {
			t.Fatal(err)
		}
		if err := o.fetch(c, []colstream.Range{{Start: 0, End: n}}, true); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(colstream.Range{Start: 777, End: 778}); err != nil {
			t.Errorf("%s: %v", node.Name, err)
		}
	}
}
