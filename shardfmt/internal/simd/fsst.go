package simd

import "encoding/binary"

// fsstEscape is the code before a byte that stands for itself.
const fsstEscape = 255

// FsstTable is a table of up to 255 symbols. A code without a symbol has length 0.
type FsstTable struct {
	symbols [256]uint64
	lengths [256]uint8
	count   uint8 // of symbols: codes from there on have none
}

// Set fills the table from eight bytes per symbol and a length each. It returns false if a length is not
// in 1..8.
func (t *FsstTable) Set(symbols, lengths []byte) bool {
	clear(t.lengths[:])
	t.count = uint8(len(lengths))
	ok := true
	for i, l := range lengths {
		ok = ok && l >= 1 && l <= 8
		t.symbols[i] = binary.LittleEndian.Uint64(symbols[8*i:])
		t.lengths[i] = l
	}
	return ok
}

// fsstStep is how many codes the tiers in assembly decode at a time.
const fsstStep = 16

// Decode fills dst, exactly, from the whole of src. It returns false if src has an unknown code, ends in
// an escape, or stands for more or fewer bytes.
func (t *FsstTable) Decode(dst, src []byte) bool { return t.decode(dst, src, active) }

func (t *FsstTable) decode(dst, src []byte, by *tier) bool {
	at, i := 0, 0
	// Eight bytes are stored whatever the symbol's length; what is too much is overwritten by the next.
	for last := len(dst) - 8; i < len(src) && at <= last; {
		end := len(src)
		if by.fsst != nil {
			written, read := by.fsst(t, dst[at:], src[i:])
			at, i = at+written, i+read
			end = min(end, i+fsstStep) // with a code that has no symbol among them, or the last ones
		}
		for ; i < end && at <= last; i++ {
			c := src[i]
			if length := int(t.lengths[c]); length > 0 {
				binary.LittleEndian.PutUint64(dst[at:], t.symbols[c])
				at += length
				continue
			}
			if i++; c != fsstEscape || i == len(src) {
				return false
			}
			dst[at] = src[i]
			at++
		}
	}
	return t.decodeEnd(dst[at:], src[i:])
}

// decodeEnd decodes the last bytes, where a whole symbol may not fit.
func (t *FsstTable) decodeEnd(dst, src []byte) bool {
	var symbol [8]byte
	for len(src) > 0 {
		part := symbol[:1]
		if c := src[0]; c == fsstEscape {
			if len(src) < 2 {
				return false
			}
			symbol[0], src = src[1], src[2:]
		} else {
			binary.LittleEndian.PutUint64(symbol[:], t.symbols[c])
			part, src = symbol[:t.lengths[c]], src[1:]
		}
		if len(part) == 0 || copy(dst, part) < len(part) {
			return false
		}
		dst = dst[len(part):]
	}
	return len(dst) == 0
}

// DecodeSpan fills dst with the bytes from start on of what src stands for. It returns false if src has an
// unknown code or ends before dst is full.
func (t *FsstTable) DecodeSpan(dst, src []byte, start int) bool {
	var symbol [8]byte
	for at := 0; len(dst) > 0; {
		if len(src) == 0 {
			return false
		}
		length := int(t.lengths[src[0]])
		if src[0] == fsstEscape {
			if len(src) < 2 {
				return false
			}
			symbol[0], length, src = src[1], 1, src[1:]
		} else {
			binary.LittleEndian.PutUint64(symbol[:], t.symbols[src[0]])
		}
		if length == 0 {
			return false
		}
		src = src[1:]
		if skip := start - at; skip < length {
			dst = dst[copy(dst, symbol[max(skip, 0):length]):]
		}
		at += length
	}
	return true
}
