package encode

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// trees are cascades with every encoding in every place where the planner may put it, and a few where it
// doesn't.
var trees = []struct {
	tree string
	on   []kind
}{
	{"Plain", []kind{unsigned, signed, float}},
	{"FLBitPack", []kind{unsigned}},
	{"FusedFrameOfReference", []kind{unsigned, signed}},
	{"FrameOfReference[FLBitPack]", []kind{unsigned, signed}},
	{"FrameOfReference[Plain]", []kind{unsigned, signed}},
	{"FrameOfReference[Sparse[raw, raw]]", []kind{unsigned, signed}},
	{"FrameOfReference[Delta[FusedFrameOfReference]]", []kind{unsigned, signed}},
	{"Delta[Plain]", []kind{unsigned, signed}},
	{"Delta[FusedFrameOfReference]", []kind{unsigned, signed}},
	{"Delta[Delta[FusedFrameOfReference]]", []kind{unsigned, signed}},
	{"Delta[RunLength[raw, FLBitPack]]", []kind{unsigned, signed}},
	{"Delta[Lz4]", []kind{unsigned, signed}},
	{"RunLength[raw, raw]", []kind{unsigned, signed, float}},
	{"RunLength[Plain, FLBitPack]", []kind{unsigned, signed, float}},
	{"RunLength[BlockDictionary[FLBitPack, raw], Zstd]", []kind{unsigned, signed, float}},
	{"ZigZag[Plain]", []kind{signed}},
	{"ZigZag[FLBitPack]", []kind{signed}},
	{"ZigZag[Delta[RunLength[raw, raw]]]", []kind{signed}},
	{"BlockDictionary[FLBitPack, raw]", []kind{unsigned, signed, float}},
	{"BlockDictionary[RunLength[raw, raw], raw]", []kind{unsigned, signed, float}},
	{"BlockDictionary[FusedFrameOfReference, Plain]", []kind{unsigned, signed, float}},
	{"Sparse[raw, raw]", []kind{unsigned, signed, float}},
	{"Sparse[Delta[FLBitPack], Plain]", []kind{unsigned, signed, float}},
	{"Lz4", []kind{unsigned, signed, float}},
	{"Zstd", []kind{unsigned, signed, float}},
}

// Every cascade is written, planned size or not, and read back, for every element type that may have it.
func TestEveryTree(t *testing.T) {
	for _, c := range trees {
		for _, k := range c.on {
			t.Run(fmt.Sprintf("%s/%d", c.tree, k), func(t *testing.T) {
				forcedTree[uint8](t, c.tree, k)
				forcedTree[uint16](t, c.tree, k)
				forcedTree[uint32](t, c.tree, k)
				forcedTree[uint64](t, c.tree, k)
			})
		}
	}
	for _, narrow := range []string{"TruncateU8", "TruncateU16", "TruncateU32", "TruncateU64"} {
		for _, kid := range []string{"[raw]", "[FLBitPack]", "[Delta[FusedFrameOfReference]]", "[Zstd]"} {
			t.Run(narrow+kid, func(t *testing.T) { forcedTree[uint64](t, narrow+kid, signed) })
		}
	}
}

// forcedTree encodes streams with a tree and has them decoded. Widths and kinds that no element has are left out.
func forcedTree[U word](t *testing.T, demanded string, k kind) {
	if k == float && sizeOf[U]() < 4 {
		return
	}
	for _, n := range []int{8, 100, 1024, 1025, 3000} {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		vals := make([]U, n)
		for i := range vals {
			vals[i] = U(i % 100)
			if r.IntN(20) == 0 && k != unsigned {
				vals[i] = -U(r.Uint32N(100))
			}
			if r.IntN(3) == 0 {
				vals[i] = vals[max(0, i-1)]
			}
		}
		e, parsed, err := encoderAs(demanded)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := appendAs(nil, requested{e: e, tree: parsed}, vals, nil, k)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]U, n)
		if err := decodeWords(got, sub, k); err != nil {
			t.Fatalf("%d values: %v", n, err)
		}
		for i, v := range got {
			if v != vals[i] {
				t.Fatalf("value %d of %d is %x, want %x", i, n, v, vals[i])
			}
		}
	}
}

