package field

import (
	"encoding/binary"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/block"
	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/shardfmt/decimal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// indexBuilder gathers the minima and maxima of the range index of a field of numbers.
type indexBuilder[T block.Number] struct {
	mins, maxs []T
	invalid    []uint16
	span       uint64
	valid      bool // any value that has an order
}

// add takes the values of an array.
func (x *indexBuilder[T]) add(vals []T, a arrow.Array) {
	hasNulls := a.NullN() > 0
	for at := 0; at < len(vals); {
		used := int(x.span % buffer.RangeIndexBlock)
		if used == 0 {
			x.mins, x.maxs, x.invalid = append(x.mins, 0), append(x.maxs, 0), append(x.invalid, 0)
		}
		n := min(buffer.RangeIndexBlock-used, len(vals)-at)
		x.part(vals[at:at+n], a, at, used, hasNulls)
		x.span += uint64(n)
		at += n
	}
}

// part takes values of the last block, of which used slots came before.
func (x *indexBuilder[T]) part(vals []T, a arrow.Array, at, used int, hasNulls bool) {
	last := len(x.mins) - 1
	least, greatest, invalid := x.mins[last], x.maxs[last], int(x.invalid[last])
	seen := used > invalid
	if !hasNulls && !isFloat[T]() { // nothing is left out: no branch is needed
		if !seen {
			least, greatest = vals[0], vals[0]
		}
		for _, v := range vals {
			least, greatest = min(least, v), max(greatest, v)
		}
		x.mins[last], x.maxs[last], x.valid = least, greatest, true
		return
	}
	for i, v := range vals {
		switch {
		case v != v || hasNulls && a.IsNull(at+i):
			invalid++
		case !seen:
			least, greatest, seen = v, v, true
		case v < least:
			least = v
		case v > greatest:
			greatest = v
		}
	}
	x.mins[last], x.maxs[last], x.invalid[last] = least, greatest, uint16(invalid)
	x.valid = x.valid || seen
}

// isFloat reports whether T has fractions, and so values without an order.
func isFloat[T block.Number]() bool {
	one := T(1)
	return one/2 != 0
}

// finish gives the index, nil if there is nothing to index.
func (x *indexBuilder[T]) finish(typ schema.Basic) *buffer.RangeIndex {
	if !x.valid {
		return nil
	}
	return &buffer.RangeIndex{
		Type: typ, Span: x.span, BlockSize: buffer.RangeIndexBlock, Width: int(unsafe.Sizeof(*new(T))),
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
	if x.span%buffer.RangeIndexBlock == 0 {
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
		used := int(x.span % buffer.RangeIndexBlock)
		if used == 0 {
			x.begin()
		}
		some := values[:min(len(values), (buffer.RangeIndexBlock-used)*decimal.Size)]
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

func (x *decimalIndexBuilder) finish() *buffer.RangeIndex {
	x.seal()
	if !x.valid {
		return nil
	}
	return &buffer.RangeIndex{
		Type: schema.FixedSizeBinary, Span: x.span, BlockSize: buffer.RangeIndexBlock, Width: decimal.Size,
		Min: x.mins, Max: x.maxs, Invalid: x.invalid,
	}
}
