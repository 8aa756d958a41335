package column

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// generator makes random arrays of canonical types. nulls is how often a slot is null, 0 to 1.
type generator struct {
	*rand.Rand
	nulls float64
}

func (g *generator) validity(n int) *validity {
	v := &validity{n: n}
	for i := range n {
		if g.Float64() < g.nulls {
			v.clear(i)
		}
	}
	return v
}

func numbersOf[T block.Number](g *generator, n int, next func() T) *memory.Buffer {
	vals := make([]T, n)
	for i := range vals {
		vals[i] = next()
	}
	return bufferOf(vals)
}

// array makes n values of a node.
func (g *generator) array(node *schema.Node, n int) arrow.Array {
	return array.MakeFromData(g.data(node, n))
}

func (g *generator) data(node *schema.Node, n int) arrow.ArrayData {
	typ, v := arrowtype.Type(node), g.validity(n)
	scale := 1 + g.IntN(40)
	walk := int64(0)
	step := func() int64 { walk += g.Int64N(int64(scale)); return walk }
	one := func(b *memory.Buffer) arrow.ArrayData { return newData(typ, v, []*memory.Buffer{b}) }
	switch node.Basic {
	case schema.Unit:
		return nulls(typ, n)
	case schema.Boolean:
		b := make([]byte, (n+7)/8)
		for i := range n {
			bitutil.SetBitTo(b, i, g.IntN(2) == 0)
		}
		return one(memory.NewBufferBytes(b))
	case schema.Int8:
		return one(numbersOf(g, n, func() int8 { return int8(g.Uint32()) }))
	case schema.Int16:
		return one(numbersOf(g, n, func() int16 { return int16(step()) }))
	case schema.Int32:
		return one(numbersOf(g, n, func() int32 { return int32(step()) }))
	case schema.Int64, schema.DateTime:
		return one(numbersOf(g, n, func() int64 { return 600e15 + step() }))
	case schema.Float32:
		return one(numbersOf(g, n, func() float32 { return float32(g.NormFloat64()) }))
	case schema.Float64:
		return one(numbersOf(g, n, func() float64 { return special(g.IntN(20), math.Round(g.NormFloat64()*1000)/8) }))
	case schema.String, schema.Binary:
		return bytesData(typ, v, g.strings(n, scale))
	case schema.FixedSizeBinary, schema.Guid:
		return one(memory.NewBufferBytes(g.fixed(node, n, scale)))
	}
	return g.nested(node, n, typ, v)
}

func special(i int, v float64) float64 {
	switch i {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1)
	case 2:
		return math.Copysign(0, -1)
	}
	return v
}

func (g *generator) strings(n, distinct int) *block.Bytes {
	out := &block.Bytes{Offsets: []int64{0}}
	for range n {
		if distinct%3 == 0 {
			distinct = 1 << 20 // no dictionary
		}
		if k := g.IntN(distinct); k > 0 {
			out.Data = fmt.Appendf(out.Data, "value %d ünd so weiter", k)
		}
		out.Offsets = append(out.Offsets, int64(len(out.Data)))
	}
	return out
}

func (g *generator) fixed(node *schema.Node, n, distinct int) []byte {
	var out []byte
	for range n {
		k := g.IntN(distinct)
		if node.IsDecimal() {
			v := decimal.FromInt(int64(k) - 5)
			out = append(out, v[:]...)
			continue
		}
		for i := range int(node.FixedSize) {
			out = append(out, byte(k>>(i%2*8)))
		}
	}
	return out
}

func (g *generator) nested(node *schema.Node, n int, typ arrow.DataType, v *validity) arrow.ArrayData {
	child := func(i, n int) arrow.ArrayData { return g.data(node.Children[i], n) }
	switch node.Basic {
	case schema.Struct:
		var children []arrow.ArrayData
		for i := range node.Children {
			children = append(children, child(i, n))
		}
		return newData(typ, v, nil, children...)
	case schema.FixedSizeList:
		return newData(typ, v, nil, child(0, n*int(node.FixedSize)))
	case schema.Union:
		codes := make([]uint8, n)
		v = &validity{n: n}
		for i := range codes {
			codes[i] = uint8(g.IntN(len(node.Children)))
		}
		var children []arrow.ArrayData
		for i := range node.Children {
			children = append(children, child(i, n))
		}
		for i, code := range codes { // a null's variant is not kept
			if children[code].NullN() > 0 && array.MakeFromData(children[code]).IsNull(i) {
				codes[i] = 0
				v.clear(i)
			}
		}
		hideNulls(children, v)
		return array.NewData(typ, n, []*memory.Buffer{nil, memory.NewBufferBytes(codes)}, children, 0, 0)
	}
	offsets := make([]int64, n+1)
	for i := range n {
		offsets[i+1] = offsets[i]
		if v.bits == nil || bitutil.BitIsSet(v.bits, i) {
			offsets[i+1] += int64(g.IntN(4))
		}
	}
	total := int(offsets[n])
	if node.Basic == schema.List {
		return newData(typ, v, []*memory.Buffer{bufferOf(offsets)}, child(0, total))
	}
	keys := (&generator{g.Rand, 0}).data(node.Children[0], total) // null keys have a test of their own
	return mapData(typ.(*arrow.MapType), v, offsets, make([]int32, len(offsets)), []arrow.ArrayData{keys, child(1, total)})
}
