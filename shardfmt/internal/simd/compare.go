package simd

import (
	"math/bits"
	"unsafe"
)

// Integer is an element type without fractions.
type Integer interface {
	int8 | int16 | int32 | int64 | Unsigned
}

// IntsWithin sets a bit for each value that lies in a range: that is low when it is widened to 64 bits, or follows it by at most
// span, modulo 2^64. So all comparisons are one, for signed and unsigned numbers. dst has a word for each 64 values; bits beyond
// the last value become 0.
func IntsWithin[T Integer](dst []uint64, values []T, low, span uint64) {
	w := &active.within
	switch v := any(values).(type) {
	case []int8:
		w.i8(dst, v, low, span)
	case []int16:
		w.i16(dst, v, low, span)
	case []int32:
		w.i32(dst, v, low, span)
	case []int64:
		w.u64(dst, Cast[uint64](v), low, span)
	case []uint8:
		w.u8(dst, v, low, span)
	case []uint16:
		w.u16(dst, v, low, span)
	case []uint32:
		w.u32(dst, v, low, span)
	case []uint64:
		w.u64(dst, v, low, span)
	}
}

// FloatsWithin sets a bit for each value from low to high, both included; no NaN is. dst is as for IntsWithin.
func FloatsWithin[T float32 | float64](dst []uint64, values []T, low, high float64) {
	if unsafe.Sizeof(T(0)) == 4 {
		active.within.f32(dst, Cast[float32](values), low, high)
		return
	}
	active.within.f64(dst, Cast[float64](values), low, high)
}

// within are the functions that compare values with a range, by their type.
type within struct {
	i8  func(dst []uint64, values []int8, low, span uint64)
	i16 func(dst []uint64, values []int16, low, span uint64)
	i32 func(dst []uint64, values []int32, low, span uint64)
	u8  func(dst []uint64, values []uint8, low, span uint64)
	u16 func(dst []uint64, values []uint16, low, span uint64)
	u32 func(dst []uint64, values []uint32, low, span uint64)
	u64 func(dst []uint64, values []uint64, low, span uint64)
	f32 func(dst []uint64, values []float32, low, high float64)
	f64 func(dst []uint64, values []float64, low, high float64)
}

func newWithin() within {
	return within{
		intsWithin[int8], intsWithin[int16], intsWithin[int32], intsWithin[uint8], intsWithin[uint16], intsWithin[uint32], intsWithin[uint64],
		floatsWithin[float32], floatsWithin[float64],
	}
}

func intsWithin[T Integer](dst []uint64, values []T, low, span uint64) {
	for k := 0; len(values) > 0; k++ {
		some := values[:min(wordBits, len(values))]
		values = values[len(some):]
		out := uint64(0)
		for i, v := range some {
			_, outside := bits.Sub64(span, uint64(v)-low, 0) // a borrow is not a branch
			out |= outside << (i % wordBits)
		}
		dst[k] = ^out & lowBits(len(some))
	}
}

func floatsWithin[T float32 | float64](dst []uint64, values []T, low, high float64) {
	for k := 0; len(values) > 0; k++ {
		some := values[:min(wordBits, len(values))]
		values = values[len(some):]
		in := uint64(0)
		for i, v := range some {
			var above, below uint64
			if float64(v) >= low {
				above = 1
			}
			if float64(v) <= high {
				below = 1
			}
			in |= above & below << (i % wordBits)
		}
		dst[k] = in
	}
}
