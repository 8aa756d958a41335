package block

import (
	"errors"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Damaged numeric sub-blocks end in the corruption error at the offset of what is wrong.
func TestCorruptNumbers(t *testing.T) {
	for _, c := range []struct {
		name string
		elem Elem
		n    int
		dump string
		at   int64
	}{
		{"empty", Int32, 1, "", 0},
		{"half a code", Int32, 1, "01", 0},
		{"code of another kind of type", Int32, 1, "02 00 01 00 00 00 00 00", 0},
		{"FLBitPack on signed", Int8, 1, "02 00 01 00 00 00 00 00", 0},
		{"Alp on integers", Uint64, 1, "0c 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", 0},
		{"ZigZag on unsigned", Uint64, 1, "12 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00", 0},
		{"TruncateU32 on i16", Int16, 1, "0a 00 00 00 00 00 00 00 01 00 00 00", 0},
		{"Fsst on numbers", Uint8, 1, "0f 00", 0},
		{"Plain too short", Int32, 2, "01 00 01 00 00 00", 0},
		{"Plain too long", Int32, 1, "01 00 01 00 00 00 02 00 00 00", 0},
		{"SingleValue cut", Int64, 1, "07 00 01 02 03", 0},
		{"FLBitPack of width 0", Uint8, 1, "02 00 00 00 00 00 00 00", 2},
		{"FLBitPack wider than the type", Uint8, 1, "02 00 09 00 00 00 00 00", 2},
		{"FLBitPack without chunk", Uint8, 1, "02 00 01 00 00 00 00 00", 8},
		{"FLBitPack of half a chunk", Uint8, 1, "02 00 01 00 00 00 00 00 01 02 03 04", 8},
		{"FLBitPack without header", Uint8, 1, "02 00 01 00", 0},
		{"FFOR wider than the type", Int16, 1, "04 00 01 00 11 00 00 00", 4},
		{"FFOR without chunk", Int64, 1, "04 00 01 00 00 00 00 00 00 00 01 00 00 00 00 00", 16},
		{"FOR, nested too short", Int32, 2, "03 00 01 00 00 00 00 00 01 00 01 00 00 00", 8},
		{"FOR without nested", Int32, 2, "03 00 01 00 00 00 00 00", 8},
		{"Delta of nothing", Int32, 0, "05 00 01 00 00 00 00 00 01 00", 0},
		{"Delta, nested too long", Int32, 1, "05 00 01 00 00 00 00 00 01 00 01 00 00 00", 8},
		{"Delta, nested value cut", Int32, 2, "05 00 01 00 00 00 00 00 07 00 01 00", 8},
		{"Truncate, one too many", Int32, 1, "08 00 00 00 00 00 00 00 01 02", 8},
		{"Truncate, one too few", Int32, 3, "08 00 00 00 00 00 00 00 01 02", 8},
		{"raw ZigZag cut", Int32, 1, "12 00 00 00 00 00 00 00 01 02", 8},
		{"runs sum up to less", Int32, 6, "06 00 08 00 00 00 02 00 00 00 00 00 00 00 00 00 07 00 00 00 09 00 00 00 03 00 00 00 02 00 00 00", 24},
		{"runs sum up to more", Int32, 4, "06 00 08 00 00 00 02 00 00 00 00 00 00 00 00 00 07 00 00 00 09 00 00 00 03 00 00 00 02 00 00 00", 24},
		{"runs overflow", Int32, 5, "06 00 08 00 00 00 02 00 00 00 00 00 00 00 00 00 07 00 00 00 09 00 00 00 ff ff ff ff 06 00 00 00", 24},
		{"runs without lengths", Int32, 5, "06 00 08 00 00 00 02 00 00 00 00 00 00 00 00 00 07 00 00 00 09 00 00 00", 24},
		{"run values past the end", Int32, 5, "06 00 ff 00 00 00 02 00 00 00 00 00 00 00 00 00 07 00 00 00", 16},
		{"four billion runs", Int32, 5, "06 00 06 00 00 00 ff ff ff ff 01 01 00 00 00 00 07 00 01 00 00 00 00 00 07 00 00 00 00 00", 0},
		{"Sparse position out of range", Int32, 8, "13 00 01 00 00 00 04 00 00 00 00 00 00 00 00 00 08 00 00 00 00 00 00 00 01 00 00 00", 16},
		{"Sparse positions fall", Int32, 8, "13 00 02 00 00 00 08 00 00 00 00 00 00 00 00 00 03 00 00 00 03 00 00 00 01 00 00 00 02 00 00 00", 16},
		{"Sparse stores more than there is", Int32, 1, "13 00 02 00 00 00 08 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 01 00 00 00 02 00 00 00", 2},
		{"Sparse without values", Int32, 8, "13 00 01 00 00 00 04 00 00 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00", 24},
		{"Sparse positions of another size", Int32, 8, "13 00 01 00 00 00 08 00 00 00 00 00 00 00 00 00 03 00 00 00 04 00 00 00 01 00 00 00", 6},
		{"dictionary code out of range", Int32, 1, "0e 00 06 00 00 00 01 00 00 00 00 00 00 00 00 00 01 00 02 00 00 00 07 00 00 00", 16},
		{"dictionary cut", Int32, 1, "0e 00 06 00 00 00 02 00 00 00 00 00 00 00 00 00 01 00 02 00 00 00 07 00 00 00", 22},
		{"dictionary of four billion", Int32, 1, "0e 00 06 00 00 00 ff ff ff ff 01 00 00 00 00 00 01 00 01 00 00 00 07 00 07 00 00 00", 0},
		{"dictionary codes past the end", Int32, 1, "0e 00 ff ff ff ff 01 00 00 00 00 00 00 00 00 00 01 00", 16},
		{"Alp exponent above the table", Float64, 1, "0c 00 0a 00 00 00 00 00 18 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00 00 00", 8},
		{"Alp factor above the table", Float32, 1, "0c 00 06 00 00 00 00 00 00 0b 00 00 00 00 00 00 07 00 00 00 00 00", 8},
		{"Alp exception out of range", Float32, 1, "0c 00 06 00 00 00 01 00 00 00 00 00 00 00 00 00 07 00 00 00 00 00 01 00 00 00 00 00 80 3f", 22},
		{"Alp exceptions cut", Float32, 1, "0c 00 06 00 00 00 02 00 00 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00 00 00 00 00 80 3f", 22},
		{"AlpRd code out of range", Float32, 1, "0d 00 04 00 00 00 06 00 00 00 00 00 10 01 00 00 80 3f 07 00 01 00 07 00 00 00 00 00", 18},
		{"AlpRd with too large a dictionary", Float32, 1, "0d 00 04 00 00 00 06 00 00 00 00 00 10 09 00 00 80 3f 07 00 01 00 07 00 00 00 00 00", 13},
		{"AlpRd with 32 right bits of 32", Float32, 1, "0d 00 04 00 00 00 06 00 00 00 00 00 20 01 00 00 80 3f 07 00 01 00 07 00 00 00 00 00", 12},
		{"AlpRd with trailing bytes", Float32, 1, "0d 00 04 00 00 00 06 00 00 00 00 00 10 01 00 00 80 3f 07 00 00 00 07 00 00 00 00 00 00", 28},
		{"AlpRd exception out of range", Float32, 1, "0d 00 04 00 00 00 06 00 00 00 01 00 10 01 00 00 80 3f 07 00 00 00 07 00 00 00 00 00 01 00 00 00 80 3f", 28},
		{"Lz4 of another size", Uint8, 2047, "11 00 00 00 00 00 00 00 00 08 00 00 1f 01 01 00 ff ff ff ff ff ff ff ee 50 01 01 01 01 01", 8},
		{"Lz4 bomb", Uint8, 1 << 20, "11 00 00 00 00 00 00 00 00 00 10 00 1f 01 01 00 ff", 8},
		{"Lz4 damaged", Uint8, 8, "11 00 00 00 00 00 00 00 08 00 00 00 ff ff ff ff", 12},
		{"Lz4 without size", Uint8, 8, "11 00 00 00 00 00 00 00 08 00", 8},
		{"Zstd damaged", Uint8, 8, "10 00 00 00 00 00 00 00 28 b5 2f fd 00 58 bd", 8},
		{"Zstd of another size", Uint8, 8, "10 00 00 00 00 00 00 00 28 b5 2f fd 00 58 bd 00 00 40 00 00 01 00 02 00 03 00 05 00 d5 1f ca 07 40 62 80 31 18 78 00 58", 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantCorrupt(t, decodeElem(c.elem, c.n, unhex(t, c.dump), new(Scratch)), c.at)
		})
	}
}

