package parquetlz4

import (
	"bytes"
	"encoding/binary"
	"testing"

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
