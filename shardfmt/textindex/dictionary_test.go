package textindex

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Terms of all sizes have the numbers that a map would give them, and keep them while the table grows.
func TestDictionary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d, want := newDictionary(), map[string]uint32{}
	var terms []string
	for range 30_000 {
		word := make([]byte, r.IntN(12))
		for i := range word {
			word[i] = "ab\x00\xffé"[r.IntN(6)]
		}
		if r.IntN(4) == 0 {
			word = fmt.Appendf(word, "%d", r.IntN(4_000))
		}
		id, known := want[string(word)]
		if !known {
			id = uint32(len(terms))
			want[string(word)], terms = id, append(terms, string(word))
		}
		if got := d.id(word); got != id {
			t.Fatalf("%q is number %d, want %d", word, got, id)
		}
	}
	if !slices.Equal(d.texts(), terms) || d.count() != len(terms) {
		t.Fatalf("%d terms of %d", d.count(), len(terms))
	}
	for id, want := range terms {
		if got := d.term(uint32(id)); !bytes.Equal(got, []byte(want)) {
			t.Fatalf("term %d is %q, want %q", id, got, want)
		}
	}
}

// Taking in words that are known allocates nothing but what their records and postings take.
func TestKnownTermsAllocateNothing(t *testing.T) {
	b := NewBuilder(CaseInsensitive, []Field{{Tokenizer: UnicodeWord}})
	value := []byte("GET /orders/4711 200 17ms acknowledged by the payments-gateway, 0123456789abcdef")
	position := uint64(0)
	add := func() {
		for range 1000 {
			if err := b.Add(0, position, value); err != nil {
				t.Fatal(err)
			}
			position++
		}
	}
	add()
	// of 1,000 records: 11 postings each make a chunk or less, and the slice of records grows now and then
	if n := testing.AllocsPerRun(20, add); n > 4 {
		t.Errorf("%.0f allocations for 1,000 records of known words", n)
	}
}

// Positions that are added together make the list that they make one by one.
func TestAddAll(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var positions []uint32
		p, gap := uint32(0), 1+r.IntN(12)
		for range r.IntN(600) {
			if r.IntN(40) == 0 {
				gap = 1 + r.IntN(12)
			}
			p += 1 + uint32(r.IntN(gap))
			positions = append(positions, p)
		}
		var one, all list
		for _, p := range positions {
			one.add(uint64(p))
		}
		all.addAll(positions)
		if one.kind != all.kind || !slices.Equal(one.values, all.values) {
			t.Fatalf("%v: %v %v, want %v %v", positions, all.kind, all.values, one.kind, one.values)
		}
	}
}