// decodeWords decodes words that mean k.
func decodeWords[U word](dst []U, sub []byte, k kind) error {
	s := new(block.Scratch)
	switch width := sizeOf[U](); {
	case k == unsigned:
		return block.DecodeNumbers(dst, sub, s)
	case k == float && width == 4:
		return block.DecodeNumbers(simd.Cast[float32](dst), sub, s)
	case k == float:
		return block.DecodeNumbers(simd.Cast[float64](dst), sub, s)
	case width == 1:
		return block.DecodeNumbers(simd.Cast[int8](dst), sub, s)
	case width == 2:
		return block.DecodeNumbers(simd.Cast[int16](dst), sub, s)
	case width == 4:
		return block.DecodeNumbers(simd.Cast[int32](dst), sub, s)
	}
	return block.DecodeNumbers(simd.Cast[int64](dst), sub, s)
}

func TestTexts(t *testing.T) {
	for _, p := range allProfiles {
		t.Run(p.String(), func(t *testing.T) {
			e := NewEncoder(Options{Profile: p, Seed: 9})
			for _, d := range textDistributions {
				for _, n := range []int{0, 1, 2, 5, 100, 1025, 4000} {
					r := rand.New(rand.NewPCG(1, uint64(n)))
					values := make([]string, n)
					for i := range values {
						values[i] = d.at(r, i)
					}
					data, offsets := concatenate(values)
					for i, valid := range bitmaps(r, n) {
						t.Run(fmt.Sprintf("%s/%d/%d", d.name, n, i), func(t *testing.T) {
							sub := bytesRoundTrip(t, e, data, offsets, 0, valid)
							if len(sub) != e.chosen.size {
								t.Errorf("%s: %d bytes were planned, %d written", e.Chosen(), e.chosen.size, len(sub))
							}
							if plain := 3 + 8*len(offsets) + len(data); len(sub) > plain {
								t.Errorf("%s: %d bytes, more than the %d of Plain", e.Chosen(), len(sub), plain)
							}
						})
					}
				}
			}
		})
	}
}

// Values of a fixed size stay Plain, LZ4, Zstd or FSST, nulls or not: the reference misreads the others.
func TestFixedSize(t *testing.T) {
	allowed := setOf(block.Plain, block.Lz4, block.Zstd, block.Fsst)
	for _, p := range allProfiles {
		e := NewEncoder(Options{Profile: p})
		for _, size := range []int{1, 4, 16, 33} {
			for _, distinct := range []int{1, 2, 100, 1 << 30} {
				r := rand.New(rand.NewPCG(1, uint64(size)))
				data := make([]byte, 1500*size)
				for i := 0; i < len(data); i += size {
					v := r.IntN(distinct)
					for j := range size {
						data[i+j] = byte(v >> (8 * min(j, 7)))
					}
				}
				for _, valid := range bitmaps(r, 1500) {
					sub := bytesRoundTrip(t, e, data, nil, size, valid)
					if !allowed.has(e.chosen.code) {
						t.Errorf("%v, size %d, %d distinct: %s", p, size, distinct, e.Chosen())
					}
					if len(sub) != e.chosen.size {
						t.Errorf("%s: %d bytes were planned, %d written", e.Chosen(), e.chosen.size, len(sub))
					}
				}
			}
		}
	}
}

