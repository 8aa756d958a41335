package column

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Select gives the slots of a canonical array, or of one that ReadCoded made, that are set in a bitmap, which starts at bit 0.
func Select(d arrow.ArrayData, bitmap []byte) arrow.ArrayData {
	runs := runsOf(bitmap, d.Len())
	if len(runs) == 1 && runs[0].Len() == uint64(d.Len()) {
		return d
	}
	return selectRuns(d, runs)
}

// RunsAt gives the runs of slots whose numbers follow one another in a list.
func RunsAt(slots []int64) []colstream.Range {
	out := make([]colstream.Range, 0, len(slots))
	for _, at := range slots {
		if k := len(out) - 1; k >= 0 && out[k].End == uint64(at) {
			out[k].End++
			continue
		}
		out = append(out, colstream.Range{Start: uint64(at), End: uint64(at) + 1})
	}
	return out
}

// Take gives runs of slots of a canonical array in any order, a slot as often as there are runs with it.
func Take(d arrow.ArrayData, runs []colstream.Range) arrow.ArrayData { return selectRuns(d, runs) }

// runsOf gives the runs of set bits.
func runsOf(bitmap []byte, n int) []colstream.Range {
	var out []colstream.Range
	for i := 0; i < n; {
		start := nextBit(bitmap, i, n, 0)
		if start == n {
			break
		}
		i = nextBit(bitmap, start, n, 0xff)
		out = append(out, colstream.Range{Start: uint64(start), End: uint64(i)})
	}
	return out
}

// nextBit gives the first place from i on, before n, where a bitmap differs from one whose bytes are all other; n if it nowhere
// does.
func nextBit(bitmap []byte, i, n int, other byte) int {
	b := (bitmap[i/8] ^ other) >> (i % 8)
	for b == 0 {
		i = i/8*8 + 8
		if i >= n {
			return n
		}
		b = bitmap[i/8] ^ other
	}
	return min(n, i+bits.TrailingZeros8(b))
}

func lengthOf(runs []colstream.Range) (n int) {
	for _, r := range runs {
		n += int(r.Len())
	}
	return n
}

// singles reports whether every run is of one slot. Runs of lists' elements may be empty.
func singles(runs []colstream.Range) bool {
	for _, r := range runs {
		if r.Len() != 1 {
			return false
		}
	}
	return true
}

// selectRuns copies runs of slots, by what the type is made of.
func selectRuns(d arrow.ArrayData, runs []colstream.Range) arrow.ArrayData {
	n := lengthOf(runs)
	typ := d.DataType()
	if _, coded := typ.(*arrow.DictionaryType); n == 0 && !coded {
		return nulls(typ, 0) // an empty array may lack its buffers
	}
	v := selectValidity(d, runs, n)
	physical := typ
	if x, ok := typ.(arrow.ExtensionType); ok {
		physical = x.StorageType()
	}
	switch t := physical.(type) {
	case *arrow.DictionaryType:
		bitmap, nulls := v.buffer()
		codes := memory.NewBufferBytes(copyRuns(d.Buffers()[1].Bytes()[d.Offset()*t.Bytes():], runs, t.Bytes()))
		return array.NewDataWithDictionary(typ, n, []*memory.Buffer{bitmap, codes}, nulls, 0, d.Dictionary().(*array.Data))
	case *arrow.NullType:
		return array.NewData(typ, n, []*memory.Buffer{nil}, nil, n, 0)
	case *arrow.StructType:
		return newData(typ, v, nil, selectChildren(d, runs)...)
	case *arrow.SparseUnionType:
		codes := memory.NewBufferBytes(copyRuns(d.Buffers()[1].Bytes()[d.Offset():], runs, 1))
		return array.NewData(typ, n, []*memory.Buffer{nil, codes}, selectChildren(d, runs), 0, 0)
	case *arrow.FixedSizeListType:
		scaled := make([]colstream.Range, len(runs))
		size, at := uint64(t.Len()), uint64(d.Offset())
		for i, r := range runs {
			scaled[i] = colstream.Range{Start: (r.Start + at) * size, End: (r.End + at) * size}
		}
		return newData(typ, v, nil, selectRuns(d.Children()[0], scaled))
	case *arrow.LargeListType:
		offsets, in := selectOffsets(offsetsOf[int64](d), runs, n)
		return newData(typ, v, []*memory.Buffer{bufferOf(offsets)}, selectRuns(d.Children()[0], in))
	case *arrow.MapType:
		offsets, in := selectOffsets(offsetsOf[int32](d), runs, n)
		entries := selectRuns(d.Children()[0], in)
		return mapData(t, v, offsets, make([]int32, len(offsets)), entries.Children())
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		offsets, in := selectOffsets(offsetsOf[int64](d), runs, n)
		var data []byte
		if b := d.Buffers()[2]; b != nil {
			data = copyRuns(b.Bytes(), in, 1)
		}
		return newData(typ, v, []*memory.Buffer{bufferOf(offsets), memory.NewBufferBytes(data)})
	case *arrow.BooleanType:
		bits := make([]byte, (n+7)/8)
		copyBits(bits, d.Buffers()[1].Bytes(), d.Offset(), runs)
		return newData(typ, v, []*memory.Buffer{memory.NewBufferBytes(bits)})
	case arrow.FixedWidthDataType:
		w := t.Bytes()
		data := copyRuns(d.Buffers()[1].Bytes()[d.Offset()*w:], runs, w)
		return newData(typ, v, []*memory.Buffer{memory.NewBufferBytes(data)})
	}
	panic(fmt.Sprintf("column: selection of rows of %v, which no shard has", typ))
}

