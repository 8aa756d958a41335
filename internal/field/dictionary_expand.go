package field

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/budget"
)

func (c *dictionaryColumn) Expand(d arrow.ArrayData) (arrow.ArrayData, error) {
	codes, v := codesOf(d), &validity{n: d.Len()}
	if b := d.Buffers()[0]; b != nil {
		v.bits = b.Bytes()
	}
	entries := d.Dictionary()
	if c.fixed > 0 {
		if err := c.codes.mem.Take(uint64(len(codes)) * uint64(c.fixed)); err != nil {
			return nil, err
		}
		return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(c.gather(codes, entries.Buffers()[1].Bytes()))}), nil
	}
	size, ends := 0, offsetsOf[int64](entries)
	for i, id := range codes {
		if v.bits == nil || bitutil.BitIsSet(v.bits, i) {
			size += int(ends[id+1] - ends[id])
		}
	}
	if err := c.codes.mem.Take(8*uint64(len(codes)) + uint64(size)); err != nil {
		return nil, err
	}
	var text []byte
	if b := entries.Buffers()[2]; b != nil {
		text = b.Bytes()
	}
	offsets, data := budget.LendOf[int64](c.codes.mem, uint64(len(codes)+1)), c.codes.mem.Lend(uint64(size))
	gatherText(offsets, data, codes, ends, text, v)
	return newData(c.typ, v, []*memory.Buffer{bufferOf(offsets), memory.NewBufferBytes(data)}), nil
}

// codesOf gives the ids of an array that ReadCoded made, or of a selection of one.
func codesOf(d arrow.ArrayData) []uint32 {
	return arrow.Uint32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset():][:d.Len()]
}

// gather copies the entries of one size that codes name.
func (c *dictionaryColumn) gather(codes []uint32, entries []byte) []byte {
	size := c.fixed
	data := c.codes.mem.Lend(uint64(len(codes)) * uint64(size))
	switch size {
	case 16: // decimals and guids
		to := unsafe.Slice((*[16]byte)(unsafe.Pointer(unsafe.SliceData(data))), len(codes))
		for i, id := range codes {
			to[i] = [16]byte(entries[int(id)*16:])
		}
		return data
	case 8:
		to := unsafe.Slice((*[8]byte)(unsafe.Pointer(unsafe.SliceData(data))), len(codes))
		for i, id := range codes {
			to[i] = [8]byte(entries[int(id)*8:])
		}
		return data
	}
	for i, id := range codes {
		copy(data[i*size:], entries[int(id)*size:][:size])
	}
	return data
}

// gatherText copies the entries that codes name where they are not null, which fill data, and writes where they end.
func gatherText(offsets []int64, data []byte, codes []uint32, ends []int64, text []byte, v *validity) {
	at := 0
	offsets[0] = 0
	for i, id := range codes {
		if v.bits == nil || bitutil.BitIsSet(v.bits, i) {
			at += copyShort(data[at:], text[ends[id]:ends[id+1]], text[ends[id]:])
		}
		offsets[i+1] = int64(at)
	}
}

// copyShort copies b, which long begins with, to dst. Sixteen bytes at once are less work than just a few.
func copyShort(dst, b, long []byte) int {
	if len(b) <= 16 && len(dst) >= 16 && len(long) >= 16 {
		*(*[16]byte)(dst) = [16]byte(long)
		return len(b)
	}
	return copy(dst, b)
}
