package parquetcodec

import "github.com/apache/arrow-go/v18/parquet/compress"

func init() {
	for _, c := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd, compress.Codecs.Lz4Raw} {
		known, err := compress.GetCodec(c)
		if err != nil {
			continue // the library has none, and refuses files that need it
		}
		if streaming, ok := known.(compress.StreamingCodec); ok {
			compress.RegisterCodec(c, streamed{allowEmpty{known}, streaming})
		} else {
			compress.RegisterCodec(c, allowEmpty{known})
		}
	}
}

// allowEmpty is a codec that unpacks nothing to nothing.
type allowEmpty struct{ compress.Codec }

// streamed is one of which long pages are unpacked piece by piece.
type streamed struct {
	allowEmpty
	compress.StreamingCodec
}

// DecodeWithError implements compress.ErrorCodec.
func (c allowEmpty) DecodeWithError(dst, src []byte) ([]byte, error) {
	if len(dst) == 0 && len(src) == 0 {
		return dst, nil
	}
	return compress.Decode(c.Codec, dst, src)
}
