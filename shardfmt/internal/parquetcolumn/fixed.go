package parquetcolumn

import (
	"encoding/binary"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
)

var errCode = errors.New("a code beyond the dictionary")

// values collects the values of a batch: those that a page has, one behind the other, then spread where nulls are among them.
type values interface {
	// reset begins a batch of n rows, in the memory of the last one if that isn't to be kept.
	reset(n int, keep bool)
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

	dict, out []T
}

func (f *fixed[T]) reset(n int, keep bool) {
	if keep || cap(f.out) < n {
		f.out = make([]T, 0, n)
	}
	f.out = f.out[:0]
}

func (f *fixed[T]) dictionary(data []byte, n int) error {
	if len(data)/f.width < n {
		return errShort
	}
	if cap(f.dict) < n {
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

// int96 is a value of 96 bits as a page has it.
type int96 [parquet.Int96SizeBytes]byte

func words96(dst []int96, src []byte) {
	for i := range dst {
		dst[i] = int96(src[i*parquet.Int96SizeBytes:])
	}
}

// bytes96 gives the bytes of values, which are those of an array of a fixed width.
func bytes96(values []int96) []byte {
	out := make([]byte, 0, len(values)*parquet.Int96SizeBytes)
	for _, v := range values {
		out = append(out, v[:]...)
	}
	return out
}

func decimals32(dst []decimal128.Num, src []byte) {
	for i := range dst {
		dst[i] = decimal128.FromI64(int64(int32(binary.LittleEndian.Uint32(src[4*i:]))))
	}
}

func decimals64(dst []decimal128.Num, src []byte) {
	for i := range dst {
		dst[i] = decimal128.FromI64(int64(binary.LittleEndian.Uint64(src[8*i:])))
	}
}

// decimalsFrom collects decimals of a physical type; width is the size of those of a fixed length, in bytes.
func decimalsFrom(from parquet.Type, width int, to arrow.DataType) values {
	f := &fixed[decimal128.Num]{kind: to, raw: arrow.Decimal128Traits.CastToBytes}
	switch {
	case from == parquet.Types.Int32:
		f.width, f.decode = 4, decimals32
	case from == parquet.Types.Int64:
		f.width, f.decode = 8, decimals64
	case from == parquet.Types.FixedLenByteArray && width > 0 && width <= 16:
		f.width, f.decode = width, decimalsOf(width)
	default:
		return nil
	}
	return f
}

// decimalsOf reads decimals of width bytes, at most 16, the highest first.
func decimalsOf(width int) func(dst []decimal128.Num, src []byte) {
	if width > 8 {
		return func(dst []decimal128.Num, src []byte) {
			for i := range dst {
				v := src[i*width : (i+1)*width]
				dst[i] = decimal128.New(signed(v[:width-8]), binary.BigEndian.Uint64(v[width-8:]))
			}
		}
	}
	return func(dst []decimal128.Num, src []byte) {
		i, unused := 0, 64-8*width
		for ; i < len(dst) && i*width+8 <= len(src); i++ {
			dst[i] = decimal128.FromI64(int64(binary.BigEndian.Uint64(src[i*width:])) >> unused)
		}
		for ; i < len(dst); i++ {
			dst[i] = decimal128.FromI64(signed(src[i*width : (i+1)*width]))
		}
	}
}

// signed reads a number of at most 8 bytes, the highest first.
func signed(b []byte) int64 {
	n := uint64(0)
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	unused := 64 - 8*len(b)
	return int64(n<<unused) >> unused
}
