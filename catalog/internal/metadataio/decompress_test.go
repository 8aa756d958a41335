package metadataio

import (
	"bytes"
	"testing"

	"compress/gzip"
)

// TestUnpackedMetadata: a compressed file is unpacked up to the limit, and one that only has the name is refused.
func TestUnpackedMetadata(t *testing.T) {
	packed := func(n int) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(bytes.Repeat([]byte("x"), n)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, c := range map[string]struct {
		at   string
		file []byte
		want int // the length, -1 for an error
	}{
		"plain":             {"1.metadata.json", []byte("xxx"), 3},
		"gzip":              {"1.gz.metadata.json", packed(99), 99},
		"gzip unannounced":  {"1.metadata.json", packed(99), 99},
		"up to the limit":   {"1.gz.metadata.json", packed(100), 100},
		"beyond it":         {"1.gz.metadata.json", packed(101), -1},
		"cut":               {"1.gz.metadata.json", packed(99)[:20], -1},
		"plain, named gzip": {"1.gz.metadata.json", []byte("xxx"), -1},
		"plain, named zstd": {"1.zstd.metadata.json", []byte("xxxx"), -1},
	} {
		text, err := decompress(c.at, c.file, 100)
		if (err != nil) != (c.want < 0) || err == nil && len(text) != c.want {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}
