package filter

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// foldedWhole is what textTest.holds is to be: the whole text folded, whatever is in it.
func foldedWhole(t *textTest, text []byte) bool {
	folded := tokenizer.AppendFolded(nil, text)
	return t.find(folded, 0, folded)
}

// Term operators find in texts that are folded a piece at a time, and left early, what they find in texts that are folded whole: words at the
// borders of pieces, characters that fold to ASCII, and what is no UTF-8.
func TestTermsByPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"k", "K", "\u212a", "s", "ſ", "ok", " ", "-", "é", "日", "\xff", "\xc3", "a", "Z", strings.Repeat("x ", 60), strings.Repeat("q", foldedBytes-3)}
	ascii := []string{"k", "K", "s", "ok", " ", "-", "a", "Z", strings.Repeat("x ", 60), strings.Repeat("q", foldedBytes-3)}
	join := func(of []string, n int) (s string) {
		for range 1 + r.IntN(n) {
			s += of[r.IntN(len(of))]
		}
		return s
	}
	var matched [3]int
	byPieces := 0
	for i := range 100_000 {
		of := pieces
		if i%2 == 0 {
			of = ascii
		}
		e := textExpr{Kind: textKind(r.IntN(3)), Term: join(of[:len(of)-2], 3)}
		if i%50 == 0 {
			e.Term = join(of, 3)
		}
		built, err := newTextTest(&schema.Node{Basic: schema.String}, e)
		if err != nil {
			t.Fatal(err)
		}
		test, v := built.(*textTest), &Value{Bytes: []byte(join(of, 12))}
		want := foldedWhole(test, v.Bytes)
		if got := test.holds(v); got != want {
			t.Fatalf("%q %v %q: %v, %v if folded whole", v.Bytes, e.Kind, e.Term, got, want)
		}
		if want {
			matched[e.Kind]++
		}
		if _, done := test.holdsASCII(v.Bytes); done && want && len(v.Bytes) > foldedBytes {
			byPieces++
		}
	}
	for kind, n := range matched {
		if n < 1000 || byPieces < 1000 {
			t.Errorf("only %d matched %v, %d of several pieces", n, textKind(kind), byPieces)
		}
	}
}

// No text of ASCII takes memory to be looked at, however long it is.
func TestTermsInASCIITakeNoMemory(t *testing.T) {
	test, err := newTextTest(&schema.Node{Basic: schema.String}, textExpr{Kind: hasTerm, Term: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	v := &Value{Bytes: []byte(strings.Repeat("a line of a Log, ", 100) + "Needle")}
	if !test.holds(v) {
		t.Error("the last word is not found")
	}
	if n := testing.AllocsPerRun(10, func() { test.holds(v) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHas(b *testing.B) {
	test, err := newTextTest(&schema.Node{Basic: schema.String}, textExpr{Kind: hasTerm, Term: "zirconium"})
	if err != nil {
		b.Fatal(err)
	}
	v := &Value{Bytes: []byte("GET /sessions/42010 204 378ms ritenivi fela pitu fefabopo gusulevo dubereli corundum of the second order")}
	for name, holds := range map[string]func() bool{
		"pieces": func() bool { return test.holds(v) },
		"whole":  func() bool { return foldedWhole(test.(*textTest), v.Bytes) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(v.Bytes)))
			for b.Loop() {
				holds()
			}
		})
	}
}

// TestTermsAreWords compares the term operators with words of a text.
func TestTermsAreWords(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	join := func(pieces []string, n int) (s string) {
		for range 1 + r.IntN(n) {
			s += pieces[r.IntN(len(pieces))]
		}
		return s
	}
	var found [2]int
	for range 20_000 {
		text, want := join([]string{"a", "b", "9", " ", "-", "é", "."}, 8), join([]string{"a", "b", "9", "é"}, 3)
		has, prefix := false, false
		for _, word := range strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) }) {
			has, prefix = has || word == want, prefix || strings.HasPrefix(word, want)
		}
		for i, is := range []bool{has, prefix} {
			kind := []textKind{hasTerm, hasPrefix}[i]
			built, err := newTextTest(&schema.Node{Basic: schema.String}, textExpr{Kind: kind, Term: want})
			if err != nil {
				t.Fatal(err)
			}
			if got := built.holds(&Value{Bytes: []byte(text)}); got != is {
				t.Fatalf("%q %v %q: %v, want %v", text, kind, want, got, is)
			}
			if is {
				found[i]++
			}
		}
	}
	if found[0] < 1000 || found[1] < 1000 {
		t.Errorf("only %v found", found)
	}
}
