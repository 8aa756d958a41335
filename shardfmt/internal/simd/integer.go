package simd

// Add adds ref to every value, modulo the width.
func Add[U Unsigned](dst []U, ref U) {
	for i := range dst {
		dst[i] += ref
	}
}

// PrefixSum fills dst with base and the sum of all of src up to each place, modulo the width. src has the
// length of dst and may be dst.
func PrefixSum[U Unsigned](dst, src []U, base U) { of[U]().prefixSum(dst, src, base) }

func prefixSumPortable[U Unsigned](dst, src []U, base U) {
	src = src[:len(dst)]
	for i, d := range src {
		base += d
		dst[i] = base
	}
}

// prefixSum adds eight at a time: the additions inside a group don't wait for those of the group before.
func prefixSum[U Unsigned](dst, src []U, base U) {
	for len(dst) >= 8 && len(src) >= 8 {
		s, d := (*[8]U)(src), (*[8]U)(dst)
		s0, s2, s4, s6 := s[0], s[2], s[4], s[6]
		s01, s23, s45 := s0+s[1], s2+s[3], s4+s[5]
		mid := base + (s01 + s23)
		end := mid + (s45 + (s6 + s[7]))
		d[0], d[1] = base+s0, base+s01
		d[2], d[3] = base+s01+s2, mid
		d[4], d[5] = mid+s4, mid+s45
		d[6], d[7] = mid+s45+s6, end
		base, dst, src = end, dst[8:], src[8:]
	}
	prefixSumPortable(dst, src, base)
}

// Ramp fills dst with base, base+step, base+2·step …, modulo the width.
func Ramp[U Unsigned](dst []U, base, step U) { of[U]().ramp(dst, base, step) }

func ramp[U Unsigned](dst []U, base, step U) {
	for len(dst) >= 8 {
		d := (*[8]U)(dst)
		two := step + step
		d[0], d[1] = base, base+step
		d[2], d[3] = base+two, base+step+two
		four := base + two + two
		d[4], d[5] = four, four+step
		d[6], d[7] = four+two, four+step+two
		base = four + two + two
		dst = dst[8:]
	}
	rampPortable(dst, base, step)
}

func rampPortable[U Unsigned](dst []U, base, step U) {
	for i := range dst {
		dst[i] = base
		base += step
	}
}

// UnZigZag turns 0, 1, 2, 3 … back into 0, -1, 1, -2 … in two's complement.
func UnZigZag[U Unsigned](dst []U) {
	for i, u := range dst {
		dst[i] = u>>1 ^ -(u & 1)
	}
}

// SignExtend widens two's complement numbers. src has the length of dst, and may be the Tail of it.
func SignExtend[U, N Unsigned](dst []U, src []N) {
	if SizeOf[N]() >= SizeOf[U]() {
		signExtend(dst, src)
		return
	}
	switch src := any(src).(type) {
	case []uint8:
		of[U]().widen8(dst, src)
	case []uint16:
		of[U]().widen16(dst, src)
	case []uint32:
		of[U]().widen32(dst, src)
	}
}

func signExtend[U, N Unsigned](dst []U, src []N) {
	sign := U(1) << (8*SizeOf[N]() - 1)
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = (U(src[i]) ^ sign) - sign
	}
}
