package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// validity is the null bitmap of an array of n slots on its way: no bitmap as long as nothing is null.
type validity struct {
	n    int
	bits []byte
}

// put copies n bits of a bitmap, from bit from on, to the slots from at on.
func (v *validity) put(at int, bits []byte, from, n int) {
	if v.bits == nil {
		if simd.AllOnes(bits, from, n) {
			return
		}
		v.bits = ones(v.n)
	}
	simd.CopyBits(v.bits, at, bits, from, n)
}

// pick copies those bits of a bitmap that a piece of a block selects to the slots from at on.
func (v *validity) pick(at int, bits []byte, p *piece) {
	if v.bits == nil {
		if simd.AllOnes(bits, p.from, p.count) {
			return
		}
		v.bits = ones(v.n)
	}
	simd.CompactBits(v.bits, at, bits, p.from, p.bitmap, p.at, p.count)
}

// clear makes a slot null.
func (v *validity) clear(at int) {
	if v.bits == nil {
		v.bits = ones(v.n)
	}
	bitutil.ClearBit(v.bits, at)
}

// and makes null what is null in a bitmap, too.
func (v *validity) and(bits []byte) {
	if v.bits == nil {
		v.put(0, bits, 0, v.n)
		return
	}
	simd.AndBits(v.bits, bits)
}

// buffer gives the bitmap for Arrow, nil if nothing is null, and the number of nulls.
func (v *validity) buffer() (*memory.Buffer, int) {
	if v.bits == nil {
		return nil, 0
	}
	nulls := v.n - simd.Ones(v.bits, v.n)
	if nulls == 0 {
		return nil, 0
	}
	return memory.NewBufferBytes(v.bits), nulls
}

// ones is a bitmap of n set bits.
func ones(n int) []byte {
	b := make([]byte, (n+7)/8)
	bitutil.SetBitsTo(b, 0, int64(n), true)
	return b
}

// newData puts an array together, with buffers behind the null bitmap.
func newData(typ arrow.DataType, v *validity, buffers []*memory.Buffer, children ...arrow.ArrayData) arrow.ArrayData {
	bitmap, nulls := v.buffer()
	all := make([]*memory.Buffer, 1+len(buffers))
	all[0] = bitmap
	copy(all[1:], buffers)
	return array.NewData(typ, v.n, all, children, nulls, 0)
}
