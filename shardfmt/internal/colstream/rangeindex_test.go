package colstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// goldenRangeIndex is the worked example of docs/format/fields.md: Int32, 600 ascending values.
const goldenRangeIndex = `
	0100 04 01 5802000000000000 2000000000000000 2000000000000000 0000000000000000
	0001 0000
	00000000 0E000000 0100 000000000001000000020000 000000000000 BBB6FE01
	00000000 0E000000 0100 FF000000FF01000057020000 000000000000 150B3FD9
	000000000000000000000000000000000000000000000000`

func TestRangeIndexBytes(t *testing.T) {
	want := unhex(t, goldenRangeIndex)
	x := &RangeIndex{Type: schema.Int32, Span: 600, BlockSize: 256, Width: 4}
	for i := range uint32(3) {
		x.Min = binary.LittleEndian.AppendUint32(x.Min, 256*i)
		x.Max = binary.LittleEndian.AppendUint32(x.Max, min(256*i+255, 599))
	}
	got, err := x.Append(nil, &encode.Options{Profile: encode.Plain})
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%v, got\n%x\nwant\n%x", err, got, want)
	}
	r, err := ParseRangeIndex(want, schema.Int32, 4, 600, true)
	if err != nil || r.Blocks() != 3 || r.Range(2) != (Range{Start: 512, End: 600}) {
		t.Fatalf("%+v, %v", r, err)
	}
	least, greatest, ok := r.Bounds(1)
	if !ok || binary.LittleEndian.Uint32(least) != 256 || binary.LittleEndian.Uint32(greatest) != 511 {
		t.Errorf("block 1: %x %x", least, greatest)
	}
}

func TestRangeIndexInvalid(t *testing.T) {
	x := &RangeIndex{Type: schema.Int8, Span: 300, BlockSize: 256, Width: 1,
		Min: []byte{5, 0}, Max: []byte{9, 0}, Invalid: []uint16{3, 44}}
	b, err := x.Append(nil, &encode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRangeIndex(b, schema.Int8, 1, 300, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := r.Bounds(0); !ok {
		t.Error("block 0 has values")
	}
	if _, _, ok := r.Bounds(1); ok {
		t.Error("block 1 has none")
	}
}

// The header has no checksum: what a flip there changes must contradict the descriptor or the blocks.
func TestRangeIndexFlips(t *testing.T) {
	good := unhex(t, goldenRangeIndex)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		_, err := ParseRangeIndex(bad, schema.Int32, 4, 600, true)
		if !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) && i != 3 && i != 36 {
			t.Errorf("byte %d: %v", i, err)
		}
	}
}

func FuzzParseRangeIndex(f *testing.F) {
	f.Add(unhex(f, goldenRangeIndex))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ParseRangeIndex(b, schema.Int32, 4, 600, false)
		if err != nil {
			return
		}
		for i := range x.Blocks() {
			x.Bounds(i)
		}
	})
}
