package simd

import "math"

// Bounds are what floats come to by themselves, none of them infinite or no number.
type Bounds[T float32 | float64] struct {
	// Least and Most are their extremes; of zeros of either sign that are one, the first counts.
	Least, Most T
	// Negative are those below zero, Zeros those of either sign.
	Negative, Zeros int
	// Differ has the bits in which any differs from the first.
	Differ uint64
}

// BoundsOf looks at one float at least. It is not ok if one of them is infinite or no number.
func BoundsOf[T float32 | float64](vals []T) (b Bounds[T], ok bool) {
	if SizeOf[T]() == 4 {
		of, ok := active.bounds32(Cast[float32](vals))
		return Bounds[T]{T(of.Least), T(of.Most), of.Negative, of.Zeros, of.Differ}, ok
	}
	of, ok := active.bounds64(Cast[float64](vals))
	return Bounds[T]{T(of.Least), T(of.Most), of.Negative, of.Zeros, of.Differ}, ok
}

// bounds is the plain loop.
func bounds[T float32 | float64](vals []T) (b Bounds[T], ok bool) {
	b = emptyBounds[T]()
	return b, b.take(vals, vals[0])
}

// emptyBounds are those of nothing.
func emptyBounds[T float32 | float64]() Bounds[T] {
	return Bounds[T]{Least: T(math.Inf(1)), Most: T(math.Inf(-1))}
}

// take looks at more floats; first is the first of all.
func (b *Bounds[T]) take(vals []T, first T) (ok bool) {
	least, most, bits := b.Least, b.Most, FloatBits(first)
	ok = true
	for _, v := range vals {
		if v < least {
			least = v
		}
		if v > most {
			most = v
		}
		b.Differ |= FloatBits(v) ^ bits
		if v < 0 {
			b.Negative++
		}
		if v == 0 {
			b.Zeros++
		}
		ok = ok && v-v == 0
	}
	b.Least, b.Most = least, most
	return ok
}

// zero sets the sign of extremes that are zero.
func (b *Bounds[T]) zero(vals []T) {
	if b.Zeros == 0 || b.Least != 0 && b.Most != 0 {
		return
	}
	for _, v := range vals {
		if v != 0 {
			continue
		}
		if b.Least == 0 {
			b.Least = v
		}
		if b.Most == 0 {
			b.Most = v
		}
		return
	}
}

// FloatBits is the bits of a float of either width.
func FloatBits[T float32 | float64](v T) uint64 {
	if SizeOf[T]() == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(float64(v))
}
