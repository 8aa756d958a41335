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
}

// Add takes in a value and tells what it is. Of equal numbers the first is kept.
func (b *Bounds) Add(v Value) Class {
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
	return Class(int(ZeroValue) + p.sign())
}
