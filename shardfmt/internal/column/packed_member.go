package column

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

// packedNumbers is a member of numbers.
type packedNumbers[T block.Number] struct {
	base
	enc   *encode.Encoder
	vals  []T
	valid bitmap
}

func (m *packedNumbers[T]) note(a arrow.Array) { m.stats.Add(a) }

func (m *packedNumbers[T]) add(a arrow.Array) {
	m.valid.add(a, 0, a.Len(), len(m.vals))
	m.vals = append(m.vals, values[T](a)...)
}

func (m *packedNumbers[T]) block(dst []byte) ([]byte, error) {
	err := encode.BlockOfNumbers(m.enc, m.vals, m.valid.bytes(), framed(&dst))
	m.valid.drop(len(m.vals))
	m.vals = m.vals[:0]
	return dst, err
}

// framed appends a block to dst.
func framed(dst *[]byte) func(encode.Block) error {
	return func(b encode.Block) error {
		*dst = block.AppendFrame(*dst, b.Presence, b.Sub, true)
		return nil
	}
}

func (m *packedNumbers[T]) staged() int { return len(m.vals) * int(unsafe.Sizeof(*new(T))) }
func (m *packedNumbers[T]) size() int   { return cap(m.vals) * int(unsafe.Sizeof(*new(T))) }

// packedBools is a member of booleans, a byte for each.
type packedBools struct{ packedNumbers[uint8] }

func (m *packedBools) add(a arrow.Array) {
	m.valid.add(a, 0, a.Len(), len(m.vals))
	b := a.(*array.Boolean)
	for i := range b.Len() {
		v := uint8(0)
		if b.IsValid(i) && b.Value(i) {
			v = 1
		}
		m.vals = append(m.vals, v)
	}
}

// packedStrings is a member of byte strings, of any length or of fixed bytes.
type packedStrings struct {
	base
	enc     *encode.Encoder
	fixed   int
	data    []byte
	offsets []int64
	valid   bitmap
	n       int
}

func (m *packedStrings) note(a arrow.Array) { m.stats.Add(a) }

func (m *packedStrings) add(a arrow.Array) {
	m.valid.add(a, 0, a.Len(), m.n)
	m.n += a.Len()
	values := viewsOf(a)
	for i := range a.Len() {
		v := values.at(i)
		if v == nil && m.fixed > 0 {
			v = make([]byte, m.fixed)
		}
		m.data = append(m.data, v...)
		if m.fixed == 0 {
			m.offsets = append(m.offsets, int64(len(m.data)))
		}
	}
}

func (m *packedStrings) block(dst []byte) ([]byte, error) {
	err := m.enc.BlockOfBytes(encode.Bytes{Data: m.data, Offsets: m.offsets, Fixed: m.fixed, Valid: m.valid.bytes()}, framed(&dst))
	m.drop()
	return dst, err
}

// drop forgets what is staged.
func (m *packedStrings) drop() {
	m.valid.drop(m.n)
	m.data, m.n = m.data[:0], 0
	if m.fixed == 0 {
		m.offsets = append(m.offsets[:0], 0)
	}
}

func (m *packedStrings) staged() int { return len(m.data) }
func (m *packedStrings) size() int   { return cap(m.data) + 8*cap(m.offsets) }