// wantCorrupt checks the class and the offset of an error.
func wantCorrupt(t *testing.T, err error, at int64) {
	t.Helper()
	var e *corrupt.Error
	if !errors.Is(err, corrupt.ErrCorrupt) || !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	if e.Offset != at {
		t.Errorf("at offset %d, want %d: %v", e.Offset, at, err)
	}
}

// decodeElem decodes n numbers of an element type.
func decodeElem(e Elem, n int, sub []byte, s *Scratch) error {
	switch e {
	case Int8:
		return DecodeNumbers(make([]int8, n), sub, s)
	case Int16:
		return DecodeNumbers(make([]int16, n), sub, s)
	case Int32:
		return DecodeNumbers(make([]int32, n), sub, s)
	case Int64:
		return DecodeNumbers(make([]int64, n), sub, s)
	case Uint8:
		return DecodeNumbers(make([]uint8, n), sub, s)
	case Uint16:
		return DecodeNumbers(make([]uint16, n), sub, s)
	case Uint32:
		return DecodeNumbers(make([]uint32, n), sub, s)
	case Uint64:
		return DecodeNumbers(make([]uint64, n), sub, s)
	case Float32:
		return DecodeNumbers(make([]float32, n), sub, s)
	}
	return DecodeNumbers(make([]float64, n), sub, s)
}

