package metadataio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go/table"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
)

// packedFrom is from how many bytes of JSON on a metadata file is compressed: smaller ones cost less than a round trip, and stay readable as text.
const packedFrom = 256 << 10

// packers compress metadata files by what the property of the codec states.
var packers = map[string]func(w io.Writer) (io.WriteCloser, error){
	table.MetadataCompressionCodecGzip: func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	table.MetadataCompressionCodecZstd: func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
}

// Encode gives metadata as JSON, compressed as their own property states if it is large, and the codec.
func Encode(metadata table.Metadata) (text []byte, codec string, err error) {
	codec = metadata.Properties().Get(table.MetadataCompressionKey, table.MetadataCompressionDefault)
	pack, ok := packers[codec]
	if !ok && codec != table.MetadataCompressionCodecNone {
		return nil, "", fmt.Errorf("%w: property %s is %q: must be none, gzip or zstd", caterr.ErrInvalid, table.MetadataCompressionKey, codec)
	}
	var plain, packed bytes.Buffer
	if err := json.NewEncoder(&plain).Encode(metadata); err != nil {
		return nil, "", err
	}
	if !ok || plain.Len() < packedFrom {
		return plain.Bytes(), table.MetadataCompressionCodecNone, nil
	}
	w, err := pack(&packed)
	if err == nil {
		_, err = w.Write(plain.Bytes())
		err = errors.Join(err, w.Close())
	}
	return packed.Bytes(), codec, err
}

// Version is the number in the name of a metadata file: 00003-<uuid>.metadata.json, or v3.metadata.json of
// old clients.
func Version(location string) (int, error) {
	name := path.Base(location)
	number, _, ok := strings.Cut(name, "-")
	if !ok {
		number, _, _ = strings.Cut(strings.TrimPrefix(name, "v"), ".")
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("metadata file %s: its name has no version", location)
	}
	return n, nil
}
