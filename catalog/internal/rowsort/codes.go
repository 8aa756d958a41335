package rowsort

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// ranked is a row of a batch and the code of its first key.
type ranked struct {
	code uint64
	row  int
}

// ranking orders the rows of one batch: by the code of the first key, by all keys where codes are equal, and by their numbers.
type ranking struct {
	order order
	codes []uint64 // nil if the first key has none
}

func newRanking(o order, rows int) *ranking { return &ranking{o, o.codes(rows)} }

// codes are those of the first key; nil for an order without keys, in which rows stay as they come.
func (o order) codes(rows int) []uint64 {
	if len(o) == 0 {
		return nil
	}
	return o[0].codes(rows)
}

func (r *ranking) of(row int) ranked {
	if r.codes == nil {
		return ranked{0, row}
	}
	return ranked{r.codes[row], row}
}

func (r *ranking) compare(a, b ranked) int {
	if a.code != b.code {
		return cmp.Compare(a.code, b.code)
	}
	if c := r.order.compare(a.row, r.order, b.row); c != 0 {
		return c
	}
	return cmp.Compare(a.row, b.row)
}

// first are the numbers of the first limit rows, in their order. Where the last row comes before the first one, as in data that lie in the opposite
// order, rows are looked at from the end: most are not among the first then.
func (r *ranking) first(rows, limit int) []int64 {
	kept := make([]ranked, 0, min(rows, limit))
	turned := rows > 0 && r.compare(r.of(rows-1), r.of(0)) < 0
	for i := range rows {
		if turned {
			i = rows - 1 - i
		}
		x := r.of(i)
		switch {
		case len(kept) < limit:
			if kept = append(kept, x); len(kept) == limit && limit < rows {
				for k := limit/2 - 1; k >= 0; k-- {
					r.sink(kept, k)
				}
			}
		case r.compare(x, kept[0]) < 0:
			kept[0] = x
			r.sink(kept, 0)
		}
	}
	slices.SortFunc(kept, r.compare)
	out := make([]int64, len(kept))
	for i, x := range kept {
		out[i] = int64(x.row)
	}
	return out
}

// sink restores a heap whose greatest row is the first, from place k down.
func (r *ranking) sink(heap []ranked, k int) {
	for {
		next := 2*k + 1
		if next >= len(heap) {
			return
		}
		if next+1 < len(heap) && r.compare(heap[next+1], heap[next]) > 0 {
			next++
		}
		if r.compare(heap[k], heap[next]) >= 0 {
			return
		}
		heap[k], heap[next] = heap[next], heap[k]
		k = next
	}
}

// codes are numbers of the first rows whose order nowhere contradicts that of the key: of two rows with equal codes nothing is known. nil
// for types and values without such numbers.
func (c *column) codes(rows int) []uint64 {
	out := make([]uint64, rows)
	if !fillCodes(c.values, out) {
		return nil
	}
	if c.key.Descending {
		for i := range out {
			out[i] = ^out[i]
		}
	}
	null := uint64(math.MaxUint64)
	if c.key.NullsFirst {
		null = 0
	}
	if c.values.NullN() > 0 || len(c.parents) > 0 {
		for i := range out {
			if c.null(i) {
				out[i] = null
			}
		}
	}
	return out
}

// fillCodes sets the codes of values in rising order; those of nulls have no meaning.
func fillCodes(a arrow.Array, out []uint64) bool {
	switch a := a.(type) {
	case *array.Boolean:
		return each(out, func(i int) uint64 { return uint64(number(a.Value(i))) })
	case *array.LargeString:
		return each(out, func(i int) uint64 { return prefix(a.Value(i)) })
	case *array.LargeBinary:
		return each(out, func(i int) uint64 { return prefix(a.Value(i)) })
	case *array.FixedSizeBinary:
		return each(out, func(i int) uint64 { return prefix(a.Value(i)) })
	case *array.Float32:
		return each(out, func(i int) uint64 { return floatCode(float64(a.Value(i))) })
	case *array.Float64:
		return each(out, func(i int) uint64 { return floatCode(a.Value(i)) })
	case *arrowtype.DecimalArray:
		return decimalCodes(a, out)
	case *arrowtype.DynamicArray:
		return false
	case array.ExtensionArray:
		return fillCodes(a.Storage(), out)
	}
	return integerCodes(a, out)
}

func integerCodes(a arrow.Array, out []uint64) bool {
	switch a := a.(type) {
	case *array.Int8:
		return signedCodes(a.Int8Values(), out)
	case *array.Int16:
		return signedCodes(a.Int16Values(), out)
	case *array.Int32:
		return signedCodes(a.Int32Values(), out)
	case *array.Int64:
		return signedCodes(a.Int64Values(), out)
	case *array.Uint8:
		return each(out, func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint16:
		return each(out, func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint32:
		return each(out, func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint64:
		copy(out, a.Uint64Values())
		return true
	}
	return false
}

func signedCodes[T int8 | int16 | int32 | int64](values []T, out []uint64) bool {
	for i := range out {
		out[i] = uint64(values[i]) ^ 1<<63
	}
	return true
}

func each(out []uint64, code func(i int) uint64) bool {
	for i := range out {
		out[i] = code(i)
	}
	return true
}

// prefix is the first eight bytes of a text as a number.
func prefix[T string | []byte](text T) uint64 {
	if len(text) >= 8 {
		return uint64(text[0])<<56 | uint64(text[1])<<48 | uint64(text[2])<<40 | uint64(text[3])<<32 |
			uint64(text[4])<<24 | uint64(text[5])<<16 | uint64(text[6])<<8 | uint64(text[7])
	}
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}

// floatCode orders as compareFloats does: zeros of both signs are equal, NaN is behind everything.
func floatCode(f float64) uint64 {
	bits := math.Float64bits(f)
	switch {
	case f != f:
		return math.MaxUint64
	case f == 0:
		return 1 << 63
	case f < 0:
		return ^bits
	}
	return bits | 1<<63
}

// decimalCodes are those of the nearest floating-point numbers, which lie in the order of the decimals where each is the quotient of two that are
// exact; false if one is not.
func decimalCodes(a *arrowtype.DecimalArray, out []uint64) bool {
	for i := range out {
		if a.IsNull(i) {
			continue
		}
		f, ok := decimal.From(a.Value(i)).Nearest()
		if !ok {
			return false
		}
		out[i] = floatCode(f)
	}
	return true
}
