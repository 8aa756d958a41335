package simd

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Every tier decodes what the plain loop does, refuses what it refuses, and touches nothing outside: whole streams, those that were
// cut or have an unknown code somewhere, and space for more or less than they stand for.
func TestFsstOfAllTiers(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	refused := 0
	for range 20_000 {
		table, lengths := randomSymbols(r)
		src, text := randomStream(r, table, lengths)
		for r.IntN(2) == 0 {
			more, behind := randomStream(r, table, lengths)
			src, text = append(src, more...), append(text, behind...)
		}
		room := len(text)
		switch r.IntN(6) {
		case 0:
			src = src[:r.IntN(len(src))]
		case 1:
			src[r.IntN(len(src))] = byte(r.IntN(256))
		case 2:
			room = max(0, room+r.IntN(40)-20)
		}
		want := make([]byte, room)
		ok := table.decode(want, src, portable)
		if !ok {
			refused++
		}
		for _, by := range available() {
			all := bytes.Repeat([]byte{0xEE}, room+64)
			got := all[32:][:room:room]
			if table.decode(got, src, by) != ok || ok && !bytes.Equal(got, want) {
				t.Fatalf("%s: %d codes of %d symbols: not what the plain loop gives", by.name, len(src), len(lengths))
			}
			if bytes.Count(all[:32], []byte{0xEE}) != 32 || bytes.Count(all[32+room:], []byte{0xEE}) != 32 {
				t.Fatalf("%s: bytes outside were written", by.name)
			}
		}
	}
	if refused < 1000 || refused > 19_000 {
		t.Errorf("%d of 20000 streams were refused", refused)
	}
}

// The tier in use decodes most of a stream with few escapes without the plain loop.
func TestFsstRunsFar(t *testing.T) {
	if active.fsst == nil {
		t.Skip("the plain loop alone")
	}
	r := rand.New(rand.NewPCG(33, 34))
	table := new(FsstTable)
	symbols, lengths := bytes.Repeat([]byte("abcdefgh"), 255), bytes.Repeat([]byte{5}, 255)
	table.Set(symbols, lengths)
	src := make([]byte, 1000)
	for i := range src {
		src[i] = byte(r.IntN(255))
	}
	src[500] = fsstEscape
	written, read := active.fsst(table, make([]byte, 6000), src)
	if read != 500/fsstStep*fsstStep || written != 5*read {
		t.Errorf("%d codes became %d bytes, before an escape at 500", read, written)
	}
}
