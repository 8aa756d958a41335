package kernel

// Add adds ref to every value, modulo the width.
func Add[U Unsigned](dst []U, ref U) {
	for i := range dst {
		dst[i] += ref
	}
}

// PrefixSum replaces every value by the sum of all up to it, modulo the width.
func PrefixSum[U Unsigned](dst []U) {
	var sum U
	for i, d := range dst {
		sum += d
		dst[i] = sum
	}
}

// Ramp fills dst with base, base+step, base+2·step …, modulo the width.
func Ramp[U Unsigned](dst []U, base, step U) {
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

// SignExtend widens two's complement numbers. src may be the Tail of dst.
func SignExtend[U, N Unsigned](dst []U, src []N) {
	sign := U(1) << (8*SizeOf[N]() - 1)
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = (U(src[i]) ^ sign) - sign
	}
}
