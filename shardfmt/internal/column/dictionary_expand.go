package column

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"

	"github.com/shardcat/shardcat/internal/view"
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
	if err := c.codes.mem.Take(8 * uint64(len(codes))); err != nil {
		return nil, err
	}
	ends, offsets := offsetsOf[int64](entries), budget.LendOf[int64](c.codes.mem, uint64(len(codes)+1))
	short := shortEntries(ends, len(codes), v)
	var size uint64
	if short > 0 {
		size = uint64(short) * uint64(len(codes))
		simd.Ramp(simd.Cast[uint64](offsets), 0, uint64(short))
	} else {
		size = addLengths(offsets, codes, ends, v)
	}
	if err := c.codes.mem.Take(size); err != nil {
		return nil, err
	}
	data := c.codes.mem.Lend(size)
	switch {
	case short > 0:
		gatherShort(data, codes, entries.Buffers()[2].Bytes()[ends[0]:ends[len(ends)-1]], short)
	case size > 0:
		text, longest := entries.Buffers()[2].Bytes(), math.MaxInt
		if entries.Len() <= len(codes) {
			text, longest = withSlack(text, len(codes)), longestOf(ends)
		}
		simd.GatherTexts(data, offsets, codes, ends, text, longest)
	}
	return newData(c.typ, v, []*memory.Buffer{bufferOf(offsets), memory.NewBufferBytes(data)}), nil
}

const (
	// mostShort is how many bytes the entries of gatherShort have at most, mostWords how many entries there are: they lie in the
	// processor's nearest cache.
	mostShort, mostWords = 8, 1 << 10
)

// shortEntries is how many bytes all entries have, if that is the same for all, few, and nothing of n values is null; else 0.
func shortEntries(ends []int64, n int, v *validity) int {
	if v.bits != nil || len(ends) < 2 || len(ends) > min(n, mostWords) {
		return 0
	}
	size := ends[1] - ends[0]
	for i, end := range ends[1:] {
		if end-ends[i] != size {
			return 0
		}
	}
	if size > mostShort {
		return 0
	}
	return int(size)
}

// gatherShort copies entries, all of size bytes, eight bytes at once: the next ones write over what is too many.
func gatherShort(dst []byte, codes []uint32, text []byte, size int) {
	var words [mostWords]uint64
	for i := range len(text) / size {
		var word [8]byte
		copy(word[:], text[i*size:][:size])
		words[i] = binary.LittleEndian.Uint64(word[:])
	}
	at, whole := 0, 0
	if len(dst) >= 8 {
		whole = (len(dst)-8)/size + 1
	}
	for _, id := range codes[:whole] {
		binary.LittleEndian.PutUint64(dst[at:], words[id])
		at += size
	}
	for _, id := range codes[whole:] {
		copy(dst[at:at+size], text[int(id)*size:])
		at += size
	}
}

// addLengths writes where each value ends, those that are null where the one before does, and gives the bytes of all.
func addLengths(offsets []int64, codes []uint32, ends []int64, v *validity) uint64 {
	if v.bits == nil {
		return uint64(simd.TextEnds(offsets, codes, ends))
	}
	at := int64(0)
	offsets[0] = 0
	offsets = offsets[1:][:len(codes)]
	for i, id := range codes {
		there := int64(v.bits[i/8] >> (i % 8) & 1)
		at += (ends[id+1] - ends[id]) & -there
		offsets[i] = at
	}
	return uint64(at)
}

// longestOf is the most bytes that an entry has.
func longestOf(ends []int64) (n int) {
	for i := range ends[1:] {
		n = max(n, int(ends[i+1]-ends[i]))
	}
	return n
}

// withSlack is the bytes of entries with others behind them, as all are copied with more than they have: a copy, which is made if it is
// no more than a byte for each of n codes.
func withSlack(text []byte, n int) []byte {
	if len(text) > n {
		return text
	}
	return append(make([]byte, 0, len(text)+simd.TextSlack), text...)[:len(text)+simd.TextSlack]
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
		to := view.Of[[16]byte](data, len(codes))
		from := view.Of[[16]byte](entries, len(entries)/16)
		if !simd.Gather16(to, from, codes) {
			panic("a code beyond the dictionary, which ReadCoded checks")
		}
		return data
	case 8:
		to := view.Of[[8]byte](data, len(codes))
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

// copyShort copies b, which long begins with, to dst. Sixteen bytes at once are less work than just a few.
func copyShort(dst, b, long []byte) int {
	if len(b) <= 16 && len(dst) >= 16 && len(long) >= 16 {
		*(*[16]byte)(dst) = [16]byte(long)
		return len(b)
	}
	return copy(dst, b)
}
