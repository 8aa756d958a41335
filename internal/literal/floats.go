package literal

import (
	"math"
	"strconv"
)

// Floats appends float64 values as AppendFloat does, many of a kind: where those before had few digits behind the point, as prices and
// measurements do, it tries with as many first, which takes two divisions instead of a search for the shortest text. The zero value is
// ready. Not for concurrent use.
type Floats struct {
	places int // that the values so far had, at most; 0 as long as none had few
}

// exactDigits is how many digits any number may have to be distinguished from all others in a float64. So a text of so many at most is the only
// one, and with that the shortest, but for zeros at its end.
const exactDigits = 15

var powers = [exactDigits + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// Append appends the text of v.
func (f *Floats) Append(dst []byte, v float64) []byte {
	if a := math.Abs(v); f.places > 0 && a >= 1e-5 && a < 1e15 { // not in the notation with exponents; NaN is neither
		if n := a*powers[f.places] + 0.5; n < 1e15 {
			if whole := uint64(n); float64(whole)/powers[f.places] == a {
				if v < 0 {
					dst = append(dst, '-')
				}
				return appendPlaces(dst, whole, f.places)
			}
		}
	}
	at := len(dst)
	dst = AppendFloat(dst, v, 64)
	f.learn(dst[at:])
	return dst
}

// learn takes note of the places of a text, if it has few digits.
func (f *Floats) learn(text []byte) {
	if len(text) > exactDigits+1 { // with the point
		return
	}
	for i, c := range text {
		if c == 'e' {
			return
		}
		if c == '.' {
			f.places = max(f.places, len(text)-i-1)
		}
	}
}

// appendPlaces appends n / 10^places without the zeros at its end, but for the first behind the point.
func appendPlaces(dst []byte, n uint64, places int) []byte {
	for places > 1 && n%10 == 0 {
		n, places = n/10, places-1
	}
	unit := uint64(powers[places])
	whole := n / unit
	dst = append(strconv.AppendUint(dst, whole, 10), ".000000000000000"[:1+places]...)
	rest := n - whole*unit
	at := len(dst)
	for places > 1 {
		at, places = at-2, places-2
		putPair(dst[at:], uint32(rest%100))
		rest /= 100
	}
	if places > 0 {
		dst[at-1] += byte(rest)
	}
	return dst
}
