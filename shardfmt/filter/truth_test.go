package filter

import (
	"math/rand/v2"
	"testing"
)

// Truths by eights are joined, inverted and packed as one by one, with false < unknown < true.
func TestTruthsByEights(t *testing.T) {
	order := map[truth]int{isFalse: 0, isUnknown: 1, isTrue: 2}
	all := []truth{isFalse, isUnknown, isTrue}
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 70 {
		a, b := make([]truth, n), make([]truth, n)
		for i := range a {
			a[i], b[i] = all[r.IntN(3)], all[r.IntN(3)]
		}
		least, greatest, opposite := append([]truth{}, a...), append([]truth{}, a...), append([]truth{}, a...)
		and(least, b)
		or(greatest, b)
		not(opposite)
		bitmap := make([]byte, (n+7)/8)
		count := Pack(bitmap, bytesOf(a))
		for i := range a {
			x, y := order[a[i]], order[b[i]]
			if order[least[i]] != min(x, y) || order[greatest[i]] != max(x, y) || order[opposite[i]] != 2-x {
				t.Fatalf("%d of %d: %d, %d: %d, %d, %d", i, n, a[i], b[i], least[i], greatest[i], opposite[i])
			}
			set := bitmap[i/8]>>(i%8)&1 == 1
			if set != (a[i] == isTrue) {
				t.Fatalf("%d of %d: %d, packed %v", i, n, a[i], set)
			}
			if set {
				count--
			}
		}
		if count != 0 {
			t.Fatalf("%d of %d truths too many", count, n)
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
