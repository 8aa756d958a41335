package decimal

// Class is what a value is, as far as its sign tells.
type Class uint8

// The classes.
const (
	NotANumber Class = iota
	Negative
	ZeroValue
	Positive
)

// Bounds are the least and the greatest of the values added. NaN has no place among them.
type Bounds struct {
	// Any reports whether Min and Max are set.
	Any      bool
	Min, Max Value
	min, max parts
	// small: both have at most 18 digits, and the same sign and exponent.
	small bool
}

// Add takes in a value and tells what it is. Of equal numbers the first is kept.
func (b *Bounds) Add(v Value) Class {
	if n, ok := v.small(); ok && b.small && v.high() == b.Min.high() && v[15]>>7 == 0 {
		if n < b.min.lo {
			b.Min, b.min.lo = v, n
		} else if n > b.max.lo {
			b.Max, b.max.lo = v, n
		}
		if n == 0 {
			return ZeroValue
		}
		return Positive
	}
	return b.add(v)
}

// add is Add of any value.
func (b *Bounds) add(v Value) Class {
	p := v.parts()
	if p.nan() {
		return NotANumber
	}
	if !b.Any {
		b.Any, b.Min, b.Max, b.min, b.max = true, v, v, p, p
	} else if p.compare(&b.min) < 0 {
		b.Min, b.min = v, p
	} else if p.compare(&b.max) > 0 {
		b.Max, b.max = v, p
	}
	_, least := b.Min.small()
	_, most := b.Max.small()
	b.small = least && most && b.Min.high() == b.Max.high()
	return Class(int(ZeroValue) + p.sign())
}
