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
		if got := d.find(word).id(); got != id {
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

// A million words, of which some thousands differ, are taken in with so many allocations: the dictionary grows, and a chunk holds 65,536 postings.
func TestAllocationsOfAMillionWords(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	values := make([][]byte, 50_000)
	for i := range values {
		for range 20 {
			values[i] = fmt.Appendf(values[i], "%s%d ", []string{"w", "word", "longer-words"}[r.IntN(3)], r.IntN(4_000))
		}
	}
	for _, z := range []Tokenizer{UnicodeWord, UnicodeLog} {
		n := testing.AllocsPerRun(1, func() {
			b := NewBuilder(CaseInsensitive, []Field{{Tokenizer: z}})
			for i, v := range values {
				if err := b.Add(0, uint64(i), v); err != nil {
					t.Fatal(err)
				}
			}
		})
		t.Logf("%v: %.0f allocations", z, n)
		if n > 200 {
			t.Errorf("%v: %.0f allocations for a million words", z, n)
		}
	}
}

// A field that comes back to a record after another one has the terms of both values, each once.
func TestRecordsInTurns(t *testing.T) {
	b := NewBuilder(CaseInsensitive, []Field{{ID: 0}, {ID: 1}})
	for p := range uint64(200) {
		for range 2 {
			for i := range 2 {
				if err := b.Add(i, p, []byte("both words")); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	lists := 0
	err := b.eachList(func(term string, c *column, l *list) error {
		lists++
		if l.kind != ExactRanges || !slices.Equal(l.values, []uint64{0, 200}) {
			t.Errorf("%s in field %d: %v %v", term, c.field, l.kind, l.values)
		}
		return nil
	})
	if err != nil || lists != 4 {
		t.Fatalf("%d lists, %v", lists, err)
	}
}

// When the visits have all been counted, counting starts again, and no term is taken for one of the current record.
func TestVisitsStartAgain(t *testing.T) {
	b := NewBuilder(CaseInsensitive, []Field{{}})
	b.visit = mostVisits - 3
	for p := range uint64(8) {
		if err := b.Add(0, p, []byte("a aa a")); err != nil {
			t.Fatal(err)
		}
	}
	if c := b.columns[0]; c.count != 16 {
		t.Fatalf("%d postings of 16", c.count)
	}
}

// Positions that are added together make the list that they make one by one.
func TestAddAll(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 4000 {
		var positions []uint32
		p, gap := uint32(0), 1+r.IntN(12)
		for range min(r.IntN(600), 60+r.IntN(600)) {
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
