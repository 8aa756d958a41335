package formattest

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
)

const presenceAbout = "Blocks of Int8 with nulls, in every form of the presence section. The encoding is SingleValue or Plain; null slots hold zeros."

func presenceFile() (*File, error) {
	b := new(blocks)
	mixed(b, "all null", 5, false, 0, 1, 2, 3, 4)
	mixed(b, "a byte per value", 3, false, 1)
	mixed(b, "a byte per value, as the profile plain has it", 40, true, 0, 39)
	mixed(b, "a bitmap of the nulls", 100, false, 5, 70)
	mixed(b, "a bitmap of the values", 100, false, without(100, 5, 70)...)
	mixed(b, "a bitmap of a bitset, above 4096 positions", 8400, false, every(8400, 2)...)
	ofRuns(b)
	return b.file("presence", presenceAbout)
}

// mixed adds a block of n values of which some are null.
func mixed(b *blocks, name string, n int, plain bool, nulls ...int) {
	valid, vals := bitmap(n, nulls...), make([]int8, n)
	for i := range vals {
		if there(valid, i) {
			vals[i] = 7
		}
	}
	sub, err := encode.NumbersAs(nil, vals, valid, "Plain")
	v := Vector{Name: name, Type: "Int8", Count: n, Values: numberTexts(vals, valid)}
	b.add(v, encode.Block{Presence: encode.Presence(nil, valid, n, plain), Sub: sub}, block.Int8, 0, err)
}

// ofRuns adds a block whose bitmap has run containers, which readers take and nobody is known to write: cookie 12347 with one
// container less one, a bit for each that has runs, key and cardinality less one, the number of runs, start and length less one
// of each.
func ofRuns(b *blocks) {
	presence, err := hex.DecodeString(strings.ReplaceAll("03 00 3b300000 01 0000 0700 0200 0200 0300 0a00 0300", " ", ""))
	nulls := without(16, 2, 3, 4, 5, 10, 11, 12, 13)
	vals := make([]int8, 16)
	valid := bitmap(16, nulls...)
	for i := range vals {
		if there(valid, i) {
			vals[i] = int8(i)
		}
	}
	if err == nil {
		var sub []byte
		sub, err = encode.NumbersAs(nil, vals, valid, "Plain")
		b.add(Vector{Name: "a bitmap with runs, as readers may meet it", Type: "Int8", Count: 16, Values: numberTexts(vals, valid)},
			encode.Block{Presence: presence, Sub: sub}, block.Int8, 0, err)
		return
	}
	b.err = err
}

// without is 0 … n-1 but for some.
func without(n int, some ...int) []int {
	out := make([]int, 0, n)
	for i := range n {
		if !slices.Contains(some, i) {
			out = append(out, i)
		}
	}
	return out
}

// every is the multiples of step below n.
func every(n, step int) (out []int) {
	for i := 0; i < n; i += step {
		out = append(out, i)
	}
	return out
}