// What stands in null slots must not show.
func TestNullSlotsDoNotLeak(t *testing.T) {
	valid := []byte{0b10101010, 0b01010101}
	clean, dirty := make([]int32, 16), make([]int32, 16)
	var text, secret []byte
	textOffsets, secretOffsets := []int64{0}, []int64{0}
	for i := range clean {
		clean[i], dirty[i] = int32(i*3), int32(i*3)
		word := fmt.Sprint("word", i)
		if valid[i/8]>>(i%8)&1 == 0 {
			clean[i], dirty[i] = 0, 99_999_999
			secret = append(secret, "secret"...)
		} else {
			text, secret = append(text, word...), append(secret, word...)
		}
		textOffsets, secretOffsets = append(textOffsets, int64(len(text))), append(secretOffsets, int64(len(secret)))
	}
	for _, p := range allProfiles {
		o := &Options{Profile: p}
		a, _ := Numbers(nil, clean, valid, o)
		b, _ := Numbers(nil, dirty, valid, o)
		if !bytes.Equal(a, b) {
			t.Errorf("%v: numbers in null slots show: % x, % x", p, a, b)
		}
		a, _ = encodeBytes(nil, Bytes{Data: text, Offsets: textOffsets, Valid: valid}, o)
		b, err := encodeBytes(nil, Bytes{Data: secret, Offsets: secretOffsets, Valid: valid}, o)
		if !bytes.Equal(a, b) || err != nil {
			t.Errorf("%v: bytes in null slots show: % x, % x, %v", p, a, b, err)
		}
		fixed := []byte("AAAABBBBCCCC")
		a, _ = encodeBytes(nil, Bytes{Data: []byte("AAAA\x00\x00\x00\x00CCCC"), Fixed: 4, Valid: []byte{0b101}}, o)
		b, _ = encodeBytes(nil, Bytes{Data: fixed, Fixed: 4, Valid: []byte{0b101}}, o)
		if !bytes.Equal(a, b) || string(fixed) != "AAAABBBBCCCC" {
			t.Errorf("%v: fixed-size bytes in null slots show: % x, % x", p, a, b)
		}
	}
}

// Codes of a byte dictionary are 0 exactly where the presence states null.
func TestDictionaryCodesAgreeWithPresence(t *testing.T) {
	data, offsets := concatenate([]string{"", "x", "x", "", "y", "", "x", "x"})
	valid := []byte{0b11010110} // values 0, 3 and 5 are null; there is no empty value but them
	e := NewEncoder(Options{})
	e.borrow()
	s, err := e.gather(&Bytes{Data: data, Offsets: offsets, Valid: valid})
	if err != nil {
		t.Fatal(err)
	}
	p := e.planByteDictionary(&s, valid)
	if got := fmt.Sprint(stream[uint32](p, 0)); got != "[0 1 1 0 2 0 1 1]" {
		t.Errorf("codes %s", got)
	}
}

// The same values, profile and seed give the same bytes, whatever the encoders have done before.
func TestDeterminism(t *testing.T) {
	used := NewEncoder(Options{})
	for _, p := range allProfiles {
		var first []byte
		for round := range 3 {
			e := used
			if round == 0 {
				e = NewEncoder(Options{Profile: p, Seed: 3})
			}
			e.Reset(Options{Profile: p, Seed: 3})
			out := encodeAll(t, e)
			if round == 0 {
				first = out
			} else if !bytes.Equal(first, out) {
				t.Fatalf("%v: round %d gives other bytes", p, round)
			}
		}
	}
}

