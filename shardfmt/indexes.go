package shardfmt

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/internal/scan"
	"github.com/shardcat/shardcat/internal/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// IndexSpec asks for an index of every stripe.
type IndexSpec = stripeindex.Spec

// The kinds of indexes.
const (
	TextIndex  = stripeindex.Text
	HashIndex  = stripeindex.Hash
	LayerIndex = stripeindex.Layer
)

// ParseIndexSpec reads text:COL[:TOKENIZER], hash:COL or layer:COL; several columns that share a text or hash index are separated by
// commas, and columns that are one field of a text index by +.
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

// sift gives the question that a scan asks of the term filters of stripes.
func (s *Shard) sift(f *filter.Bound) func(ctx context.Context, st meta.Store, stripes []int) ([]int, error) {
	return func(ctx context.Context, st meta.Store, stripes []int) ([]int, error) {
		if err := s.root.LoadIndexes(ctx, stripes); err != nil {
			return nil, err
		}
		units, any := make([][]*stripeindex.Filter, len(stripes)), false
		for i, stripe := range stripes {
			var err error
			if units[i], err = stripeindex.StripeFilters(ctx, s.root, stripe); err != nil {
				return nil, err
			}
			any = any || len(units[i]) > 0
		}
		if !any {
			return stripes, nil
		}
		may, err := stripeindex.Sift(ctx, st, f, units)
		if err != nil {
			return nil, err
		}
		var keep []int
		for i, stripe := range stripes {
			if may[i] {
				keep = append(keep, stripe)
			}
		}
		return keep, nil
	}
}

// IndexBuild says where BuildIndexes puts what it builds.
type IndexBuild struct {
	// Root is the URL of the root that is to describe the indexes, see merge.ReplaceIndexes; the URLs of their objects start
	// with Prefix.
	Root, Prefix string
	// MaxMemory bounds what reading the records may take in bytes, DefaultMaxMemory if 0.
	MaxMemory int64
}

// BuildIndexes builds indexes of a stripe that is there, from its records, deleted ones included. An index without any
// term has no description. After an error the objects are those that were written all the same.
func (s *Shard) BuildIndexes(ctx context.Context, st WriteStore, stripe int, specs []IndexSpec, o IndexBuild) (out []*metapb.IndexDescriptor, objects []Object, err error) {
	if isNil(st) || stripe < 0 || stripe >= len(s.stripes) {
		return nil, nil, fmt.Errorf("%w: indexes of stripe %d need a store and a stripe", ErrMissing, stripe)
	}
	own, err := s.Schema(ctx)
	if err != nil {
		return nil, nil, err
	}
	columns := []string{}
	for _, spec := range specs {
		columns = append(columns, spec.Paths(own)...)
	}
	project, err := s.Project(ctx, columns, false)
	if err != nil {
		return nil, nil, err
	}
	builders, err := stripeindex.NewBuilders(specs, project)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		for _, x := range builders {
			x.Abort()
		}
	}()
	at := s.stripes[stripe]
	for b, err := range s.Scan(ctx, ScanOptions{Columns: columns, IncludeDeleted: true, Start: at.Position, End: at.Position + at.Records,
		MaxMemory: o.MaxMemory}) {
		if err != nil {
			return nil, nil, err
		}
		for _, x := range builders {
			if err := x.Add(b); err != nil {
				return nil, nil, err
			}
		}
	}
	for i, x := range builders {
		d, written, err := x.Finish(ctx, st, o.Root, fmt.Sprintf("%s%s%d-", o.Prefix, x.Kind(), i))
		for _, o := range written {
			objects = append(objects, Object(o))
		}
		if err != nil {
			return nil, objects, err
		}
		out = append(out, d...)
		written, err = x.Close(ctx, st, o.Root)
		for _, o := range written {
			objects = append(objects, Object(o))
		}
		if err != nil {
			return nil, objects, err
		}
	}
	return out, objects, nil
}
