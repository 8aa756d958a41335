package scan

import (
	"bytes"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// A Bloom filter is read for each of the different values of a field, which are mostly few: those that were requested lately are
// remembered, each at its place by a multiplication.

const (
	// admittedBits make 1,024 places: as many values has a filter that nobody requested.
	admittedBits = 10
	// admittedText is how long a byte string may be that is remembered: 128 KiB for all of a field.
	admittedText = 128
)

// admitted remembers values that every Bloom filter of a field admits.
type admitted struct {
	words    *[1 << admittedBits]uint64
	decimals *[1 << admittedBits][2]uint64
	texts    *[1 << admittedBits]admittedValue
}

// admittedValue is a byte string with its simd.Ends.
type admittedValue struct {
	known      bool
	size       int
	head, tail uint64
	text       []byte
}

// place is where a value is remembered, by its hash or what is as good after a multiplication (Fibonacci hashing).
func place(h uint64) uint64 { return h * 0x9E3779B97F4A7C15 >> (64 - admittedBits) }

// filtersAdmit reports whether no value of an array is missing in a Bloom filter.
func (x *claim) filtersAdmit(a arrow.Array) bool {
	if !x.filtered() {
		return true
	}
	switch v := a.(type) {
	case *array.Int8:
		return wordsAdmitted(x, a, v.Int8Values(), signed)
	case *array.Int16:
		return wordsAdmitted(x, a, v.Int16Values(), signed)
	case *array.Int32:
		return wordsAdmitted(x, a, v.Int32Values(), signed)
	case *array.Int64:
		return wordsAdmitted(x, a, v.Int64Values(), signed)
	case *array.Uint8:
		return wordsAdmitted(x, a, v.Uint8Values(), unsigned)
	case *array.Uint16:
		return wordsAdmitted(x, a, v.Uint16Values(), unsigned)
	case *array.Uint32:
		return wordsAdmitted(x, a, v.Uint32Values(), unsigned)
	case *array.Uint64:
		return !isSigned(x.node) && wordsAdmitted(x, a, v.Uint64Values(), unsigned)
	case *array.Float32:
		return floatsAdmitted(x, a, v.Float32Values())
	case *array.Float64:
		return floatsAdmitted(x, a, v.Float64Values())
	case *array.Boolean:
		return true // which no filter is of
	case *array.FixedSizeBinary:
		if x.node.IsDecimal() {
			return x.decimalsAdmitted(v)
		}
		return x.textsAdmitted(a)
	case *array.LargeString, *array.LargeBinary:
		return x.textsAdmitted(a)
	}
	return false
}

// filtered reports whether there is any Bloom filter.
func (x *claim) filtered() bool {
	for _, s := range x.stats {
		if s != nil && s.MayContain != nil {
			return true
		}
	}
	return false
}

// mayContain asks every filter for a value.
func (x *claim) mayContain(v filter.Value) bool {
	for _, s := range x.stats {
		if s != nil && s.MayContain != nil && !s.MayContain(v) {
			return false
		}
	}
	return true
}

// word requests a value that a word stands for, unless it is known.
func (x *claim) word(w uint64, v filter.Value) bool {
	if x.admitted.words == nil {
		x.admitted.words = new([1 << admittedBits]uint64)
		x.admitted.words[0] = 1 // whose place is another: 0, whose place it is, is not known yet
	}
	p := &x.admitted.words[place(w)]
	if *p != w {
		if !x.mayContain(v) {
			return false
		}
		*p = w
	}
	return true
}

func wordsAdmitted[T simd.Integer](x *claim, a arrow.Array, values []T, value func(uint64) filter.Value) bool {
	ok := true
	eachPresent(a, values, 0, a.Len(), func(some []T) {
		for i, v := range some {
			if w := uint64(int64(v)); i == 0 || v != some[i-1] {
				ok = ok && x.word(w, value(w))
			}
		}
	})
	return ok
}

func floatsAdmitted[T float32 | float64](x *claim, a arrow.Array, values []T) bool {
	ok := true
	eachPresent(a, values, 0, a.Len(), func(some []T) {
		for _, v := range some {
			if f := float64(v); f == f {
				ok = ok && x.word(math.Float64bits(f), filter.Value{Float: f})
			}
		}
	})
	return ok
}

func (x *claim) decimalsAdmitted(a *array.FixedSizeBinary) bool {
	if x.admitted.decimals == nil {
		x.admitted.decimals = new([1 << admittedBits][2]uint64)
		x.admitted.decimals[0] = [2]uint64{1, 0} // whose place is another
	}
	t := textsOf(a)
	for i := range a.Len() {
		if a.IsNull(i) {
			continue
		}
		b := t.at(i)
		v := decimal.From(b)
		low, high := v.Words()
		p := &x.admitted.decimals[place(low^high>>46)]
		if *p == [2]uint64{low, high} || v.IsNaN() {
			continue
		}
		if !x.mayContain(filter.Value{Bytes: b}) {
			return false
		}
		*p = [2]uint64{low, high}
	}
	return true
}

func (x *claim) textsAdmitted(a arrow.Array) bool {
	if x.admitted.texts == nil {
		x.admitted.texts = new([1 << admittedBits]admittedValue)
	}
	t, nullable := textsOf(a), a.NullN() > 0
	for i := range a.Len() {
		if nullable && a.IsNull(i) {
			continue
		}
		if start, end := t.span(i); !x.text(t.data, start, end) {
			return false
		}
	}
	return true
}

// text requests the byte string from start to end in data, unless it is known.
func (x *claim) text(data []byte, start, end int) bool {
	n := end - start
	head, tail := simd.Ends(data, start, end)
	p := &x.admitted.texts[simd.HashEnds(head, tail, n)>>(64-admittedBits)]
	if p.known && p.size == n && p.head == head && p.tail == tail && (n <= simd.EndsTell || bytes.Equal(p.text, data[start:end])) {
		return true
	}
	if !x.mayContain(filter.Value{Bytes: data[start:end]}) {
		return false
	}
	if n <= admittedText {
		*p = admittedValue{known: true, size: n, head: head, tail: tail, text: append(p.text[:0], data[start:end]...)}
	}
	return true
}
