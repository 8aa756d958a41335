package encode

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Bytes that occur about equally often get the codes that the library's coder gives up on, and come back from a decoder of Zstd.
func TestEvenLiterals(t *testing.T) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	e := NewEncoder(Options{Profile: HighCompression})
	r := rand.New(rand.NewPCG(7, 8))
	for _, values := range []int{129, 140, 200, 240, 255, 256} {
		for _, n := range []int{300, 1026, 20_000, 65_536} {
			low := make([]byte, n)
			for i := range low {
				low[i] = byte(r.IntN(values))
			}
			e.borrow()
			frame := e.lowBytesFrame(low, 4)
			if frame == nil {
				if values <= 200 && n >= 20_000 {
					t.Errorf("%d of %d values have no codes", n, values)
				}
				continue
			}
			if values <= 200 && n >= 20_000 && len(frame) > n-n/30 {
				t.Errorf("%d of %d values take %d bytes", n, values, len(frame))
			}
			words := make([]byte, 4*n)
			for i, b := range low {
				words[4*i] = b
			}
			back, err := dec.DecodeAll(slices.Clone(frame), nil)
			if err != nil || !bytes.Equal(back, words) {
				t.Fatalf("%d of %d values: %v", n, values, err)
			}
		}
	}
}
