package stats

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// The vector of format note 03 §13.
func TestFilterVector(t *testing.T) {
	s := newHashSet(filterValues)
	for _, v := range []string{"hello", "world", "hello"} {
		s.add([]byte(v))
	}
	f := s.filter(defaultFPP, referenceFilterSize).Sbbf
	const want = "0002000040001000010001002000001000801000000002800002400008000400"
	if got := hex.EncodeToString(f.Data); got != want || f.NumValues != 2 || f.NumBlocks != 1 {
		t.Errorf("got %s, %d values", got, f.NumValues)
	}
	if !BloomMayContain(f, []byte("hello")) || !BloomMayContain(f, []byte("world")) {
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
	s := newHashSet(filterValues)
	for i := range filterValues {
		s.add(fmt.Append(nil, i))
	}
	f := s.filter(defaultFPP, referenceFilterSize)
	if f == nil || f.Sbbf.NumValues != filterValues {
		t.Fatal("1024 values have a filter")
	}
	denied := 0
	for i := range 10_000 {
		if i < filterValues && !BloomMayContain(f.Sbbf, fmt.Append(nil, i)) {
			t.Fatalf("%d is denied", i)
		}
		if !BloomMayContain(f.Sbbf, fmt.Append(nil, "absent", i)) {
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
		if !BloomMayContain(f, []byte("x")) {
			t.Errorf("%s denies", name)
		}
	}
	odd := &metapb.SplitBlockBloomFilter{HashAlgorithm: hashAlgorithm, Data: make([]byte, 96)}
	if BloomMayContain(odd, []byte("x")) {
		t.Error("three empty blocks hold nothing")
	}
}
