package simd

import (
	"bytes"
	"testing"
)

// Values of up to EndsTell bytes have the same ends and length only if they are the same, wherever they lie in their data.
func TestEnds(t *testing.T) {
	type key struct {
		head, tail uint64
		size       int
	}
	known := map[key][]byte{}
	data := []byte("abcabcabdabcdefghijklmnopabcdefghijklmnoqabc\x00\x00\x00\x00")
	for _, data := range [][]byte{data, data[:24], data[:7]} {
		for start := range data {
			for end := start; end <= min(len(data), start+EndsTell); end++ {
				head, tail := Ends(data, start, end)
				k := key{head, tail, end - start}
				if other, ok := known[k]; ok && !bytes.Equal(other, data[start:end]) {
					t.Fatalf("%q and %q have the same ends", other, data[start:end])
				}
				known[k] = data[start:end]
			}
		}
	}
	distinct := map[string]bool{}
	for _, v := range known {
		distinct[string(v)] = true
	}
	if len(distinct) != len(known) {
		t.Errorf("%d values have %d different ends", len(distinct), len(known))
	}
}
