package parquetcolumn

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var errCode = errors.New("a code beyond the dictionary")

// values collects the values of a batch: those that a page has, one behind the other, then spread where nulls are among them.
type values interface {
	// reset begins a batch of n rows, in the memory of the last one if that isn't to be kept.
	reset(n int, keep bool) error
	// dictionary takes the n plain values that codes stand for; data stays as it is until the next one.
	dictionary(data []byte, n int) error
	// plain adds the first n values of data, and gives what is behind them.
	plain(data []byte, n int) (rest []byte, err error)
	// coded adds the values of codes.
	coded(codes []uint32) error
	// spread moves the last n values, which are those of the rows whose level is 1, to their rows.
	spread(n int, levels []uint32)
	// array gives the values with their validity.
	array(nulls int, validity *memory.Buffer) (arrow.Array, error)
}

// fixed are values of a fixed size.
type fixed[T any] struct {
	kind arrow.DataType
	// width is the size of a value in a page, in bytes, decode reads values of that size.
	width  int
	decode func(dst []T, src []byte)
	raw    func([]T) []byte
	mem    *charged

	dict, out []T
}

func (f *fixed[T]) reset(n int, keep bool) error {
	if keep || cap(f.out) < n {
		if err := f.mem.take(uint64(n) * uint64(unsafe.Sizeof(*new(T)))); err != nil {
			return err
		}
		f.out = make([]T, 0, n)
	}
	f.out = f.out[:0]
	return nil
}

func (f *fixed[T]) dictionary(data []byte, n int) error {
	if len(data)/f.width < n {
		return errShort
	}
	if cap(f.dict) < n {
		if err := f.mem.hold(uint64(n) * uint64(unsafe.Sizeof(*new(T)))); err != nil {
			return err
		}
		f.dict = make([]T, n)
	}
	f.dict = f.dict[:n]
	f.decode(f.dict, data)
	return nil
}

func (f *fixed[T]) plain(data []byte, n int) ([]byte, error) {
	if len(data)/f.width < n {
		return nil, errShort
	}
	f.decode(f.grow(n), data)
	return data[n*f.width:], nil
}

// grow adds n values to be set.
func (f *fixed[T]) grow(n int) []T {
	at := len(f.out)
	f.out = f.out[:at+n]
	return f.out[at:]
}

func (f *fixed[T]) coded(codes []uint32) error {
	out, dict := f.grow(len(codes)), f.dict
	for i, c := range codes {
		if uint64(c) >= uint64(len(dict)) {
			return errCode
		}
		out[i] = dict[c]
	}
	return nil
}

func (f *fixed[T]) spread(n int, levels []uint32) {
	f.grow(len(levels) - n)
	part := f.out[len(f.out)-len(levels):]
	for i := len(levels) - 1; i >= n; i-- { // below n rows in front all are where they belong
		if levels[i] != 0 {
			n--
			part[i] = part[n]
		} else {
			part[i] = *new(T)
		}
	}
}

func (f *fixed[T]) array(nulls int, validity *memory.Buffer) (arrow.Array, error) {
	return made(f.kind, len(f.out), nulls, validity, f.raw(f.out)), nil
}

// made is an array of buffers.
func made(kind arrow.DataType, n, nulls int, validity *memory.Buffer, buffers ...[]byte) arrow.Array {
	all := []*memory.Buffer{validity}
	for _, b := range buffers {
		all = append(all, memory.NewBufferBytes(b))
	}
	data := array.NewData(kind, n, all, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func words32(dst []uint32, src []byte) {
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint32(src[4*i:])
	}
}

func words64(dst []uint64, src []byte) {
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(src[8*i:])
	}
}

func bytes8(dst, src []byte) { copy(dst, src) }

// packed gives bits, one for each byte that is not 0.
func packed(values []uint8) []byte {
	out := make([]byte, (len(values)+7)/8)
	for i, v := range values {
		out[i/8] |= min(v, 1) << (i % 8)
	}
	return out
}

func words8(dst []uint8, src []byte) {
	for i := range dst {
		dst[i] = src[4*i]
	}
}

func words16(dst []uint16, src []byte) {
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint16(src[4*i:])
	}
}
