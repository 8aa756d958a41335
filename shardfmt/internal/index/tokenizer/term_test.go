package tokenizer

import (
	"bytes"
	"slices"
	"testing"
	"unicode"
)

func terms(t Tokenizer, v string) (out []string) {
	t.Each([]byte(v), func(b []byte) { out = append(out, string(b)) })
	return out
}

// The examples of docs/format/indexes.md.
func TestTokenizers(t *testing.T) {
	long := ""
	for range 50 {
		long += "東"
	}
	for _, c := range []struct {
		tokenizer Tokenizer
		value     string
		want      []string
	}{
		{Word, "Typically 3-4 levels deep,", []string{"Typically", "3", "4", "levels", "deep"}},
		{Word, "x_y", []string{"x", "y"}},
		{Word, "3.14", []string{"3", "14"}},
		{Word, "2024年", []string{"2024年"}},
		{Word, "e\u0301a", []string{"e", "a"}},
		{Word, "你好，世界！", []string{"你好", "世界"}},
		{Word, long, []string{long[:126]}},
		{Word, "a\xffb", []string{"a", "b"}},
		{IPv4, "1.2.3.4.5", []string{"1.2.3.4"}},
		{IPv4, "256.1.1.1.1", []string{"1.1.1.1"}},
		{IPv4, "001.002.003.004", []string{"001.002.003.004"}},
		{IPv4, "start192.168.1.1end", nil},
		{IPv4, "é1.2.3.4", []string{"1.2.3.4"}},
		{IPv4, "1234.1.1.1", nil},
		{Log, "at 1.2.3.4", []string{"1.2.3.4", "at", "1", "2", "3", "4"}},
		{Trivial, " Ab-c ", []string{" Ab-c "}},
		{Trivial, "a\xff", []string{"a\uFFFD"}},
		{Trivial, "", nil},
	} {
		if got := terms(c.tokenizer, c.value); !slices.Equal(got, c.want) {
			t.Errorf("%v of %q: %q, want %q", c.tokenizer, c.value, got, c.want)
		}
	}
	got := terms(Log, "Route: 172.16.0.0/16 via 192.168.1.1 gateway, DNS 8.8.8.8:53 and backup 1.1.1.1:853")
	if len(got) != 29 || !slices.Equal(got[:4], []string{"172.16.0.0", "192.168.1.1", "8.8.8.8", "1.1.1.1"}) {
		t.Errorf("%d terms: %q", len(got), got)
	}
}

func TestAlphanumeric(t *testing.T) {
	yes := []rune{'a', '0', 0xAA, 0xB2, 0xBD, 0x2C6, 0x345, 0x5B0, 0x93F, 0x660, 0xE31, 0x2160, 0x24B6, 0x3042, 0x30FC}
	no := []rune{'_', '-', 0xD7, 0x301, 0x200D, 0x2EA, 0x94D, 0xBCD, 0xE48, 0x1F600}
	for _, r := range yes {
		if !Alphanumeric(r) {
			t.Errorf("%U is alphanumeric", r)
		}
	}
	for _, r := range no {
		if Alphanumeric(r) {
			t.Errorf("%U is not alphanumeric", r)
		}
	}
}

func TestCollations(t *testing.T) {
	for _, c := range []struct {
		collation Collation
		a, b      string
		want      int
	}{
		{CaseInsensitive, "café", "CAFÉ", 0},
		{CaseInsensitive, "ß", "ẞ", 0},
		{CaseInsensitive, "á", "áé", -1},
		{CaseInsensitive, "i", "ı", 0},
		{CaseInsensitive, "k", "\u212A", -1},
		{CaseInsensitive, "\u1F80", "\u1F88", -1},
		{CasePreserving, "abc", "ABC", 1},
		{CasePreserving, "Abd", "abc", 1},
	} {
		if got := c.collation.Compare([]byte(c.a), []byte(c.b)); got < 0 != (c.want < 0) || got > 0 != (c.want > 0) {
			t.Errorf("%v: %q to %q: %d, want %d", c.collation, c.a, c.b, got, c.want)
		}
	}
	if CasePreserving.HasPrefix([]byte("Hello World"), []byte("hello")) || !CaseInsensitive.HasPrefix([]byte("Hello World"), []byte("hello")) {
		t.Error("prefixes of Hello World")
	}
}

// Folding keeps words words: the filter looks at folded text, an index at the text.
func TestFoldKeepsAlphanumeric(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if Alphanumeric(r) != Alphanumeric(Fold(r)) {
			t.Errorf("%U folds to %U", r, Fold(r))
		}
	}
}

// The table of upper-case forms is part of the format: it must not change with the tables of the language.
func TestUpperTable(t *testing.T) {
	mapped := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if upper(r) != r {
			mapped++
		}
	}
	if mapped != 1424 {
		t.Errorf("%d characters have an upper-case form, 1424 have one in the format", mapped)
	}
}

// Characters that differ in case only have regular forms that the case-insensitive order takes for equal.
func TestRegular(t *testing.T) {
	for r := rune(0x20); r <= 0x1FFFF; r++ {
		for s := unicode.SimpleFold(r); s != r; s = unicode.SimpleFold(s) {
			if CaseInsensitive.Compare(Regular([]byte(string(r))), Regular([]byte(string(s)))) != 0 {
				t.Fatalf("%U and %U", r, s)
			}
		}
	}
	if got := string(Regular([]byte("a\u212Ab"))); got != "aKb" {
		t.Errorf("got %q", got)
	}
}

// A character is of words if and only if what it folds to is: borders of words are the same in folded texts.
func TestFoldingKeepsWords(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if Alphanumeric(r) != Alphanumeric(Fold(r)) {
			t.Errorf("%U folds to %U", r, Fold(r))
		}
	}
}

// FoldASCII folds as AppendFolded does, at every length, and refuses every byte that is not ASCII at every place.
func TestFoldASCII(t *testing.T) {
	var all []byte
	for c := range 128 {
		all = append(all, byte(c))
	}
	for n := range len(all) + 1 {
		for _, text := range [][]byte{all[:n], all[len(all)-n:]} {
			got := make([]byte, n)
			if !FoldASCII(got, text) || !bytes.Equal(got, AppendFolded(nil, text)) {
				t.Fatalf("%q became %q", text, got)
			}
		}
		if n > 0 {
			text := bytes.Clone(all[:n])
			text[n-1] |= 0x80
			if FoldASCII(make([]byte, n), text) {
				t.Fatalf("%q is ASCII", text)
			}
		}
	}
}
