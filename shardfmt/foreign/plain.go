package foreign

// Most numbers in text are a few digits, perhaps with a point among them. These are read in one pass; whatever else there
// may be, wrong or right, goes the long way.

// plainDigits is how many digits always fit an int64 and their magnitude a uint64.
const plainDigits = 18

// plainInteger reads [-]digits as JSON writes them, without leading zeros.
func plainInteger(t []byte) (n int64, ok bool) {
	digits, negative := unsigned(t)
	if len(digits) == 0 || len(digits) > plainDigits || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	for _, c := range digits {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	if negative {
		n = -n
	}
	return n, true
}

// unsigned takes the sign off.
func unsigned(t []byte) (rest []byte, negative bool) {
	if len(t) > 0 && t[0] == '-' {
		return t[1:], true
	}
	return t, false
}

// powers of ten that a float64 holds exactly, as many as plainFloat divides by.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// plainFloat reads [-]digits[.digits] as JSON writes them, of at most 15 characters: then both the digits and the power of ten
// are exact, and one division rounds as the number itself would be (Clinger, How to Read Floating Point Numbers Accurately).
func plainFloat(t []byte) (v float64, ok bool) {
	t, negative := unsigned(t)
	if len(t) == 0 || len(t) >= len(powers) || len(t) > 1 && t[0] == '0' && t[1] != '.' {
		return 0, false
	}
	n, point := int64(0), -1
	for i, c := range t {
		if d := c - '0'; d <= 9 {
			n = n*10 + int64(d)
		} else if c == '.' && point < 0 {
			point = i
		} else {
			return 0, false
		}
	}
	fraction := 0
	if point >= 0 {
		if fraction = len(t) - point - 1; point == 0 || fraction == 0 {
			return 0, false
		}
	}
	if v = float64(n) / powers[fraction]; negative {
		v = -v
	}
	return v, true
}
