package parquetcodec

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
)

// Encodings of values that are made plain before they are read:
//
//	DELTA_BINARY_PACKED      block size · miniblocks in a block · numbers · the first number, all of variable length
//	                         blocks: least difference · a width of each miniblock, u8 · miniblocks of packed differences to the least one
//	DELTA_LENGTH_BYTE_ARRAY  lengths in DELTA_BINARY_PACKED · the bytes
//	DELTA_BYTE_ARRAY         lengths of prefixes that values share with the one before · the suffixes in DELTA_LENGTH_BYTE_ARRAY
//	BYTE_STREAM_SPLIT        the first byte of all values, the second of all, …

// ErrEncoding is a page in an encoding that is not read for the type of its column.
var ErrEncoding = errors.New("values in an encoding that is not read for the type of the column")

var errDelta = errors.New("invalid values in an encoding of differences")

// maxDeltaBlock bounds the numbers of a block: known writers have 128.
const maxDeltaBlock = 1 << 20

// Leaf is the type of a column's values.
type Leaf struct {
	Type parquet.Type
	// Width is the size of values of FIXED_LEN_BYTE_ARRAY, in bytes.
	Width int
}

// size is that of a value in bytes, 0 where it varies.
func (l Leaf) size() int {
	switch l.Type {
	case parquet.Types.Int32, parquet.Types.Float:
		return 4
	case parquet.Types.Int64, parquet.Types.Double:
		return 8
	case parquet.Types.FixedLenByteArray:
		return l.Width
	}
	return 0
}

// Plain gives at most so many values as PLAIN has them. The bytes that it needs are given to take first.
func (l Leaf) Plain(e parquet.Encoding, data []byte, most int, take func(size uint64) error) ([]byte, error) {
	d := &deltas{data: data, most: most, take: take}
	isBytes := l.Type == parquet.Types.ByteArray
	switch {
	case e == parquet.Encodings.DeltaBinaryPacked && l.Type == parquet.Types.Int32:
		out, err := numbers[int32](d)
		return arrow.Int32Traits.CastToBytes(out), err
	case e == parquet.Encodings.DeltaBinaryPacked && l.Type == parquet.Types.Int64:
		out, err := numbers[int64](d)
		return arrow.Int64Traits.CastToBytes(out), err
	case e == parquet.Encodings.DeltaLengthByteArray && isBytes:
		return d.byteArrays(false, 0)
	case e == parquet.Encodings.DeltaByteArray && (isBytes || l.size() > 0 && l.Type == parquet.Types.FixedLenByteArray):
		return d.byteArrays(true, l.size())
	case e == parquet.Encodings.ByteStreamSplit && l.size() > 0:
		return split(data, l.size(), most, take)
	}
	return nil, ErrEncoding
}

// split puts the bytes of each value side by side.
func split(data []byte, width, most int, take func(size uint64) error) ([]byte, error) {
	n := len(data) / width
	if len(data)%width != 0 || n > most {
		return nil, errors.New("invalid values in the encoding BYTE_STREAM_SPLIT")
	}
	if err := take(uint64(len(data))); err != nil {
		return nil, err
	}
	out := make([]byte, len(data))
	for k := range width {
		for i, b := range data[k*n : (k+1)*n] {
			out[i*width+k] = b
		}
	}
	return out, nil
}

// deltas reads numbers off the front of its data.
type deltas struct {
	data []byte
	most int
	take func(size uint64) error
}

