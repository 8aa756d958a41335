package shardfmt

import (
	"context"

	"github.com/shardcat/shardcat/internal/scan"
	"github.com/shardcat/shardcat/internal/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// IndexSpec asks for an index of every stripe.
type IndexSpec = stripeindex.Spec

// The kinds of indexes.
const (
	TextIndex = stripeindex.Text
	HashIndex = stripeindex.Hash
)

// ParseIndexSpec reads text:COL[:TOKENIZER] or hash:COL; several columns that share an index are separated by commas.
// Tokenizers are unicode-word, which is the default, unicode-log, ipv4 and trivial.
func ParseIndexSpec(text string) (IndexSpec, error) { return stripeindex.ParseSpec(text) }

// ParseIndexSpecs reads specs separated by spaces, FormatIndexSpecs writes them.
func ParseIndexSpecs(text string) ([]IndexSpec, error) { return stripeindex.ParseSpecs(text) }

// FormatIndexSpecs is the text that ParseIndexSpecs reads.
func FormatIndexSpecs(specs []IndexSpec) string { return stripeindex.FormatSpecs(specs) }

// CheckIndexes says what is wrong with specs for shards of a schema, which is numbered: a column that is not there, or of a type that such
// an index is not for, or two of one name.
func CheckIndexes(specs []IndexSpec, s *schema.Schema) error {
	_, err := stripeindex.NewBuilders(specs, s)
	return err
}

// candidates gives the question that a scan asks of the indexes of stripes, nil if the filter has none.
func (s *Shard) candidates(f *filter.Bound) func(ctx context.Context, st meta.Store, stripe int) (scan.Candidates, error) {
	if f == nil || !f.Asks() {
		return nil
	}
	return func(ctx context.Context, st meta.Store, stripe int) (c scan.Candidates, err error) {
		r, err := stripeindex.NewReader(ctx, st, s.root, stripe, urlresolve.Policy{Allow: s.allow})
		if err != nil {
			return c, err
		}
		c.Rows, c.Known, err = f.Candidates(func(q filter.Question) ([]filter.Range, bool, error) { return r.Rows(ctx, q) })
		c.Unindexed = r.Unindexed > 0
		return c, err
	}
}
