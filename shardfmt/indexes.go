package shardfmt

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/scan"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// IndexSpec requests an index of every stripe, or of the shard as a whole.
//
// Its Set reads text:COL[:TOKENIZER], hash:COL or layer:COL; several columns that share a text or hash index, or are one key of a layer
// index, are separated by commas, and columns that are one field of a text index by +. text@shard, hash@shard and layer@shard request one index of
// all stripes; @field and @shard-field for such that stand in the description of their field. Names in double quotes may hold anything.
// Tokenizers are unicode-word, which is the default, unicode-log, ipv4 and trivial.
type IndexSpec = stripeindex.Spec

// The kinds of indexes.
const (
	TextIndex  = stripeindex.Text
	HashIndex  = stripeindex.Hash
	LayerIndex = stripeindex.Layer
)

// The scopes of indexes.
const (
	OfStripe     = stripeindex.OfStripe
	OfShard      = stripeindex.OfShard
	OfField      = stripeindex.OfField
	OfShardField = stripeindex.OfShardField
)

// IndexScope is what an index belongs to. Its Set reads stripe, shard, field or shard-field.
type IndexScope = stripeindex.Scope

// IndexSpecs are the indexes of a shard or a table. Their text are those of the specs, separated by spaces.
type IndexSpecs []IndexSpec

// Set reads the text of specs, which are checked as Check does without a schema.
func (x *IndexSpecs) Set(text string) error {
	specs, err := stripeindex.ParseSpecs(text)
	if err == nil {
		*x = specs
	}
	return err
}

// String gives the text that Set reads.
func (x IndexSpecs) String() string { return stripeindex.FormatSpecs(x) }

// Check reports what is wrong with specs for shards of a schema, which is numbered: a column that is not there, or of a type that such
// an index is not for, or two of one name. Without a schema it is what is wrong with them whatever the schema.
func (x IndexSpecs) Check(s *schema.Schema) error {
	if s == nil {
		return stripeindex.Check(x)
	}
	_, err := stripeindex.NewBuilders(x, s)
	return err
}

// asker asks the indexes of a shard what a filter needs to know.
type asker struct {
	shard  *Shard
	filter *filter.Bound
	meter  blobio.Meter
	// words: all questions are about words.
	words bool

	mu     sync.Mutex
	asked  stripeindex.Asked
	opened bool
	shared *stripeindex.Shared // of the shard as a whole, nil for none
}

// asks is an asker for a filter, nil if it has no question.
func (s *Shard) asks(f *filter.Bound) *asker {
	if f == nil || !f.Asks() {
		return nil
	}
	a := &asker{shard: s, filter: f, words: true, asked: stripeindex.Asked{Root: s.root, Policy: urlresolve.Policy{Allow: s.allow}}}
	_, _, _ = f.Candidates(func(q filter.Question) ([]filter.Range, bool, error) {
		a.words = a.words && (q.Kind == filter.HasTerm || q.Kind == filter.HasTermPrefix)
		if q.Kind != filter.All {
			a.asked.Fields = append(a.asked.Fields, q.Path[len(q.Path)-1].ID)
		}
		return []filter.Range{{Start: 0, End: 1}}, true, nil // so that every question is come to
	})
	slices.Sort(a.asked.Fields)
	a.asked.Fields = slices.Compact(a.asked.Fields)
	return a
}

// whole opens the indexes of the shard as a whole.
func (a *asker) whole(ctx context.Context, st meta.Store) (*stripeindex.Shared, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opened {
		return a.shared, nil
	}
	shared, err := stripeindex.NewShared(ctx, st, a.asked)
	if err == nil {
		a.shared, a.opened = shared, true
	}
	return shared, err
}

// candidates asks the indexes of a stripe.
func (a *asker) candidates(ctx context.Context, st meta.Store, stripe int) (c scan.Candidates, err error) {
	if client, ok := st.(*blobio.Client); ok {
		st = client.Measured(&a.meter)
		defer func() { c.Gets, c.Bytes = a.meter.Take() }()
	}
	shared, err := a.whole(ctx, st)
	if err != nil {
		return c, err
	}
	r, err := stripeindex.NewReader(ctx, st, a.asked, stripe, shared)
	if err != nil {
		return c, err
	}
	c.Rows, c.Known, err = a.filter.Candidates(func(q filter.Question) ([]filter.Range, bool, error) { return r.Rows(ctx, q) })
	c.Unindexed = r.Unindexed > 0
	return c, err
}

// covered reports whether the indexes of the shard as a whole answer the filter.
func (a *asker) covered(ctx context.Context, st meta.Store) bool {
	shared, err := a.whole(ctx, st)
	return err == nil && shared.Covers(a.filter)
}

