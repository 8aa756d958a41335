package block

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Bit-packed sub-blocks are too long to print: size and CRC-32 of the reference's output (docs/format/blocks.md,
// §6.5, §12.1) stand for the bytes, which are put together here from a header and packed chunks.
func TestPackedVectors(t *testing.T) {
	upTo := func(n int) []uint32 { return generate(n, func(i int) uint32 { return uint32(i) }) }
	checkPacked(t, "u32 1", "02 00 01 00 00 00 00 00", []uint32{1}, 1, 0, 136, 0xc05c6137)
	checkPacked(t, "u32 0..9", "02 00 04 00 00 00 00 00", upTo(10), 4, 0, 520, 0x2734a3bf)
	checkPacked(t, "u32 0..100", "02 00 07 00 00 00 00 00", upTo(101), 7, 0, 904, 0x54cb6d37)
	checkPacked(t, "u32 0..1023", "02 00 0a 00 00 00 00 00", upTo(1024), 10, 0, 1288, 0xc50cfb42)
	checkPacked(t, "u32 0..12344", "02 00 0e 00 00 00 00 00", upTo(12345), 14, 0, 23304, 0x46c53df4)
	checkPacked(t, "FFOR u16", "04 00 e8 03 02 00 00 00", []uint16{1000, 1003, 1001}, 2, 1000, 264, 0xed6d5821)
	checkPacked(t, "FFOR i32", "04 00 64 00 00 00 03 00", generate(8, func(i int) int32 { return int32(100 + i) }), 3, 100, 392, 0xcdc25d93)
	checkPacked(t, "FFOR i64", "04 00 40 42 0f 00 00 00 00 00 04 00 00 00 00 00",
		generate(10, func(i int) int64 { return int64(1000000 + i) }), 4, 1000000, 528, 0xc5c90d77)
	checkPacked(t, "FFOR i8", "04 00 80 08 00 00 00 00", []int8{-128, 127, 0}, 8, -128, 1032, 0x79a9fec6)
	checkPacked(t, "FFOR i64, all bits", "04 00 00 00 00 00 00 00 00 80 40 00 00 00 00 00",
		[]int64{math.MinInt64, math.MaxInt64, 0}, 64, math.MinInt64, 8208, 0x5dc1bcf5)
}

// checkPacked packs want as the header states, compares with the reference's size and CRC, and reads it back.
func checkPacked[T Number](t *testing.T, name, head string, want []T, width int, ref T, size int, crc uint32) {
	t.Helper()
	sub := unhex(t, head)
	switch simd.SizeOf[T]() {
	case 1:
		sub = simd.AppendPacked(sub, simd.Cast[uint8](want), width, uint8(ref))
	case 2:
		sub = simd.AppendPacked(sub, simd.Cast[uint16](want), width, uint16(ref))
	case 4:
		sub = simd.AppendPacked(sub, simd.Cast[uint32](want), width, uint32(ref))
	case 8:
		sub = simd.AppendPacked(sub, simd.Cast[uint64](want), width, uint64(ref))
	}
	if sum := crc32.ChecksumIEEE(sub); len(sub) != size || sum != crc {
		t.Errorf("%s: %d bytes with CRC %08x, want %d with %08x", name, len(sub), sum, size, crc)
	}
	checkNumbers(t, sub, want)
	checkAt(t, sub, want)
	// One chunk more than the values need is no error: it is never looked at.
	checkNumbers(t, append(sub, make([]byte, simd.ChunkBytes(width))...), want)
}

// FrameOfReference around bit-packed differences.
func TestPackedInFOR(t *testing.T) {
	sub := simd.AppendPacked(unhex(t, "03 00 0a 00 00 00 00 00  02 00 02 00 00 00 00 00"), []uint32{0, 2, 1}, 2, 0)
	if len(sub) != 272 {
		t.Errorf("%d bytes, want 272", len(sub))
	}
	checkNumbers(t, sub, []int32{10, 12, 11})
	checkAt(t, sub, []int32{10, 12, 11})
}

