package decimal

import (
	"cmp"
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// The first seven are those of docs/format/fields.md; the others were worked out by hand from the layout.
var vectors = []struct{ text, bytes string }{
	{"0", "00000000000000000000000000000822"},
	{"1", "01000000000000000000000000000822"},
	{"-1", "010000000000000000000000000008a2"},
	{"1.0", "10000000000000000000000000c00722"},
	{"123.45", "c5490000000000000000000000800722"},
	{"NaN", "0000000000000000000000000000007c"},
	{"Infinity", "00000000000000000000000000000078"},
	{"-Infinity", "000000000000000000000000000000f8"},
	{"0E-6176", "00000000000000000000000000000000"},
	{"-7.50", "d00300000000000000000000008007a2"},
	{"9.999999999999999999999999999999999E+6144", "fffcf3cf3ffffcf3cf3ffffcf3cfff77"},
}

func TestVectors(t *testing.T) {
	for _, c := range vectors {
		raw, err := hex.DecodeString(c.bytes)
		if err != nil || len(raw) != Size {
			t.Fatalf("bad vector %s", c.bytes)
		}
		if got := From(raw).String(); got != c.text {
			t.Errorf("%s reads as %s, want %s", c.bytes, got, c.text)
		}
		v, err := Parse(c.text)
		if err != nil || v != From(raw) {
			t.Errorf("%s packs to %x (%v), want %s", c.text, v, err, c.bytes)
		}
	}
}

func TestTextForms(t *testing.T) {
	for in, want := range map[string]string{
		"+00123":                                "123",
		"123E0":                                 "123",
		"12e1":                                  "1.2E+2",
		"1.00":                                  "1.00",
		"-0":                                    "-0",
		"0.000001":                              "0.000001",
		"0.0000001":                             "1E-7",
		"-0.0000010":                            "-0.0000010",
		"5E-7":                                  "5E-7",
		".5":                                    "0.5",
		"5.":                                    "5",
		"0E+9999":                               "0E+6111",
		"0E-9999":                               "0E-6176",
		"1E+6144":                               "1.000000000000000000000000000000000E+6144",
		"1E-6176":                               "1E-6176",
		"10E-6177":                              "1E-6176",
		"inf":                                   "Infinity",
		"-INFINITY":                             "-Infinity",
		"nan":                                   "NaN",
		"sNaN":                                  "sNaN",
		"1234567890123456789012345678901234":    "1234567890123456789012345678901234",
		"12345678901234567890123456789012340":   "1.234567890123456789012345678901234E+34",
		"0000000012345678901234567890123456789": "12345678901234567890123456789",
	} {
		v, err := Parse(in)
		if err != nil || v.String() != want {
			t.Errorf("%s: got %s (%v), want %s", in, v, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]error{
		"": ErrSyntax, "-": ErrSyntax, ".": ErrSyntax, "1e": ErrSyntax, "1e+-1": ErrSyntax, "1.2.3": ErrSyntax,
		"0x1": ErrSyntax, " 1": ErrSyntax, "1e1.5": ErrSyntax, "--1": ErrSyntax, "1_0": ErrSyntax,
		"12345678901234567890123456789012345": ErrInexact,
		"1E+6145":                             ErrInexact,
		"1E-6177":                             ErrInexact,
		"1e999999999999999999":                ErrInexact,
	} {
		if v, err := Parse(in); !errors.Is(err, want) {
			t.Errorf("%q: got %s, %v", in, v, err)
		}
	}
}

func TestParseRounded(t *testing.T) {
	nines := strings.Repeat("9", 34)
	for in, want := range map[string]string{
		nines + "4":       nines[:1] + "." + nines[1:] + "E+34",
		nines + "5":       "1.000000000000000000000000000000000E+35",
		nines[1:] + "85":  nines[1:2] + "." + nines[2:] + "8E+34",
		nines[1:] + "851": nines[1:2] + "." + nines[2:] + "9E+35",
		"1E+7000":         "Infinity",
		"-1E+7000":        "-Infinity",
		"1E-7000":         "0E-6176",
		"6E-6177":         "1E-6176",
		"5E-6177":         "0E-6176",
	} {
		if v, err := ParseRounded(in); err != nil || v.String() != want {
			t.Errorf("%s: got %s (%v), want %s", in, v, err, want)
		}
	}
}

func TestCompare(t *testing.T) {
	ordered := []string{
		"-Infinity", "-1E+6000", "-2.5", "-1.00000000000000000000000000000001", "-1", "-1E-6176", "0", "1E-6176",
		"0.9999999999999999999999999999999999", "1.000", "1.000000000000000000000000000000001", "9", "10",
		"123456789012345678", "123456789012345679", "1E+6144", "Infinity", "NaN",
	}
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := Compare(must(a), must(b)); got != want {
				t.Errorf("Compare(%s, %s) = %d", a, b, got)
			}
		}
	}
	for j, b := range ordered {
		threshold := NewThreshold(must(b))
		for i, a := range ordered {
			got, ok := threshold.Compare(must(a))
			if nan := a == "NaN" || b == "NaN"; ok == nan || ok && got != cmp.Compare(i, j) {
				t.Errorf("threshold %s: %s gives %d, %v", b, a, got, ok)
			}
		}
	}
	for _, cohort := range [][2]string{{"1", "1.00"}, {"0", "-0.0"}, {"1E+2", "100"}, {"12E+20", "1200000000000000000000"}} {
		if Compare(must(cohort[0]), must(cohort[1])) != 0 || must(cohort[0]) == must(cohort[1]) {
			t.Errorf("%v: one cohort, two spellings", cohort)
		}
	}
}

func must(s string) Value {
	v, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return v
}

func TestIntegersAndScales(t *testing.T) {
	if got := FromInt(math.MinInt64).String(); got != "-9223372036854775808" {
		t.Error(got)
	}
	if got := FromUint(math.MaxUint64).String(); got != "18446744073709551615" {
		t.Error(got)
	}
	if v, exact := FromScaled(big.NewInt(12300), 2); !exact || v.String() != "123.00" {
		t.Error(v)
	}
	if v, exact := FromScaled(big.NewInt(-3), -2); !exact || v.String() != "-3E+2" {
		t.Error(v)
	}
	for _, c := range []struct {
		text  string
		scale int
		want  string
	}{{"123.45", 2, "12345"}, {"123.45", 4, "1234500"}, {"123.4500", 2, "12345"}, {"-3E+2", 0, "-300"}, {"0E-100", 1, "0"},
		{"123.45", 1, ""}, {"NaN", 1, ""}, {"Infinity", 1, ""}, {"1E+6000", 0, ""}, {"1E-6000", 0, ""}} {
		got, ok := must(c.text).Scaled(c.scale)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s at scale %d: %v %v", c.text, c.scale, got, ok)
		}
	}
}

