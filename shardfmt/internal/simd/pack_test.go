package simd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// The pack of every tier against the plain loop, on every width, with and without a reference.
func TestPackAgainstPlainLoop(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		t.Run("u8", testPack[uint8])
		t.Run("u16", testPack[uint16])
		t.Run("u32", testPack[uint32])
		t.Run("u64", testPack[uint64])
	})
}

func testPack[U Unsigned](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= 8*SizeOf[U](); width++ {
		for _, ref := range []U{0, 1, U(r.Uint64()), ^U(0)} {
			var src [ChunkLen]U
			for i := range src {
				src[i] = U(r.Uint64())
			}
			got, want := bytes.Repeat([]byte{0xEE}, ChunkBytes(width)+64), make([]byte, ChunkBytes(width))
			of[U]().pack(got[:len(want)], &src, width, ref)
			packPortable(want, &src, width, ref)
			if !bytes.Equal(got[:len(want)], want) || !bytes.Equal(got[len(want):], bytes.Repeat([]byte{0xEE}, 64)) {
				t.Fatalf("width %d, reference %d: packed bytes differ from the plain loop's", width, ref)
			}
		}
	}
}

func BenchmarkPack(b *testing.B) {
	before := active
	defer func() { active = before }()
	for _, active = range available() {
		b.Run(active.name, func(b *testing.B) {
			b.Run("u8", benchmarkPack[uint8])
			b.Run("u16", benchmarkPack[uint16])
			b.Run("u32", benchmarkPack[uint32])
			b.Run("u64", benchmarkPack[uint64])
		})
	}
}

func benchmarkPack[U Unsigned](b *testing.B) {
	var src [ChunkLen]U
	for i := range src {
		src[i] = U(i * 7)
	}
	bits := 8 * SizeOf[U]()
	pack := of[U]().pack
	for _, width := range []int{1, 3, bits / 2, bits - 1} {
		b.Run(fmt.Sprintf("w%d", width), func(b *testing.B) {
			dst := make([]byte, ChunkBytes(width))
			b.SetBytes(int64(ChunkLen * SizeOf[U]()))
			for b.Loop() {
				pack(dst, &src, width, 3)
			}
		})
	}
}
