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