// encodeAll cuts all distributions, as one buffer after the other, and joins the blocks.
func encodeAll(t *testing.T, e *Encoder) (out []byte) {
	t.Helper()
	add := func(b Block) error {
		out = append(append(out, b.Presence...), b.Sub...)
		return nil
	}
	o := e.o
	for _, d := range distributions {
		e.Reset(o)
		vals := d.make(rand.New(rand.NewPCG(1, 1)), 17000)
		for final := range 2 {
			if _, err := CutNumbers(e, vals, nil, final == 1, add); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, d := range textDistributions {
		e.Reset(o)
		r := rand.New(rand.NewPCG(1, 1))
		values := make([]string, 900)
		for i := range values {
			values[i] = d.at(r, i)
		}
		data, offsets := concatenate(values)
		if _, err := e.CutBytes(Bytes{Data: data, Offsets: offsets}, true, add); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Blocks come in the sizes of the policy, hold all values in order, and nothing is lost or doubled: of values for small
// blocks and of those for wide ones, hardly any present, most or all.
func TestCutNumbers(t *testing.T) {
	for _, p := range allProfiles {
		for _, n := range []int{0, 1, 1024, 1025, 2047, 2048, 8191, 8192, 8193, 20000, 65536, 70001} {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			testCutNumbers(t, p, walk(50, 1<<20)(r, n), bitmaps(r, n)[2])
			testCutNumbers(t, p, shipDates(r, n), bitmaps(r, n)[4])
			testCutNumbers(t, p, shipDates(r, n), bitmaps(r, n)[5])
		}
	}
}

func testCutNumbers(t *testing.T, p Profile, vals []uint64, valid []byte) {
	t.Helper()
	n := len(vals)
	e := NewEncoder(Options{Profile: p})
	var got []uint64
	var bits []byte
	check := func(b Block) error {
		if b.Values < 1 || b.Values > wideBlock {
			return fmt.Errorf("block of %d values", b.Values)
		}
		back, mask := make([]uint64, b.Values), make([]byte, (b.Values+7)/8)
		if err := block.DecodeNumbers(back, b.Sub, new(block.Scratch)); err != nil {
			return err
		}
		_, err := block.DecodePresence(mask, b.Presence, b.Values)
		if len(got)%8 != 0 {
			return errors.New("a block that isn't the last one has no multiple of eight values")
		}
		got, bits = append(got, back...), append(bits, mask...)
		return err
	}
	taken, err := CutNumbers(e, vals, valid, false, check)
	if err != nil || taken%8 != 0 || n-taken >= wideBlock || taken != len(got) {
		t.Fatalf("%v, %d values: took %d, %v", p, n, taken, err)
	}
	rest, err := CutNumbers(e, vals[taken:], valid[taken/8:], true, check)
	if err != nil || taken+rest != n || len(got) != n {
		t.Fatalf("%v, %d values: took %d and %d, %v", p, n, taken, rest, err)
	}
	for i := range got {
		present := valid[i/8]>>(i%8)&1 == 1
		if bits[i/8]>>(i%8)&1 == 1 != present || present && got[i] != vals[i] {
			t.Fatalf("%v, %d values: value %d is %d, present %v", p, n, i, got[i], present)
		}
	}
}

// Byte blocks end at their limits, and an error of emit stops the cut.
func TestCutBytes(t *testing.T) {
	values := make([]string, 9000)
	for i := range values {
		values[i] = fmt.Sprint("value ", i)
	}
	values[4500] = string(bytes.Repeat([]byte("long "), 30000))
	data, offsets := concatenate(values)
	valid := bytes.Repeat([]byte{0xef}, (len(values)+7)/8)
	for _, p := range []Profile{Balanced, MinimalSize} {
		e := NewEncoder(Options{Profile: p})
		at := 0
		var sizes []int
		taken, err := e.CutBytes(Bytes{Data: data, Offsets: offsets, Valid: valid}, true, func(b Block) error {
			sizes = append(sizes, b.Values)
			mask := make([]byte, (b.Values+7)/8)
			if _, err := block.DecodePresence(mask, b.Presence, b.Values); err != nil {
				return err
			}
			var back block.Bytes
			if err := block.DecodeBytes(&back, b.Sub, b.Values, 0, mask, new(block.Scratch)); err != nil {
				return err
			}
			for i := range b.Values {
				want := values[at+i]
				if (at+i)%8 == 4 {
					want = ""
				}
				if got := string(back.Data[back.Offsets[i]:back.Offsets[i+1]]); got != want {
					return fmt.Errorf("value %d is %q, want %q", at+i, got, want)
				}
			}
			at += b.Values
			return nil
		})
		if err != nil || taken != len(values) || at != len(values) {
			t.Fatalf("%v: took %d, %v", p, taken, err)
		}
		if want := map[Profile]string{Balanced: "[4096 404 1 4096 403]", MinimalSize: "[9000]"}[p]; fmt.Sprint(sizes) != want {
			t.Errorf("%v: blocks of %v values, want %s", p, sizes, want)
		}
	}
	stop := errors.New("stop")
	e := NewEncoder(Options{})
	if taken, err := e.CutBytes(Bytes{Data: data, Offsets: offsets}, true, func(Block) error { return stop }); err != stop || taken != 0 {
		t.Errorf("took %d, %v", taken, err)
	}
	if taken, _ := e.CutBytes(Bytes{Data: data[:40], Offsets: offsets[:5]}, false, nil); taken != 0 {
		t.Errorf("took %d of too few values", taken)
	}
}

// Arguments that don't fit each other are errors, not panics.
func TestBadArguments(t *testing.T) {
	o := &Options{}
	if _, err := Numbers(nil, make([]int64, 9), []byte{1}, o); err == nil {
		t.Error("a bitmap of eight bits for nine values is not an error")
	}
	for name, err := range map[string]error{
		"descending offsets":      second(encodeBytes(nil, Bytes{Data: []byte("abc"), Offsets: []int64{0, 2, 1}}, o)),
		"offsets past the end":    second(encodeBytes(nil, Bytes{Data: []byte("abc"), Offsets: []int64{0, 4}}, o)),
		"negative offsets":        second(encodeBytes(nil, Bytes{Data: []byte("abc"), Offsets: []int64{-1, 2}}, o)),
		"a short bitmap":          second(encodeBytes(nil, Bytes{Data: []byte("abcdefghi"), Offsets: []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Valid: []byte{1}}, o)),
		"half a fixed-size value": second(encodeBytes(nil, Bytes{Data: []byte("abc"), Fixed: 2}, o)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second(_ []byte, err error) error { return err }

// encodeBytes is Numbers for byte strings.
func encodeBytes(dst []byte, v Bytes, o *Options) ([]byte, error) {
	e := encoderFor(o)
	defer encoders.Put(e)
	return e.AppendBytes(dst, v)
}

// Once an encoder has seen a buffer's first blocks, blocks cost no allocation.
func TestNoAllocationPerBlock(t *testing.T) {
	e := NewEncoder(Options{})
	vals := walk(50, 1<<20)(rand.New(rand.NewPCG(1, 1)), 2048)
	dst := make([]byte, 0, 1<<16)
	encode := func() {
		if _, err := appendNumbers(e, dst, vals, nil); err != nil {
			t.Fatal(err)
		}
	}
	encode()
	if n := testing.AllocsPerRun(50, encode); n > 0 {
		t.Errorf("%v allocations per numeric block", n)
	}
	data, offsets := concatenate([]string{"a", "b", "c", "a", "b", "c", "a", "a"})
	text := func() {
		if _, err := e.AppendBytes(dst, Bytes{Data: data, Offsets: offsets}); err != nil {
			t.Fatal(err)
		}
	}
	text()
	if n := testing.AllocsPerRun(50, text); n > 0 {
		t.Errorf("%v allocations per byte block", n)
	}
}

func TestProfileNames(t *testing.T) {
	for _, p := range allProfiles {
		if got, err := ParseProfile(p.String()); got != p || err != nil {
			t.Errorf("%v reads back as %v, %v", p, got, err)
		}
	}
	if p, err := ParseProfile(""); p != Balanced || err != nil {
		t.Errorf("no name: %v, %v", p, err)
	}
	if _, err := ParseProfile("tiny"); err == nil {
		t.Error("an unknown name is not an error")
	}
}
