package simd

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// eachTier runs a test with each tier of this machine as the active one. Those in assembly that it doesn't have are skipped by name.
func eachTier(t *testing.T, test func(t *testing.T)) {
	before := active
	defer func() { active = before }()
	for _, active = range available() {
		t.Run(active.name, test)
	}
	for _, name := range []string{avx2, avx512} {
		if _, err := assembled(name); err != nil {
			t.Run(name, func(t *testing.T) { t.Skip(err) })
		}
	}
}

// Every kernel of every tier gives what the plain loop gives.
func TestAgainstPlainLoops(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		t.Run("u8", againstPlainLoops[uint8])
		t.Run("u16", againstPlainLoops[uint16])
		t.Run("u32", againstPlainLoops[uint32])
		t.Run("u64", againstPlainLoops[uint64])
	})
}

func againstPlainLoops[U Unsigned](t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	t.Run("unpack", func(t *testing.T) { testUnpack[U](t, r) })
	t.Run("widen", func(t *testing.T) { testWiden[U](t) })
	t.Run("glue", func(t *testing.T) { testGlue[U](t) })
	t.Run("prefix sum", func(t *testing.T) { testPrefixSum[U](t, r) })
	t.Run("runs", func(t *testing.T) { testRuns[U](t, r) })
	t.Run("gather", func(t *testing.T) { testGather[U](t, r) })
	t.Run("ramp", func(t *testing.T) { testRamp[U](t, r) })
	t.Run("fill", func(t *testing.T) { testFill[U](t) })
	t.Run("compact", func(t *testing.T) { testCompact[U](t, r) })
}

// random is n random numbers, every other time small ones.
func random[U Unsigned](r *rand.Rand, n int) []U {
	v, shift := make([]U, n), r.IntN(64)
	for i := range v {
		v[i] = U(r.Uint64() >> shift)
	}
	return v
}

// testUnpack unpacks random bytes, and packed values, of every width and with references that carry.
func testUnpack[U Unsigned](t *testing.T, r *rand.Rand) {
	for width := 1; width <= 8*SizeOf[U](); width++ {
		for _, ref := range []U{0, 1, ^U(0), ^U(0)/2 + 1, U(r.Uint64())} {
			chunk := AsBytes(random[uint8](r, ChunkBytes(width)))
			var got, want [ChunkLen]U
			of[U]().unpack(&got, chunk, width, ref)
			unpackPortable(&want, chunk, width, ref)
			if got != want {
				t.Fatalf("width %d, reference %d differ", width, ref)
			}
		}
		for _, n := range []int{0, 1, 1023, 1024, 1025, 3000} {
			testPacked[U](t, r, n, width)
		}
	}
}

// testPacked packs, unpacks, and reads some values alone.
func testPacked[U Unsigned](t *testing.T, r *rand.Rand, n, width int) {
	ref, vals := U(r.Uint64()), random[U](r, n)
	for i := range vals {
		vals[i] = vals[i]&(^U(0)>>(8*SizeOf[U]()-width)) + ref
	}
	packed := AppendPacked(nil, vals, width, ref)
	if len(packed) != PackedBytes(n, width) {
		t.Fatalf("%d values of width %d in %d bytes", n, width, len(packed))
	}
	got := make([]U, n)
	Unpack(got, packed, width, ref, new(Room))
	if !slices.Equal(got, vals) {
		t.Fatalf("%d values of width %d come back different", n, width)
	}
	for i := 0; i < n; i += 1 + r.IntN(100) {
		chunk := packed[i/ChunkLen*ChunkBytes(width):][:ChunkBytes(width)]
		if v := At[U](chunk, i%ChunkLen, width) + ref; v != vals[i] {
			t.Fatalf("value %d of width %d alone is %d, want %d", i, width, v, vals[i])
		}
	}
}

func testPrefixSum[U Unsigned](t *testing.T, r *rand.Rand) {
	for n := range 100 {
		base, got := U(r.Uint64()), random[U](r, n)
		want := slices.Clone(got)
		other := make([]U, n)
		prefixSumPortable(want, want, base)
		of[U]().prefixSum(other, got, base)
		if of[U]().prefixSum(got, got, base); !slices.Equal(got, want) || !slices.Equal(other, want) {
			t.Fatalf("%d values: %v and %v, want %v", n, got, other, want)
		}
	}
}

