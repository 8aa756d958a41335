package encode

import (
	"encoding/binary"
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/block"
	"github.com/shardcat/shardcat/shardfmt/kernel"
)

// appendWords writes one sub-block of numbers.
func appendWords[U word](e *Encoder, dst []byte, vals []U, k kind, valid []byte) ([]byte, error) {
	vals = zeroNulls(e, vals, valid)
	if e.o.Profile == Plain {
		return appendPlain(dst, vals), nil
	}
	if len(vals) > 0 && allEqual(vals) {
		return appendSingle(dst, vals[0]), nil
	}
	return e.appendGeneral(dst, kernel.AsBytes(vals))
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

func allEqual[U word](vals []U) bool {
	first := vals[0]
	for _, v := range vals {
		if v != first {
			return false
		}
	}
	return true
}

// appendPlain: code, then the values, unaligned.
func appendPlain[U word](dst []byte, vals []U) []byte {
	dst = appendCode(dst, block.Plain)
	return kernel.Append(dst, vals)
}

// appendSingle: code, then the value, unaligned.
func appendSingle[U word](dst []byte, v U) []byte {
	dst = appendCode(dst, block.SingleValue)
	return kernel.Append(dst, []U{v})
}

func appendCode(dst []byte, c block.Code) []byte {
	return binary.LittleEndian.AppendUint16(dst, uint16(c))
}

// pad appends zeros until dst is a multiple of eight bytes past start.
func pad(dst []byte, start int) []byte {
	for (len(dst)-start)%8 != 0 {
		dst = append(dst, 0)
	}
	return dst
}
