package encode

import (
	"bytes"
	"encoding/hex"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// carryOut writes vals as the tree states.
func carryOut[T simd.Number](vals []T, tree string) []byte {
	sub, err := NumbersAs(nil, vals, nil, tree)
	if err != nil {
		panic(err)
	}
	return sub
}

// forcedAlp is ALP with a given exponent and factor.
func forcedAlp[U word](e *Encoder, vals []U, exponent, factor uint8, kid string) *plan {
	p := e.newPlan(block.Alp, 0)
	p.exponent, p.factor = exponent, factor
	if err := nestAs(requested{e, mustParse("Alp[" + kid + "]"), p}, 0, toIntegers(e, p, decimalsOf[U](), vals), signed); err != nil {
		panic(err)
	}
	return p
}

// forcedAlpRd is ALP-RD with a given cut and dictionary.
func forcedAlpRd[U word](e *Encoder, vals []U, right uint8, lefts []uint16, left, rights string) *plan {
	p := e.newPlan(block.AlpRd, 0)
	cut := rdCut{right: int(right), entries: len(lefts)}
	copy(cut.lefts[:], lefts)
	if err := cutAs(requested{e, mustParse("AlpRd[" + left + ", " + rights + "]"), p}, vals, &cut); err != nil {
		panic(err)
	}
	return p
}

func mustParse(s string) *tree {
	t, _, err := parseTree(s)
	if err != nil {
		panic(err)
	}
	return t
}

func upTo[T simd.Number](from, n int) []T {
	vals := make([]T, n)
	for i := range vals {
		vals[i] = T(from + i)
	}
	return vals
}

// The sub-blocks that the reference wrote (docs/format/blocks.md), as bytes.
func TestReferenceVectors(t *testing.T) {
	minI16 := []int16{1, 2, 4, 8, 16, 32, 64, 128, -1}
	steps := make([]int64, 10)
	for i := range steps {
		steps[i] = int64(1000 + 5*i)
	}
	for _, c := range []struct {
		what string
		got  []byte
		want string
	}{
		{"Plain i32", carryOut[int32]([]int32{1, -2, 3}, "Plain"), "01 00 01 00 00 00 fe ff ff ff 03 00 00 00"},
		{"Plain f64", carryOut[float64]([]float64{1.5}, "Plain"), "01 00 00 00 00 00 00 00 f8 3f"},
		{"SingleValue u16", carryOut[uint16]([]uint16{0x1234}, "SingleValue"), "07 00 34 12"},
		{"SingleValue i64", carryOut[int64]([]int64{-2}, "SingleValue"), "07 00 fe ff ff ff ff ff ff ff"},
		{"SingleValue f64", carryOut[float64]([]float64{1.5}, "SingleValue"), "07 00 00 00 00 00 00 00 f8 3f"},
		{"FOR[Plain]", carryOut[int64]([]int64{10, 12, 11}, "FrameOfReference[Plain]"),
			"03 00 0a 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00"},
		{"Delta[SingleValue]", carryOut[int64](steps, "Delta[SingleValue]"),
			"05 00 e8 03 00 00 00 00 00 00 00 00 00 00 00 00 07 00 05 00 00 00 00 00 00 00"},
		{"Delta[Plain]", carryOut[int16](minI16, "Delta[Plain]"),
			"05 00 01 00 00 00 00 00 01 00 01 00 02 00 04 00 08 00 10 00 20 00 40 00 7f ff"},
		{"RunLength, two runs", carryOut[int32]([]int32{7, 7, 7, 9, 9}, "RunLength[raw, raw]"),
			"06 00 08 00 00 00 02 00 00 00 00 00 00 00 00 00 07 00 00 00 09 00 00 00 03 00 00 00 02 00 00 00"},
		{"RunLength, padded", carryOut[int32]([]int32{7, 7, 9, 9, 8, 8}, "RunLength[raw, raw]"),
			"06 00 0c 00 00 00 03 00 00 00 00 00 00 00 00 00 07 00 00 00 09 00 00 00 08 00 00 00 00 00 00 00 02 00 00 00 02 00 00 00 02 00 00 00"},
		{"RunLength, lengths nested", carryOut[uint8]([]uint8{1, 1, 1, 2, 2, 2}, "RunLength[raw, SingleValue]"),
			"06 00 02 00 00 00 02 00 00 00 00 01 00 00 00 00 01 02 00 00 00 00 00 00 07 00 03 00 00 00"},
		{"TruncateU8", carryOut[int64]([]int64{1, -1, 127, -128}, "TruncateU8[raw]"), "08 00 00 00 00 00 00 00 01 ff 7f 80"},
		{"TruncateU16", carryOut[int64]([]int64{1, -1, 300}, "TruncateU16[raw]"), "09 00 00 00 00 00 00 00 01 00 ff ff 2c 01"},
		{"TruncateU32[Delta[SingleValue]]", carryOut[int64](upTo[int64](100000, 9), "TruncateU32[Delta[SingleValue]]"),
			"0a 00 01 00 00 00 00 00 05 00 a0 86 01 00 00 00 07 00 01 00 00 00"},
		{"ZigZag[Plain]", carryOut[int32]([]int32{0, -1, 1, -2, 2}, "ZigZag[Plain]"),
			"12 00 01 00 00 00 00 00 01 00 00 00 00 00 01 00 00 00 02 00 00 00 03 00 00 00 04 00 00 00"},
		{"Sparse", carryOut[int32]([]int32{0, 0, 0, 11, 0, 0, 0, -5, 12, 0}, "Sparse[raw, raw]"),
			"13 00 03 00 00 00 0c 00 00 00 00 00 00 00 00 00 03 00 00 00 07 00 00 00 08 00 00 00 00 00 00 00 0b 00 00 00 fb ff ff ff 0c 00 00 00"},
		{"Sparse, nested", carryOut[int32]([]int32{0, 0, 0, 11, 0, 0, 0, -5, 12, 0}, "Sparse[Plain, TruncateU8[raw]]"),
			"13 00 03 00 00 00 0e 00 00 00 01 01 00 00 00 00 01 00 03 00 00 00 07 00 00 00 08 00 00 00 00 00 08 00 00 00 00 00 00 00 0b fb 0c"},
		{"Sparse, nothing", carryOut[int32](make([]int32, 5), "Sparse[raw, raw]"), "13 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"},
		{"BlockDictionary", carryOut[int32]([]int32{7, 9, 7, 7, 9, 5}, "BlockDictionary[Plain, raw]"),
			"0e 00 1a 00 00 00 03 00 00 00 00 00 00 00 00 00 01 00 01 00 00 00 02 00 00 00 01 00 00 00 01 00 00 00 02 00 00 00 03 00 00 00 07 00 00 00 09 00 00 00 05 00 00 00"},
		{"RunLength[raw, FLBitPack], start", carryOut[uint32]([]uint32{5, 5, 5, 6, 6}, "RunLength[raw, FLBitPack]")[:40],
			"06 00 08 00 00 00 02 00 00 00 00 01 00 00 00 00 05 00 00 00 06 00 00 00 02 00 02 00 00 00 00 00 03 00 00 00 02 00 00 00"},
	} {
		if want := fromHex(t, c.want); !bytes.Equal(c.got, want) {
			t.Errorf("%s:\n% x, want\n% x", c.what, c.got, want)
		}
	}
}

// Larger sub-blocks of the reference, by length and CRC-32.
func TestReferenceChecksums(t *testing.T) {
	for _, c := range []struct {
		what string
		got  []byte
		size int
		sum  uint32
	}{
		{"FLBitPack u32 1", carryOut[uint32](upTo[uint32](1, 1), "FLBitPack"), 136, 0xc05c6137},
		{"FLBitPack u32 0..9", carryOut[uint32](upTo[uint32](0, 10), "FLBitPack"), 520, 0x2734a3bf},
		{"FLBitPack u32 0..100", carryOut[uint32](upTo[uint32](0, 101), "FLBitPack"), 904, 0x54cb6d37},
		{"FLBitPack u32 0..1023", carryOut[uint32](upTo[uint32](0, 1024), "FLBitPack"), 1288, 0xc50cfb42},
		{"FLBitPack u32 0..12344", carryOut[uint32](upTo[uint32](0, 12345), "FLBitPack"), 23304, 0x46c53df4},
		{"FFOR u16", carryOut[uint16]([]uint16{1000, 1003, 1001}, "FusedFrameOfReference"), 264, 0xed6d5821},
		{"FFOR i32", carryOut[int32](upTo[int32](100, 8), "FusedFrameOfReference"), 392, 0xcdc25d93},
		{"FFOR i64", carryOut[int64](upTo[int64](1000000, 10), "FusedFrameOfReference"), 528, 0xc5c90d77},
		{"FFOR i8", carryOut[int8]([]int8{-128, 127, 0}, "FusedFrameOfReference"), 1032, 0x79a9fec6},
		{"FFOR i64, all bits", carryOut[int64]([]int64{math.MinInt64, math.MaxInt64, 0}, "FusedFrameOfReference"), 8208, 0x5dc1bcf5},
	} {
		if sum := crc32.ChecksumIEEE(c.got); len(c.got) != c.size || sum != c.sum {
			t.Errorf("%s: %d bytes, CRC %08x, want %d, %08x", c.what, len(c.got), sum, c.size, c.sum)
		}
	}
}

// ALP and ALP-RD as the reference wrote them (docs/format/blocks.md).
func TestReferenceFloats(t *testing.T) {
	e := NewEncoder(Options{})
	e.borrow()
	doubles := simd.Cast[uint64]([]float64{1.23, 4.56, -7.89, math.Pi, 100})
	singles := simd.Cast[uint32]([]float32{float32(math.NaN()), float32(math.Inf(1)), 1.5, 2.25, 1e30})
	hundredths := make([]uint64, 1024)
	tenths := make([]uint32, 1024)
	for i := range hundredths {
		hundredths[i] = math.Float64bits(float64(1000+i) / 100)
		tenths[i] = math.Float32bits(float32(1000+i) / 10)
	}
	cut := simd.Cast[uint64]([]float64{1.25, 2.5, -1, 1e300})
	for _, c := range []struct {
		what string
		got  []byte
		want string
	}{
		{"ALP f64", appendTree(nil, doubles, forcedAlp(e, doubles, 14, 12, "Plain")),
			"0c 00 2a 00 00 00 01 00 0e 0c 00 00 00 00 00 00 01 00 7b 00 00 00 00 00 00 00 c8 01 00 00 00 00 00 00" +
				"eb fc ff ff ff ff ff ff eb fc ff ff ff ff ff ff 10 27 00 00 00 00 00 00 03 00 00 00 18 2d 44 54 fb 21 09 40"},
		{"ALP f32", appendTree(nil, singles, forcedAlp(e, singles, 2, 0, "Plain")),
			"0c 00 16 00 00 00 03 00 02 00 00 00 00 00 00 00 01 00 96 00 00 00 96 00 00 00 96 00 00 00 e1 00 00 00 e1 00 00 00" +
				"00 00 00 00 01 00 00 00 04 00 00 00 00 00 c0 7f 00 00 80 7f ca f2 49 71"},
		{"ALP f64 nested", appendTree(nil, hundredths, forcedAlp(e, hundredths, 14, 12, "TruncateU16[Delta[SingleValue]]")),
			"0c 00 14 00 00 00 00 00 0e 0c 00 00 00 00 00 00 09 00 01 00 00 00 00 00 05 00 e8 03 00 00 00 00 07 00 01 00"},
		{"ALP f32 nested", appendTree(nil, tenths, forcedAlp(e, tenths, 6, 5, "Delta[SingleValue]")),
			"0c 00 0e 00 00 00 00 00 06 05 00 00 00 00 00 00 05 00 e8 03 00 00 00 00 07 00 01 00 00 00"},
		{"ALP-RD", appendTree(nil, cut, forcedAlpRd(e, cut, 52, []uint16{0x3ff, 0x400, 0xbff, 0x401}, "Plain", "Plain")),
			"0d 00 0a 00 00 00 22 00 00 00 01 00 34 04 00 00 ff 03 00 04 ff 0b 01 04 01 00 00 00 01 00 02 00 00 00" +
				"01 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 00 00 9c 75 00 88 3c e4 07 00" +
				"03 00 00 00 e3 07"},
	} {
		// Where the reference fills an exception's slot with the first integer of the block, this package takes
		// the one before it: the filling of the vectors is changed accordingly.
		if want := fromHex(t, c.want); !bytes.Equal(c.got, want) {
			t.Errorf("%s:\n% x, want\n% x", c.what, c.got, want)
		}
	}
}

// What the planner chooses by itself where the reference's choice is known and can't be bettered.
func TestReferenceChoices(t *testing.T) {
	sevens := make([]uint64, 1000)
	for i := range sevens {
		sevens[i] = uint64(7 * i)
	}
	sub := roundTrip(t, NewEncoder(Options{}), sevens, nil)
	frame := block.AppendFrame(nil, nil, sub, true)
	if want := fromHex(t, "00 00 00 00 1a 00 00 00 05 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 07 00 07 00 00 00 00 00 00 00 00 00 91 f2 2b b5"); !bytes.Equal(frame, want) {
		t.Errorf("% x, want % x", frame, want)
	}
	sub = roundTrip(t, NewEncoder(Options{}), upTo[int64](10000001, 64000), nil)
	if want := fromHex(t, "0a 00 01 00 00 00 00 00 05 00 81 96 98 00 00 00 07 00 01 00 00 00"); !bytes.Equal(sub, want) {
		t.Errorf("% x, want % x", sub, want)
	}
	runs := make([]int64, 64000)
	for i := range runs {
		runs[i] = int64(i / 100)
	}
	sub = roundTrip(t, NewEncoder(Options{}), runs, nil)
	if len(sub) > 46 {
		t.Errorf("640 runs of 100 take %d bytes, the reference has 46", len(sub))
	}
}

func TestReferenceBytes(t *testing.T) {
	for _, c := range []struct {
		what   string
		values []string
		fixed  int
		o      Options
		want   string
	}{
		{"Plain", []string{"ab", "", "cde"}, 0, Options{Profile: Plain},
			"01 00 08 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 61 62 63 64 65"},
		{"Plain, fixed", []string{"AAAA", "BBBB"}, 4, Options{Profile: Plain}, "01 00 00 41 41 41 41 42 42 42 42"},
		{"SingleValue", []string{"ab", "ab", "ab"}, 0, Options{}, "07 00 61 62"},
	} {
		data, offsets := concatenate(c.values)
		if c.fixed > 0 {
			offsets = nil
		}
		got := bytesRoundTrip(t, NewEncoder(c.o), data, offsets, c.fixed, nil)
		if want := fromHex(t, c.want); !bytes.Equal(got, want) {
			t.Errorf("%s: % x, want % x", c.what, got, want)
		}
	}
}

// The dictionary and the symbol table of the note, with the plans it was made with.
func TestReferenceByteTrees(t *testing.T) {
	e := NewEncoder(Options{})
	e.borrow()
	data, offsets := concatenate([]string{"b", "a", "b", "ccc", "b", "a"})
	s, err := e.gather(&Bytes{Data: data, Offsets: offsets})
	if err != nil {
		t.Fatal(err)
	}
	p := e.planByteDictionary(&s, nil)
	if err := nestAs(requested{e, mustParse("BlockDictionary[Plain, raw]"), p}, 0, stream[uint32](p, 0), unsigned); err != nil {
		t.Fatal(err)
	}
	p.kids[1] = nil
	if got, want := appendByteTree(nil, &s, p), fromHex(t, "0e 00 1a 00 00 00 0c 00 00 00 03 00 00 00 00 00 "+
		"01 00 01 00 00 00 02 00 00 00 01 00 00 00 03 00 00 00 01 00 00 00 02 00 00 00 00 00 00 00 00 00 "+
		"01 00 00 00 01 00 00 00 03 00 00 00 62 61 63 63 63"); !bytes.Equal(got, want) {
		t.Errorf("dictionary: % x, want % x", got, want)
	}

	data, offsets = concatenate([]string{strings.Repeat("abc", 8), strings.Repeat("abc", 3) + "\xff"})
	if s, err = e.gather(&Bytes{Data: data, Offsets: offsets}); err != nil {
		t.Fatal(err)
	}
	list := []symbol{{'a', 1}, {'b', 1}, {'c', 1}}
	e.table.reset()
	for _, symbol := range list {
		e.table.add(symbol)
	}
	p = e.newPlan(block.Fsst, 0)
	p.payload, p.symbols = e.table.compress(nil, s.data), &symbols{list: list}
	nestOffsets(p, &s, nil)
	if got, want := appendByteTree(nil, &s, p), fromHex(t, "0f 00 03 23 00 00 00 00 08 00 00 00 00 00 00 00"+
		"61 00 00 00 00 00 00 00 62 00 00 00 00 00 00 00 63 00 00 00 00 00 00 00 01 01 01"+
		strings.Repeat("00 01 02", 11)+"ff ff 00 00 00 00 00 00 00 00 00 00 18 00 00 00 00 00 00 00 22 00 00 00 00 00 00 00"); !bytes.Equal(got, want) {
		t.Errorf("FSST: % x, want % x", got, want)
	}
}

func concatenate(values []string) (data []byte, offsets []int64) {
	offsets = []int64{0}
	for _, v := range values {
		data = append(data, v...)
		offsets = append(offsets, int64(len(data)))
	}
	return data, offsets
}

// Presence as the reference has it, where ours is not smaller (docs/format/blocks.md).
func TestReferencePresence(t *testing.T) {
	bits := func(n int, fill byte, flipped ...int) []byte {
		b := bytes.Repeat([]byte{fill}, (n+7)/8)
		for _, at := range flipped {
			b[at/8] ^= 1 << (at % 8)
		}
		return b
	}
	for _, c := range []struct {
		n     int
		valid []byte
		want  string
	}{
		{5, bits(5, 0), "01"},
		{3, bits(3, 0xff, 1), "02 01 00 01"},
		{1000, bits(1000, 0xff, 5), "03 01 3a 30 00 00 01 00 00 00 00 00 00 00 10 00 00 00 05 00"},
		{1000, bits(1000, 0, 5, 700), "03 00 3a 30 00 00 01 00 00 00 00 00 01 00 10 00 00 00 05 00 bc 02"},
		{70000, bits(70000, 0xff, 5, 66000), "03 01 3a 30 00 00 02 00 00 00 00 00 00 00 01 00 00 00 18 00 00 00 1a 00 00 00 05 00 d0 01"},
		{5, bits(5, 0xff), ""},
		{5, nil, ""},
	} {
		if got, want := appendPresence(nil, c.valid, c.n, Balanced), fromHex(t, c.want); !bytes.Equal(got, want) {
			t.Errorf("%d values: % x, want % x", c.n, got, want)
		}
	}
}