func testRuns[U Unsigned](t *testing.T, r *rand.Rand) {
	for range 500 {
		values := random[U](r, r.IntN(30))
		lengths, want, sum := make([]uint32, len(values)), []U{}, 0
		most := []int{2, 10, 20, 400}[r.IntN(4)]
		for i := range lengths {
			length := r.IntN(1 + r.IntN(most))
			lengths[i], sum = uint32(length), sum+length
			want = append(want, slices.Repeat(values[i:i+1], length)...)
		}
		for _, n := range []int{sum, sum + 1, max(sum-1, 0)} {
			got := make([]U, n)
			if ok := of[U]().runs(got, values, lengths); ok != (n == sum) {
				t.Fatalf("runs of %d values into %d: %v", sum, n, ok)
			}
			if n == sum && !slices.Equal(got, want) {
				t.Fatalf("runs %v of %v: %v, want %v", lengths, values, got, want)
			}
		}
	}
	if of[U]().runs(make([]U, 20), make([]U, 2), []uint32{1<<32 - 1, 21}) {
		t.Error("a run of 4 billion values fits into 20")
	}
}

func testGather[U Unsigned](t *testing.T, r *rand.Rand) {
	for n := range 100 {
		dict := random[U](r, 1+r.IntN(20))
		codes := make([]uint32, n)
		got, want := make([]U, n), make([]U, n)
		for i := range codes {
			codes[i] = uint32(r.IntN(len(dict)))
			want[i] = dict[codes[i]]
		}
		if !of[U]().gather(got, dict, codes) || !slices.Equal(got, want) {
			t.Fatalf("codes %v of %v: %v, want %v", codes, dict, got, want)
		}
		if n > 0 {
			codes[r.IntN(n)] = uint32(len(dict)) + r.Uint32N(3)
			if of[U]().gather(got, dict, codes) {
				t.Fatalf("codes %v of %d entries are good", codes, len(dict))
			}
		}
	}
	if !Gather[U](nil, nil, nil) || Gather(make([]U, 1), nil, make([]uint32, 1)) {
		t.Error("an empty dictionary")
	}
}

func testRamp[U Unsigned](t *testing.T, r *rand.Rand) {
	for n := range 100 {
		base, step := U(r.Uint64()), U(r.Uint64())
		got := make([]U, n)
		Ramp(got, base, step)
		for i, v := range got {
			if v != base+U(i)*step {
				t.Fatalf("value %d of %d is %d", i, n, v)
			}
		}
	}
}

func testFill[U Unsigned](t *testing.T) {
	for n := range 40 {
		for _, v := range []U{0, 1, ^U(0)} {
			got := random[U](rand.New(rand.NewPCG(5, 6)), n)
			Fill(got, v)
			for i := range got {
				if got[i] != v {
					t.Fatalf("value %d of %d is %d, want %d", i, n, got[i], v)
				}
			}
		}
	}
}

// ALP-RD's parts, put together in place and elsewhere.
func testGlue[U Unsigned](t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	high := [8]U{}
	for i := range high {
		high[i] = U(r.Uint64())
	}
	for n := range 50 {
		codes, right, want := make([]uint16, n), random[U](r, n), make([]U, n)
		for i := range codes {
			codes[i] = uint16(r.IntN(5))
			want[i] = high[codes[i]] | right[i]
		}
		got := make([]U, n)
		ok := Glue(got, right, codes, &high, 4)
		ok = Glue(right, right, codes, &high, 4) && ok
		if !ok || !slices.Equal(got, want) || !slices.Equal(right, want) {
			t.Fatalf("%d values: %v, %v and %v, want %v", n, ok, got, right, want)
		}
		if n > 0 {
			codes[r.IntN(n)] = 5 + uint16(r.IntN(60_000))
			if Glue(got, right, codes, &high, 4) {
				t.Fatalf("codes %v with 5 entries are good", codes)
			}
		}
	}
}

// The largest number, wherever it is.
func TestAllAtMost(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for n := range 70 {
			v := make([]uint32, n)
			for at := range v {
				v[at] = 1<<32 - 5
				if AllAtMost(v, 1<<32-6) || !AllAtMost(v, 1<<32-5) {
					t.Fatalf("number %d of %d", at, n)
				}
				v[at] = 7
			}
			if AllAtMost(v, 6) != (n == 0) {
				t.Fatalf("%d numbers of 7", n)
			}
		}
	})
}

// ALP's integers become the same floats by every tier: at the ends of all ranges, halfway between two floats, and at random.
func TestAlpFloats(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		testAlpFloats(t, alpFloats32)
		testAlpFloats(t, alpFloats64)
	})
}

