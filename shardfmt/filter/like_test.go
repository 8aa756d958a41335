package filter

import (
	"math/rand/v2"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Patterns match by bytes what they match rune by rune, also in what is no UTF-8.
func TestLikeByBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	pieces := []string{"a", "b", "ab", "é", "e\u0301", "日", "%", "_", "\xc3", "\xa9", "\xe6\x97", "\ufffd", "", "\xff"}
	join := func(n int) (s string) {
		for range r.IntN(n) {
			s += pieces[r.IntN(len(pieces))]
		}
		return s
	}
	matched := 0
	for range 50_000 {
		pattern := join(5)
		built, err := newLikeTest(&schema.Node{Basic: schema.String}, pattern)
		if err != nil {
			t.Fatal(err)
		}
		byBytes := built.(*likeTest)
		byRunes := &likeTest{segments: append([]segment{}, byBytes.segments...)}
		for i := range byRunes.segments {
			byRunes.segments[i].text = nil
		}
		v := &Value{Bytes: []byte(join(9))}
		want := byRunes.holds(v)
		if got := byBytes.holds(v); got != want {
			t.Fatalf("%q LIKE %q: %v by bytes, %v by runes", v.Bytes, pattern, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d matched", matched)
	}
}

// likes is LIKE as documented: % stands for any text, _ for one character, and \ takes the meaning from the one behind it.
func likes(pattern, text []rune) bool {
	switch {
	case len(pattern) == 0:
		return len(text) == 0
	case pattern[0] == '%':
		return likes(pattern[1:], text) || len(text) > 0 && likes(pattern, text[1:])
	case len(text) == 0:
		return false
	case pattern[0] == '\\' && len(pattern) > 1:
		return pattern[1] == text[0] && likes(pattern[2:], text[1:])
	}
	return (pattern[0] == '_' || pattern[0] == text[0]) && likes(pattern[1:], text[1:])
}

// TestLikeAsDocumented compares patterns with likes.
func TestLikeAsDocumented(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	join := func(pieces []string, n int) (s string) {
		for range r.IntN(n) {
			s += pieces[r.IntN(len(pieces))]
		}
		return s
	}
	matched := 0
	for range 20_000 {
		pattern, text := join([]string{"a", "b", "é", "%", "_", `\`, `\%`, `\_`, `\\`}, 7), join([]string{"a", "b", "é", "%", "_", `\`}, 7)
		built, err := newLikeTest(&schema.Node{Basic: schema.String}, pattern)
		if err != nil {
			t.Fatal(err)
		}
		want := likes([]rune(pattern), []rune(text))
		if got := built.holds(&Value{Bytes: []byte(text)}); got != want {
			t.Fatalf("%q LIKE %q: %v, want %v", text, pattern, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("only %d matched", matched)
	}
}
