package simd

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// What a stream of random symbols and escapes stands for may hold each of its parts, wherever it begins and ends.
func TestMayHoldWhatIsThere(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 3000 {
		table, lengths := randomSymbols(r)
		src, text := randomStream(r, table, lengths)
		from := r.IntN(len(text))
		part := text[from : from+r.IntN(min(len(text)-from, 80)+1)]
		if !table.MayHold(src, NewNeedle(part)) {
			t.Fatalf("%q is not a part of %q, codes %v", part, text, src)
		}
	}
}

// What is longer than symbols and has nothing in common with a text is not in it.
func TestMayHoldNothingElse(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 10))
	needle, skipped := NewNeedle([]byte("ZYXZYXZYXZYXZYXZYXZYX")), 0
	const times = 200
	for range times {
		table, lengths := randomSymbols(r)
		src, _ := randomStream(r, table, lengths)
		if !table.MayHold(src, needle) {
			skipped++
		}
	}
	if skipped < times*9/10 {
		t.Errorf("%d of %d texts were found not to hold what they have no byte of", skipped, times)
	}
}

// randomSymbols is a table of symbols of few letters, and their lengths.
func randomSymbols(r *rand.Rand) (*FsstTable, []byte) {
	n, most := 1+r.IntN(255), 1+r.IntN(8)
	symbols, lengths := []byte{}, make([]byte, n)
	for i := range lengths {
		symbol := uint64(0)
		for k := range 8 {
			symbol |= uint64('a'+r.IntN(3)) << (8 * k)
		}
		symbols = binary.LittleEndian.AppendUint64(symbols, symbol)
		lengths[i] = byte(1 + r.IntN(most))
	}
	table := new(FsstTable)
	table.Set(symbols, lengths)
	return table, lengths
}

// randomStream is codes of a table, with what they stand for.
func randomStream(r *rand.Rand, table *FsstTable, lengths []byte) (src, text []byte) {
	escapes := r.IntN(3)
	for range 1 + r.IntN(300) {
		if r.IntN(10) < escapes {
			b := byte(r.IntN(256))
			src, text = append(src, fsstEscape, b), append(text, b)
			continue
		}
		c := r.IntN(len(lengths))
		symbol := binary.LittleEndian.AppendUint64(nil, table.symbols[c])
		src, text = append(src, byte(c)), append(text, symbol[:lengths[c]]...)
	}
	return src, text
}