func selectValidity(d arrow.ArrayData, runs []colstream.Range, n int) *validity {
	v := &validity{n: n}
	if len(d.Buffers()) > 0 && d.Buffers()[0] != nil {
		v.bits = make([]byte, (n+7)/8)
		copyBits(v.bits, d.Buffers()[0].Bytes(), d.Offset(), runs)
	}
	return v
}

// selectChildren selects the same slots of all children.
func selectChildren(d arrow.ArrayData, runs []colstream.Range) []arrow.ArrayData {
	at := uint64(d.Offset())
	moved := make([]colstream.Range, len(runs))
	for i, r := range runs {
		moved[i] = colstream.Range{Start: r.Start + at, End: r.End + at}
	}
	out := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		out[i] = selectRuns(c, moved)
	}
	return out
}

// selectOffsets gives the offsets of the selected slots, from 0 on, and what they span.
func selectOffsets[T int32 | int64](offsets []T, runs []colstream.Range, n int) ([]int64, []colstream.Range) {
	out, in := make([]int64, 1, n+1), make([]colstream.Range, 0, len(runs))
	for _, r := range runs {
		base := out[len(out)-1] - int64(offsets[r.Start])
		for _, o := range offsets[r.Start+1 : r.End+1] {
			out = append(out, base+int64(o))
		}
		in = append(in, colstream.Range{Start: uint64(offsets[r.Start]), End: uint64(offsets[r.End])})
	}
	return out, in
}

// copyRuns copies runs of elements of w bytes.
func copyRuns(b []byte, runs []colstream.Range, w int) []byte {
	out := make([]byte, 0, lengthOf(runs)*w)
	if w == 8 && singles(runs) { // numbers in another order
		out = out[:len(runs)*w]
		for i, r := range runs {
			binary.LittleEndian.PutUint64(out[8*i:], binary.LittleEndian.Uint64(b[8*r.Start:]))
		}
		return out
	}
	for _, r := range runs {
		out = append(out, b[int(r.Start)*w:int(r.End)*w]...)
	}
	return out
}

// copyBits copies runs of bits, which start at bit offset of b.
func copyBits(dst, b []byte, offset int, runs []colstream.Range) {
	at := 0
	if singles(runs) {
		for i, r := range runs {
			bit := offset + int(r.Start)
			dst[i/8] |= b[bit/8] >> (bit % 8) & 1 << (i % 8)
		}
		return
	}
	for _, r := range runs {
		simd.CopyBits(dst, at, b, offset+int(r.Start), int(r.Len()))
		at += int(r.Len())
	}
}
