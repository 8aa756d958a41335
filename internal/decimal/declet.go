package decimal

// declets maps each ten-bit code to the three digits it stands for, codes maps three digits to their
// preferred code.
var (
	declets [1024]uint16
	codes   [1000]uint16
	// declets3 are the declets as text: three digits, the first one in the low byte, and above them how many of the three are zeros
	// before the number, of which the last digit is none.
	declets3 [1024]uint32
)

func init() {
	// Downwards, so that the smallest code of a number, the preferred one, is stored last.
	for code := 1023; code >= 0; code-- {
		n := unpack(uint16(code))
		declets[code] = n
		codes[n] = uint16(code)
		declets3[code] = uint32(n/100+'0') | uint32(n/10%10+'0')<<8 | uint32(n%10+'0')<<16
		if n < 10 {
			declets3[code] |= 2 << 24
		} else if n < 100 {
			declets3[code] |= 1 << 24
		}
	}
}

// unpack decodes the bits pqr stu v wxy of a declet. A digit is small (three bits) or large (8 plus one
// bit); v, wx and st report which are which.
func unpack(c uint16) uint16 {
	pq, r := c>>8&3, c>>7&1
	st, u := c>>5&3, c>>4&1
	v, wx, y := c>>3&1, c>>1&3, c&1
	a, b, d := pq<<1|r, st<<1|u, wx<<1|y // all three small
	if v == 0 {
		return digits(a, b, d)
	}
	switch wx {
	case 0:
		return digits(a, b, 8+y)
	case 1:
		return digits(a, 8+u, st<<1|y)
	case 2:
		return digits(8+r, b, pq<<1|y)
	}
	switch st {
	case 0:
		return digits(8+r, 8+u, pq<<1|y)
	case 1:
		return digits(8+r, pq<<1|u, 8+y)
	case 2:
		return digits(a, 8+u, 8+y)
	}
	return digits(8+r, 8+u, 8+y)
}

func digits(a, b, c uint16) uint16 { return a*100 + b*10 + c }
