package stripeindex

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/index/bloommatrix"
	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// FilterType is the type of a term filter in its descriptor.
const FilterType = meta.TermFilterType

// propertyFilter lists number, rows and columns of the matrix, and the column of the stripe.
const propertyFilter = "shardcat.filter"

// Filter is a column of a matrix of term filters, and what it holds of which fields: their terms, or the hashes of their
// values.
type Filter struct {
	// Object is the URL of the object that holds the matrix, from Start on.
	Object string
	Start  int64
	bloommatrix.Matrix
	Column int
	// Hash: the filter is one of hashes.
	Hash   bool
	Fields []FilterField
}

// FilterField is a field of a filter.
type FilterField struct {
	// Node is its number in the schema that questions use, Type what its type was when the filter was made.
	Node uint32
	Type string
	// Tokenizer of terms; Prefix is what stands before a value that is hashed.
	Tokenizer tokenizer.Tokenizer
	Prefix    string
}

// Filters are the term filters of a stripe among the descriptors of its indexes; those that are not as they must be are
// left out.
func Filters(root *meta.Root, c *metapb.IndexCollection) (out []*Filter) {
	for _, d := range c.GetIndexDescriptors() {
		if d.IndexType != FilterType {
			continue
		}
		if f := ParseFilter(root, d); f != nil {
			out = append(out, f)
		}
	}
	return out
}

// ParseFilter reads the descriptor of a term filter of a shard; nil if it is not as it must be.
func ParseFilter(root *meta.Root, d *metapb.IndexDescriptor) *Filter {
	fields, ok := fieldsOf(d)
	numbers := meta.Properties(d.Properties).Get(propertyFilter).GetListValue().GetElements()
	base, _ := meta.Properties(d.Properties).Text(propertyBase)
	if !ok || base != baseStripe || len(numbers) != 4 || len(d.Artifacts) != 1 {
		return nil
	}
	var v [4]uint64
	for i, n := range numbers {
		if v[i], ok = meta.Uint64Of(n); !ok || i > 0 && v[i] > 1<<31-1 {
			return nil
		}
	}
	f := &Filter{Matrix: bloommatrix.Matrix{ID: v[0], Rows: int(v[1]), Columns: int(v[2])}, Column: int(v[3])}
	start, end, err := meta.RefRange(d.Artifacts[0].GetDataRef())
	if err != nil || !f.Valid() || f.Column >= f.Columns || end-start != f.Size() {
		return nil
	}
	if f.Object, err = root.Resolve(root.URL(), d.Artifacts[0].DataRef.GetUrl()); err != nil {
		return nil
	}
	f.Start, f.Hash = start, meta.Properties(d.Properties).Get(propertyKeys) != nil
	for _, x := range fields {
		f.Fields = append(f.Fields, FilterField{Node: x.node, Type: x.typ, Tokenizer: x.tokenizer, Prefix: x.prefix})
	}
	return f
}

// keys are what rows that answer a question must have of the filter: for each alternative hashes that all must be there.
// ok is false if the filter can't tell.
func (f *Filter) keys(q filter.Question) (any [][]uint64, ok bool) {
	if q.Kind == filter.All {
		return nil, false
	}
	n := q.Path[len(q.Path)-1]
	i := slices.IndexFunc(f.Fields, func(x FilterField) bool { return x.Node == n.ID && x.Type == n.TypeName() })
	if i < 0 {
		return nil, false
	}
	if f.Hash {
		return hashKeys(n, f.Fields[i].Prefix, q)
	}
	var room []byte
	for _, all := range planTerms(f.Fields[i].Tokenizer, q) {
		keys := []uint64{}
		for _, t := range all {
			if t.prefix {
				continue
			}
			var k uint64
			k, room = bloommatrix.TermKey([]byte(t.text), room)
			keys = append(keys, k)
		}
		any = append(any, keys)
	}
	return any, len(any) > 0
}

func hashKeys(n *schema.Node, prefix string, q filter.Question) (any [][]uint64, ok bool) {
	if q.Kind != filter.Equal {
		return nil, false
	}
	for _, v := range q.Values {
		any = append(any, []uint64{hashindex.Hash(prefix, keyOf(n, v))})
	}
	return any, true
}

// columnar collects the columns of one spec's filters, and writes them as matrices.
type columnar struct {
	columns []bloommatrix.Column
	// described are the descriptors of their stripes, which learn their matrix when it is written, under a name that starts
	// with prefix.
	described []*metapb.IndexDescriptor
	prefix    string
}

// add takes the filter of the next stripe, whose index d describes.
func (c *columnar) add(ctx context.Context, to shardwriter.IndexTarget, d *metapb.IndexDescriptor, keys []uint64) (*metapb.IndexDescriptor, []shardwriter.Object, error) {
	column := bloommatrix.NewColumn(keys)
	var objects []shardwriter.Object
	if len(c.columns) > 0 && !column.Fits(c.columns) {
		var err error
		if objects, err = c.write(ctx, to); err != nil {
			return nil, objects, err
		}
	}
	if len(c.columns) == 0 {
		c.prefix = to.Prefix
	}
	f := proto.CloneOf(d)
	f.IndexType, f.Artifacts = FilterType, nil
	f.IndexSize = proto.Uint64(uint64(len(column)))
	c.columns, c.described = append(c.columns, column), append(c.described, f)
	return f, objects, nil
}

// write writes a matrix of the columns so far, if there are any. Its name starts as that of the first of them.
func (c *columnar) write(ctx context.Context, to shardwriter.IndexTarget) ([]shardwriter.Object, error) {
	if len(c.columns) == 0 {
		return nil, nil
	}
	m, data := bloommatrix.Join(bloommatrix.NewID(), c.columns)
	url := c.prefix + "filter.amudai.filter"
	for i, d := range c.described {
		d.Artifacts = []*metapb.IndexArtifact{{Name: "filter", DataRef: meta.NewRef(urlresolve.Relative(to.Root, url), 0, uint64(len(data)))}}
		d.Properties = append(d.Properties, meta.Pair(propertyFilter, meta.ListOf(
			meta.Uint(m.ID), meta.Uint(uint64(m.Rows)), meta.Uint(uint64(m.Columns)), meta.Uint(uint64(i)))))
	}
	c.columns, c.described = nil, nil
	return []shardwriter.Object{{URL: url, Size: int64(len(data))}}, to.Store.Put(ctx, url, data)
}

// IsFilter reports whether a descriptor is that of a term filter, which stands beside the index of the same name.
func IsFilter(d *metapb.IndexDescriptor) bool { return d.GetIndexType() == FilterType }

// relied reports whether a Reader asks indexes of a type.
func relied(indexType string) bool {
	return indexType == textindex.Type || indexType == hashindex.Type || indexType == layerindex.Type
}
