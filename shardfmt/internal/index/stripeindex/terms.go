package stripeindex

import (
	"unicode"
	"unicode/utf8"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
)

// asked is a term that a row must hold.
type asked struct {
	text string
	// prefix: any term that starts with it will do. exact: only this spelling can match.
	prefix, exact bool
}

// planTerms returns the lookups in a text index for a question: for each alternative the terms that all must be there. It
// is nil where terms can't tell: rows that match might lack them.
func planTerms(z tokenizer.Tokenizer, q filter.Question) (any [][]asked) {
	if q.Kind == filter.Within {
		return nil
	}
	if q.Kind != filter.Equal {
		if all := termsOfText(z, q); all != nil {
			return [][]asked{all}
		}
		return nil
	}
	for _, v := range q.Values {
		all := termsOfValue(z, v.Bytes)
		if all == nil {
			return nil
		}
		any = append(any, all)
	}
	return any
}

// termsOfValue are the terms of a value that equals v: the same.
func termsOfValue(z tokenizer.Tokenizer, v []byte) (all []asked) {
	z.Each(v, func(t []byte) { all = append(all, asked{text: string(t), exact: true}) })
	return all
}

// termsOfText are the words that a value has in which a text occurs between borders of words: all its words, of which
// the last may go on for HASPREFIX.
func termsOfText(z tokenizer.Tokenizer, q filter.Question) (all []asked) {
	if z != tokenizer.Word && z != tokenizer.Log || !utf8.Valid(q.Text) {
		return nil
	}
	last, _ := utf8.DecodeLastRune(q.Text)
	for _, w := range wordsOf(q.Text) {
		all = append(all, askFor(w))
	}
	if n := len(all); n > 0 && q.Kind == filter.HasTermPrefix && tokenizer.Alphanumeric(last) {
		all[n-1].prefix = true
	}
	return all
}

// wordsOf are the words of a text, however long.
func wordsOf(text []byte) (words [][]byte) {
	start := -1
	for i := 0; i <= len(text); {
		r, n := utf8.DecodeRune(text[i:])
		in := i < len(text) && tokenizer.Alphanumeric(r)
		if in && start < 0 {
			start = i
		}
		if !in && start >= 0 {
			words, start = append(words, text[start:i]), -1
		}
		i += max(n, 1)
	}
	return words
}

// askFor requests a word in any spelling. The index cuts long terms, each spelling at its own place, so of a word that
// may be long in some spelling only a start that is short in all is looked up.
func askFor(word []byte) asked {
	most := 0
	for i, r := range string(word) {
		if most += longest(r); most > tokenizer.MaxBytes {
			return asked{text: string(tokenizer.Regular(word[:i])), prefix: true}
		}
	}
	return asked{text: string(tokenizer.Regular(word))}
}

// longest is how many bytes a character has in its longest spelling.
func longest(r rune) int {
	n := utf8.RuneLen(r)
	for s := unicode.SimpleFold(r); s != r; s = unicode.SimpleFold(s) {
		n = max(n, utf8.RuneLen(s))
	}
	return n
}
