package encode

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// orderKeys are keys of orders, each as often as the order has lines, one to seven; of 32 keys the first eight are taken.
func orderKeys(n int) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]int64, 0, n+6)
	for order := 0; len(out) < n; order++ {
		key := int64(order/8*32 + order%8 + 1)
		for range 1 + r.IntN(7) {
			out = append(out, key)
		}
	}
	return out[:n]
}

// The lengths of runs of keys take three bits for each of them, and the steps from key to key one. Cut down to fewer bytes first, keys would have no
// encoding left for their steps, and twice the size; Parquet's DELTA_BINARY_PACKED with zstd has 1.7 bits a value.
func TestRunsOfKeysWithFewSteps(t *testing.T) {
	vals := orderKeys(FlushValues)
	for _, p := range []Profile{Balanced, HighCompression} {
		bits := 0
		e := NewEncoder(Options{Profile: p})
		if _, err := CutNumbers(e, vals, nil, true, func(b Block) error { bits += 8 * len(b.Sub); return nil }); err != nil {
			t.Fatal(err)
		}
		if bits > FlushValues*3/2 {
			t.Errorf("%v: %.2f bits a value", p, float64(bits)/FlushValues)
		}
	}
}

// Blocks of texts end where chunks of packed lengths are full, or at least half full.
func TestTextsFillChunks(t *testing.T) {
	for _, c := range []struct{ length, values int }{
		{26, 4096}, {40, 2867}, {50, 2048}, {80, 1024}, {100, 1024}, {200, 573},
	} {
		const n = 10_000
		data, offsets := bytes.Repeat([]byte("x"), n*c.length), make([]int64, n+1)
		for i := range offsets {
			offsets[i] = int64(i * c.length)
		}
		first := 0
		e := NewEncoder(Options{})
		if _, err := e.CutBytes(Bytes{Data: data, Offsets: offsets}, false, func(b Block) error {
			if first == 0 {
				first = b.Values
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if first != c.values {
			t.Errorf("texts of %d bytes: %d in a block, want %d", c.length, first, c.values)
		}
	}
}

// bitsEach is the bits a value that blocks of numbers take.
func bitsEach(t *testing.T, p Profile, vals []uint32, codes bool) float64 {
	t.Helper()
	size := 0
	e := NewEncoder(Options{Profile: p, NoPresence: codes})
	if _, err := CutNumbers(e, vals, nil, true, func(b Block) error { size += len(b.Sub); return nil }); err != nil {
		t.Fatal(err)
	}
	return 8 * float64(size) / float64(len(vals))
}

// Of orders, half are long past and their lines returned or not, one as often as the other; the lines of the others are neither. Parquet packs two bits
// each and gives them to zstd: 1.4 bits a line. Positions of what isn't the most frequent code, and values, take less.
func TestFlagsOfOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var flags []uint32
	for len(flags) < FlushValues {
		past := r.IntN(2) == 0
		for range 1 + r.IntN(7) {
			flag := uint32(0)
			if past {
				flag = 1 + r.Uint32N(2)
			}
			flags = append(flags, flag)
		}
	}
	if each := bitsEach(t, HighCompression, flags[:FlushValues], true); each > 1.33 {
		t.Errorf("%.3f bits a flag", each)
	}
}

// Numbers of lines, 1 to up to 7 and again from 1 on, are one byte each, and repeat from further off than Zstd's default level looks. Parquet's
// BYTE_STREAM_SPLIT with zstd of level 3 has 1.46 bits a number.
func TestNumbersOfLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var lines []uint32
	for len(lines) < FlushValues {
		for i := range 1 + r.Uint32N(7) {
			lines = append(lines, i+1)
		}
	}
	vals := make([]int32, FlushValues)
	for i := range vals {
		vals[i] = int32(lines[i])
	}
	size := 0
	if _, err := CutNumbers(NewEncoder(Options{Profile: HighCompression}), vals, nil, true, func(b Block) error { size += len(b.Sub); return nil }); err != nil {
		t.Fatal(err)
	}
	if each := 8 * float64(size) / FlushValues; each > 1.4 {
		t.Errorf("%.3f bits a number", each)
	}
}
