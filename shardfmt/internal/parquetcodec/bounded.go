package parquetcodec

import (
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

func init() {
	for _, c := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd, compress.Codecs.Lz4Raw} {
		known, err := compress.GetCodec(c)
		if err != nil {
			continue // the library has none, and refuses files that need it
		}
		b := bounded{Codec: known}
		switch c {
		case compress.Codecs.Snappy:
			b.into = snappyInto
		case compress.Codecs.Zstd:
			b.into = zstdInto
		}
		if streaming, ok := known.(compress.StreamingCodec); ok {
			compress.RegisterCodec(c, streamed{b, streaming})
		} else {
			compress.RegisterCodec(c, b)
		}
	}
}

// bounded is a codec that unpacks nothing to nothing, and no more than fits.
type bounded struct {
	compress.Codec
	// into unpacks in place of a codec that takes memory for as much as its bytes claim.
	into func(dst, src []byte) ([]byte, error)
}

// streamed is one of which long pages are unpacked piece by piece.
type streamed struct {
	bounded
	compress.StreamingCodec
}

// DecodeWithError implements compress.ErrorCodec.
func (c bounded) DecodeWithError(dst, src []byte) ([]byte, error) {
	switch {
	case len(dst) == 0 && (dst != nil || len(src) == 0):
		return dst, nil
	case c.into != nil && dst != nil:
		return c.into(dst, src)
	}
	return compress.Decode(c.Codec, dst, src)
}

var errLong = errors.New("a page that unpacks to more bytes than its header states")

func snappyInto(dst, src []byte) ([]byte, error) {
	if n, err := snappy.DecodedLen(src); err != nil || n > len(dst) {
		return nil, errors.Join(errLong, err)
	}
	return snappy.Decode(dst, src)
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
})

func zstdInto(dst, src []byte) ([]byte, error) {
	d, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	return d.DecodeAll(src, dst[:0:len(dst)])
}