// Damaged sub-blocks of byte strings.
func TestCorruptBytes(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, fixed int
		dump     string
		at       int64
	}{
		{"empty", 1, 0, "", 0},
		{"code of numbers", 1, 0, "05 00", 0},
		{"Plain without width", 1, 0, "01 00", 0},
		{"Plain of width 4", 1, 0, "01 00 04", 2},
		{"Plain, offsets on a fixed size", 1, 4, "01 00 08", 2},
		{"Plain, no offsets on any size", 1, 0, "01 00 00", 2},
		{"Plain, offsets cut", 1, 0, "01 00 08 00 00 00 00 00 00 00 00 01", 3},
		{"Plain, offsets fall", 2, 0, "01 00 08 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 61 62", 3},
		{"Plain, offsets past the data", 1, 0, "01 00 08 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 61", 3},
		{"Plain, offsets short of the data", 1, 0, "01 00 08 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 61 62", 3},
		{"Plain, first offset", 1, 0, "01 00 08 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 61 62", 3},
		{"Plain, negative offsets", 1, 0, "01 00 08 00 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff 61", 3},
		{"Plain fixed, of another size", 2, 4, "01 00 00 41 41 41 41 42", 3},
		{"SingleValue fixed, of another size", 2, 4, "07 00 61 62", 2},
		{"dictionary code out of range", 1, 0, "0e 00 06 00 00 00 04 00 00 00 01 00 00 00 00 00 01 00 02 00 00 00 00 00 01 00 00 00 61", 16},
		{"dictionary null where none may be", 1, 0, "0e 00 06 00 00 00 04 00 00 00 01 00 00 00 00 00 01 00 00 00 00 00 00 00 01 00 00 00 61", 16},
		{"dictionary lengths past the data", 1, 0, "0e 00 06 00 00 00 04 00 00 00 01 00 00 00 00 00 01 00 01 00 00 00 00 00 02 00 00 00 61", 24},
		{"dictionary lengths past the end", 1, 0, "0e 00 06 00 00 00 ff ff 00 00 01 00 00 00 00 00 01 00 01 00 00 00 00 00", 24},
		{"dictionary fixed, entries cut", 1, 4, "0e 00 06 00 00 00 00 00 00 00 02 00 00 00 00 00 01 00 01 00 00 00 00 00 41 41 41 41", 10},
		{"dictionary of four billion", 1, 0, "0e 00 06 00 00 00 06 00 00 00 ff ff ff ff 01 00 01 00 01 00 00 00 00 00 07 00 00 00 00 00", 0},
		{"Fsst, symbol length 9", 1, 0, "0f 00 01 01 00 00 00 00 08 00 00 00 00 00 00 00 61 00 00 00 00 00 00 00 09 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00", 24},
		{"Fsst, symbols cut", 1, 0, "0f 00 ff 01 00 00 00 00 08 00 00 00 00 00 00 00", 16},
		{"Fsst, stream cut", 1, 0, "0f 00 00 ff 00 00 00 00 08 00 00 00 00 00 00 00", 16},
		{"Fsst, unknown code", 1, 0, "0f 00 01 01 00 00 00 00 08 00 00 00 00 00 00 00 61 00 00 00 00 00 00 00 01 05 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00", 25},
		{"Fsst, escape at the end", 1, 0, "0f 00 01 01 00 00 00 00 08 00 00 00 00 00 00 00 61 00 00 00 00 00 00 00 01 ff 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00", 25},
		{"Fsst, more than it can be", 1, 0, "0f 00 01 01 00 00 00 00 08 00 00 00 00 00 00 00 61 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 10 00 00 00 00", 32},
		{"Fsst, offsets of another count", 2, 0, "0f 00 00 00 00 00 00 00 08 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", 16},
		{"Lz4, offsets rise above the declared size", 1, 0, "11 00 06 00 00 00 08 00 01 00 00 00 10 61 00 00 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00", 8},
		{"Lz4, offsets end below the declared size", 1, 0, "11 00 07 00 00 00 08 00 02 00 00 00 20 61 62 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00", 8},
		{"Lz4, values past the end", 1, 0, "11 00 ff 00 00 00 08 00 01 00 00 00", 8},
		{"Zstd bomb", 1, 0, "10 00 05 00 00 00 08 00 28 b5 2f fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 10 00 00 00 00", 8},
		{"Zstd, offsets above the cap", 1, 0, "10 00 05 00 00 00 08 00 28 b5 2f fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00", 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst := &Bytes{Data: []byte("kept"), Offsets: []int64{0, 4}}
			wantCorrupt(t, DecodeBytes(dst, unhex(t, c.dump), c.n, c.fixed, nil, new(Scratch)), c.at)
			if string(dst.Data) != "kept" || len(dst.Offsets) != 2 || dst.Offsets[0] != 0 || dst.Offsets[1] != 4 {
				t.Errorf("left behind: %q %v", dst.Data, dst.Offsets)
			}
		})
	}
}

