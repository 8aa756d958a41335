package block

import (
	"errors"
	"slices"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// A presence section is as long as its form states: what is behind it is refused.
func TestPresenceThatIsTooLong(t *testing.T) {
	for name, section := range map[string][]byte{
		"all null":              {1},
		"a byte for each value": {2, 1, 0, 1},
		"a bitmap of nothing":   {3, 0, 0x3a, 0x30, 0, 0, 0, 0, 0, 0},
		"a bitmap of an array":  {3, 0, 0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 2, 0},
	} {
		dst := make([]byte, 1)
		if _, err := DecodePresence(dst, section, 3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := DecodePresence(dst, append(slices.Clone(section), 0), 3); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s and a byte: %v", name, err)
		}
	}
}

// A flag is 0 or 1, for each encoding that has some.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		code Code
		at   []int
	}{{RunLength, []int{10, 11}}, {Sparse, []int{10, 11}}, {BlockDictionary, []int{10}}, {ZigZag, []int{2}}, {TruncateU8, []int{2}}} {
		for _, at := range c.at {
			sub := make([]byte, 64)
			sub[0], sub[at] = byte(c.code), 9
			var damage *corrupt.Error
			if err := DecodeNumbers(make([]int64, 4), sub, new(Scratch)); !errors.As(err, &damage) || damage.What != c.code.String()+": flag of 9" {
				t.Errorf("%v, byte %d: %v", c.code, at, err)
			}
		}
	}
	for code, at := range map[Code]int{BlockDictionary: 14, Fsst: 7, Zstd: 7, Lz4: 7} {
		sub := make([]byte, 64)
		sub[0], sub[at] = byte(code), 9
		if code == Fsst {
			sub[8] = 8
		} else if code != BlockDictionary {
			sub[6] = 8
		}
		var damage *corrupt.Error
		if err := DecodeBytes(new(Bytes), sub, 4, 0, nil, new(Scratch)); !errors.As(err, &damage) || damage.What != code.String()+": flag of 9" {
			t.Errorf("%v of byte strings: %v", code, err)
		}
	}
}
