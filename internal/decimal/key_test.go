package decimal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// Keys compare as values do, whatever their form.
func TestKeysAreInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	values := []Value{Zero, Infinity, NegativeInfinity}
	for _, s := range []string{"0.00", "-0", "1", "1.0", "1.00", "10E-1", "-1", "-1.0", "9.99", "10", "9999999999999999999999999999999999E6111", "1E-6176", "-1E-6176", "12", "123", "-12", "-123", "0.5", "5E-1"} {
		v, err := Parse(s)
		if err != nil {
			t.Fatal(s, err)
		}
		values = append(values, v)
	}
	for range 300 {
		v, err := Parse(fmt.Sprintf("%dE%d", r.Int64N(1<<(1+r.IntN(62)))-r.Int64N(1<<(1+r.IntN(62))), r.IntN(20)-10))
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	for _, a := range values {
		x, ok := AppendKey(nil, a)
		if !ok || len(x) != KeySize {
			t.Fatalf("%v: %d bytes, %v", a, len(x), ok)
		}
		for _, b := range values {
			y, _ := AppendKey(nil, b)
			if got, want := bytes.Compare(x, y), Compare(a, b); got != want {
				t.Errorf("%v and %v: %d, want %d", a, b, got, want)
			}
		}
	}
	if _, ok := AppendKey(nil, NaN); ok {
		t.Error("a NaN has a key")
	}
}