// byteArrays reads byte arrays, behind prefixes of the ones before if they share some, and gives them of a width or, if that is 0, each behind its length.
func (d *deltas) byteArrays(share bool, width int) ([]byte, error) {
	var prefixes []int32
	var err error
	if share {
		if prefixes, err = numbers[int32](d); err != nil {
			return nil, err
		}
	}
	suffixes, err := numbers[int32](d)
	if err != nil {
		return nil, err
	}
	if !share {
		prefixes = make([]int32, len(suffixes))
	}
	if len(prefixes) != len(suffixes) {
		return nil, errDelta
	}
	size, before := uint64(0), int32(0)
	for i, suffix := range suffixes {
		prefix := prefixes[i]
		if prefix < 0 || suffix < 0 || prefix > before || int64(prefix)+int64(suffix) > 1<<31-1 || width > 0 && int(prefix)+int(suffix) != width {
			return nil, errDelta
		}
		before = prefix + suffix
		size += uint64(before) + 4
	}
	if err := d.take(size); err != nil {
		return nil, err
	}
	out, last := make([]byte, 0, size), 0 // last is where the value before begins
	for i, suffix := range suffixes {
		if int(suffix) > len(d.data) {
			return nil, errDelta
		}
		if width == 0 {
			out = binary.LittleEndian.AppendUint32(out, uint32(prefixes[i]+suffix))
		}
		start := len(out)
		out = append(append(out, out[last:last+int(prefixes[i])]...), d.data[:suffix]...)
		d.data, last = d.data[suffix:], start
	}
	return out, nil
}

// uvarint reads a number that is at most so large.
func (d *deltas) uvarint(most uint64) (int, error) {
	v, n := binary.Uvarint(d.data)
	if n <= 0 || v > most {
		return 0, errDelta
	}
	d.data = d.data[n:]
	return int(v), nil
}

func (d *deltas) varint() (int64, error) {
	v, n := binary.Varint(d.data)
	if n <= 0 {
		return 0, errDelta
	}
	d.data = d.data[n:]
	return v, nil
}

// numbers reads numbers in DELTA_BINARY_PACKED.
func numbers[T int32 | int64](d *deltas) ([]T, error) {
	block, err := d.uvarint(maxDeltaBlock)
	if err != nil {
		return nil, err
	}
	parts, err := d.uvarint(maxDeltaBlock)
	if err != nil {
		return nil, err
	}
	total, err := d.uvarint(uint64(max(d.most, 0)))
	if err != nil {
		return nil, err
	}
	first, err := d.varint()
	if err != nil || total == 0 {
		return nil, err
	}
	if parts == 0 || block == 0 || block%parts != 0 || block/parts%8 != 0 {
		return nil, errDelta
	}
	if err := d.take(8 * uint64(total)); err != nil {
		return nil, err
	}
	out := append(make([]T, 0, total), T(first))
	for len(out) < total {
		if out, err = deltaBlock(d, out, parts, block/parts); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// deltaBlock reads a block of miniblocks of so many numbers behind others, as many as there is space for.
func deltaBlock[T int32 | int64](d *deltas, out []T, parts, each int) ([]T, error) {
	least, err := d.varint()
	if err != nil || parts > len(d.data) {
		return nil, errDelta
	}
	widths := d.data[:parts]
	d.data = d.data[parts:]
	for _, w := range widths {
		n := min(each, cap(out)-len(out))
		if n == 0 { // miniblocks without numbers are not stored
			break
		}
		width := int(w)
		if width > 8*int(unsafe.Sizeof(out[0])) || each/8*width > len(d.data) {
			return nil, errDelta
		}
		last := out[len(out)-1]
		for i := range n {
			last += T(least) + T(bitsAt(d.data, i*width, width)) // wraps
			out = append(out, last)
		}
		d.data = d.data[each/8*width:]
	}
	return out, nil
}

// bitsAt reads a number of at most 64 bits, the lowest first.
func bitsAt(b []byte, at, width int) uint64 {
	first, shift := at>>3, at&7
	mask := ^uint64(0) >> (64 - width)
	if width == 0 {
		return 0
	}
	if first+9 > len(b) {
		var end [16]byte
		copy(end[:], b[first:])
		b, first = end[:], 0
	}
	return (binary.LittleEndian.Uint64(b[first:])>>shift | uint64(b[first+8])<<(64-shift)) & mask
}
