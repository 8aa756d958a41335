package stats

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// text is a node whose values are hashed as they are stored.
var text = &schema.Node{Basic: schema.String}

// A filter of values that were widened reports it in its algorithm: the caller with the stored bytes does not know it, and asks nothing.
func TestWidenedFiltersAreMarked(t *testing.T) {
	narrow, wide := &schema.Node{Basic: schema.Int32, Signed: true}, &schema.Node{Basic: schema.Int64, Signed: true}
	for _, n := range []*schema.Node{narrow, {Basic: schema.Int8}, {Basic: schema.Float32}, {Basic: schema.Float64},
		{Basic: schema.FixedSizeBinary, FixedSize: 16, Ext: &schema.Extension{Label: schema.LabelDecimal}}} {
		s := newHashSet(filterValues, filterSeed)
		b := IntegerBytes(7)
		s.add(b[:])
		f := (&Collector{node: n}).filter(s).Sbbf
		if f.HashAlgorithm != "xxh3_64_widened" || !BloomMayContain(n, f, b[:]) || BloomMayContain(n, f, []byte("absent")) {
			t.Errorf("%s: %s", n.TypeName(), f.HashAlgorithm)
		}
		if !BloomMayContain(text, f, []byte("absent")) {
			t.Errorf("%s: the filter answers who does not know its form", n.TypeName())
		}
		if f.HashAlgorithm = hashAlgorithm; !BloomMayContain(n, f, []byte("absent")) {
			t.Errorf("%s: a filter that is not marked may be one of the stored bytes", n.TypeName())
		}
	}
	s := newHashSet(filterValues, filterSeed)
	s.add([]byte("12345678"))
	if f := (&Collector{node: wide}).filter(s).Sbbf; f.HashAlgorithm != hashAlgorithm {
		t.Errorf("64 bits: %s", f.HashAlgorithm)
	}
}

// The vector of docs/format/fields.md.
func TestFilterVector(t *testing.T) {
	s := newHashSet(filterValues, filterSeed)
	for _, v := range []string{"hello", "world", "hello"} {
		s.add([]byte(v))
	}
	f := s.filter(defaultFPP, referenceFilterSize).Sbbf
	const want = "0002000040001000010001002000001000801000000002800002400008000400"
	if got := hex.EncodeToString(f.Data); got != want || f.NumValues != 2 || f.NumBlocks != 1 {
		t.Errorf("got %s, %d values", got, f.NumValues)
	}
	if !BloomMayContain(text, f, []byte("hello")) || !BloomMayContain(text, f, []byte("world")) {
		t.Error("a value that was added is denied")
	}
}

func TestFilterSizes(t *testing.T) {
	for n, want := range map[int]int{1: 32, 25: 32, 51: 64, 52: 96, 100: 128, 1024: 1280} {
		if got := referenceFilterSize(n, defaultFPP); got != want {
			t.Errorf("%d values: %d bytes, want %d", n, got, want)
		}
	}
	for n, want := range map[int]int{1: 32, 26: 32, 27: 64, 1024: 2048, 100_000: 131072} {
		if got := bookFilterSize(n, defaultFPP); got != want {
			t.Errorf("book: %d values: %d bytes, want %d", n, got, want)
		}
	}
}

func TestFilterFallsAwayBeyondItsLimit(t *testing.T) {
	s := newHashSet(filterValues, filterSeed)
	for i := range filterValues {
		s.add(fmt.Append(nil, i))
	}
	f := s.filter(defaultFPP, referenceFilterSize)
	if f == nil || f.Sbbf.NumValues != filterValues {
		t.Fatal("1024 values have a filter")
	}
	denied := 0
	for i := range 10_000 {
		if i < filterValues && !BloomMayContain(text, f.Sbbf, fmt.Append(nil, i)) {
			t.Fatalf("%d is denied", i)
		}
		if !BloomMayContain(text, f.Sbbf, fmt.Append(nil, "absent", i)) {
			denied++
		}
	}
	if denied < 9_500 {
		t.Errorf("only %d of 10000 absent values are denied", denied)
	}
	s.add([]byte("one more"))
	if s.filter(defaultFPP, referenceFilterSize) != nil {
		t.Error("1025 values have none")
	}
}

// What can't be understood must never deny a value.
func TestUnknownFiltersAdmitEverything(t *testing.T) {
	for name, f := range map[string]*metapb.SplitBlockBloomFilter{
		"none":         nil,
		"empty":        {HashAlgorithm: hashAlgorithm},
		"other hash":   {HashAlgorithm: "murmur3", Data: make([]byte, 32)},
		"broken block": {HashAlgorithm: hashAlgorithm, Data: make([]byte, 33)},
	} {
		if !BloomMayContain(text, f, []byte("x")) {
			t.Errorf("%s denies", name)
		}
	}
	odd := &metapb.SplitBlockBloomFilter{HashAlgorithm: hashAlgorithm, Data: make([]byte, 96)}
	if BloomMayContain(text, odd, []byte("x")) {
		t.Error("three empty blocks hold nothing")
	}
}
