package block

import (
	"bytes"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// evenSeed is a frame of three records: the first one raw, the second with the distance, the third as all others are.
var evenSeed = []byte{
	0x28, 0xB5, 0x2F, 0xFD, 0xA0, 48, 0, 0, 0,
	16 << 3, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	12<<3 | 4, 0, 0, 3<<4 | 12, 0, 0, 20, 21, 22, 1, 0x54, 3, 4, 10, 0x13,
	12<<3 | 5, 0, 0, 3<<4 | 12, 0, 0, 30, 31, 32, 1, 0x54, 3, 0, 10, 1,
}

func TestUnzstdEven(t *testing.T) {
	dst := make([]byte, 48)
	if !unzstdEven(dst, evenSeed) {
		t.Fatal("not read")
	}
	want := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	for i, first := range [][]byte{{1, 2, 3}, {20, 21, 22}, {30, 31, 32}} {
		copy(want, first)
		if got := dst[i*16 : i*16+16]; !bytes.Equal(got, want) {
			t.Errorf("record %d: % x, want % x", i, got, want)
		}
	}
}

// FuzzUnzstdEven: what the quick way takes, the library's decoder reads the same.
func FuzzUnzstdEven(f *testing.F) {
	f.Add(evenSeed, 48)
	f.Add(evenSeed[:len(evenSeed)-1], 48)
	d, err := zstd.NewReader(nil, zstdOptions()...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src []byte, size int) {
		if size < 0 || size > 1<<20 {
			return
		}
		dst := make([]byte, size)
		if !unzstdEven(dst, src) {
			return
		}
		out := make([]byte, size)
		if err := unzstd(d, out, src); err != nil {
			t.Fatalf("taken, and refused by the library: %v", err)
		}
		if !bytes.Equal(out, dst) {
			t.Fatalf("read otherwise")
		}
	})
}
