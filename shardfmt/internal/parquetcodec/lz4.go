// Package parquetcodec changes the codecs of Arrow's Parquet reader. Nothing unpacks to nothing: writers leave out the values of a page that
// has only nulls, whatever the codec. Parquet's deprecated codec LZ4 is read in each of the framings that writers gave to it:
//
//	Hadoop  [uncompressed u32 big-endian][compressed u32 big-endian][block]…
//	frame   LZ4's own frame format, by its magic 04 22 4D 18
//	block   one raw block, as LZ4_RAW has it
package parquetcodec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/pierrec/lz4/v4"
)

func init() { compress.RegisterCodec(compress.Codecs.Lz4, codec{}) }

var (
	errWrite    = errors.New("the codec LZ4 is deprecated, and not written")
	errUnpacked = errors.New("a page of the codec LZ4 in an unknown framing")
	frameMagic  = []byte{0x04, 0x22, 0x4D, 0x18}
)

// codec reads alone.
type codec struct{}

// Encode implements compress.Codec.
func (codec) Encode(_, _ []byte) []byte { panic(errWrite) }

// EncodeLevel implements compress.Codec.
func (codec) EncodeLevel(_, _ []byte, _ int) []byte { panic(errWrite) }

// CompressBound implements compress.Codec.
func (codec) CompressBound(n int64) int64 { return int64(lz4.CompressBlockBound(int(n))) }

// Decode implements compress.Codec.
func (c codec) Decode(dst, src []byte) []byte {
	out, err := c.DecodeWithError(dst, src)
	if err != nil {
		panic(err)
	}
	return out
}

// DecodeWithError implements compress.ErrorCodec: dst is as long as the page states to be, and all of it is filled.
func (codec) DecodeWithError(dst, src []byte) ([]byte, error) {
	if len(dst) == 0 && len(src) == 0 {
		return dst, nil
	}
	if hadoop(dst, src) {
		return dst, nil
	}
	if bytes.HasPrefix(src, frameMagic) {
		r := lz4.NewReader(bytes.NewReader(src))
		if _, err := io.ReadFull(r, dst); err != nil {
			return nil, fmt.Errorf("a page of the codec LZ4: %w", err)
		}
		return dst, nil
	}
	if n, err := lz4.UncompressBlock(src, dst); err != nil || n != len(dst) {
		return nil, errUnpacked
	}
	return dst, nil
}

// hadoop unpacks Hadoop's framing, and reports whether src is of it.
func hadoop(dst, src []byte) bool {
	for len(src) > 0 {
		if len(src) < 8 {
			return false
		}
		size, packed := uint64(binary.BigEndian.Uint32(src)), uint64(binary.BigEndian.Uint32(src[4:]))
		if src = src[8:]; size > uint64(len(dst)) || packed > uint64(len(src)) {
			return false
		}
		if n, err := lz4.UncompressBlock(src[:packed], dst[:size]); err != nil || uint64(n) != size {
			return false
		}
		dst, src = dst[size:], src[packed:]
	}
	return len(dst) == 0
}
