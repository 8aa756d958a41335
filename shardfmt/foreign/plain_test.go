package foreign

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Numbers read in one pass are those that strconv reads, bit by bit.
func TestPlainNumbersAreThoseOfStrconv(t *testing.T) {
	r, taken := rand.New(rand.NewPCG(14, 3)), 0
	for range 200_000 {
		text := strconv.FormatUint(r.Uint64()>>r.IntN(64), 10)
		if n := r.IntN(len(text) + 3); n > 0 && n < len(text) {
			text = text[:n] + "." + text[n:]
		}
		if r.IntN(3) == 0 {
			text = "-" + text
		}
		if got, ok := plainFloat([]byte(text)); ok {
			taken++
			if want, err := strconv.ParseFloat(text, 64); err != nil || math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s is %v, want %v, %v", text, got, want, err)
			}
		}
		if got, ok := plainInteger([]byte(text)); ok {
			taken++
			if want, err := strconv.ParseInt(text, 10, 64); err != nil || got != want {
				t.Fatalf("%s is %d, want %d, %v", text, got, want, err)
			}
		}
	}
	if taken < 100_000 {
		t.Errorf("only %d of the numbers were plain", taken)
	}
	if v, ok := plainFloat([]byte("-0.0")); !ok || !math.Signbit(v) {
		t.Errorf("-0.0 is %v, %v", v, ok)
	}
	for _, text := range []string{
		"0", "-0", "7", "999999999999999999", "-999999999999999999", "0.05", "24386.67", "99999999999999", "9999999.9999999",
	} {
		_, whole := plainInteger([]byte(text))
		if _, any := plainFloat([]byte(text)); !whole && !any {
			t.Errorf("%s is read the long way", text)
		}
	}
}

// What JSON does not write so, or what one pass can't hold, is left to the long way, with its errors.
func TestNumbersThatAreNotPlain(t *testing.T) {
	for _, text := range []string{"", "-", "+1", "007", "-01", "1e3", "NaN", "1_0", "0x1", " 1", "1 ", "--1", "1234567890123456789"} {
		if v, ok := plainInteger([]byte(text)); ok {
			t.Errorf("%q is the integer %d", text, v)
		}
	}
	for _, text := range []string{"", "-", ".", ".5", "5.", "-.5", "00.5", "1.2.3", "1e3", "NaN", "-Infinity", "1234567890.123456", "9007199254740993"} {
		if v, ok := plainFloat([]byte(text)); ok {
			t.Errorf("%q is the number %v", text, v)
		}
	}
}