// A code beyond the nineteen is not corrupt but unknown.
func TestUnknownCode(t *testing.T) {
	for _, dump := range []string{"00 00", "14 00", "ff ff"} {
		if err := DecodeNumbers(make([]int8, 1), unhex(t, dump), new(Scratch)); !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("numbers, code %s: %v", dump, err)
		}
		if err := DecodeBytes(new(Bytes), unhex(t, dump), 1, 0, nil, new(Scratch)); !errors.Is(err, corrupt.ErrUnsupported) {
			t.Errorf("bytes, code %s: %v", dump, err)
		}
	}
}

// Encodings that nest without end are refused at a fixed depth, and cost nothing much before.
func TestNestingDepth(t *testing.T) {
	wantCorrupt(t, DecodeNumbers(make([]uint8, 4), nest(10_000), new(Scratch)), 8*maxDepth)
	if _, err := Describe(nest(10_000), Uint8, 4, 0); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("described: %v", err)
	}
	if _, _, err := numberAlone[uint8](nest(10_000), 4, 1, new(Scratch)); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("one value: %v", err)
	}
	got := make([]uint8, 4)
	if err := DecodeNumbers(got, nest(maxDepth-1), new(Scratch)); err != nil || got[3] != maxDepth-1+4 {
		t.Errorf("%d levels: %v, error %v", maxDepth, got, err)
	}
}

// nest is a plain array of 1 2 3 4 below so many frames of reference 1.
func nest(levels int) (sub []byte) {
	for range levels {
		sub = append(sub, byte(FrameOfReference), 0, 1, 0, 0, 0, 0, 0)
	}
	return append(sub, byte(Plain), 0, 1, 2, 3, 4)
}

// Every golden sub-block cut anywhere, and with any byte changed, is an error or some values: no panic.
func TestDamagedVectors(t *testing.T) {
	s := new(Scratch)
	damage := func(sub []byte, decode func([]byte) error) {
		for n := range sub {
			if err := decode(sub[:n]); err != nil && !errors.Is(err, corrupt.ErrCorrupt) && !errors.Is(err, corrupt.ErrUnsupported) {
				t.Fatalf("cut to %d bytes: %v", n, err)
			}
		}
		for at := range min(len(sub), 64) {
			for _, flip := range []byte{1, 0x80, 0xff} {
				sub[at] ^= flip
				_ = decode(sub)
				sub[at] ^= flip
			}
		}
	}
	for _, c := range numberVectors {
		tree, sub := treeOf(t, c.name)
		damage(sub, func(b []byte) error { return decodeElem(tree.Elem, tree.Values, b, s) })
	}
	for _, c := range bytesVectors {
		present := bitmapOf(len(c.want), c.nulls...)
		damage(unhex(t, c.dump), func(b []byte) error { return DecodeBytes(new(Bytes), b, len(c.want), c.fixed, present, s) })
	}
}
