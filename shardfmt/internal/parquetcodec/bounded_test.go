package parquetcodec

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// A page takes no more memory than its header states, whatever its bytes unpack to, and is not shorter.
func TestUnpackIsBounded(t *testing.T) {
	long := make([]byte, 64<<20)
	for _, c := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd, compress.Codecs.Lz4Raw} {
		codec, err := compress.GetCodec(c)
		if err != nil {
			t.Fatal(err)
		}
		packed := bytes.Clone(codec.Encode(nil, long))
		for _, size := range []int{0, 1, 1000} {
			p := &Page{Kind: DataPage, compressed: len(packed), uncompressed: size}
			taken := uint64(0)
			u := &Unpacker{Codec: c, Take: func(n uint64) error { taken += n; return nil }}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := u.Unpack(p, packed)
			runtime.ReadMemStats(&after)
			if (err == nil) != (size == 0) || taken != uint64(size) {
				t.Errorf("%v, %d bytes: %v, %d taken", c, size, err, taken)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
				t.Errorf("%v, %d bytes: %d allocated", c, size, got)
			}
		}
		short := &Page{Kind: DataPage, compressed: len(packed), uncompressed: len(long) + 1}
		if err := (&Unpacker{Codec: c, Take: func(uint64) error { return nil }}).Unpack(short, packed); err == nil {
			t.Errorf("%v: a page that is too short", c)
		}
	}
}

// FuzzUnpack unpacks bytes that may be anything: no codec panics, or gives more than the header states.
func FuzzUnpack(f *testing.F) {
	codecs := []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd, compress.Codecs.Lz4Raw, compress.Codecs.Lz4}
	for i, c := range codecs[:5] {
		codec, err := compress.GetCodec(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(codec.Encode(nil, bytes.Repeat([]byte("some text and some more text"), 20)), uint8(i), uint16(560))
	}
	f.Fuzz(func(t *testing.T, packed []byte, codec uint8, size uint16) {
		p := &Page{Kind: DataPage, compressed: len(packed), uncompressed: int(size)}
		u := &Unpacker{Codec: codecs[int(codec)%len(codecs)], Take: func(uint64) error { return nil }}
		if err := u.Unpack(p, packed); err == nil && len(p.Data) != int(size) {
			t.Fatalf("%d bytes, want %d", len(p.Data), size)
		}
	})
}
