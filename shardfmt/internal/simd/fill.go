package simd

// Fill sets every value of dst to v.
func Fill[U Unsigned](dst []U, v U) {
	if v == 0 {
		clear(dst)
		return
	}
	if len(dst) == 0 {
		return
	}
	dst[0] = v
	for done := 1; done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

// Repeat fills dst with copies of pattern; a last, partial copy is cut off.
func Repeat(dst, pattern []byte) {
	if len(pattern) == 0 {
		return
	}
	for done := copy(dst, pattern); done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}
