package manifest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

const termsRoot = "file:///vault/t/a.amudai.shard"

func someTerms() []TermFilter {
	m := index.Matrix{ID: 1 << 63, Rows: 64, Columns: 5}
	return []TermFilter{
		{Object: "data/x.amudai.filter", Matrix: m, Column: 1, Stripe: 0, Count: 2, Fields: []TermField{{ID: 3, Type: "String", Tokenizer: "unicode-log"}}},
		{Object: "data/y.amudai.filter", Start: 4096, Matrix: m, Column: 4, Stripe: 2, Count: 1, Hash: true, Fields: []TermField{{ID: 1, Type: "Int32", Prefix: "n:"}, {ID: 2, Type: "String", Prefix: "s.t:"}}},
	}
}

// What an entry carries of its filters is read back as it was, for the same root only, and not if a byte is cut off, added or flipped into
// something that can't be.
func TestTermsOfAnEntry(t *testing.T) {
	all := someTerms()
	text := encodeTerms(termsRoot, all)
	if got := decodeTerms(termsRoot, text); !reflect.DeepEqual(got, all) {
		t.Errorf("%+v", got)
	}
	if got := decodeTerms(strings.Replace(termsRoot, "/vault/", "/elsewhere/", 1), text); !reflect.DeepEqual(got, all) {
		t.Errorf("a vault that moved: %+v", got)
	}
	for i := range text {
		if decodeTerms(termsRoot, text[:i]) != nil {
			t.Errorf("%d bytes of %d were taken", i, len(text))
		}
	}
	if decodeTerms("file:///vault/t/b.amudai.shard", text) != nil || decodeTerms(termsRoot, text+"x") != nil || decodeTerms(termsRoot, "") != nil || encodeTerms(termsRoot, nil) != "" {
		t.Error("what is another's, or too long, was taken")
	}
	bad := someTerms()
	bad[1].Column = 5
	if decodeTerms(termsRoot, encodeTerms(termsRoot, bad)) != nil {
		t.Error("a column that the matrix lacks was taken")
	}
	apart := someTerms()[:1]
	next := apart[0]
	next.Column, next.Stripe, next.Count = 3, 2, 1
	if got := joinRuns(append(apart, next)); len(got) != 1 || got[0].Count != 3 {
		t.Errorf("one behind the other: %+v", got)
	}
}

// TestInheritTerms: a merged shard's entry leads to the filters that its inputs' entries lead to, stripe by stripe, and for the rest to those that
// its root names; inputs whose stripes are not as many as its own change nothing.
func TestInheritTerms(t *testing.T) {
	const folder = "file:///vault/t/"
	fields, others := []TermField{{ID: 3, Type: "String", Tokenizer: "unicode-log"}}, []TermField{{ID: 4, Type: "String", Tokenizer: "unicode-log"}}
	own := index.Matrix{ID: 7, Rows: 64, Columns: 2}
	joined := index.Matrix{ID: 8, Rows: 64, Columns: 9}
	entry := func(name string, stripes int64, terms ...TermFilter) *Entry {
		return &Entry{Path: folder + name, Terms: encodeTerms(folder+name, terms), Private: Private{Stripes: stripes}}
	}
	run := func(object string, m index.Matrix, column, stripe, count int, fields []TermField) TermFilter {
		return TermFilter{Object: object, Matrix: m, Column: column, Stripe: stripe, Count: count, Fields: fields}
	}
	a := entry("a.amudai.shard", 2, run("data/j.filter", joined, 4, 0, 2, fields))
	b := entry("b.amudai.shard", 1) // its filter is too long for an entry, or is of another column
	c := entry("c.amudai.shard", 2, run("data/j.filter", joined, 1, 0, 2, fields), run("data/j.filter", joined, 0, 5, 1, fields))
	roots := []TermFilter{run("data/a.filter", own, 0, 0, 2, fields), run("data/b.filter", own, 0, 2, 1, fields), run("data/c.filter", own, 0, 3, 2, fields), run("data/c.filter", own, 0, 4, 1, others)}
	e := entry("e.amudai.shard", 5, roots...)
	e.InheritTerms([]*Entry{a, b, c}, urlresolve.Policy{})
	want := []TermFilter{run("data/j.filter", joined, 4, 0, 2, fields), roots[1], run("data/j.filter", joined, 1, 3, 2, fields), roots[3]}
	if got := decodeTerms(e.Path, e.Terms); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, inputs := range [][]*Entry{{a, b}, {a, b, c, b}, nil} {
		e := entry("e.amudai.shard", 5, roots...)
		if e.InheritTerms(inputs, urlresolve.Policy{}); !reflect.DeepEqual(decodeTerms(e.Path, e.Terms), roots) {
			t.Errorf("%d inputs of other stripes: %+v", len(inputs), decodeTerms(e.Path, e.Terms))
		}
	}
}

// FuzzDecodeTerms: bytes of an entry are filters within their matrices, or nothing; what they say of stripes that the shard lacks is left out.
func FuzzDecodeTerms(f *testing.F) {
	f.Add(encodeTerms(termsRoot, someTerms()))
	f.Add("\x01")
	s, err := schema.Parse("n: Int32, t: String")
	if err != nil {
		f.Fatal(err)
	}
	s.Number()
	ts := &TableSchema{Shard: s, IDs: []int{1, 3}, nodes: map[int]*schema.Node{}}
	ts.index(s.Fields)
	f.Fuzz(func(t *testing.T, text string) {
		for _, x := range decodeTerms(termsRoot, text) {
			if !x.Valid() || x.Column < 0 || x.Count < 1 || x.Column+x.Count > x.Columns {
				t.Fatalf("%+v", x)
			}
		}
		for _, stripe := range ts.TermFilters(&Entry{Path: termsRoot, Terms: text, Private: Private{Stripes: 2}}, urlresolve.Policy{}) {
			for _, x := range stripe {
				if x.Column >= x.Columns || len(x.Fields) == 0 {
					t.Fatalf("%+v", x)
				}
			}
		}
	})
}
