package encode

import (
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// planNumbers plans a block of numbers. The bench keeps its values, with null slots filled.
func planNumbers[T simd.Number](e *Encoder, vals []T, valid []byte) *plan {
	k := kindOf[T]()
	switch simd.SizeOf[T]() {
	case 1:
		return planBlock(e, simd.Cast[uint8](vals), k, valid)
	case 2:
		return planBlock(e, simd.Cast[uint16](vals), k, valid)
	case 4:
		return planBlock(e, simd.Cast[uint32](vals), k, valid)
	}
	return planBlock(e, simd.Cast[uint64](vals), k, valid)
}

func planBlock[U word](e *Encoder, vals []U, k kind, valid []byte) *plan {
	vals = fillNulls(e, vals, valid)
	e.values = simd.AsBytes(vals)
	e.trialStep = 1
	if e.rules.general == block.Zstd && !e.light {
		e.trialStep = uint8(max(1, len(vals)/generalBlock))
	}
	return planRepeated(e, &e.numbers, &input[U]{vals: vals, kind: k, valid: valid}, scope{general: e.rules.general != 0})
}

// mostlyNull is the share of the values that are there, as a divisor, below which null slots are zero, so that Sparse
// leaves them out.
const mostlyNull = 4

// fillNulls gives vals with what costs least in the null slots, whatever was there: the value before, which adds nothing to
// the range, makes differences of zero and lengthens runs, or that or the one behind; or zero where most are null. It copies if anything has to change.
func fillNulls[U word](e *Encoder, vals []U, valid []byte) []U {
	if valid == nil {
		return vals
	}
	present := countOnes(valid, len(vals))
	if present == len(vals) {
		return vals
	}
	some := e.o.Profile != Plain && present > 0 && present >= len(vals)/mostlyNull
	if some && e.rules.general == block.Zstd && len(vals) >= leastLowBytes && len(vals)-present > len(vals)/leastNulls {
		return fillBetween(e, vals, valid, present)
	}
	filled := take[U](&e.arena, len(vals))
	if !some {
		for i, v := range vals {
			filled[i] = v & -U(valid[i/8]>>(i%8)&1)
		}
		return filled
	}
	all, last := filled, vals[firstOne(valid)]
	for len(vals) > 0 {
		n := min(8, len(vals))
		if valid[0] == 0xFF && n == 8 {
			copy(filled, vals[:8])
			last = vals[7]
		} else {
			last = fillByte(filled[:n], vals[:n], valid[0], last)
		}
		filled, vals, valid = filled[n:], vals[n:], valid[1:]
	}
	return all
}

// fillByte gives at most eight values, those of null slots as the one before, and returns the last.
func fillByte[U word](filled, vals []U, valid byte, last U) U {
	for i, v := range vals {
		there := -U(valid >> i & 1)
		last = v&there | last&^there
		filled[i] = last
	}
	return last
}

// firstOne is the place of the first set bit of a bitmap that has one.
func firstOne(bitmap []byte) int {
	at := 0
	for bitmap[at] == 0 {
		at++
	}
	return 8*at + bits.TrailingZeros8(bitmap[at])
}
