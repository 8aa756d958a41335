package encode

import (
	"math"
	"math/bits"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// ALP stores floats that are short decimals as integers: v = int · 10^factor · 10^−exponent, in that order,
// with two roundings (Afroozeh, Kuffó, Boncz, ALP: Adaptive Lossless floating-Point Compression, SIGMOD
// 2024). What doesn't come back to the same bits is an exception: NaN, infinities, −0, values with too many
// digits.

// decimals is the arithmetic of ALP for one width.
type decimals struct {
	power, inverse []float64
	// round is the number that, added and taken off again, leaves the nearest integer: 1.5 · 2^mantissa bits.
	round float64
	// limit is what the integers stay below.
	limit float64
	// single: every result is rounded to 32 bits.
	single bool
	// top is the largest exponent tried; the tables of readers go further.
	top int
}

var decimals64 = decimals{
	power: []float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
		1e16, 1e17, 1e18},
	inverse: []float64{1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13,
		1e-14, 1e-15, 1e-16, 1e-17, 1e-18},
	round: 3 << 51, limit: 1 << 51, top: 18,
}

var decimals32 = decimals{
	power: []float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10},
	inverse: []float64{1e0, float64(float32(1e-1)), float64(float32(1e-2)), float64(float32(1e-3)),
		float64(float32(1e-4)), float64(float32(1e-5)), float64(float32(1e-6)), float64(float32(1e-7)),
		float64(float32(1e-8)), float64(float32(1e-9)), float64(float32(1e-10))},
	round: 3 << 22, limit: 1 << 22, top: 9, single: true,
}

// integer is the integer that stands for v, and whether it gives back the very bits of v.
//
// Products and sums are rounded one by one: the conversions keep the compiler from fusing them. For floats
// of 32 bits the operations are carried out on 64 and rounded, which is the same for a product or a sum of
// two 32-bit floats (double rounding is innocuous from 2·24+2 bits on).
func (d *decimals) integer(v float64, e, f int) (int64, bool) {
	var x, back float64
	if d.single {
		x = single(single(v*d.power[e]) * d.inverse[f])
		x = single(single(x+d.round) - d.round)
	} else {
		x = float64(v*d.power[e]) * d.inverse[f]
		x = float64(float64(x)+d.round) - d.round
	}
	if !(x > -d.limit && x < d.limit) {
		return 0, false
	}
	i := int64(x)
	if d.single {
		back = single(single(float64(i)*d.power[f]) * d.inverse[e])
	} else {
		back = float64(float64(i)*d.power[f]) * d.inverse[e]
	}
	return i, math.Float64bits(back) == math.Float64bits(v)
}

func single(v float64) float64 { return float64(float32(v)) }

// decimalsOf is the arithmetic for words of this width, and the reading of one.
func decimalsOf[U word]() *decimals {
	if sizeOf[U]() == 4 {
		return &decimals32
	}
	return &decimals64
}

// floatOf is the float whose bits are v. A 32-bit float becomes the same value in 64 bits.
func floatOf[U word](v U) float64 {
	if sizeOf[U]() == 4 {
		return float64(math.Float32frombits(uint32(v)))
	}
	return math.Float64frombits(uint64(v))
}

const (
	// alpSample is the number of values on which exponent and factor are chosen.
	alpSample = 32
	// alpExceptions is the most exceptions a block can count.
	alpExceptions = 1<<16 - 1
)

// planFloats weighs what only floats can be.
func planFloats[U word](e *Encoder, vals []U, best *plan, sc scope, tried *codeSet) *plan {
	if e.mayNest(sc, block.Alp) && e.try(block.Alp, sc, tried) {
		best = better(best, planAlp(e, vals, best, sc))
	}
	if e.mayNest(sc, block.AlpRd) && len(vals) >= leftEntries && e.try(block.AlpRd, sc, tried) {
		best = better(best, planAlpRd(e, vals, best))
	}
	return best
}

// planAlp chooses exponent and factor on a sample and turns the floats into integers.
func planAlp[U word](e *Encoder, vals []U, best *plan, sc scope) *plan {
	d := decimalsOf[U]()
	exponent, factor, expect := chooseDecimals(e, d, vals)
	if expect >= best.size {
		return nil
	}
	return planDecimals(e, vals, exponent, factor, sc)
}

