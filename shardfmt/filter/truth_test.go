package filter

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Truths by words are joined, inverted and written as one by one, with false < unknown < true.
func TestTruthsByWords(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	some := func(n int) (truths, []int) {
		t, plain := newTruths(n), make([]int, n)
		for i := range plain {
			plain[i] = r.IntN(3)
			if plain[i] > 0 {
				t.maybe[i/wordBits] |= 1 << (i % wordBits)
			}
			if plain[i] > 1 {
				t.sure[i/wordBits] |= 1 << (i % wordBits)
			}
		}
		return t, plain
	}
	at := func(t truths, i int) int {
		return int(t.sure[i/wordBits]>>(i%wordBits)&1 + t.maybe[i/wordBits]>>(i%wordBits)&1)
	}
	clone := func(t truths) truths { return truths{slices.Clone(t.sure), slices.Clone(t.maybe)} }
	for n := range 200 {
		a, x := some(n)
		b, y := some(n)
		least, greatest, opposite := clone(a), clone(a), clone(a)
		least.and(b)
		greatest.or(b)
		opposite.not()
		bitmap := make([]byte, (n+7)/8)
		opposite.put(bitmap, n)
		for i := range n {
			if at(least, i) != min(x[i], y[i]) || at(greatest, i) != max(x[i], y[i]) {
				t.Fatalf("%d of %d: %d, %d: %d, %d", i, n, x[i], y[i], at(least, i), at(greatest, i))
			}
			if set := bitmap[i/8]>>(i%8)&1 == 1; set != (x[i] == 0) {
				t.Fatalf("%d of %d: the opposite of %d is written as %v", i, n, x[i], set)
			}
		}
		if n%8 > 0 && bitmap[n/8]>>(n%8) != 0 {
			t.Fatalf("%d rows: bits beyond the last: %08b", n, bitmap[n/8])
		}
	}
}

// The parts of an expression select together what it selects, and read its fields.
func TestConjuncts(t *testing.T) {
	s, batch := sample(t)
	for expr, parts := range map[string]int{
		"i < 7":                               1,
		"i < 7 AND f > -1":                    2,
		"i < 7 OR f > -1":                     1,
		"i < 7 AND (u >= 0 AND s HAS 'disk')": 3,
		"i BETWEEN -5 AND 7 AND NOT (b AND u > 3) AND p.x IS NOT NULL": 3,
		"i IN (0, NULL) AND NOT f = 3":                                 2,
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Bind(e, s)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := whole.Select(batch)
		if err != nil {
			t.Fatal(err)
		}
		got, fields := []byte{0xff}, map[string]bool{}
		list := whole.Conjuncts()
		for _, part := range list {
			bitmap, _, err := part.Select(batch)
			if err != nil {
				t.Fatal(err)
			}
			got[0] &= bitmap[0]
			for _, p := range part.Paths() {
				fields[p.String()] = true
			}
		}
		if got[0]&0x1f != want[0] || len(list) != parts || len(fields) != len(whole.Paths()) {
			t.Errorf("%s: %d parts of fields %v select %05b, the whole %05b", expr, len(list), fields, got[0], want[0])
		}
	}
}