func TestAllDecletsDecode(t *testing.T) {
	spellings := map[uint16]int{}
	for code := range uint16(1024) {
		spellings[unpack(code)]++
	}
	second := 0
	for n := range uint16(1000) {
		if spellings[n] == 0 || declets[codes[n]] != n {
			t.Errorf("%d has no code", n)
		}
		second += spellings[n] - 1
	}
	if second != 24 {
		t.Errorf("%d second spellings, want 24", second)
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.text)
	}
	f.Add("1e-6177")
	f.Add("99999999999999999999999999999999995e6110")
	f.Fuzz(func(t *testing.T, s string) {
		ParseRounded(s)
		v, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(v.String())
		if err != nil || again != v {
			t.Fatalf("%q prints as %s, which reads as %x, not %x (%v)", s, v, again, v, err)
		}
	})
}

func FuzzBytes(f *testing.F) {
	for _, v := range vectors {
		raw, _ := hex.DecodeString(v.bytes)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) < Size {
			return
		}
		v := From(raw)
		text := v.String()
		if v.IsNaN() {
			return // payloads are printed, and not read
		}
		again, err := Parse(text)
		if err != nil || Compare(v, again) != 0 || again.String() != text {
			t.Fatalf("%x prints as %s, which reads as %x (%v)", raw[:Size], text, again, err)
		}
	})
}

// A threshold gives what Compare gives, whatever exponents come after one another.
func TestThreshold(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	random := func() Value {
		p := parts{negative: r.IntN(2) == 0, exponent: r.IntN(40) - 20, lo: r.Uint64N(tens[r.IntN(19)])}
		if r.IntN(3) == 0 {
			p.hi = r.Uint64N(tens[r.IntN(17)])
		}
		return pack(p)
	}
	equal := 0
	for range 300 {
		with := random()
		threshold := NewThreshold(with)
		for range 100 {
			v := random()
			if r.IntN(4) == 0 { // another of its cohort, or near to it
				p := with.parts()
				if n := r.IntN(MaxDigits + 1); p.len()+n <= MaxDigits {
					wide := p.shifted(n)
					v = pack(parts{negative: p.negative, exponent: p.exponent - n, hi: wide.hi, lo: wide.lo})
				}
			}
			want := Compare(v, with)
			if got, ok := threshold.Compare(v); !ok || got != want {
				t.Fatalf("%s against %s: %d, want %d", v, with, got, want)
			}
			if want == 0 {
				equal++
			}
		}
	}
	if equal < 1000 {
		t.Errorf("only %d equal pairs", equal)
	}
}
