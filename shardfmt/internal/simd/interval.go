package simd

import "encoding/binary"

// Interval is the numbers that a comparison with one number is true of.
type Interval struct {
	// Low is the least integer, widened to 64 bits, and Span how far behind it the greatest one lies; see IntsWithin.
	Low, Span uint64
	// From and To are the least and the greatest float.
	From, To float64
	// None: no number lies between them. Others: it is true of all numbers that don't, NaNs among them.
	None, Others bool
}

// Eval sets a bit for each value that an interval has. dst has exactly a word for each 64 values; bits beyond the last value
// become 0.
func Eval[T Number](dst []uint64, values []T, v *Interval) {
	if v.None {
		clear(dst)
	} else {
		evalWithin(dst, values, v)
	}
	if !v.Others {
		return
	}
	for i := range dst {
		dst[i] = ^dst[i]
	}
	if rest := len(values) % wordBits; rest > 0 {
		dst[len(values)/wordBits] &= lowBits(rest)
	}
}

func evalWithin[T Number](dst []uint64, values []T, v *Interval) {
	switch values := any(values).(type) {
	case []float32:
		FloatsWithin(dst, values, v.From, v.To)
	case []float64:
		FloatsWithin(dst, values, v.From, v.To)
	case []int8:
		IntsWithin(dst, values, v.Low, v.Span)
	case []int16:
		IntsWithin(dst, values, v.Low, v.Span)
	case []int32:
		IntsWithin(dst, values, v.Low, v.Span)
	case []int64:
		IntsWithin(dst, values, v.Low, v.Span)
	case []uint8:
		IntsWithin(dst, values, v.Low, v.Span)
	case []uint16:
		IntsWithin(dst, values, v.Low, v.Span)
	case []uint32:
		IntsWithin(dst, values, v.Low, v.Span)
	case []uint64:
		IntsWithin(dst, values, v.Low, v.Span)
	}
}

// PutWords writes the first n bits of words as a bitmap of ⌈n/8⌉ bytes.
func PutWords(bitmap []byte, words []uint64, n int) {
	whole := n / wordBits
	for i, w := range words[:whole] {
		binary.LittleEndian.PutUint64(bitmap[8*i:], w)
	}
	if rest := n % wordBits; rest > 0 {
		putBits(bitmap, whole*wordBits, (rest+7)/8*8, words[whole]&lowBits(rest))
	}
}
