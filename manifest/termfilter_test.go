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
	text := EncodeTerms(termsRoot, all)
	if got := DecodeTerms(termsRoot, text); !reflect.DeepEqual(got, all) {
		t.Errorf("%+v", got)
	}
	if got := DecodeTerms(strings.Replace(termsRoot, "/vault/", "/elsewhere/", 1), text); !reflect.DeepEqual(got, all) {
		t.Errorf("a vault that moved: %+v", got)
	}
	for i := range text {
		if DecodeTerms(termsRoot, text[:i]) != nil {
			t.Errorf("%d bytes of %d were taken", i, len(text))
		}
	}
	if DecodeTerms("file:///vault/t/b.amudai.shard", text) != nil || DecodeTerms(termsRoot, text+"x") != nil || DecodeTerms(termsRoot, "") != nil || EncodeTerms(termsRoot, nil) != "" {
		t.Error("what is another's, or too long, was taken")
	}
	bad := someTerms()
	bad[1].Column = 5
	if DecodeTerms(termsRoot, EncodeTerms(termsRoot, bad)) != nil {
		t.Error("a column that the matrix lacks was taken")
	}
	apart := someTerms()[:1]
	next := apart[0]
	next.Column, next.Stripe, next.Count = 3, 2, 1
	if got := TogetherTerms(append(apart, next)); len(got) != 1 || got[0].Count != 3 {
		t.Errorf("one behind the other: %+v", got)
	}
}

// FuzzDecodeTerms: bytes of an entry are filters within their matrices, or nothing; what they say of stripes that the shard lacks is left out.
func FuzzDecodeTerms(f *testing.F) {
	f.Add(EncodeTerms(termsRoot, someTerms()))
	f.Add("\x01")
	s, err := schema.Parse("n: Int32, t: String")
	if err != nil {
		f.Fatal(err)
	}
	s.Number()
	ts := &TableSchema{Shard: s, IDs: []int{1, 3}, nodes: map[int]*schema.Node{}}
	ts.index(s.Fields)
	f.Fuzz(func(t *testing.T, text string) {
		for _, x := range DecodeTerms(termsRoot, text) {
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
