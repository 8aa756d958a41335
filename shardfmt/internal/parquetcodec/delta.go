package parquetcodec

import (
	"encoding/binary"
	"errors"
)

// Values of a fixed length in DELTA_BYTE_ARRAY, which Arrow's reader lacks for FIXED_LEN_BYTE_ARRAY:
//
//	lengths of prefixes that values share with the one before    DELTA_BINARY_PACKED
//	lengths of the suffixes behind them                          DELTA_BINARY_PACKED
//	the suffixes                                                 bytes
//
// and numbers in DELTA_BINARY_PACKED, all of variable length but the packed ones:
//
//	block size · miniblocks in a block · numbers · the first number
//	blocks: least difference · a width of each miniblock, u8 · miniblocks of packed differences to the least one

var errDelta = errors.New("invalid values in the encoding DELTA_BYTE_ARRAY")

// maxDeltaBlock bounds the numbers of a block: known writers have 128.
const maxDeltaBlock = 1 << 20

// PlainOfDelta decodes at most so many values of a width from DELTA_BYTE_ARRAY into PLAIN. The bytes that it needs are given to take first.
func PlainOfDelta(data []byte, most, width int, take func(size uint64) error) ([]byte, error) {
	d := &deltas{data: data, most: most, width: width, take: take}
	prefixes, err := d.numbers()
	if err != nil {
		return nil, err
	}
	suffixes, err := d.numbers()
	if err != nil {
		return nil, err
	}
	if len(prefixes) != len(suffixes) {
		return nil, errDelta
	}
	out, last := make([]byte, 0, len(prefixes)*width), []byte(nil)
	for i, prefix := range prefixes {
		suffix := suffixes[i]
		if prefix < 0 || int(prefix) > len(last) || suffix < 0 || int(suffix) > len(d.data) || int(prefix)+int(suffix) != width {
			return nil, errDelta
		}
		out = append(append(out, last[:prefix]...), d.data[:suffix]...)
		d.data, last = d.data[suffix:], out[len(out)-width:]
	}
	return out, nil
}

// deltas reads numbers off the front of its data.
type deltas struct {
	data        []byte
	most, width int
	take        func(size uint64) error
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

func (d *deltas) bytes(n int) ([]byte, error) {
	if n > len(d.data) {
		return nil, errDelta
	}
	out := d.data[:n]
	d.data = d.data[n:]
	return out, nil
}

// numbers reads numbers in DELTA_BINARY_PACKED.
func (d *deltas) numbers() ([]int32, error) {
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
	last, err := d.varint()
	if err != nil || total == 0 {
		return nil, err
	}
	if parts == 0 || block%parts != 0 || block/parts%8 != 0 || block == 0 {
		return nil, errDelta
	}
	if err := d.take(uint64(total) * uint64(4+d.width)); err != nil {
		return nil, err
	}
	out := append(make([]int32, 0, total), int32(last))
	for len(out) < total {
		if out, err = d.block(out, parts, block/parts); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// block reads a block of miniblocks of so many numbers behind others, as many as there is space for.
func (d *deltas) block(out []int32, parts, each int) ([]int32, error) {
	least, err := d.varint()
	if err != nil {
		return nil, err
	}
	widths, err := d.bytes(parts)
	if err != nil {
		return nil, err
	}
	for _, w := range widths {
		n := min(each, cap(out)-len(out))
		if n == 0 { // miniblocks without numbers are not stored
			break
		}
		packed, err := d.bytes(each / 8 * int(w))
		if err != nil || w > 32 {
			return nil, errDelta
		}
		for i := range n {
			out = append(out, int32(int64(out[len(out)-1])+least+int64(bitsAt(packed, i*int(w), int(w))))) // differences wrap at 32 bits
		}
	}
	return out, nil
}

// bitsAt reads a number of at most 32 bits, the lowest first.
func bitsAt(b []byte, at, width int) (v uint64) {
	for got := 0; got < width; {
		n := min(8-at%8, width-got)
		v |= uint64(b[at/8]>>(at%8)) & (1<<n - 1) << got
		at, got = at+n, got+n
	}
	return v
}
