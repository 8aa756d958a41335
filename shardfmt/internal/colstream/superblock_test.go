package colstream

import (
	"bytes"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

func TestSuperBlock(t *testing.T) {
	for _, sizes := range [][]int{nil, {8}, {16, 0, 8}, {24, 8}} {
		n := 0
		for _, size := range sizes {
			n += size
		}
		blocks := bytes.Repeat([]byte{7}, n)
		b := AppendSuper([]byte("xyz"), sizes, blocks)[3:]
		parts, err := SplitSuper(b, true)
		if err != nil || len(parts) != len(sizes) {
			t.Fatalf("%v: %v, %v", sizes, parts, err)
		}
		for i, p := range parts {
			if int(p.Len()) != sizes[i] || p.Start%8 != 0 {
				t.Errorf("%v: member %d at %v", sizes, i, p)
			}
		}
		for i := range len(b) - n { // every byte of the header counts
			b[i] ^= 1
			if _, err := SplitSuper(b, true); err == nil {
				t.Errorf("%v: byte %d of the header may be anything", sizes, i)
			}
			b[i] ^= 1
		}
	}
}

// FuzzSuperBlock splits whatever comes: members lie in order, inside, and end with it.
func FuzzSuperBlock(f *testing.F) {
	f.Add(AppendSuper(nil, []int{8, 16}, make([]byte, 24)), true)
	f.Add([]byte{1, 0, 0, 0, 8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, false)
	f.Add([]byte{255, 255, 255, 255, 8, 0, 0, 0}, false)
	f.Fuzz(func(t *testing.T, b []byte, checksum bool) {
		if checksum && len(b) >= 8 { // as if it held, so that what is behind it is reached
			if end := superHeader(int(b[0]), true); end <= len(b) {
				b = bytes.Clone(b)
				b[1], b[2], b[3] = 0, 0, 0
				sum := meta.Checksum(b[:end-4])
				b[end-4], b[end-3], b[end-2], b[end-1] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
			}
		}
		parts, err := SplitSuper(b, checksum)
		if err != nil {
			return
		}
		at := uint64(superHeader(len(parts), checksum))
		for _, p := range parts {
			if p.Start != at || p.End < p.Start {
				t.Fatalf("members %v in %d bytes", parts, len(b))
			}
			at = p.End
		}
		if at != uint64(len(b)) {
			t.Fatalf("members %v in %d bytes", parts, len(b))
		}
	})
}
