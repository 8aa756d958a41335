package encode

import "math/bits"

// appendWords plans and writes one sub-block of numbers.
func appendWords[U word](e *Encoder, dst []byte, vals []U, k kind, valid []byte) []byte {
	vals = zeroNulls(e, vals, valid)
	e.chosen = planWords(e, vals, k, valid, scope{general: e.rules.general != 0})
	return appendTree(dst, vals, e.chosen)
}

// zeroNulls gives vals with zeros in the null slots; a copy if anything has to change.
func zeroNulls[U word](e *Encoder, vals []U, valid []byte) []U {
	if valid == nil {
		return vals
	}
	var clean []U
	for at := 0; at < len(vals); at += 8 {
		null := ^valid[at/8]
		if rest := len(vals) - at; rest < 8 {
			null &= 1<<rest - 1
		}
		for ; null != 0; null &= null - 1 {
			i := at + bits.TrailingZeros8(null)
			if vals[i] == 0 {
				continue
			}
			if clean == nil {
				clean = take[U](&e.arena, len(vals))
				copy(clean, vals)
				vals = clean
			}
			clean[i] = 0
		}
	}
	return vals
}
