package metadataio

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/catalog/internal/resthttp"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// unpackedLimit bounds what a compressed metadata file may be unpacked to.
const unpackedLimit = 256 << 20

// Decompress decompresses a metadata file and refuses one that would take more memory than there is, before anything decodes it.
func Decompress(at string, file []byte, memory int64) ([]byte, error) {
	text, err := decompress(at, file, min(unpackedLimit, memory/2))
	if err == nil {
		err = resthttp.CheckJSON(text, memory)
	}
	if err != nil {
		return nil, corrupt.Locate(corrupt.At(-1, "not a metadata file of Iceberg: %v", err), at, 0)
	}
	return text, nil
}

// decompress decompresses a metadata file that is compressed, or has the name of one.
func decompress(at string, text []byte, limit int64) ([]byte, error) {
	var from io.Reader
	switch {
	case bytes.HasPrefix(text, []byte{0x1f, 0x8b}), strings.HasSuffix(at, ".gz.metadata.json"), strings.HasSuffix(at, "metadata.json.gz"):
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		from = z
	case bytes.HasPrefix(text, []byte{0x28, 0xb5, 0x2f, 0xfd}), strings.HasSuffix(at, ".zstd.metadata.json"), strings.HasSuffix(at, "metadata.json.zstd"):
		z, err := zstd.NewReader(bytes.NewReader(text), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(unpackedLimit))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		from = z
	default:
		return text, nil
	}
	out, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(out)) > limit {
		err = fmt.Errorf("it is larger than %d bytes after decompression (see --max-memory)", limit)
	}
	return out, err
}
