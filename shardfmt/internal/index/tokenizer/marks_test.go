package tokenizer

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// byMarks are the words of a text by AppendMarks.
func byMarks(t *testing.T, text []byte) (words []string) {
	marks, ok := AppendMarks(nil, text)
	if !ok || len(marks)%2 != 0 {
		t.Fatalf("%q: %d marks, %v", text, len(marks), ok)
	}
	for k := 0; k < len(marks); k += 2 {
		words = append(words, string(Cut(text[marks[k]:marks[k+1]])))
	}
	return words
}

// Marks are the words that the tokenizer gives, whatever the length of text and words, and for every byte at every place of eight.
func TestMarks(t *testing.T) {
	for c := range 256 {
		for n := range 20 {
			for at := range n {
				text := bytes.Repeat([]byte{'a', '.'}, 10)[:n]
				text[at] = byte(c)
				if c >= 0x80 {
					if _, ok := AppendMarks(nil, text); ok {
						t.Fatalf("%q is ASCII", text)
					}
				} else if got, want := byMarks(t, text), terms(Word, string(text)); !slices.Equal(got, want) {
					t.Fatalf("%q: %q, want %q", text, got, want)
				}
			}
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		text := make([]byte, r.IntN(400))
		rarely := 1 + r.IntN(150)
		for i := range text {
			text[i] = "az09AZ"[r.IntN(6)]
			if r.IntN(rarely) == 0 {
				text[i] = "/:@[`{ \x00\x7f"[r.IntN(9)]
			}
		}
		if got, want := byMarks(t, text), terms(Word, string(text)); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	}
}

// The addresses that words make are those that the tokenizer finds.
func TestAddressesByMarks(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	found := 0
	for range 50_000 {
		var text []byte
		for range r.IntN(12) {
			text = append(text, []string{"1", "25", "255", "256", "001", "0001", "a", "1a"}[min(r.IntN(8), r.IntN(8))]...)
			text = append(text, []string{".", "..", " ", ":", ".-"}[min(r.IntN(5), r.IntN(5), r.IntN(5))]...)
		}
		if r.IntN(2) == 0 && len(text) > 0 {
			text = text[:len(text)-1]
		}
		marks, _ := AppendMarks(nil, text)
		var got []string
		for k := 0; k < len(marks); k += 2 {
			if IsAddress(text, marks[k:]) {
				got = append(got, string(text[marks[k]:marks[k+7]]))
				k += 6
			}
		}
		found += len(got)
		if want := terms(IPv4, string(text)); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	}
	if found < 1000 {
		t.Fatalf("%d addresses", found)
	}
}
