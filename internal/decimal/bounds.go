package decimal

// Class is what a value is, as far as its sign shows.
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
	// small: both have at most 18 digits, are not negative and have the same exponent, which high has with zeros beside it.
	small bool
	high  uint64
}

// Add takes in a value and reports what it is. Of equal numbers the first is kept.
func (b *Bounds) Add(v Value) Class {
	low, high := v.Words()
	return b.AddWords(low, high)
}

// AddWords is Add of a value given by its Words.
func (b *Bounds) AddWords(low, high uint64) Class {
	if !b.small || high != b.high || low>>60 != 0 {
		return b.add(FromWords(low, high))
	}
	n := threes(low)
	if n < b.min.lo {
		b.Min, b.min.lo = FromWords(low, high), n
	} else if n > b.max.lo {
		b.Max, b.max.lo = FromWords(low, high), n
	}
	if n == 0 {
		return ZeroValue
	}
	return Positive
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
	b.high = b.Min.high()
	b.small = least && most && b.high == b.Max.high() && b.high>>63 == 0
	return Class(int(ZeroValue) + p.sign())
}
