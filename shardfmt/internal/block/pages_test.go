package block

import (
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// pageText is the page on blocks.
func pageText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/format/blocks.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The example of FrameOfReference on the page decodes to the values that it states.
func TestExampleOfFrameOfReference(t *testing.T) {
	m := regexp.MustCompile("For example `([0-9A-F ]+)`: FrameOfReference .*: the values 102 and 105").FindStringSubmatch(pageText(t))
	if m == nil {
		t.Fatal("the page has no such example")
	}
	got := make([]uint32, 2)
	if err := DecodeNumbers(got, unhex(t, m[1]), new(Scratch)); err != nil || !slices.Equal(got, []uint32{102, 105}) {
		t.Errorf("%v, %v", got, err)
	}
}

// The limits of Alp on the page are those that are read.
func TestLimitsOfAlp(t *testing.T) {
	if want := fmt.Sprintf("each at most %d for Float64, %d for Float32", simd.AlpMaxExponent(8), simd.AlpMaxExponent(4)); !strings.Contains(pageText(t), want) {
		t.Errorf("the page lacks %q", want)
	}
}

// Runs of no values are read, wherever they stand.
func TestRunsOfNoValues(t *testing.T) {
	le := binary.LittleEndian
	sub := make([]byte, 16)
	sub[0] = byte(RunLength)
	le.PutUint32(sub[2:], 16)
	le.PutUint32(sub[6:], 4)
	for _, v := range []uint32{1, 2, 3, 4, 0, 2, 0, 1} { // four values, four lengths
		sub = le.AppendUint32(sub, v)
	}
	got := make([]uint32, 3)
	if err := DecodeNumbers(got, sub, new(Scratch)); err != nil || !slices.Equal(got, []uint32{2, 2, 4}) {
		t.Errorf("%v, %v", got, err)
	}
}
