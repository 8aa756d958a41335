package formattest

import "math"

const numbersAbout = "Blocks of integers, each with its frame and checksum, by encoding. Values are decimal."

func numberFile() (*File, error) {
	b := new(blocks)
	plainNumbers(b)
	packedNumbers(b)
	basedNumbers(b)
	runNumbers(b)
	narrowNumbers(b)
	dictionaryNumbers(b)
	compressedNumbers(b)
	sparseNumbers(b)
	return b.file("integers", numbersAbout)
}

func plainNumbers(b *blocks) {
	numbers(b, "three values", "Plain", []int32{1, -2, 3})
	numbers(b, "an odd number of bytes", "Plain", []uint8{0, 255, 7, 128, 1})
	numbers(b, "the ends of the type", "Plain", []int64{math.MinInt64, math.MaxInt64, 0, -1})
	numbers(b, "nulls, each a zero", "Plain", []uint16{10, 0, 30, 0, 50}, 1, 3)
	numbers(b, "no value", "Plain", []uint32{})
	numbers(b, "one value for all", "SingleValue", []uint16{0x1234, 0x1234, 0x1234})
	numbers(b, "a negative value, once", "SingleValue", []int64{-2})
	numbers(b, "only nulls", "SingleValue", []int8{0, 0, 0}, 0, 1, 2)
}

func packedNumbers(b *blocks) {
	numbers(b, "3 bits of bytes", "FLBitPack", []uint8{0, 1, 2, 3, 4, 5, 6, 7, 0, 1})
	numbers(b, "9 bits, a chunk exactly", "FLBitPack", sequence[uint16](0, 1, 512))
	numbers(b, "3 bits of eight bytes", "FLBitPack", []uint64{7, 0, 5, 2})
	numbers(b, "1 bit", "FLBitPack", []uint32{1, 0, 1, 1, 0})
	numbers(b, "11 bits, two chunks", "FLBitPack", sequence[uint32](1, 1, 1025))
	numbers(b, "33 bits across words", "FLBitPack", []uint64{1 << 32, 3, 1<<33 - 1, 0, 1 << 31})
	numbers(b, "all bits", "FLBitPack", []uint16{65535, 0, 32768})
	numbers(b, "a minimum of 1000", "FusedFrameOfReference", []uint16{1000, 1003, 1001})
	numbers(b, "a negative minimum", "FusedFrameOfReference", []int32{-100, -93, -98, -100})
	numbers(b, "all bits of a byte", "FusedFrameOfReference", []int8{-128, 127, 0})
	numbers(b, "a small range of large values", "FusedFrameOfReference", sequence[int64](1_000_000_000_000, 1, 10))
	numbers(b, "a null between", "FusedFrameOfReference", []int16{50, 0, 52, 51}, 1)
}

func basedNumbers(b *blocks) {
	numbers(b, "differences as they are", "FrameOfReference[Plain]", []int64{10, 12, 11})
	numbers(b, "differences packed", "FrameOfReference[FLBitPack]", []int16{-300, -299, -290, -300})
	numbers(b, "differences cut to a byte", "FrameOfReference[Sparse[raw, raw]]", []uint32{70000, 70000, 70001, 70000, 70009})
	numbers(b, "a byte's minimum, then padding", "FrameOfReference[SingleValue]", []uint8{9, 9, 9})
	numbers(b, "one step", "Delta[SingleValue]", sequence[int64](1000, 5, 10))
	numbers(b, "steps that overflow", "Delta[Plain]", []int16{1, 2, 4, 8, 16, 32, 64, 128, -1, -32768, 32767})
	numbers(b, "steps packed, the first negative", "Delta[FusedFrameOfReference]", []int32{7, 5, 5, 6, 8, 7, 9, 12, 10})
	numbers(b, "one value, no step", "Delta[Plain]", []uint32{42})
	numbers(b, "steps of steps", "TruncateU32[Delta[SingleValue]]", sequence[int64](100000, 1, 9))
}

func runNumbers(b *blocks) {
	numbers(b, "two runs, raw", "RunLength[raw, raw]", []int32{7, 7, 7, 9, 9})
	numbers(b, "three runs, padding behind the values", "RunLength[raw, raw]", []int32{7, 7, 9, 9, 8, 8})
	numbers(b, "lengths nested", "RunLength[raw, SingleValue]", []uint8{1, 1, 1, 2, 2, 2})
	numbers(b, "values nested", "RunLength[TruncateU8[raw], raw]", []int64{-1, -1, 5, 5, 5, 3})
	numbers(b, "both nested", "RunLength[Delta[SingleValue], Plain]", sequence[uint16](500, 2, 9))
	numbers(b, "one run", "RunLength[raw, raw]", []uint64{math.MaxUint64, math.MaxUint64})
}