// Lz4 of two strings with bit-packed offsets (docs/format/blocks.md).
func TestPackedOffsets(t *testing.T) {
	sub := unhex(t, `11 00 16 00 00 00 08 01 00 08 00 00 1f 78 01 00 ff ff ff ff ff ff ff ee 50 78 78 78 78 78 00 00
		04 00 00 00 00 00 00 00 00 00 0c 00 00 00 00 00`)
	sub = simd.AppendPacked(sub, []uint64{0, 1000, 2048}, 12, 0)
	if crc := crc32.ChecksumIEEE(sub); len(sub) != 1584 || crc != 0x26e183d8 {
		t.Errorf("%d bytes with CRC %08x", len(sub), crc)
	}
	var b Bytes
	if err := DecodeBytes(&b, sub, 2, 0, nil, new(Scratch)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.Offsets, []int64{0, 1000, 2048}) {
		t.Errorf("offsets %v", b.Offsets)
	}
}

// Three exceptions of five values (docs/format/blocks.md).
func TestAlpExceptions(t *testing.T) {
	sub := unhex(t, "0c 00 2a 00 00 00 03 00 02 00 00 00 00 00 00 00 01 00")
	for _, v := range []uint64{123, 123, 123, 123, 10000} {
		sub = binary.LittleEndian.AppendUint64(sub, v)
	}
	sub = append(sub, unhex(t, "01 00 00 00 02 00 00 00 03 00 00 00")...)
	for _, v := range []float64{4.56, -7.89, math.Pi} {
		sub = binary.LittleEndian.AppendUint64(sub, math.Float64bits(v))
	}
	if crc := crc32.ChecksumIEEE(sub); len(sub) != 94 || crc != 0x80ea38de {
		t.Errorf("%d bytes with CRC %08x", len(sub), crc)
	}
	want := []float64{1.23, 4.56, -7.89, math.Pi, 100}
	checkNumbers(t, sub, want)
	checkAt(t, sub, want)
}

// Cascades over streams of more than one chunk: the values leave the space in the right order.
func TestPackedCascades(t *testing.T) {
	const n = 2500
	codes := generate(n, func(i int) uint32 { return uint32(i*7%3 + 1) })
	dict := simd.AppendPacked(unhex(t, "02 00 02 00 00 00 00 00"), codes, 2, 0)
	sub := binary.LittleEndian.AppendUint32(unhex(t, "0e 00"), uint32(len(dict)))
	sub = append(sub, unhex(t, "03 00 00 00 00 00 00 00 00 00")...)
	sub = append(append(sub, dict...), unhex(t, "07 00 00 00 09 00 00 00 05 00 00 00")...)
	wantDict := generate(n, func(i int) int32 { return []int32{7, 9, 5}[codes[i]-1] })
	checkNumbers(t, sub, wantDict)
	checkAt(t, sub, wantDict)

	deltas := generate(n-1, func(i int) uint64 { return uint64(i % 5) })
	sub = simd.AppendPacked(unhex(t, "05 00 64 00 00 00 00 00 00 00 00 00 00 00 00 00  04 00 fe ff ff ff ff ff ff ff 03 00 00 00 00 00"),
		generate(n-1, func(i int) uint64 { return deltas[i] - 2 }), 3, ^uint64(1))
	sum := int64(100)
	want := generate(n, func(i int) int64 {
		if i > 0 {
			sum += int64(deltas[i-1]) - 2
		}
		return sum
	})
	checkNumbers(t, sub, want)
	checkAt(t, sub, want)

	narrow := generate(n, func(i int) uint16 { return uint16(i*31 - 9000) })
	sub = simd.AppendPacked(unhex(t, "09 00 01 00 00 00 00 00  02 00 10 00 00 00 00 00"), narrow, 16, 0)
	wide := generate(n, func(i int) int64 { return int64(int16(narrow[i])) })
	checkNumbers(t, sub, wide)
	checkAt(t, sub, wide)
}

// Scratches are one per goroutine; what lies behind them (pools, tables) is for all.
func TestDecodeInParallel(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, c := range numberVectors {
				eachNumbers(t, c, numberChecks{checkNumbers[int8], checkNumbers[int16], checkNumbers[int32],
					checkNumbers[int64], checkNumbers[uint8], checkNumbers[uint16], checkNumbers[uint32],
					checkNumbers[uint64], checkNumbers[float32], checkNumbers[float64]})
			}
		})
	}
	all.Wait()
}
