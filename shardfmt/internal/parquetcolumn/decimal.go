package parquetcolumn

import (
	"encoding/binary"
	"errors"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

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

// decimalsOfBytes collects decimals of at most so many bytes, the highest first; of reads those of a number of bytes.
func decimalsOfBytes[T any](from parquetcodec.Leaf, f *fixed[T], most int, of func(width int) func(dst []T, src []byte)) values {
	switch {
	case from.Type == parquet.Types.FixedLenByteArray && from.Width > 0 && from.Width <= most:
		f.width, f.decode = from.Width, of(from.Width)
		return f
	case from.Type == parquet.Types.ByteArray:
		f.width, f.decode = most, of(most)
		return &decimalTexts[T]{fixed: f}
	}
	return nil
}

// decimals128 reads decimals of width bytes, at most 16.
func decimals128(width int) func(dst []decimal128.Num, src []byte) {
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

// decimals256 reads decimals of width bytes, at most 32.
func decimals256(width int) func(dst []decimal256.Num, src []byte) {
	return func(dst []decimal256.Num, src []byte) {
		var b [32]byte
		for i := range dst {
			extend(b[:], src[i*width:(i+1)*width])
			dst[i] = decimal256.New(binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint64(b[24:]))
		}
	}
}

// extend gives a number of bytes, the highest first and one at least, more of them.
func extend(dst, src []byte) {
	sign := byte(int8(src[0]) >> 7)
	first := len(dst) - len(src)
	for i := range dst[:first] {
		dst[i] = sign
	}
	copy(dst[first:], src)
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

// decimalTexts are decimals as byte arrays.
type decimalTexts[T any] struct {
	*fixed[T]
	room []byte
}

// extended gives n byte arrays as many bytes as the widest has, and what is behind them.
func (d *decimalTexts[T]) extended(data []byte, n int) (rest []byte, err error) {
	if len(data)/4 < n {
		return nil, errShort
	}
	if size := n * d.width; size > cap(d.room) {
		if err := d.mem.hold(uint64(size)); err != nil {
			return nil, err
		}
		d.room = make([]byte, size)
	}
	for i := range n {
		size, err := textSize(data, 0)
		if err != nil {
			return nil, err
		}
		if size == 0 || size > d.width {
			return nil, errors.New("a decimal of no bytes, or of more than it may have")
		}
		extend(d.room[i*d.width:][:d.width], data[4:4+size])
		data = data[4+size:]
	}
	return data, nil
}

func (d *decimalTexts[T]) dictionary(data []byte, n int) error {
	if _, err := d.extended(data, n); err != nil {
		return err
	}
	return d.fixed.dictionary(d.room, n)
}

func (d *decimalTexts[T]) plain(data []byte, n int) ([]byte, error) {
	rest, err := d.extended(data, n)
	if err == nil {
		_, err = d.fixed.plain(d.room[:n*d.width], n)
	}
	return rest, err
}
