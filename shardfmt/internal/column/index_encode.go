package column

import (
	"encoding/binary"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// indexBuilder gathers the minima and maxima of the range index of a field of numbers.
type indexBuilder[T block.Number] struct {
	mins, maxs []T
	invalid    []uint16
	span       uint64
	valid      bool // any value that has an order
	room       []T  // for the values of a block that are not null
}

// add takes the values of an array.
func (x *indexBuilder[T]) add(vals []T, a arrow.Array) {
	var valid []byte
	if a.NullN() > 0 {
		valid = a.Data().Buffers()[0].Bytes()
		if x.room == nil {
			x.room = make([]T, colstream.RangeIndexBlock)
		}
	}
	for at := 0; at < len(vals); {
		used := int(x.span % colstream.RangeIndexBlock)
		if used == 0 {
			x.mins, x.maxs, x.invalid = append(x.mins, 0), append(x.maxs, 0), append(x.invalid, 0)
		}
		n := min(colstream.RangeIndexBlock-used, len(vals)-at)
		there := vals[at : at+n]
		if valid != nil {
			there = simd.CompactNumbers(x.room, there, valid, a.Data().Offset()+at)
		}
		last := len(x.invalid) - 1
		x.part(there, used > int(x.invalid[last]))
		x.invalid[last] += uint16(n - len(there))
		x.span += uint64(n)
		at += n
	}
}

// part takes values of the last block, none of them null; seen reports whether the block has values already.
func (x *indexBuilder[T]) part(vals []T, seen bool) {
	last := len(x.mins) - 1
	least, greatest := x.mins[last], x.maxs[last]
	if isFloat[T]() {
		if some, most, ok := floatBounds(vals); ok {
			if !seen || some < least {
				least = some
			}
			if !seen || most > greatest {
				greatest = most
			}
			vals, seen = nil, true
		}
		for _, v := range vals {
			switch {
			case v != v:
				x.invalid[last]++
			case !seen:
				least, greatest, seen = v, v, true
			case v < least:
				least = v
			case v > greatest:
				greatest = v
			}
		}
	} else if len(vals) > 0 {
		some, most := integerBounds(vals)
		if !seen {
			least, greatest, seen = some, most, true
		}
		least, greatest = min(least, some), max(greatest, most)
	}
	x.mins[last], x.maxs[last] = least, greatest
	x.valid = x.valid || seen
}

// floatBounds are the extremes of floats; not ok if there are none, or one is infinite or no number.
func floatBounds[T block.Number](vals []T) (least, most T, ok bool) {
	if len(vals) == 0 {
		return 0, 0, false
	}
	if simd.SizeOf[T]() == 4 {
		b, ok := simd.BoundsOf(simd.Cast[float32](vals))
		return T(b.Least), T(b.Most), ok
	}
	b, ok := simd.BoundsOf(simd.Cast[float64](vals))
	return T(b.Least), T(b.Most), ok
}

// integerBounds are the extremes of integers, at least one.
func integerBounds[T block.Number](vals []T) (least, most T) {
	signed := T(0)-1 < 0
	switch simd.SizeOf[T]() {
	case 1:
		return boundsAs[int8, uint8](vals, signed)
	case 2:
		return boundsAs[int16, uint16](vals, signed)
	case 4:
		return boundsAs[int32, uint32](vals, signed)
	}
	return boundsAs[int64, uint64](vals, signed)
}

func boundsAs[S, U simd.Integer, T block.Number](vals []T, signed bool) (least, most T) {
	if signed {
		least, most := simd.Extremes(simd.Cast[S](vals))
		return T(least), T(most)
	}
	of, to := simd.Extremes(simd.Cast[U](vals))
	return T(of), T(to)
}

// isFloat reports whether T has fractions, and so values without an order.
func isFloat[T block.Number]() bool {
	one := T(1)
	return one/2 != 0
}

// finish gives the index, nil if there is nothing to index.
func (x *indexBuilder[T]) finish(typ schema.Basic) *colstream.RangeIndex {
	if !x.valid {
		return nil
	}
	return &colstream.RangeIndex{
		Type: typ, Span: x.span, BlockSize: colstream.RangeIndexBlock, Width: int(unsafe.Sizeof(*new(T))),
		Min: bufferOf(x.mins).Bytes(), Max: bufferOf(x.maxs).Bytes(), Invalid: x.invalid,
	}
}

// decimalIndexBuilder is indexBuilder for decimals, 16 bytes each.
type decimalIndexBuilder struct {
	mins, maxs []byte
	invalid    []uint16
	span       uint64
	valid      bool
	bounds     decimal.Bounds // of the last block
}

// add takes one value, nil for a null.
func (x *decimalIndexBuilder) add(v []byte) {
	if x.span%colstream.RangeIndexBlock == 0 {
		x.begin()
	}
	x.span++
	if v == nil || x.bounds.Add(decimal.From(v)) == decimal.NotANumber {
		x.invalid[len(x.invalid)-1]++
	}
}

// addAll takes values that lie one after the other.
func (x *decimalIndexBuilder) addAll(values []byte) {
	for len(values) > 0 {
		used := int(x.span % colstream.RangeIndexBlock)
		if used == 0 {
			x.begin()
		}
		some := values[:min(len(values), (colstream.RangeIndexBlock-used)*decimal.Size)]
		values = values[len(some):]
		x.span += uint64(len(some) / decimal.Size)
		for ; len(some) >= decimal.Size; some = some[decimal.Size:] {
			low, high := binary.LittleEndian.Uint64(some), binary.LittleEndian.Uint64(some[8:])
			if x.bounds.AddWords(low, high) == decimal.NotANumber {
				x.invalid[len(x.invalid)-1]++
			}
		}
	}
}

// begin begins a block.
func (x *decimalIndexBuilder) begin() {
	x.seal()
	x.mins, x.maxs = append(x.mins, make([]byte, decimal.Size)...), append(x.maxs, make([]byte, decimal.Size)...)
	x.invalid, x.bounds = append(x.invalid, 0), decimal.Bounds{}
}

// seal writes down the bounds of the last block.
func (x *decimalIndexBuilder) seal() {
	if !x.bounds.Any {
		return
	}
	copy(x.mins[len(x.mins)-decimal.Size:], x.bounds.Min[:])
	copy(x.maxs[len(x.maxs)-decimal.Size:], x.bounds.Max[:])
	x.valid = true
}

func (x *decimalIndexBuilder) finish() *colstream.RangeIndex {
	x.seal()
	if !x.valid {
		return nil
	}
	return &colstream.RangeIndex{
		Type: schema.FixedSizeBinary, Span: x.span, BlockSize: colstream.RangeIndexBlock, Width: decimal.Size,
		Min: x.mins, Max: x.maxs, Invalid: x.invalid,
	}
}
