package column

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Rows that are picked are those that Read and Select give, of every type and form, few and many, with blocks kept from before;
// and a clone reads what its column reads.
func TestPick(t *testing.T) {
	const n = 5_000
	r := rand.New(rand.NewPCG(7, 8))
	for _, node := range types(t) {
		for _, profile := range []encode.Profile{encode.Plain, encode.Balanced} {
			for _, nulls := range []float64{0, 0.02, 0.5} {
				g := &generator{rand.New(rand.NewPCG(5, uint64(node.Basic))), nulls}
				a := g.array(node, n)
				o := store(t, node, a, &Options{Profile: profile}, 1)
				mem := budget.New(0).Account()
				c, err := Open(context.Background(), Field{Source: o, Node: node, Records: n}, mem)
				if err != nil {
					t.Fatal(err)
				}
				if err := o.fetch(c, []colstream.Range{{Start: 0, End: n}}, true); err != nil {
					t.Fatal(err)
				}
				columns := []Column{c}
				if clone := Clone(c, mem); clone != nil {
					columns = append(columns, clone)
				}
				for _, share := range []int{3, 400} {
					rows := colstream.Range{Start: r.Uint64N(n / 2), End: n - r.Uint64N(n/3)}
					bitmap := make([]byte, (rows.Len()+7)/8)
					bitutil.SetBit(bitmap, r.IntN(int(rows.Len())))
					for i := 0; i < int(rows.Len()); i++ {
						if r.IntN(share) == 0 {
							bitutil.SetBit(bitmap, i)
						}
						if r.IntN(2*share) == 0 { // a run
							for k := min(int(rows.Len()), i+r.IntN(2500)); i < k; i++ {
								bitutil.SetBit(bitmap, i)
							}
						}
					}
					some := bitutil.CountSetBits(bitmap, 0, int(rows.Len()))
					for _, c := range columns {
						all, err := c.Read(rows)
						if err != nil {
							t.Fatal(err)
						}
						want := array.MakeFromData(Select(all, bitmap))
						for name, pick := range map[string]func(Column, colstream.Range, []byte, int, *budget.Account) (arrow.ArrayData, error){
							"Pick": Pick, "PickCoded": PickCoded,
						} {
							mem.NextBatch(false)
							d, err := pick(c, rows, bitmap, some, mem)
							if err != nil {
								t.Fatal(err)
							}
							if coded, ok := c.(Coded); ok && name == "PickCoded" {
								if d, err = coded.Expand(d); err != nil {
									t.Fatal(err)
								}
							}
							if got := array.MakeFromData(d); !equal(got, want) {
								t.Fatalf("%s of %d of %v, %v, nulls %v:\ngot  %.300v\nwant %.300v", name, some, want.DataType(), profile, nulls, got, want)
							}
						}
					}
				}
			}
		}
	}
}

// Evaluating a column is evaluating the array that it reads.
func TestEval(t *testing.T) {
	const n = 5_000
	for _, node := range types(t) {
		for _, profile := range []encode.Profile{encode.Plain, encode.Balanced} {
			for _, nulls := range []float64{0, 0.02, 1} {
				g := &generator{rand.New(rand.NewPCG(6, uint64(node.Basic))), nulls}
				a := g.array(node, n)
				o := store(t, node, a, &Options{Profile: profile}, 1)
				c, err := Open(context.Background(), Field{Source: o, Node: node, Records: n}, nil)
				if err != nil {
					t.Fatal(err)
				}
				evaluating, ok := c.(Evaluating)
				if !ok {
					continue
				}
				if err := o.fetch(c, []colstream.Range{{Start: 0, End: n}}, true); err != nil {
					t.Fatal(err)
				}
				say := func(values arrow.ArrayData, bitmap []byte) error { // by the text of a value
					clear(bitmap)
					for i, a := 0, array.MakeFromData(values); i < a.Len(); i++ {
						if text := a.ValueStr(i); a.IsValid(i) && text[len(text)-1]%2 == 0 {
							bitutil.SetBit(bitmap, i)
						}
					}
					return nil
				}
				for _, rows := range []colstream.Range{{Start: 0, End: n}, {Start: 3000, End: 3001}, {Start: 77, End: 4_500}, {Start: 100, End: 200}} {
					got, want := make([]byte, (rows.Len()+7)/8), make([]byte, (rows.Len()+7)/8)
					if err := evaluating.Eval(rows, got, say, nil); err != nil {
						t.Fatal(err)
					}
					d, err := c.Read(rows)
					if err == nil {
						err = say(d, want)
					}
					if err != nil || string(got) != string(want) {
						t.Fatalf("%v, %v, nulls %v, rows %v: %v", a.DataType(), profile, nulls, rows, err)
					}
				}
			}
		}
	}
}

