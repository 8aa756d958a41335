package colstream

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// threeBlocks is the worked example of docs/format/fields.md.
const threeBlocks = `
	0000000000000000 0000000000000000
	64000000 C8000000 08 08 0300 00326400
	00306800 00000000
	0000000000000000 C201000000000000
	0000000000000000 2800000000000000
	C201000000000000 0300000000000000
	0100000000000000 0004000000000000
	F002000000000000`

func build(blocks [][2]uint32) []byte {
	var w MapBuilder
	for _, b := range blocks {
		w.Add(b[0], b[1])
	}
	return w.Append(nil)
}

func TestBlockMapBytes(t *testing.T) {
	got := build([][2]uint32{{100, 200}, {150, 248}, {200, 304}})
	if want := unhex(t, threeBlocks); !bytes.Equal(got, want) {
		t.Fatalf("got\n%x\nwant\n%x", got, want)
	}
	m, err := ParseMap(got)
	if err != nil {
		t.Fatal(err)
	}
	if m.Blocks() != 3 || m.Values() != 450 || m.Bytes() != 752 || !m.Canonical(got) {
		t.Fatalf("got %+v", m)
	}
	for pos, want := range map[uint64]int{0: 0, 99: 0, 100: 1, 249: 1, 250: 2, 449: 2} {
		if i := m.Find(pos); i != want {
			t.Errorf("position %d: block %d, want %d", pos, i, want)
		}
	}
}

func TestBlockMapMixedWidths(t *testing.T) {
	got := build([][2]uint32{{2048, 8216}, {2048, 16}, {5, 70000}})
	record := unhex(t, `05000000 10000000 1020 0300 FB07FB070000 0000 08200000 00000000 60110100`)
	if len(got) != 120 || !bytes.Equal(got[16:48], record) {
		t.Fatalf("%d bytes, record %x", len(got), got[16:48])
	}
}

func TestBlockMapEmpty(t *testing.T) {
	got := build(nil)
	m, err := ParseMap(got)
	if err != nil || len(got) != 56 || m.Blocks() != 0 || m.Values() != 0 {
		t.Fatalf("%d bytes, %v, %v", len(got), m, err)
	}
}

func TestBlockMapSegments(t *testing.T) {
	for _, n := range []int{1, 1023, 1024, 1025, 5000} {
		blocks := make([][2]uint32, n)
		var values uint64
		for i := range blocks {
			blocks[i] = [2]uint32{uint32(1 + i*7%300), uint32(8 + i*131%70000)}
			values += uint64(blocks[i][0])
		}
		b := build(blocks)
		m, err := ParseMap(b)
		if err != nil || m.Values() != values || m.Blocks() != n || !m.Canonical(b) {
			t.Fatalf("%d blocks: %v", n, err)
		}
		for i := range blocks {
			first, end := m.Span(i)
			start, stop := m.Range(i)
			if end-first != uint64(blocks[i][0]) || stop-start != uint64(blocks[i][1]) || m.Find(first) != i || m.Find(end-1) != i {
				t.Fatalf("block %d of %d", i, n)
			}
		}
	}
}

// Every flipped byte either fails to parse or shows as a map that is not canonical or has other blocks.
// TestBlockMapClaims: a map of a few bytes that claims as many blocks as its segments could have is refused before space is
// made for them.
func TestBlockMapClaims(t *testing.T) {
	const size, fullSegment = 4096, SegmentBlocks
	b := make([]byte, size)
	segments := uint64((size - mapFooterSize - 16) / (16 + segmentHeaderSize))
	blocks := segments * fullSegment
	for i, v := range []uint64{blocks, blocks, segments, fullSegment, blocks} {
		binary.LittleEndian.PutUint64(b[size-mapFooterSize+8*i:], v)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ParseMap(b)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("%d blocks in %d bytes: %v", blocks, size, err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
		t.Errorf("%d bytes were allocated for a map of %d", taken, size)
	}
}

func TestBlockMapFlips(t *testing.T) {
	b := build([][2]uint32{{100, 200}, {150, 250}, {200, 70000}, {9, 8}})
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 0x10
		m, err := ParseMap(bad)
		if err != nil {
			if !errors.Is(err, corrupt.ErrCorrupt) {
				t.Fatalf("byte %d: %v", i, err)
			}
			continue
		}
		if m.Canonical(bad) && m.Blocks() == 4 && m.Values() == 459 && m.Bytes() == 70458 {
			t.Errorf("byte %d: flip not seen", i)
		}
	}
}

// A map whose segments are of another number of blocks is refused, whether it has one segment or several.
func TestBlockMapOfOtherSegments(t *testing.T) {
	for _, n := range []int{0, 3, 1024, 2000} {
		for _, per := range []uint64{0, 1, 1023, 1025, 1200, 65535, 1 << 32} {
			b := build(nil)
			if n > 0 {
				blocks := make([][2]uint32, n)
				for i := range blocks {
					blocks[i] = [2]uint32{1, 8}
				}
				b = build(blocks)
			}
			if _, err := ParseMap(b); err != nil {
				t.Fatal(err)
			}
			binary.LittleEndian.PutUint64(b[len(b)-16:], per)
			if _, err := ParseMap(b); !errors.Is(err, corrupt.ErrCorrupt) {
				t.Errorf("%d blocks in segments of %d: %v", n, per, err)
			}
		}
	}
}

func FuzzParseMap(f *testing.F) {
	f.Add(unhex(f, threeBlocks))
	f.Add(build(nil))
	f.Add(build([][2]uint32{{2048, 8216}, {2048, 16}, {5, 70000}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMap(b)
		if err != nil {
			if !errors.Is(err, corrupt.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		m.Canonical(b)
		if m.Values() > 0 && m.Find(m.Values()-1) != m.Blocks()-1 {
			t.Fatal("last position not in the last block")
		}
	})
}
