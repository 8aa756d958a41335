package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// bitmap is a growing bitmap of which only the part up to the last null is kept as long as nothing is null:
// that is, nothing at all. Positions never added are set.
type bitmap struct {
	bits []byte
	n    int // bits in use; 0 as long as all are set
}

// add appends the validity of n slots of a from slot at on; have is how many bits came before.
func (b *bitmap) add(a arrow.Array, at, n, have int) {
	if b.n == 0 && a.NullN() == 0 {
		return
	}
	d := a.Data()
	if d.Buffers()[0] == nil {
		b.addBits(nil, 0, n, have)
		return
	}
	b.addBits(d.Buffers()[0].Bytes(), d.Offset()+at, n, have)
}

// addBits appends n bits of valid from bit at on, set ones if valid is nil; have is how many came before.
func (b *bitmap) addBits(valid []byte, at, n, have int) {
	b.grow(have + n)
	if valid == nil {
		bitutil.SetBitsTo(b.bits, int64(have), int64(n), true)
		return
	}
	bitutil.CopyBitmap(valid, at, n, b.bits, have)
}

// set appends one bit; have is how many came before.
func (b *bitmap) set(valid bool, have int) {
	if b.n == 0 && valid {
		return
	}
	b.grow(have + 1)
	bitutil.SetBitTo(b.bits, have, valid)
}

// grow makes space for n bits, and sets those that were never added.
func (b *bitmap) grow(n int) {
	for len(b.bits) < (n+7)/8 {
		b.bits = append(b.bits, 0xFF)
	}
	if b.n == 0 {
		for i := range b.bits {
			b.bits[i] = 0xFF
		}
	}
	b.n = n
}

// bytes gives the bitmap, nil if nothing is null.
func (b *bitmap) bytes() []byte {
	if b.n == 0 {
		return nil
	}
	return b.bits
}

// drop removes the first n bits.
func (b *bitmap) drop(n int) {
	if b.n == 0 {
		return
	}
	rest := b.n - n
	if rest <= 0 {
		b.bits, b.n = b.bits[:0], 0
		return
	}
	moved := make([]byte, (rest+7)/8)
	bitutil.CopyBitmap(b.bits, n, rest, moved, 0)
	b.bits, b.n = moved, rest
}
