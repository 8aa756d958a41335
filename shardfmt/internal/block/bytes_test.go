package block

import (
	"slices"
	"strings"
	"testing"
)

// bytesVector is a sub-block and the byte strings it stands for: output of the reference, docs/format/blocks.md.
type bytesVector struct {
	name  string
	dump  string
	fixed int
	nulls []int // given to the decoder as its presence, and expected from it
	want  []string
}

var bytesVectors = []bytesVector{
	{"Plain", `01 00 08 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00
		05 00 00 00 00 00 00 00 61 62 63 64 65`, 0, nil, []string{"ab", "", "cde"}},
	{"Plain fixed", "01 00 00 41 41 41 41 42 42 42 42", 4, nil, []string{"AAAA", "BBBB"}},
	{"SingleValue", "07 00 61 62", 0, nil, []string{"ab", "ab", "ab"}},
	{"SingleValue with null", "07 00 61 62", 0, []int{1}, []string{"ab", "", "ab"}},
	{"SingleValue fixed with null", "07 00 61 62", 2, []int{0}, []string{"\x00\x00", "ab", "ab"}},
	{"Lz4", `11 00 16 00 00 00 08 00 00 08 00 00 1f 78 01 00 ff ff ff ff ff ff ff ee 50 78 78 78 78 78
		00 00 00 00 00 00 00 00 00 00 e8 03 00 00 00 00 00 00 00 08 00 00 00 00 00 00`, 0, nil,
		[]string{strings.Repeat("x", 1000), strings.Repeat("x", 1048)}},
	{"BlockDictionary", `0e 00 1a 00 00 00 0c 00 00 00 03 00 00 00 00 00
		01 00 01 00 00 00 02 00 00 00 01 00 00 00 03 00 00 00 01 00 00 00 02 00 00 00 00 00 00 00 00 00
		01 00 00 00 01 00 00 00 03 00 00 00 62 61 63 63 63`, 0, nil, []string{"b", "a", "b", "ccc", "b", "a"}},
	{"BlockDictionary, lengths nested", `0e 00 0e 00 00 00 06 00 00 00 02 00 00 00 01 00 01 00 01 00 00 00 02 00 00 00
		01 00 00 00 00 00 07 00 02 00 00 00 62 62 61 61`, 0, nil, []string{"bb", "aa", "bb"}},
	{"BlockDictionary with null", `0e 00 12 00 00 00 08 00 00 00 02 00 00 00 00 00 01 00 01 00 00 00 00 00 00 00
		01 00 00 00 01 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 78`, 0, []int{1}, []string{"x", "", "x", "x"}},
	{"BlockDictionary fixed", `0e 00 12 00 00 00 00 00 00 00 03 00 00 00 00 00 01 00 01 00 00 00 02 00 00 00
		01 00 00 00 03 00 00 00 00 00 00 00 00 00 41 41 41 41 42 42 42 42 43 43 43 43`, 4, nil,
		[]string{"AAAA", "BBBB", "AAAA", "CCCC"}},
	{"Fsst", `0f 00 03 23 00 00 00 00 08 00 00 00 00 00 00 00
		61 00 00 00 00 00 00 00 62 00 00 00 00 00 00 00 63 00 00 00 00 00 00 00 01 01 01` +
		strings.Repeat(" 00 01 02", 11) + ` ff ff 00 00
		00 00 00 00 00 00 00 00 18 00 00 00 00 00 00 00 22 00 00 00 00 00 00 00`, 0, nil,
		[]string{strings.Repeat("abc", 8), strings.Repeat("abc", 3) + "\xff"}},
	{"Lz4 fixed", `11 00 16 00 00 00 00 00 00 08 00 00 1f 51 01 00 ff ff ff ff ff ff ff ee 50 51 51 51 51 51 00 00`,
		4, nil, repeat("QQQQ", 512)},
}

func TestDecodeBytes(t *testing.T) {
	for _, c := range bytesVectors {
		t.Run(c.name, func(t *testing.T) {
			s := new(Scratch)
			dst := &Bytes{Data: []byte("earlier")}
			for round := range 2 { // the second block is appended to the first
				present := bitmapOf(len(c.want), c.nulls...)
				if err := DecodeBytes(dst, unhex(t, c.dump), len(c.want), c.fixed, present, s); err != nil {
					t.Fatal(err)
				}
				got := valuesOf(dst, c.fixed, len("earlier"))[round*len(c.want):]
				if !slices.Equal(got, c.want) {
					t.Errorf("got  %q\nwant %q", got, c.want)
				}
				if want := bitmapOf(len(c.want), c.nulls...); !slices.Equal(present, want) {
					t.Errorf("presence %x, want %x", present, want)
				}
			}
			if string(dst.Data[:7]) != "earlier" {
				t.Errorf("what was there before became %q", dst.Data[:7])
			}
		})
	}
}

// valuesOf is b as strings; values of a fixed size start at data.
func valuesOf(b *Bytes, fixed, data int) (list []string) {
	if fixed > 0 {
		for d := b.Data[data:]; len(d) > 0; d = d[fixed:] {
			list = append(list, string(d[:fixed]))
		}
		return list
	}
	for i := range b.Len() {
		list = append(list, string(b.Data[b.Offsets[i]:b.Offsets[i+1]]))
	}
	return list
}

// A position is null where presence reports it, whatever its code, and where its code is 0, whatever presence states.
func TestDictionaryNulls(t *testing.T) {
	for _, c := range bytesVectors {
		if !strings.HasPrefix(c.name, "BlockDictionary") {
			continue
		}
		for null := range c.want {
			present := bitmapOf(len(c.want), null)
			dst := new(Bytes)
			if err := DecodeBytes(dst, unhex(t, c.dump), len(c.want), c.fixed, present, new(Scratch)); err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(c.want)
			want[null] = strings.Repeat("\x00", c.fixed)
			if got := valuesOf(dst, c.fixed, 0); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", c.name, got, want)
			}
			if all := bitmapOf(len(c.want), append([]int{null}, c.nulls...)...); !slices.Equal(present, all) {
				t.Errorf("%s: presence %x, want %x", c.name, present, all)
			}
		}
	}
}
