package decimal

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"
)

// sample is any value that a shard may hold: most have few digits and a scale, as people's numbers do.
func sample(r *rand.Rand) Value {
	var v Value
	switch r.IntN(4) {
	case 0:
		binary.LittleEndian.PutUint64(v[:8], r.Uint64())
		binary.LittleEndian.PutUint64(v[8:], r.Uint64())
	case 1:
		v = pack(parts{negative: r.IntN(2) == 0, exponent: r.IntN(80) - 40, hi: r.Uint64N(maxHi), lo: r.Uint64N(loUnit)})
	default:
		v = pack(parts{negative: r.IntN(2) == 0, exponent: -r.IntN(5), lo: r.Uint64N(loUnit) >> r.IntN(60)})
	}
	return v
}

// The fast ways must report what the slow ones say, which go over big integers.
func TestFixedPointAgreesWithBigIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		v, scale := sample(r), r.IntN(50)-8
		want, ok := v.Scaled(scale)
		ok = ok && want.BitLen() < 128
		hi, lo, got := v.Int128(scale)
		if got != ok || ok && bigInt128(hi, lo).Cmp(want) != 0 {
			t.Fatalf("%s at scale %d: %d·2^64 + %d, %v; want %s, %v", v, scale, hi, lo, got, want, ok)
		}
		prepared := NewScale(scale)
		if h, l, same := prepared.Int128(v[:]); h != hi || l != lo || same != ok {
			t.Fatalf("%s at scale %d: %d·2^64 + %d, %v; want %d, %d, %v", v, scale, h, l, same, hi, lo, ok)
		}
		if !ok {
			continue
		}
		if w, _ := prepared.FromInt128(hi, lo); want.Sign() != 0 && Compare(w, v) != 0 {
			t.Fatalf("%s became %s at scale %d", v, w, scale)
		}
		slow, exact := FromScaled(want, scale)
		fast, alike := FromInt128(hi, lo, scale)
		if want.Sign() != 0 && (fast != slow || alike != exact) {
			t.Fatalf("%s at scale %d: %x %v, want %x %v", want, scale, fast, alike, slow, exact)
		}
	}
	for _, n := range []int64{0, 1, -1, 1<<63 - 1, -1 << 63} {
		slow, _ := FromScaled(big.NewInt(n), 2)
		if fast, exact := FromInt64(n, 2); fast != slow || !exact {
			t.Errorf("%d: %s, want %s", n, fast, slow)
		}
	}
	if _, exact := FromInt128(1<<62, 0, 0); exact {
		t.Error("a number of 38 digits can't be held exactly")
	}
}

func TestCompareAgreesWithBigRationals(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	near := func(v Value) *big.Rat {
		c, exponent, ok := v.Coefficient()
		if !ok || exponent > 100 || exponent < -100 {
			return nil
		}
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil)
		if exponent < 0 {
			return new(big.Rat).SetFrac(c, power)
		}
		return new(big.Rat).SetInt(c.Mul(c, power))
	}
	compared := 0
	for range 200_000 {
		a, b := sample(r), sample(r)
		if r.IntN(4) == 0 {
			b = a.Short()
		}
		x, y := near(a), near(b)
		if x == nil || y == nil {
			continue
		}
		compared++
		if got, want := Compare(a, b), x.Cmp(y); got != want {
			t.Fatalf("Compare(%s, %s) = %d, want %d", a, b, got, want)
		}
	}
	if compared < 10_000 {
		t.Errorf("only %d pairs compared", compared)
	}
}

func TestShortIsOneSpellingOfACohort(t *testing.T) {
	for in, want := range map[string]string{
		"1.00": "1", "-120": "-1.2E+2", "0.0": "0", "-0": "0", "sNaN": "NaN", "-Infinity": "-Infinity", "10E+6111": "1.0E+6112",
		"1000000000000000000000": "1E+21", "1230000000000000000000000000000000": "1.23E+33", "1.5": "1.5",
	} {
		if got := must(in).Short(); got.String() != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 50_000 {
		v := sample(r)
		if short := v.Short(); Compare(v, short) != 0 || short.Short() != short {
			t.Fatalf("%s became %s", v, short)
		}
	}
}

func TestParseBytesAgreesWithParse(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 50_000 {
		text := []byte("-0123.456789012345678")[r.IntN(8):][:r.IntN(14)]
		want, err := parseDigits(string(text))
		got, gotErr := ParseBytes(text)
		if (err == nil) != (gotErr == nil) || err == nil && got != want {
			t.Fatalf("%q: %s (%v), want %s (%v)", text, got, gotErr, want, err)
		}
	}
}

// parseDigits is parse without the short way.
func parseDigits(s string) (Value, error) { return parse(s+"E0", false) }

func TestNoAllocations(t *testing.T) {
	v, room := must("-1234.56"), make([]byte, 0, 64)
	allocs := testing.AllocsPerRun(100, func() {
		hi, lo, _ := v.Int128(2)
		w, _ := FromInt128(hi, lo, 2)
		if Compare(v, w) != 0 || w.Short() == Zero {
			t.Error("changed")
		}
		ParseBytes(v.Append(room))
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkDecimals(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	const n = 4096
	ints, vals := make([]int64, n), make([]Value, n)
	for i := range ints {
		ints[i] = int64(r.Uint64N(10_000_000))
		vals[i], _ = FromInt64(ints[i], 2)
	}
	run := func(name string, do func(i int)) {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				for i := range n {
					do(i)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
	two := NewScale(2)
	run("from int64 at a scale", func(i int) { vals[i], _ = two.FromInt128(0, uint64(ints[i])) })
	run("to int64 at a scale", func(i int) {
		_, lo, _ := two.Int128(vals[i][:])
		ints[i] = int64(lo)
	})
	run("from int64", func(i int) { vals[i], _ = FromInt64(ints[i], 2) })
	run("to int64", func(i int) {
		_, lo, _ := vals[i].Int128(2)
		ints[i] = int64(lo)
	})
	least := vals[0]
	run("compare", func(i int) {
		if Compare(vals[i], least) < 0 {
			least = vals[i]
		}
	})
	var last Value
	run("short", func(i int) { last = vals[i].Short() })
	room := make([]byte, 0, 64)
	run("text", func(i int) { room = vals[i].Append(room[:0]) })
	run("parse", func(i int) { last, _ = ParseBytes([]byte("12345.67")) })
	_ = last
}

// The text of values with few digits is that of the way which takes any value.
func TestSmallTextAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300_000 {
		low := random.Uint64() >> 4 >> random.IntN(60) // any declets, those that nobody writes too
		exponent := uint64(bias + random.IntN(30) - 26)
		v := FromWords(low, exponent>>12<<61|exponent&0xFFF<<46|random.Uint64()&signBit)
		if got, want := v.String(), string(v.append(nil)); got != want {
			t.Fatalf("%x: got %s, want %s", v, got, want)
		}
	}
}

func BenchmarkText(b *testing.B) {
	var values [1024]Value
	random := rand.New(rand.NewPCG(3, 4))
	for i := range values {
		values[i], _ = FromInt64(random.Int64N(10_000_000), 2)
	}
	var dst []byte
	for b.Loop() {
		dst = dst[:0]
		for _, v := range values {
			dst = v.Append(dst)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(values)), "ns/value")
}
