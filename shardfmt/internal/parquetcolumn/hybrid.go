package parquetcolumn

import (
	"encoding/binary"
	"errors"
)

var errShort = errors.New("a page ends within its values")

// hybrid reads numbers of at most 32 bits from runs and packed groups.
type hybrid struct {
	data  []byte
	width int // bits
	// run is how many times value follows; packed is how many values follow in groups, from bit on.
	run, packed int
	value       uint32
	groups      []byte
	bit         int
}

func newHybrid(data []byte, width int) (hybrid, error) {
	if width > 32 {
		return hybrid{}, errors.New("codes of more than 32 bits")
	}
	return hybrid{data: data, width: width}, nil
}

// fill reads as many values as dst has.
func (h *hybrid) fill(dst []uint32) error {
	for len(dst) > 0 {
		if err := h.begin(); err != nil {
			return err
		}
		n := min(len(dst), h.run)
		if h.packed > 0 {
			n = min(len(dst), h.packed)
			unpack(dst[:n], h.groups, h.bit, h.width)
		} else {
			for i := range dst[:n] {
				dst[i] = h.value
			}
		}
		h.skip(n)
		dst = dst[n:]
	}
	return nil
}

// constant reports the value of the next n, if one run holds them all, and passes them over.
func (h *hybrid) constant(n int) (value uint32, ok bool, err error) {
	if err := h.begin(); err != nil {
		return 0, false, err
	}
	if h.run < n {
		return 0, false, nil
	}
	h.skip(n)
	return h.value, true, nil
}

// skip passes over n values of the run or the groups available.
func (h *hybrid) skip(n int) {
	if h.packed > 0 {
		h.packed, h.bit = h.packed-n, h.bit+n*h.width
		return
	}
	h.run -= n
}

// begin reads the head of the next run or groups where none is available.
func (h *hybrid) begin() error {
	for h.run == 0 && h.packed == 0 {
		head, n := binary.Uvarint(h.data)
		if n <= 0 || head > 1<<32-1 {
			return errShort
		}
		h.data = h.data[n:]
		if head&1 == 0 {
			if err := h.beginRun(int(head >> 1)); err != nil {
				return err
			}
			continue
		}
		size := int(head>>1) * h.width
		h.groups, h.bit, h.packed = h.data, 0, int(head>>1)*8
		if size > len(h.data) { // some writers leave the padding of the last group out
			size = len(h.data)
			h.packed = size * 8 / h.width
		}
		h.data = h.data[size:]
	}
	return nil
}

func (h *hybrid) beginRun(n int) error {
	size := (h.width + 7) / 8
	if size > len(h.data) {
		return errShort
	}
	h.value = 0
	for i, b := range h.data[:size] {
		h.value |= uint32(b) << (8 * i)
	}
	if uint64(h.value)>>h.width != 0 {
		return errors.New("a run of a value wider than the bit width")
	}
	h.run, h.data = n, h.data[size:]
	return nil
}

// unpack reads numbers of width bits, from a bit of src on. Bits behind the end of src are 0.
func unpack(dst []uint32, src []byte, bit, width int) {
	if width == 0 {
		clear(dst)
		return
	}
	mask, most := uint64(1)<<width-1, (64-7)/width // so many a word has, wherever in its first byte they begin
	for len(dst) >= most && bit>>3+8 <= len(src) {
		word, some := binary.LittleEndian.Uint64(src[bit>>3:])>>(bit&7), dst[:most]
		for ; len(some) >= 4; some = some[4:] { // of which the first two and the second two don't wait for each other
			next := word >> (2 * width & 63)
			some[0], some[1] = uint32(word&mask), uint32(word>>(width&63)&mask)
			some[2], some[3] = uint32(next&mask), uint32(next>>(width&63)&mask)
			word = next >> (2 * width & 63)
		}
		for i := range some {
			some[i] = uint32(word & mask)
			word >>= width & 63
		}
		dst, bit = dst[most:], bit+most*width
	}
	for i := range dst {
		var word [8]byte
		copy(word[:], src[min(bit>>3, len(src)):])
		dst[i] = uint32(binary.LittleEndian.Uint64(word[:]) >> (bit & 7) & mask)
		bit += width
	}
}
