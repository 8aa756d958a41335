package column

import (
	"bytes"
	"cmp"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"

	"github.com/shardcat/shardcat/internal/view"
)

// indexShare is the share of a field's other buffers, as a divisor, that its range index may take in the profiles that request size
// before all. What would take more covers twice as many positions with each block, and again.
const indexShare = 512

// addIndex appends a range index to the buffers, if there is one.
func (e *Encoded) addIndex(x *colstream.RangeIndex, p encode.Profile) error {
	if x == nil {
		return nil
	}
	others := 0
	for i := range e.Buffers {
		others += e.Buffers[i].Size()
	}
	b, err := x.Append(nil, &encode.Options{Profile: p})
	small := p == encode.HighCompression || p == encode.MinimalSize
	for small && err == nil && len(b)*indexShare > others && x.BlockSize < min(colstream.WidestRangeIndexBlock, x.Span) {
		x = halve(x, e.Node)
		b, err = x.Append(nil, &encode.Options{Profile: p})
	}
	if err != nil {
		return err
	}
	// The reference writes these three zeros, and reads none of them.
	m := &metapb.EncodedBuffer{Kind: metapb.BufferKind_RANGE_INDEX,
		BlockCount: new(uint64), BufferId: new(uint32), PackedGroupIndex: new(uint32)}
	e.Buffers = append(e.Buffers, Buffer{Meta: m, Bytes: b})
	return nil
}

// halve is a range index with half as many blocks, each of which covers two of x.
func halve(x *colstream.RangeIndex, n *schema.Node) *colstream.RangeIndex {
	order := orderOf(n)
	out := *x
	out.BlockSize, out.Min, out.Max, out.Invalid = 2*x.BlockSize, nil, nil, nil
	for i := 0; i < x.Blocks(); i += 2 {
		least, greatest, ok := x.Bounds(i)
		invalid := x.Invalid[i]
		if i+1 < x.Blocks() {
			l, g, more := x.Bounds(i + 1)
			switch {
			case !ok:
				least, greatest = l, g
			case more:
				if order(l, least) < 0 {
					least = l
				}
				if order(g, greatest) > 0 {
					greatest = g
				}
			}
			ok = ok || more
			invalid += x.Invalid[i+1]
		}
		if !ok {
			least, greatest = make([]byte, x.Width), make([]byte, x.Width)
		}
		out.Min, out.Max, out.Invalid = append(out.Min, least...), append(out.Max, greatest...), append(out.Invalid, invalid)
	}
	return &out
}

// orderOf compares two values of a field that has a range index, by their bytes.
func orderOf(n *schema.Node) func(a, b []byte) int {
	pick := func(signed, unsigned func(a, b []byte) int) func(a, b []byte) int {
		if n.Signed {
			return signed
		}
		return unsigned
	}
	switch n.Basic {
	case schema.Int8:
		return pick(compareAs[int8], compareAs[uint8])
	case schema.Int16:
		return pick(compareAs[int16], compareAs[uint16])
	case schema.Int32:
		return pick(compareAs[int32], compareAs[uint32])
	case schema.Int64:
		return pick(compareAs[int64], compareAs[uint64])
	case schema.DateTime:
		return compareAs[uint64]
	case schema.Float32:
		return compareAs[float32]
	case schema.Float64:
		return compareAs[float64]
	case schema.FixedSizeBinary:
		return func(a, b []byte) int { return decimal.Compare(decimal.From(a), decimal.From(b)) }
	}
	return bytes.Compare
}

// compareAs compares the numbers that two pieces of memory hold.
func compareAs[T block.Number](a, b []byte) int {
	return cmp.Compare(view.Of[T](a, 1)[0], view.Of[T](b, 1)[0])
}
