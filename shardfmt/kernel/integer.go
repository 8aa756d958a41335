package kernel

// Add adds ref to every value, modulo the width.
func Add[U Unsigned](dst []U, ref U) {
	for i := range dst {
		dst[i] += ref
	}
}

// PrefixSum replaces every value by base and the sum of all up to it, modulo the width.
func PrefixSum[U Unsigned](dst []U, base U) { of[U]().prefixSum(dst, base) }

func prefixSumPortable[U Unsigned](dst []U, base U) {
	for i, d := range dst {
		base += d
		dst[i] = base
	}
}

// prefixSum adds eight at a time: the additions inside a group don't wait for those of the group before.
func prefixSum[U Unsigned](dst []U, base U) {
	for len(dst) >= 8 {
		d := (*[8]U)(dst)
		d01, d23 := d[0]+d[1], d[2]+d[3]
		d45, d67 := d[4]+d[5], d[6]+d[7]
		d03, d47 := d01+d23, d45+d67
		mid := base + d03
		d[1], d[0] = base+d01, base+d[0]
		d[2], d[3] = d[1]+d[2], mid
		d[5], d[4] = mid+d45, mid+d[4]
		base = mid + d47
		d[6], d[7] = d[5]+d[6], base
		dst = dst[8:]
	}
	prefixSumPortable(dst, base)
}

// Ramp fills dst with base, base+step, base+2·step …, modulo the width.
func Ramp[U Unsigned](dst []U, base, step U) {
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