// A few of many numbers are read without the others of their blocks where half of them are null, which makes runs.
func TestPickFewOfRuns(t *testing.T) {
	const n = 1 << 17
	node, b, r := numberNode, array.NewInt64Builder(memory.DefaultAllocator), rand.New(rand.NewPCG(1, 2))
	for range n {
		if r.IntN(2) == 0 {
			b.AppendNull()
		} else {
			b.Append(r.Int64N(1000))
		}
	}
	o := store(t, node, b.NewArray(), &Options{Profile: encode.Balanced}, 1)
	limit := budget.New(0)
	mem := limit.Account()
	c, err := Open(context.Background(), Field{Source: o, Node: node, Records: n}, mem)
	if err != nil {
		t.Fatal(err)
	}
	all := colstream.Range{Start: 0, End: n}
	if err := o.fetch(c, []colstream.Range{all}, true); err != nil {
		t.Fatal(err)
	}
	bitmap := make([]byte, n/8)
	for i := 0; i < n; i += 100 {
		bitutil.SetBit(bitmap, i)
	}
	if _, err := Pick(c, all, bitmap, bitutil.CountSetBits(bitmap, 0, n), mem); err != nil {
		t.Fatal(err)
	}
	if kept := c.(*numberColumn[int64]).data.vals; kept != nil {
		t.Errorf("blocks of %d values were decoded for one value in a hundred", cap(kept))
	}
	before := limit.Decoded()
	if _, err := Pick(c, colstream.Range{Start: 5, End: 6}, []byte{1}, 1, mem); err != nil {
		t.Fatal(err)
	}
	// A block's runs are about half as many as its values, and the length of each takes four bytes.
	if _, size := c.(*numberColumn[int64]).data.Map().Span(0); limit.Decoded()-before < size {
		t.Errorf("%d bytes were charged for one of %d values between runs", limit.Decoded()-before, size)
	}
}

// Searching a column for a value is evaluating the array that it reads, and decodes no block of FSST that can't have the value.
func TestSearch(t *testing.T) {
	const n = 21_000 // the last block has enough values for FSST, too
	hex := func(r *rand.Rand) string { return fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()) }
	few := func(r *rand.Rand) string { return strings.Repeat("ab", r.IntN(4)) }
	for name, text := range map[string]func(*rand.Rand) string{"hex": hex, "few": few} {
		for _, nulls := range []float64{0, 0.1, 1} {
			r, b := rand.New(rand.NewPCG(3, 4)), array.NewLargeStringBuilder(memory.DefaultAllocator)
			for range n {
				if r.Float64() < nulls {
					b.AppendNull()
				} else {
					b.Append(text(r))
				}
			}
			a := b.NewLargeStringArray()
			node := &schema.Node{Name: "s", Basic: schema.String, Nullable: true}
			o := store(t, node, a, &Options{Profile: encode.Balanced}, 1)
			for _, want := range []string{a.Value(0), a.Value(n / 2), a.Value(n - 1), hex(r), "", "ab", "a"} {
				for _, rows := range []colstream.Range{{Start: 0, End: n}, {Start: 9_990, End: 15_001}, {Start: n - 1, End: n}} {
					c, err := Open(context.Background(), Field{Source: o, Node: node, Records: n}, nil)
					if err != nil {
						t.Fatal(err)
					}
					if err := o.fetch(c, []colstream.Range{rows}, false); err != nil {
						t.Fatal(err)
					}
					s, ok := c.(Searching)
					if !ok {
						continue // constant, or a dictionary
					}
					got, has := make([]byte, (rows.Len()+7)/8), false
					err = s.Search(rows, got, simd.NewNeedle([]byte(want)), func(values arrow.ArrayData, bitmap []byte) error {
						clear(bitmap)
						for i, a := 0, array.MakeFromData(values).(*array.LargeString); i < a.Len(); i++ {
							if a.IsValid(i) && a.Value(i) == want {
								bitutil.SetBit(bitmap, i)
							}
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
					for i := range int(rows.Len()) {
						at := int(rows.Start) + i
						is := a.IsValid(at) && a.Value(at) == want
						if has = has || is; bitutil.BitIsSet(got, i) != is {
							t.Fatalf("%s, nulls %v, rows %v: row %d is %q: %v", name, nulls, rows, at, want, !is)
						}
					}
					if d := c.(*bytesColumn).data; !has && len(want) == 32 && d.vals.Data != nil {
						t.Errorf("%s, nulls %v: a block was decoded for %q, which no row has", name, nulls, want)
					}
				}
			}
		}
	}
}

// Items of lists of which none has one have no buffers.
func TestSelectWithoutItems(t *testing.T) {
	b := array.NewLargeListBuilder(memory.DefaultAllocator, arrow.StructOf(
		arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "s", Type: arrow.BinaryTypes.LargeString, Nullable: true},
		arrow.Field{Name: "l", Type: arrow.LargeListOf(arrow.FixedWidthTypes.Boolean), Nullable: true}))
	b.AppendNull()
	b.Append(true)
	b.AppendNull()
	a := b.NewArray()
	if got, want := array.MakeFromData(Select(a.Data(), []byte{0b110})), array.NewSlice(a, 1, 3); !equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Select gives the chosen slots of any array, of parts of one and of empty ones too.
func TestSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, node := range types(t) {
		for _, nulls := range []float64{0, 0.3} {
			g := &generator{rand.New(rand.NewPCG(5, uint64(node.Basic))), nulls}
			whole := g.array(node, 300)
			for _, part := range [][2]int{{0, 300}, {13, 290}, {7, 8}, {5, 5}} {
				a := array.NewSlice(whole, int64(part[0]), int64(part[1]))
				bitmap := make([]byte, (a.Len()+7)/8)
				var chosen []int
				for i := range a.Len() {
					if r.IntN(3) == 0 {
						bitutil.SetBit(bitmap, i)
						chosen = append(chosen, i)
					}
				}
				got := array.MakeFromData(Select(a.Data(), bitmap))
				if got.Len() != len(chosen) {
					t.Fatalf("%v: %d of %d slots", node, got.Len(), len(chosen))
				}
				for k, i := range chosen {
					if g, w := array.NewSlice(got, int64(k), int64(k+1)), array.NewSlice(a, int64(i), int64(i+1)); !equal(g, w) {
						t.Fatalf("%v, slot %d: %v, want %v", node, i, g, w)
					}
				}
			}
		}
	}
}
