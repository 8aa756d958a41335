package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// addBits appends a bitmap of n positions as a bit buffer.
func (e *Encoded) addBits(kind metapb.BufferKind, bits []byte, n int, enc *encode.Encoder) error {
	bits = lastBits(bits, n)
	var w colstream.StreamWriter
	if _, err := encode.CutNumbers(enc, bits, nil, true, w.Add); err != nil {
		return err
	}
	e.add(&metapb.EncodedBuffer{Kind: kind}, w.Finish())
	return nil
}

// lastBits are the first n bits of a bitmap, whose last byte has zeros behind them.
func lastBits(bits []byte, n int) []byte {
	bits = bits[:(n+7)/8]
	if n%8 != 0 {
		bits[len(bits)-1] &= 1<<(n%8) - 1
	}
	return bits
}

// addPresence appends PRESENCE if anything of n positions is null.
func (e *Encoded) addPresence(valid *bitmap, n int, enc *encode.Encoder) error {
	if valid.bytes() == nil || e.Descriptor.GetNullCount() == 0 {
		return nil
	}
	return e.addBits(metapb.BufferKind_PRESENCE, valid.bytes(), n, enc)
}

// boolEncoder is a field of booleans.
type boolEncoder struct {
	base
	bits  []byte
	valid bitmap
	n     int
}

func (e *boolEncoder) Add(a arrow.Array) error {
	e.stats.Add(a)
	d := a.Data()
	if d.Len() == 0 {
		return nil
	}
	e.valid.add(a, 0, a.Len(), e.n)
	for len(e.bits) < (e.n+a.Len()+7)/8 {
		e.bits = append(e.bits, 0)
	}
	bitutil.CopyBitmap(d.Buffers()[1].Bytes(), d.Offset(), d.Len(), e.bits, e.n)
	if v := e.valid.bytes(); v != nil { // a null slot holds 0
		for i := e.n / 8; i < len(e.bits); i++ {
			e.bits[i] &= v[i]
		}
	}
	e.n += a.Len()
	return nil
}

func (e *boolEncoder) Finish(yield func(*Encoded) error) error {
	out := e.encoded()
	if out.Descriptor.ConstantValue != nil {
		return yield(out)
	}
	if err := out.addBits(metapb.BufferKind_DATA, e.bits, e.n, e.encoder(true)); err != nil {
		return err
	}
	if err := out.addPresence(&e.valid, e.n, e.encoder(true)); err != nil {
		return err
	}
	return yield(out)
}

func (e *boolEncoder) Size() int { return cap(e.bits) + cap(e.valid.bits) }
