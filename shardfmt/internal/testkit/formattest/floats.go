package formattest

import "math"

const floatsAbout = "Blocks of floats, each with its frame and checksum, by encoding. Values are the bits of the float, the highest digit first: NaNs keep their payload, zeros their sign."

func floatFile() (*File, error) {
	b := new(blocks)
	bits := []float64{math.Float64frombits(0x7ff8000000000001), math.Copysign(0, -1), math.Inf(1), math.SmallestNonzeroFloat64, 1.5}
	numbers(b, "a NaN with a payload, a negative zero, infinity, a subnormal number", "Plain", bits)
	numbers(b, "values of four bytes", "Plain", []float32{1.5, float32(math.NaN()), float32(math.Inf(-1))})
	numbers(b, "a null", "Plain", []float64{0, 2.5}, 0)
	numbers(b, "one value", "SingleValue", []float64{1.5, 1.5})
	numbers(b, "the negative zero", "SingleValue", []float32{float32(math.Copysign(0, -1)), float32(math.Copysign(0, -1))})
	numbers(b, "one NaN", "SingleValue", []float64{bits[0], bits[0], bits[0]})
	numbers(b, "zeros of both signs are two runs", "RunLength[raw, raw]", []float64{0, 0, math.Copysign(0, -1), 2, 2})
	numbers(b, "runs of four bytes, lengths nested", "RunLength[raw, Plain]", []float32{2.5, 2.5, -1, -1, -1, 7})
	numbers(b, "runs, values nested", "RunLength[BlockDictionary[Plain, raw], raw]", []float64{1, 1, 2, 1, 1, 2})
	alpBlocks(b)
	alpRdBlocks(b)
	numbers(b, "a dictionary", "BlockDictionary[FLBitPack, raw]", []float64{1.5, 2.5, 1.5, 1.5, math.Pi})
	numbers(b, "a dictionary with a null", "BlockDictionary[Plain, raw]", []float32{1, 0, 2, 1}, 1)
	numbers(b, "few stored", "Sparse[raw, raw]", []float64{0, 0, 3.5, 0})
	numbers(b, "the negative zero is stored", "Sparse[raw, raw]", []float32{0, float32(math.Copysign(0, -1)), 0, 1})
	numbers(b, "compressed", "Zstd", sequence(0.5, 0.25, 40))
	numbers(b, "compressed", "Lz4", sequence[float32](1, 1, 40))
	return b.file("floats", floatsAbout)
}

func alpBlocks(b *blocks) {
	numbers(b, "no exception", "Alp[Plain]", []float64{1.23, 4.56, -7.89, 100})
	numbers(b, "an exception, not aligned", "Alp[Plain]", []float64{1.23, 4.56, -7.89, math.Pi, 100})
	numbers(b, "four bytes; exceptions at the front, NaN, infinity", "Alp[Plain]",
		[]float32{float32(math.NaN()), float32(math.Inf(1)), 1.5, 2.25, 1e30, 3.75, -1.25})
	numbers(b, "integers nested three deep", "Alp[TruncateU16[Delta[SingleValue]]]", hundredths(64))
	numbers(b, "integers packed", "Alp[FusedFrameOfReference]", hundredths(20))
	numbers(b, "a negative zero is an exception", "Alp[Plain]", []float64{0.5, math.Copysign(0, -1), 2.5})
}

// hundredths are numbers with two digits behind the point.
func hundredths(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(1000+i) / 100
	}
	return out
}

func alpRdBlocks(b *blocks) {
	var near, wide []float64
	for i, v := range scattered[uint32](40, 1<<30) {
		near = append(near, 1+float64(v)/(1<<31))
		wide = append(wide, math.Ldexp(1+float64(v)/(1<<31), 3*(i%11)))
	}
	numbers(b, "one left part", "AlpRd[Plain, Plain]", near[:9])
	numbers(b, "left parts packed", "AlpRd[FLBitPack, FLBitPack]", near)
	numbers(b, "eleven left parts, eight in the dictionary, exceptions", "AlpRd[Plain, Plain]", wide)
	var single []float32
	for i, v := range scattered[uint32](25, 1<<20) {
		single = append(single, float32(math.Ldexp(1+float64(v)/(1<<21), i%3)))
	}
	numbers(b, "four bytes, an odd number of codes", "AlpRd[Plain, Plain]", append(single, float32(math.NaN()), -1e30))
}
