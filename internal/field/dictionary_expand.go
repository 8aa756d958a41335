package field

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
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
		return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(gather(codes, entries.Buffers()[1].Bytes(), c.fixed))}), nil
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
	offsets, data := gatherText(codes, ends, text, v, size)
	return newData(c.typ, v, []*memory.Buffer{bufferOf(offsets), memory.NewBufferBytes(data)}), nil
}

// codesOf gives the ids of an array that ReadCoded made, or of a selection of one.
func codesOf(d arrow.ArrayData) []uint32 {
	return arrow.Uint32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset():][:d.Len()]
}

// gather copies the entries of one size that codes name.
func gather(codes []uint32, entries []byte, size int) []byte {
	data := make([]byte, len(codes)*size)
	if size == 16 { // decimals and guids
		for i, id := range codes {
			*(*[16]byte)(data[i*16:]) = [16]byte(entries[int(id)*16:])
		}
		return data
	}
	for i, id := range codes {
		copy(data[i*size:], entries[int(id)*size:][:size])
	}
	return data
}

// gatherText copies the entries that codes name where they are not null, which have size bytes in all.
func gatherText(codes []uint32, ends []int64, text []byte, v *validity, size int) (offsets []int64, data []byte) {
	data, offsets = make([]byte, 0, size), make([]int64, len(codes)+1)
	for i, id := range codes {
		if v.bits == nil || bitutil.BitIsSet(v.bits, i) {
			data = append(data, text[ends[id]:ends[id+1]]...)
		}
		offsets[i+1] = int64(len(data))
	}
	return offsets, data
}
