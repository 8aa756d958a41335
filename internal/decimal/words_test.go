package decimal

import (
	"math/rand/v2"
	"testing"
)

// Words, and what takes them, report the same as bytes, for all declets and for values of any bits.
func TestWords(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var values []Value
	for c := range uint64(1024) {
		want := uint64(codes[declets[c]]) == c
		for shift := 0; shift < 60; shift += 10 {
			if got := preferred(c << shift); got != want {
				t.Fatalf("declet %#x at %d: preferred is %v", c, shift, got)
			}
		}
		v, _ := FromInt64(int64(c)*997, 2)
		_, high := v.Words()
		values = append(values, v, FromWords(c, high), FromWords(c<<10|5, high), FromWords(r.Uint64()>>4, high), FromWords(r.Uint64(), high))
	}
	for range 5000 {
		values = append(values, FromWords(r.Uint64(), r.Uint64()), FromWords(r.Uint64(), r.Uint64()&^(1<<46-1)))
	}
	for _, exponent := range [...]uint64{0, 1, 1<<12 - 3, 1<<12 - 2, 1<<12 - 1, 1 << 12, 2<<12 - 2, 3<<12 - 2, 3<<12 - 1} { // also where the first two bits of the exponent change
		for n := uint64(1); n < loUnit; n *= 10 {
			high := exponent>>12<<61 | exponent&(1<<12-1)<<46
			values = append(values, FromWords(codeThrees(n), high), FromWords(codeThrees(n*7), high|signBit), FromWords(codeThrees(n+n/100*30), high))
		}
	}
	values = append(values, Zero, NaN, Infinity, NegativeInfinity)
	for _, v := range values {
		low, high := v.Words()
		if FromWords(low, high) != v {
			t.Fatalf("%x has the words %x and %x", v, low, high)
		}
		if got, want := FromWords(ShortWords(low, high)), v.Short(); got != want {
			t.Fatalf("%x: short is %x by words, else %x", v, got, want)
		}
	}
}

// Bounds are those of a plain comparison, whatever comes before.
func TestBoundsOfManyKinds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		var b Bounds
		var least, greatest *Value
		for range 1 + r.IntN(40) {
			v, _ := FromInt64(int64(r.IntN(2000))-int64(r.IntN(2))*1000, 2)
			switch r.IntN(12) {
			case 0:
				v = FromInt(int64(r.IntN(20)))
			case 1:
				v = FromWords(r.Uint64(), r.Uint64())
			case 2:
				v = []Value{Zero, NaN, Infinity, NegativeInfinity}[r.IntN(4)]
			}
			class := b.Add(v)
			if (class == NotANumber) != v.IsNaN() || class != NotANumber && int(class)-int(ZeroValue) != v.Sign() {
				t.Fatalf("%v is of class %d", v, class)
			}
			if v.IsNaN() {
				continue
			}
			if least == nil || Compare(v, *least) < 0 {
				least = &v
			}
			if greatest == nil || Compare(v, *greatest) > 0 {
				greatest = &v
			}
		}
		if b.Any != (least != nil) || b.Any && (b.Min != *least || b.Max != *greatest) {
			t.Fatalf("bounds are %v to %v, and not %v to %v", b.Min, b.Max, least, greatest)
		}
	}
}