// sift asks the term filters of stripes, unless the indexes of the shard as a whole tell as much by themselves.
func (a *asker) sift(ctx context.Context, st meta.Store, stripes []int) ([]int, error) {
	if shared, err := a.whole(ctx, st); err != nil || shared.Covers(a.filter) {
		return stripes, err
	}
	root := a.shard.root
	if err := root.LoadIndexes(ctx, stripes); err != nil {
		return nil, err
	}
	units, any := make([][]*stripeindex.Filter, len(stripes)), false
	for i, stripe := range stripes {
		of, err := root.StripeIndexes(ctx, stripe)
		if err != nil {
			return nil, err
		}
		units[i] = stripeindex.Filters(root, of)
		any = any || len(units[i]) > 0
	}
	if !any {
		return stripes, nil
	}
	may, err := stripeindex.Sift(ctx, st, a.filter, units)
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

// IndexBuild reports where BuildIndexes puts what it builds.
type IndexBuild struct {
	// Root is the URL of the root that is to describe the indexes, see merge.ReplaceIndexes; the URLs of their objects start
	// with Prefix.
	Root, Prefix string
	// MaxMemory bounds what reading the records may take in bytes, DefaultMaxMemory if 0.
	MaxMemory int64
}

// BuildIndexes builds indexes of a stripe that is there, from its records, deleted ones included. An index without any
// term has no description. After an error the objects are those that were written all the same.
func (s *Shard) BuildIndexes(ctx context.Context, st WriteStore, stripe int, specs IndexSpecs, o IndexBuild) (out []index.Descriptor, objects []Object, err error) {
	if isNil(st) || stripe < 0 || stripe >= len(s.stripes) {
		return nil, nil, fmt.Errorf("%w: indexes of stripe %d need a store and a stripe", ErrMissing, stripe)
	}
	for _, spec := range specs {
		if spec.Scope.Whole() {
			return nil, nil, fmt.Errorf("index %s is not one of a stripe", spec)
		}
	}
	b, err := s.newIndexBuild(ctx, st, specs, o)
	if err != nil {
		return nil, nil, err
	}
	defer b.abort()
	made, err := b.stripe(ctx, stripe, o.Prefix)
	if err != nil {
		return nil, b.objects, err
	}
	_, err = b.close(ctx)
	return stripeindex.DescriptorsOf(made), b.objects, err
}

// BuildShardIndexes builds indexes of the shard as a whole, from all its records, deleted ones included. stripes are what is described of
// each stripe beside them: term filters. An index without any term has no description. After an error the objects are those that were written all
// the same.
func (s *Shard) BuildShardIndexes(ctx context.Context, st WriteStore, specs IndexSpecs, o IndexBuild) (whole []index.Descriptor, stripes map[int][]index.Descriptor, objects []Object, err error) {
	for _, spec := range specs {
		if !spec.Scope.Whole() || isNil(st) {
			return nil, nil, nil, fmt.Errorf("%w: index %s: a store, and the scope of a shard", ErrMissing, spec)
		}
	}
	b, err := s.newIndexBuild(ctx, st, specs, o)
	if err != nil {
		return nil, nil, nil, err
	}
	defer b.abort()
	stripes = map[int][]index.Descriptor{}
	for i := range s.stripes {
		made, err := b.stripe(ctx, i, fmt.Sprintf("%s%d.", o.Prefix, i))
		if err != nil {
			return nil, nil, b.objects, err
		}
		stripes[i] = stripeindex.DescriptorsOf(made)
	}
	made, err := b.close(ctx)
	return stripeindex.DescriptorsOf(made), stripes, b.objects, err
}

// indexBuild builds indexes of stripes that are there.
type indexBuild struct {
	*Shard
	store    WriteStore
	o        IndexBuild
	columns  []string
	builders []shardwriter.Index
	objects  []Object
}

func (s *Shard) newIndexBuild(ctx context.Context, st WriteStore, specs IndexSpecs, o IndexBuild) (*indexBuild, error) {
	own, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	b := &indexBuild{Shard: s, store: st, o: o, columns: []string{}}
	for _, spec := range specs {
		b.columns = append(b.columns, spec.Paths(own)...)
	}
	project, err := s.Project(ctx, b.columns, false)
	if err != nil {
		return nil, err
	}
	b.builders, err = stripeindex.NewBuilders(specs, project)
	return b, err
}

func (b *indexBuild) abort() {
	for _, x := range b.builders {
		x.Abort()
	}
}

// wrote notes objects, and passes an error on.
func (b *indexBuild) wrote(objects []shardwriter.Object, err error) error {
	for _, o := range objects {
		b.objects = append(b.objects, Object(o))
	}
	return err
}

// stripe reads a stripe and describes its indexes, whose objects' URLs start with prefix.
func (b *indexBuild) stripe(ctx context.Context, i int, prefix string) (out []*metapb.IndexDescriptor, err error) {
	at := b.stripes[i]
	for batch, err := range b.Scan(ctx, ScanOptions{Columns: b.columns, IncludeDeleted: true, Start: at.Position, End: at.Position + at.Records,
		MaxMemory: b.o.MaxMemory}) {
		if err != nil {
			return nil, err
		}
		for _, x := range b.builders {
			if err := x.Add(batch); err != nil {
				return nil, err
			}
		}
	}
	for k, x := range b.builders {
		d, written, err := x.Finish(ctx, shardwriter.IndexTarget{Store: b.store, Root: b.o.Root, Prefix: fmt.Sprintf("%s%s%d-", prefix, x.Kind(), k)})
		if err := b.wrote(written, err); err != nil {
			return nil, err
		}
		out = append(out, d...)
	}
	return out, nil
}

// close describes the indexes of the shard.
func (b *indexBuild) close(ctx context.Context) (out []*metapb.IndexDescriptor, err error) {
	for k, x := range b.builders {
		d, written, err := x.Close(ctx, shardwriter.IndexTarget{Store: b.store, Root: b.o.Root, Prefix: fmt.Sprintf("%s%s%d-", b.o.Prefix, x.Kind(), k)})
		if err := b.wrote(written, err); err != nil {
			return nil, err
		}
		out = append(out, d...)
	}
	return out, nil
}
