package encode

import (
	"math/bits"

	"github.com/shardcat/shardcat/internal/kernel"
)

// planNumbers plans a block of numbers. The bench keeps its values, with zeros in the null slots.
func planNumbers[T kernel.Number](e *Encoder, vals []T, valid []byte) *plan {
	k := kindOf[T]()
	switch kernel.SizeOf[T]() {
	case 1:
		return planBlock(e, kernel.Cast[uint8](vals), k, valid)
	case 2:
		return planBlock(e, kernel.Cast[uint16](vals), k, valid)
	case 4:
		return planBlock(e, kernel.Cast[uint32](vals), k, valid)
	}
	return planBlock(e, kernel.Cast[uint64](vals), k, valid)
}

func planBlock[U word](e *Encoder, vals []U, k kind, valid []byte) *plan {
	vals = zeroNulls(e, vals, valid)
	e.values = kernel.AsBytes(vals)
	return planWords(e, vals, k, valid, scope{general: e.rules.general != 0})
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
