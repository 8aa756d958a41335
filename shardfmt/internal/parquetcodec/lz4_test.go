package parquetcodec

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/pierrec/lz4/v4"
)

// block packs text as one block.
func block(t *testing.T, text []byte) []byte {
	t.Helper()
	out := make([]byte, lz4.CompressBlockBound(len(text)))
	n, err := lz4.CompressBlock(text, out, nil)
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	return out[:n]
}

func framed(t *testing.T, text []byte) []byte {
	packed := block(t, text)
	b := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	return append(binary.BigEndian.AppendUint32(b, uint32(len(packed))), packed...)
}

func TestEveryFraming(t *testing.T) {
	text := bytes.Repeat([]byte("abcdabcd 1593604800 "), 40)
	var frame bytes.Buffer
	w := lz4.NewWriter(&frame)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string][]byte{
		"block": block(t, text), "frame": frame.Bytes(), "Hadoop": framed(t, text),
		"Hadoop in two blocks": append(framed(t, text[:300]), framed(t, text[300:])...),
	} {
		if got, err := (codec{}).DecodeWithError(make([]byte, len(text)), src); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		for n := range len(src) {
			if got, err := (codec{}).DecodeWithError(make([]byte, len(text)), src[:n]); err == nil && !bytes.Equal(got, text) {
				t.Fatalf("%s: the first %d bytes are %q", name, n, got)
			}
		}
		if _, err := (codec{}).DecodeWithError(make([]byte, len(text)+1), src); err == nil {
			t.Errorf("%s: a byte more came out than went in", name)
		}
	}
}

// A page that has nothing but nulls may have no bytes, whatever its codec, and a page that has values may not.
func TestNothingUnpacksToNothing(t *testing.T) {
	all := []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd, compress.Codecs.Lz4Raw, compress.Codecs.Lz4}
	for _, c := range all {
		known, err := compress.GetCodec(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := compress.Decode(known, nil, nil); err != nil || len(got) != 0 {
			t.Errorf("%v: %d bytes of nothing, %v", c, len(got), err)
		}
		if got, err := compress.Decode(known, make([]byte, 8), nil); err == nil && len(got) == 8 {
			t.Errorf("%v: 8 bytes of nothing", c)
		}
		if c == compress.Codecs.Lz4 {
			continue // which is not written
		}
		if got, err := compress.Decode(known, make([]byte, 4), known.Encode(nil, []byte("text"))); err != nil || string(got) != "text" {
			t.Errorf("%v: %q, %v", c, got, err)
		}
	}
}
