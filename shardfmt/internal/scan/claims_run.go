package scan

import (
	"bytes"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Values that lie next to each other and are covered by the same claims are compared with these together: no value lies beyond a bound if the
// least and the greatest of them don't, and none is missing in a Bloom filter if none of the different ones is. Which value it is that
// contradicts a claim is found by looking at one after the other, where there is one.

// run is what values next to each other come to.
type run struct {
	positions   uint64
	nulls, nans uint64
	// any: least and greatest are set, the extremes of the values that are neither null nor NaN.
	any             bool
	least, greatest filter.Value
}

// invalid counts what has no place in a range.
func (r *run) invalid() uint64 { return r.nulls + r.nans }

// within reports whether no value contradicts the bounds and the count of NaNs of a claim.
func (r *run) within(n *schema.Node, c *filter.Stats) bool {
	switch {
	case c == nil:
		return true
	case r.nans > 0 && c.NoNaNs:
		return false
	}
	return !r.any || outside(n, c, r.least) == "" && outside(n, c, r.greatest) == ""
}

// holdTogether reports whether no value contradicts a claim; the first of them is at a position of the stripe. If it can't tell, all is
// as before.
func (x *claim) holdTogether(a arrow.Array, at uint64) bool {
	if valuesOf(a) == nil && x.index == nil {
		return true // of a type that has no order
	}
	var before indexClaim
	if x.index != nil {
		before = *x.index
	}
	if x.runsHold(a, at) && x.filtersAdmit(a) {
		return true
	}
	if x.index != nil {
		*x.index = before
	}
	return false
}

// runsHold is holdTogether without Bloom filters: run by run, none of which is in more than one block of the range index.
func (x *claim) runsHold(a arrow.Array, at uint64) bool {
	for from, n := uint64(0), uint64(a.Len()); from < n; {
		to := x.index.end(at+from, at+n) - at
		if to <= from {
			return false // behind what the index covers
		}
		r, ok := x.runOf(a, int(from), int(to))
		if !ok {
			return false
		}
		for _, s := range x.stats {
			if !r.within(x.node, s) {
				return false
			}
		}
		if !x.index.takeRun(at+from, &r) {
			return false
		}
		from = to
	}
	return true
}

// runOf looks at the values of an array between two places. It is not ok where they are of a type that is not that of the field. The
// extremes hold until the next call.
func (x *claim) runOf(a arrow.Array, from, to int) (r run, ok bool) {
	switch v := a.(type) {
	case *array.Int8:
		return integerRun(a, v.Int8Values(), from, to, signed), true
	case *array.Int16:
		return integerRun(a, v.Int16Values(), from, to, signed), true
	case *array.Int32:
		return integerRun(a, v.Int32Values(), from, to, signed), true
	case *array.Int64:
		return integerRun(a, v.Int64Values(), from, to, signed), true
	case *array.Uint8:
		return integerRun(a, v.Uint8Values(), from, to, unsigned), true
	case *array.Uint16:
		return integerRun(a, v.Uint16Values(), from, to, unsigned), true
	case *array.Uint32:
		return integerRun(a, v.Uint32Values(), from, to, unsigned), true
	case *array.Uint64:
		return integerRun(a, v.Uint64Values(), from, to, unsigned), !isSigned(x.node)
	case *array.Float32:
		return floatRun(a, v.Float32Values(), from, to), true
	case *array.Float64:
		return floatRun(a, v.Float64Values(), from, to), true
	case *array.Boolean:
		return booleanRun(v, from, to), true
	case *array.FixedSizeBinary:
		if !x.node.IsDecimal() {
			return textRun(a, from, to), true
		}
		if v.DataType().(*arrow.FixedSizeBinaryType).ByteWidth == decimal.Size {
			return decimalRun(v, from, to, &x.bounds), true
		}
	case *array.LargeString, *array.LargeBinary:
		return textRun(a, from, to), true
	}
	return run{}, false
}

func signed(v uint64) filter.Value { return filter.Value{Int: int64(v)} }

func unsigned(v uint64) filter.Value { return filter.Value{Uint: v} }

// presentRoom is how many values are put together at a time where some are null.
const presentRoom = 1024

// eachPresent calls do with the values of an array between two places that are not null, at least one at a time, and counts the others.
func eachPresent[T simd.Number](a arrow.Array, values []T, from, to int, do func(some []T)) (nulls uint64) {
	if a.NullN() == 0 {
		do(values[from:to])
		return 0
	}
	var room [presentRoom]T
	valid, offset := a.Data().Buffers()[0].Bytes(), a.Data().Offset()
	for from < to {
		part := values[from:min(from+len(room), to)]
		some := simd.CompactNumbers(room[:], part, valid, offset+from)
		if len(some) > 0 {
			do(some)
		}
		nulls += uint64(len(part) - len(some))
		from += len(part)
	}
	return nulls
}

func integerRun[T simd.Integer](a arrow.Array, values []T, from, to int, value func(uint64) filter.Value) run {
	r := run{positions: uint64(to - from)}
	var least, greatest T
	r.nulls = eachPresent(a, values, from, to, func(some []T) {
		low, high := simd.Extremes(some)
		if !r.any {
			r.any, least, greatest = true, low, high
		}
		least, greatest = min(least, low), max(greatest, high)
	})
	r.least, r.greatest = value(uint64(int64(least))), value(uint64(int64(greatest))) // sign-extends signed types, zero-extends unsigned ones
	return r
}

func floatRun[T float32 | float64](a arrow.Array, values []T, from, to int) run {
	r := run{positions: uint64(to - from)}
	least, greatest := math.Inf(1), math.Inf(-1)
	r.nulls = eachPresent(a, values, from, to, func(some []T) {
		if b, ok := simd.BoundsOf(some); ok {
			r.any = true
			least, greatest = min(least, float64(b.Least)), max(greatest, float64(b.Most))
			return
		}
		for _, v := range some {
			if v != v {
				r.nans++
				continue
			}
			r.any = true
			least, greatest = min(least, float64(v)), max(greatest, float64(v))
		}
	})
	r.least, r.greatest = filter.Value{Float: least}, filter.Value{Float: greatest}
	return r
}

func booleanRun(a *array.Boolean, from, to int) run {
	r := run{positions: uint64(to - from)}
	var has [2]bool
	for i := from; i < to; i++ {
		if a.IsNull(i) {
			r.nulls++
		} else {
			has[boolRank(a.Value(i))] = true
		}
	}
	r.any = has[0] || has[1]
	r.least, r.greatest = filter.Value{Bool: !has[0]}, filter.Value{Bool: has[1]}
	return r
}

// decimalRun looks at decimals; the extremes lie in b.
func decimalRun(a *array.FixedSizeBinary, from, to int, b *decimal.Bounds) run {
	r := run{positions: uint64(to - from)}
	t, nullable := textsOf(a), a.NullN() > 0
	*b = decimal.Bounds{}
	for i := from; i < to; i++ {
		if nullable && a.IsNull(i) {
			r.nulls++
		} else if b.Add(decimal.From(t.at(i))) == decimal.NotANumber {
			r.nans++
		}
	}
	r.any = b.Any
	r.least, r.greatest = filter.Value{Bytes: b.Min[:]}, filter.Value{Bytes: b.Max[:]}
	return r
}

// textRun looks at byte strings: by their first eight bytes, which mostly decide.
func textRun(a arrow.Array, from, to int) run {
	r := run{positions: uint64(to - from)}
	t, nullable := textsOf(a), a.NullN() > 0
	var least, greatest []byte
	var leastHead, greatestHead uint64
	for i := from; i < to; i++ {
		if nullable && a.IsNull(i) {
			r.nulls++
			continue
		}
		start, end := t.span(i)
		head := bits.ReverseBytes64(first(simd.Ends(t.data, start, end)))
		switch v := t.data[start:end]; {
		case !r.any:
			r.any, least, greatest, leastHead, greatestHead = true, v, v, head, head
		case head <= leastHead && (head < leastHead || bytes.Compare(v, least) < 0):
			least, leastHead = v, head
		case head >= greatestHead && (head > greatestHead || bytes.Compare(v, greatest) > 0):
			greatest, greatestHead = v, head
		}
	}
	r.least, r.greatest = filter.Value{Bytes: least}, filter.Value{Bytes: greatest}
	return r
}

func first(head, _ uint64) uint64 { return head }

// texts are the byte strings of an array: those of any length by where they end, others by how long they all are.
type texts struct {
	data []byte
	ends []int64
	size int
}

// textsOf gives the byte strings of an array, without data if it holds other things.
func textsOf(a arrow.Array) (t texts) {
	data := 1
	switch v := a.(type) {
	case *array.LargeString:
		t.ends, data = v.ValueOffsets(), 2
	case *array.LargeBinary:
		t.ends, data = v.ValueOffsets(), 2
	case *array.FixedSizeBinary:
		t.size = v.DataType().(*arrow.FixedSizeBinaryType).ByteWidth
	default:
		return t
	}
	if b := a.Data().Buffers()[data]; b != nil {
		t.data = b.Bytes()[a.Data().Offset()*t.size:]
	}
	return t
}

// span is where value i lies in the data.
func (t *texts) span(i int) (start, end int) {
	if t.ends != nil {
		return int(t.ends[i]), int(t.ends[i+1])
	}
	return i * t.size, (i + 1) * t.size
}

func (t *texts) at(i int) []byte {
	start, end := t.span(i)
	return t.data[start:end]
}
