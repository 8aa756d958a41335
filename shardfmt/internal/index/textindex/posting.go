package textindex

import (
	"fmt"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
)

// Kind is the form of a list of positions.
type Kind uint8

// The forms, by their number on the wire.
const (
	// Positions are single records, which hold the term.
	Positions Kind = iota
	// ExactRanges are runs of records, all of which hold the term.
	ExactRanges
	// ApproximateRanges are runs of records of which some hold the term.
	ApproximateRanges
)

// String names the form.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

var kindNames = [...]string{"positions", "exact_ranges", "approximate_ranges"}

// Range is the records from Start to before End.
type Range = ranges.Range

// Posting is the list of one term in one field of one stripe.
type Posting struct {
	Stripe uint16
	Field  uint32
	Kind   Kind
	// Values are positions, or the start and end of each range, as stored.
	Values []uint64
}

// Positions are the records of a list of single positions; ok is false for one of ranges.
func (p *Posting) Positions() (positions []uint64, ok bool) { return p.Values, p.Kind == Positions }

// Ranges are the records of the list, a single position as a range of one.
func (p *Posting) Ranges() []Range {
	if p.Kind == Positions {
		out := make([]Range, len(p.Values))
		for i, v := range p.Values {
			out[i] = Range{Start: v, End: v + 1}
		}
		return out
	}
	out := make([]Range, len(p.Values)/2)
	for i := range out {
		out[i] = Range{Start: p.Values[2*i], End: p.Values[2*i+1]}
	}
	return out
}

// Entry is a term of the index with its postings.
type Entry struct {
	Term     string
	Postings []Posting
}

// The names of orders and tokenizers, which descriptors and command lines use.
type (
	// Collation is the order of terms, and reports which are equal.
	Collation = tokenizer.Collation
	// Tokenizer determines which terms a value has.
	Tokenizer = tokenizer.Tokenizer
)

// The collations and tokenizers.
const (
	CaseInsensitive = tokenizer.CaseInsensitive
	CasePreserving  = tokenizer.CasePreserving

	UnicodeWord = tokenizer.Word
	UnicodeLog  = tokenizer.Log
	IPv4        = tokenizer.IPv4
	Trivial     = tokenizer.Trivial
)

// ParseTokenizer reads the name of a tokenizer; the empty string is UnicodeWord.
func ParseTokenizer(name string) (Tokenizer, error) { return tokenizer.ParseTokenizer(name) }
