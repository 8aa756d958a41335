package lance

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// pageBuilder gathers the values of one page of one column.
type pageBuilder interface {
	// add takes values [from, to) of an array, or fewer if no more fit into the page; it gives how many it took. An
	// error is of the value behind those.
	add(a arrow.Array, from, to int) (int, error)
	// size in bytes of what was gathered.
	size() int
	// encode makes the tree of encodings of what was gathered, adds its buffers, and begins again. The buffers are
	// good until the next call of add.
	encode(p *pageEncoder) ([]byte, error)
}

// bitmap gathers bits.
type bitmap struct {
	bits []byte
	n    int
	ones int
}

// add appends bits [from, from+n) of b, or ones if b is nil.
func (m *bitmap) add(b []byte, from, n int) {
	for need := (m.n + n + 7) / 8; len(m.bits) < need; {
		m.bits = append(m.bits, 0)
	}
	if b == nil {
		bitutil.SetBitsTo(m.bits, int64(m.n), int64(n), true)
		m.ones += n
	} else {
		bitutil.CopyBitmap(b, from, n, m.bits, m.n)
		m.ones += bitutil.CountSetBits(b, from, n)
	}
	m.n += n
}

func (m *bitmap) reset() { *m = bitmap{bits: m.bits[:0]} }

// validity gathers which values are not null.
type validity struct{ bitmap }

func (v *validity) add(a arrow.Array, from, to int) {
	if a.NullN() == 0 || len(a.NullBitmapBytes()) == 0 {
		v.bitmap.add(nil, 0, to-from)
		return
	}
	v.bitmap.add(a.NullBitmapBytes(), a.Data().Offset()+from, to-from)
}

// nullColumn gathers values of the null type, and those of which nothing is kept.
type nullColumn struct{}

func (nullColumn) add(_ arrow.Array, from, to int) (int, error) { return to - from, nil }
func (nullColumn) size() int                                    { return 0 }
func (nullColumn) encode(*pageEncoder) ([]byte, error)          { return allNulls(), nil }

// fixedValues gathers values of a fixed width.
type fixedValues struct {
	validity validity
	bits     int
	ones     bitmap // of booleans
	bytes    []byte
}

func (f *fixedValues) add(a arrow.Array, from, to int) (int, error) {
	f.validity.add(a, from, to)
	at, b := a.Data().Offset()+from, a.Data().Buffers()[1].Bytes()
	if f.bits == 1 {
		f.ones.add(b, at, to-from)
	} else {
		f.bytes = append(f.bytes, b[at*f.bits/8:(at+to-from)*f.bits/8]...)
	}
	return to - from, nil
}

func (f *fixedValues) size() int { return len(f.bytes) + len(f.ones.bits) + len(f.validity.bits) }

func (f *fixedValues) encode(p *pageEncoder) ([]byte, error) {
	defer func() { f.bytes = f.bytes[:0]; f.ones.reset(); f.validity.reset() }()
	switch v := &f.validity; {
	case v.n > 0 && v.ones == 0:
		return allNulls(), nil
	case v.ones < v.n:
		bits := p.flat(1, v.bits)
		return someNulls(bits, f.flat(p)), nil
	}
	return noNulls(f.flat(p)), nil
}

func (f *fixedValues) flat(p *pageEncoder) []byte {
	if f.bits == 1 {
		return p.flat(1, f.ones.bits)
	}
	return p.flat(uint64(f.bits), f.bytes)
}

// fixedLists gathers lists of one length, null ones with items.
type fixedLists struct {
	validity  validity
	dimension int
	items     pageBuilder
}

func (f *fixedLists) add(a arrow.Array, from, to int) (int, error) {
	f.validity.add(a, from, to)
	lists := a.(*array.FixedSizeList)
	start := (lists.Data().Offset() + from) * f.dimension
	_, err := f.items.add(lists.ListValues(), start, start+(to-from)*f.dimension)
	return to - from, err
}

func (f *fixedLists) size() int { return f.items.size() + len(f.validity.bits) }

func (f *fixedLists) encode(p *pageEncoder) ([]byte, error) {
	defer f.validity.reset()
	some := f.validity.ones < f.validity.n
	var bits []byte
	if some {
		bits = p.flat(1, f.validity.bits)
	}
	items, err := f.items.encode(p)
	lists := arrayEncoding(fixedListKind, appendMessage(appendNumber(nil, 1, uint64(f.dimension)), 2, items))
	if some {
		return someNulls(bits, lists), err
	}
	return noNulls(lists), err
}