func narrowNumbers(b *blocks) {
	numbers(b, "raw bytes", "TruncateU8[raw]", []int64{1, -1, 127, -128})
	numbers(b, "bytes packed", "TruncateU8[FLBitPack]", []int32{0, 3, 1, 2, 3})
	numbers(b, "bytes with a minimum", "TruncateU8[FusedFrameOfReference]", []int16{-5, -4, -3, -5})
	numbers(b, "raw words of two bytes", "TruncateU16[raw]", []int64{1, -1, 300})
	numbers(b, "two bytes, steps", "TruncateU16[Delta[SingleValue]]", sequence[int32](-30000, 100, 8))
	numbers(b, "two bytes, runs", "TruncateU16[RunLength[raw, raw]]", []int64{-300, -300, 400, 400, 400})
	numbers(b, "raw words of four bytes", "TruncateU32[raw]", []int64{math.MinInt32, math.MaxInt32, 0})
	numbers(b, "four bytes packed", "TruncateU32[FLBitPack]", []int64{9, 8, 7})
	numbers(b, "four bytes, one value", "TruncateU32[SingleValue]", []int64{-7, -7})
	numbers(b, "raw words of eight bytes", "TruncateU64[raw]", []int64{math.MinInt64, 1, -1})
	numbers(b, "eight bytes packed", "TruncateU64[FLBitPack]", []int64{5, 0, 3})
	numbers(b, "eight bytes, steps", "TruncateU64[Delta[SingleValue]]", sequence[int64](-1<<40, 3, 8))
	numbers(b, "small magnitudes of either sign", "ZigZag[Plain]", []int32{0, -1, 1, -2, 2})
	numbers(b, "raw words, which few writers make", "ZigZag[raw]", []int16{-3, 3, 0, math.MinInt16, math.MaxInt16})
	numbers(b, "packed", "ZigZag[FLBitPack]", []int64{-1, 1, -2, 2, 0})
	numbers(b, "runs of folded values", "ZigZag[RunLength[raw, raw]]", []int8{-1, -1, -1, 1, 1})
}

func dictionaryNumbers(b *blocks) {
	numbers(b, "entries raw, not aligned behind the codes", "BlockDictionary[Plain, raw]", []int32{7, 9, 7, 7, 9, 5})
	numbers(b, "codes packed", "BlockDictionary[FLBitPack, raw]", []int64{1 << 40, -1, 1 << 40, 3, -1, 1 << 40})
	numbers(b, "entries nested", "BlockDictionary[FLBitPack, FusedFrameOfReference]", []uint16{500, 501, 503, 500, 500, 501})
	numbers(b, "code 0 for nulls", "BlockDictionary[Plain, raw]", []uint8{200, 0, 200, 100, 0, 200, 100}, 1, 4)
	numbers(b, "zero is a value, too", "BlockDictionary[FusedFrameOfReference, raw]", []int32{0, 5, 0, 5, 0})
}

func compressedNumbers(b *blocks) {
	numbers(b, "repetitions", "Zstd", repeated[int64](40))
	numbers(b, "hardly smaller", "Zstd", scattered[uint16](17, 60000))
	numbers(b, "bytes", "Zstd", repeated[uint8](100))
	numbers(b, "repetitions", "Lz4", repeated[int64](40))
	numbers(b, "hardly smaller", "Lz4", scattered[uint16](17, 60000))
	numbers(b, "bytes", "Lz4", repeated[int8](100))
	numbers(b, "nested", "ZigZag[Lz4]", repeated[int32](50))
}

// repeated is a few numbers over and over.
func repeated[T int8 | uint8 | int32 | int64](n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = []T{17, 3, 99, 4, 120}[i%5]
	}
	return out
}

func sparseNumbers(b *blocks) {
	numbers(b, "three stored, raw", "Sparse[raw, raw]", []int32{0, 0, 0, 11, 0, 0, 0, -5, 12, 0})
	numbers(b, "positions and values nested", "Sparse[Plain, TruncateU8[raw]]", []int32{0, 0, 0, 11, 0, 0, 0, -5, 12, 0})
	numbers(b, "nothing stored", "Sparse[raw, raw]", make([]int32, 5))
	numbers(b, "an even number of positions", "Sparse[FLBitPack, SingleValue]", []uint64{0, 8, 0, 0, 8, 0})
	numbers(b, "nulls among the zeros", "Sparse[raw, raw]", []uint16{0, 0, 9, 0, 0}, 1, 4)
}
