package decimal

// Threshold is one value that many others are compared with. Not for concurrent use.
type Threshold struct {
	own parts
	// at is own with the exponent of the last value that was compared, where it has space for that.
	at parts
}

// NewThreshold takes a value apart once for all comparisons.
func NewThreshold(v Value) Threshold {
	p := v.parts()
	return Threshold{p, p}
}

// Compare is Compare(v, t): −1, 0 or +1. A NaN on either side is not ordered.
func (t *Threshold) Compare(v Value) (result int, ordered bool) {
	p := v.parts()
	if p.nan() || t.own.nan() {
		return 0, false
	}
	if p.exponent != t.at.exponent && p.kind == finite && t.own.kind == finite {
		t.at = t.own
		if more := t.own.exponent - p.exponent; more > 0 && t.own.len()+more <= MaxDigits {
			t.at = t.own.shifted(more)
			t.at.negative, t.at.exponent = t.own.negative, p.exponent
		}
	}
	return p.compare(&t.at), true
}