func testAlpFloats[U uint32 | uint64](t *testing.T, plain func(dst, src []U, exponent, factor int)) {
	r := rand.New(rand.NewPCG(11, 11))
	bits := 8 * SizeOf[U]()
	var src []U
	for at := range bits {
		for d := range 5 {
			v := U(1)<<at + U(d) - 2
			half32, half64 := U(1)<<max(at-24, 0), U(1)<<max(at-53, 0) // half a unit in the last place of a float
			src = append(src, v, -v, v|half32, v|half64, -(v | half32), -(v | half64))
		}
	}
	for len(src) < 10_007 {
		src = append(src, U(r.Uint64()>>r.IntN(64)), -U(r.Uint64()>>r.IntN(64)))
	}
	top := AlpMaxExponent(SizeOf[U]())
	for range 200 {
		exponent, factor := r.IntN(top+1), r.IntN(top+1)
		in := src[r.IntN(9):]
		got, want := make([]U, len(in)), make([]U, len(in))
		plain(want, in, exponent, factor)
		AlpFloats(got, in, exponent, factor)
		same := slices.Clone(in)
		AlpFloats(same, same, exponent, factor)
		for i := range in {
			if got[i] != want[i] || same[i] != want[i] {
				t.Fatalf("%d bits, %#x · 10^%d / 10^%d: %#x and %#x, want %#x", bits, in[i], factor, exponent, got[i], same[i], want[i])
			}
		}
	}
}

// Byte strings of all lengths around shortSpan, looked up up to the end of both slices.
func TestGatherBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	for range 300 {
		spans, end := []uint64{0, 0}, uint64(0)
		for range 1 + r.IntN(10) {
			end += uint64(r.IntN(40))
			spans = append(spans, end)
		}
		data, codes, want := random[uint8](r, int(end)), make([]uint32, r.IntN(30)), []byte{}
		for i := range codes {
			codes[i] = uint32(r.IntN(len(spans) - 1))
			want = append(want, data[spans[codes[i]]:spans[codes[i]+1]]...)
		}
		got := make([]byte, len(want))
		if GatherBytes(got, data, codes, spans); !slices.Equal(got, want) {
			t.Fatalf("codes %v of %v: %x, want %x", codes, spans, got, want)
		}
	}
}

// Texts with and without nulls, of lengths around those that are copied at once, looked up up to the end of both slices.
func TestGatherTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 16))
	for range 500 {
		ends, most, longest := []int64{0}, 1+r.IntN(40), 0
		for range 1 + r.IntN(20) {
			n := r.IntN(most)
			longest = max(longest, n)
			ends = append(ends, ends[len(ends)-1]+int64(n))
		}
		text := random[uint8](r, int(ends[len(ends)-1])+r.IntN(2)*TextSlack)
		codes, offsets, want := make([]uint32, r.IntN(200)), []int64{0}, []byte{}
		for i := range codes {
			codes[i] = uint32(r.IntN(len(ends) - 1))
			if r.IntN(5) > 0 { // is not null
				want = append(want, text[ends[codes[i]]:ends[codes[i]+1]]...)
			}
			offsets = append(offsets, int64(len(want)))
		}
		got := make([]byte, len(want))
		if GatherTexts(got, offsets, codes, ends, text, longest); !slices.Equal(got, want) {
			t.Fatalf("codes %v of %v: %x, want %x", codes, ends, got, want)
		}
	}
}

// Narrow numbers at the tail of their wide slice are widened in place, and elsewhere, for every pair of widths.
func testWiden[U Unsigned](t *testing.T) {
	t.Run("8", testSignExtend[U, uint8])
	t.Run("16", testSignExtend[U, uint16])
	t.Run("32", testSignExtend[U, uint32])
	t.Run("64", testSignExtend[U, uint64])
}

func testSignExtend[U, N Unsigned](t *testing.T) {
	if SizeOf[N]() > SizeOf[U]() {
		return
	}
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 200 {
		wide := make([]U, n)
		narrow := Tail[N](wide, n)
		copy(narrow, random[N](r, n))
		before := slices.Clone(narrow)
		other := make([]U, n)
		SignExtend(other, narrow)
		SignExtend(wide, narrow)
		if !slices.Equal(other, wide) {
			t.Fatalf("%d values widened elsewhere: %v, and in place: %v", n, other, wide)
		}
		for i, v := range before {
			shift := 64 - 8*SizeOf[N]()
			if want := U(int64(uint64(v)<<shift) >> shift); wide[i] != want {
				t.Fatalf("value %d of %d: %#x becomes %#x, want %#x", i, n, v, wide[i], want)
			}
		}
	}
}