// planDecimals turns the floats into integers by an exponent and a factor.
func planDecimals[U word](e *Encoder, vals []U, exponent, factor int, sc scope) *plan {
	p, d := e.newPlan(block.Alp, 0), decimalsOf[U]()
	p.exponent, p.factor = uint8(exponent), uint8(factor)
	ints := toIntegers(e, p, d, vals)
	if len(p.where) > alpExceptions {
		return nil
	}
	p.size = headerOf(8) + nest(p, 0, ints, planWords(e, &input[U]{vals: ints, kind: signed}, sc.in(e.rules))) +
		4*len(p.where) + len(p.exceptions)
	return p
}

// chooseDecimals tries exponents and factors on a sample and returns the pair with the smallest encoding,
// and what the whole stream would come to with it. The pair of the block before goes first: if it has no
// exception on the sample it stays.
func chooseDecimals[U word](e *Encoder, d *decimals, vals []U) (exponent, factor, expect int) {
	sample := take[float64](&e.arena, alpSample)[:0]
	step := max(1, len(vals)/alpSample)
	for at := int(e.o.Seed % uint64(step)); at < len(vals) && len(sample) < alpSample; at += step {
		sample = append(sample, floatOf(vals[at]))
	}
	exception := 8 * (4 + sizeOf[U]())
	best := math.MaxInt
	if e.alpKnown {
		bits, misses := d.measure(sample, e.alpExponent, e.alpFactor, exception)
		if misses == 0 {
			return e.alpExponent, e.alpFactor, bits * len(vals) / len(sample) / 8
		}
	}
	for x := 0; x <= d.top; x++ {
		for f := 0; f < max(1, x); f++ {
			if bits, _ := d.measure(sample, x, f, exception); bits < best {
				best, exponent, factor = bits, x, f
			}
		}
	}
	e.alpKnown, e.alpExponent, e.alpFactor = true, exponent, factor
	return exponent, factor, best * len(vals) / len(sample) / 8
}

// measure is the bits of the sample with a pair, and how many values are exceptions; it stops when more than
// half are.
func (d *decimals) measure(sample []float64, e, f, exception int) (bits, misses int) {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range sample {
		i, ok := d.integer(v, e, f)
		if !ok {
			if misses++; misses > len(sample)/2 {
				return math.MaxInt, misses
			}
			continue
		}
		low, high = min(low, i), max(high, i)
	}
	return len(sample)*widthOf(uint64(high-low)) + misses*exception, misses
}

// toIntegers converts all values. An exception takes the integer before it, so that it costs nothing more.
func toIntegers[U word](e *Encoder, p *plan, d *decimals, vals []U) []U {
	ints := take[U](&e.arena, len(vals))
	missed := take[uint8](&e.arena, (len(vals)+7)/8)
	if sizeOf[U]() == 8 {
		simd.AlpIntegers(simd.Cast[uint64](ints), missed, simd.Cast[uint64](vals), int(p.exponent), int(p.factor))
	} else {
		integers(d, ints, missed, vals, int(p.exponent), int(p.factor))
	}
	p.where = setBits(e, missed, len(vals))
	for _, at := range p.where {
		ints[at] = 0
		if at > 0 {
			ints[at] = ints[at-1]
		}
	}
	if len(p.where) > 0 {
		fillFront(p, ints)
		p.exceptions = take[uint8](&e.arena, len(p.where)*sizeOf[U]())
		stored := castBytes[U](p.exceptions)
		for i, at := range p.where {
			stored[i] = vals[at]
		}
	}
	return ints
}

// integers gives the integers of floats of 32 bits; missed gets a bit for each float that has none.
func integers[U word](d *decimals, ints []U, missed []byte, vals []U, x, f int) {
	clear(missed)
	for i, v := range vals {
		n, ok := d.integer(floatOf(v), x, f)
		ints[i] = U(n)
		if !ok {
			missed[i/8] |= 1 << (i % 8)
		}
	}
}

// setBits gives the places of the bits that are set among the first n of a bitmap.
func setBits(e *Encoder, bitmap []byte, n int) []uint32 {
	where := take[uint32](&e.arena, countOnes(bitmap, n))[:0]
	for i, b := range bitmap {
		for ; b != 0; b &= b - 1 {
			where = append(where, uint32(8*i+bits.TrailingZeros8(b)))
		}
	}
	return where
}

// fillFront gives exceptions at the very front the first integer that stands for a value.
func fillFront[U word](p *plan, ints []U) {
	front := 0
	for front < len(p.where) && p.where[front] == uint32(front) {
		front++
	}
	if front < len(ints) {
		for i := range front {
			ints[i] = ints[front]
		}
	}
}
