package encode

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Two halves side by side are what the halves are by themselves, whatever their lengths, with literals anywhere, and come to hardly more than
// the text in one.
func TestFsstHalves(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	var table symbolTable
	var tr trainer
	for range 200 {
		var text []byte
		for size := leastHalves - 20 + r.IntN(2*leastHalves); len(text) < size; {
			text = append(text, "GET /api/"+strconv.Itoa(r.IntN(1_000_000))+" HTTP"...)
			if r.IntN(50) == 0 {
				text = append(text, byte(r.Uint32()), byte(r.Uint32()))
			}
		}
		tr.train(&table, text[:1+r.IntN(len(text))], 0) // of which the rest may have literals
		whole := make([]byte, 2*len(text))
		whole = whole[:table.compressOne(whole, text)]
		made := table.compress([]byte("ahead"), text)
		if !bytes.HasPrefix(made, []byte("ahead")) {
			t.Fatal("what was there is overwritten")
		}
		made = made[len("ahead"):]
		if len(made) > len(whole)+32 {
			t.Fatalf("%d bytes are %d in halves, %d in one", len(text), len(made), len(whole))
		}
		if plain := table.expand(made); !bytes.Equal(plain, text) {
			t.Fatalf("%d bytes come back as %d", len(text), len(plain))
		}
		if half := len(text) / 2; len(text) >= leastHalves {
			first := make([]byte, 2*len(text))
			n := table.compressOne(first, text[:half])
			n += table.compressOne(first[n:], text[half:])
			if !bytes.Equal(made, first[:n]) {
				t.Fatal("side by side is not one after the other")
			}
		}
	}
}

// expand gives the text of codes.
func (t *symbolTable) expand(codes []byte) (text []byte) {
	for i := 0; i < len(codes); i++ {
		if codes[i] == escape {
			i++
			text = append(text, codes[i])
			continue
		}
		s := t.list[codes[i]]
		for j := range s.length {
			text = append(text, byte(s.bytes>>(8*j)))
		}
	}
	return text
}
