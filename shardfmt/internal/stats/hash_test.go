package stats

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func TestSketchHashes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		low, high := r.Uint64()>>(i%64), r.Uint64()>>(i/64)
		b := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, low), high)
		if got, want := sketchWord(low), sketchHash(b[:8]); got != want {
			t.Fatalf("8 bytes % x: %#x, want %#x", b[:8], got, want)
		}
		if got, want := sketchTwo(low, high), sketchHash(b); got != want {
			t.Fatalf("16 bytes % x: %#x, want %#x", b, got, want)
		}
	}
}
