package encode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
)

// textsOf are n texts of a kind, with their offsets.
func textsOf(r *rand.Rand, n, kind int) byteValues {
	s := byteValues{offsets: []uint64{0}, n: n}
	for i := range n {
		switch kind {
		case 0:
			s.data = fmt.Appendf(s.data, "item %d", r.IntN(100000))
		case 1: // half of them empty, as nulls are
			if r.IntN(2) == 0 {
				s.data = fmt.Appendf(s.data, "item %d", r.IntN(100000))
			}
		case 2: // a common end, too
			s.data = fmt.Appendf(s.data, "/var/log/%d.gz", r.IntN(1000))
		case 3: // equal ones
			s.data = fmt.Appendf(s.data, "host-%d", i/7)
		case 4: // nothing in common
			for range r.IntN(9) {
				s.data = append(s.data, byte(r.Uint32()))
			}
		case 5: // single letters, and none at all for long
			if i%5000 < 100 {
				s.data = append(s.data, 'a')
			}
		case 6: // long ones, over the borders of blocks
			s.data = append(s.data, strings.Repeat("x", r.IntN(2000))...)
		}
		s.offsets = append(s.offsets, uint64(len(s.data)))
	}
	return s
}

// Frames of texts come back from a decoder of Zstd, whatever the texts and however much is copied of them.
func TestTextFrames(t *testing.T) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	e := NewEncoder(Options{Profile: HighCompression})
	r := rand.New(rand.NewPCG(1, 2))
	for kind := range 7 {
		for _, n := range []int{1, 2, 3, 1024, 30000} {
			s := textsOf(r, n, kind)
			for _, most := range []copied{{1 << 20, 1 << 20}, {0, 5}, {3, 0}, {1, 2}, {0, 0}} {
				e.borrow()
				made := e.textFrame(&s, most)
				got, err := dec.DecodeAll(made, nil)
				if err != nil || !bytes.Equal(got, s.data) {
					t.Fatalf("kind %d, %d texts, %+v: %v", kind, n, most, err)
				}
			}
		}
	}
	long := byteValues{data: make([]byte, zstdBlock+1), offsets: []uint64{0, zstdBlock + 1}, n: 1}
	if e.borrow(); e.textFrame(&long, copied{}) != nil {
		t.Error("a frame of a text that is longer than a block of it")
	}
}

// Texts that differ in a few digits take little more than these; the planner finds that out, and goes on with the library's Zstd where it does better.
func TestTextsWithNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ kind, most int }{{0, 20}, {1, 11}, {2, 12}} { // bits a text
		s := textsOf(r, 20000, c.kind)
		offsets := make([]int64, len(s.offsets))
		for i, o := range s.offsets {
			offsets[i] = int64(o)
		}
		e := NewEncoder(Options{Profile: HighCompression})
		sub, err := e.AppendBytes(nil, Bytes{Data: s.data, Offsets: offsets})
		if err != nil {
			t.Fatal(err)
		}
		if bits := 8 * len(sub) / s.n; bits > c.most || e.Chosen() == "" {
			t.Errorf("kind %d: %d bits a text in %s, not %d", c.kind, bits, e.Chosen(), c.most)
		}
		var got block.Bytes
		if err := block.DecodeBytes(&got, sub, s.n, 0, nil, new(block.Scratch)); err != nil || !bytes.Equal(got.Data, s.data) {
			t.Errorf("kind %d: %v", c.kind, err)
		}
	}
}
