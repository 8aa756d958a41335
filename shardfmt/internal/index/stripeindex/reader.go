package stripeindex

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Reader asks the indexes of one stripe. Not for concurrent use.
type Reader struct {
	store  meta.Store
	root   *meta.Root
	policy urlresolve.Policy
	usable []*usable
	// records of the stripe.
	records uint64
	// shared are the indexes of the shard as a whole, nil for none; first is the number of the stripe's first record there.
	shared *Shared
	first  uint64
	// Unindexed counts questions about terms that no index could answer.
	Unindexed int
}

// usable is an index that may be relied on.
type usable struct {
	d *metapb.IndexDescriptor
	// base is the object that describes the index.
	base string
	// fields are the columns of the index, by their numbers in the schema of the shard.
	fields []indexed
	text   *textindex.Index
	hash   *hashindex.Index
	layer  *layerindex.Index
}

// indexed is a column of an index.
type indexed struct {
	node uint32 // in the schema of the shard
	typ  string // when the index was built
	// built is its number in the postings of a text index, prefix what its keys in a hash index start with.
	built     uint32
	prefix    string
	tokenizer textindex.Tokenizer
}

// NewReader finds the indexes of a stripe that may be relied on, also those in the descriptions of fields. It costs a request only if the root does not hold the
// descriptors. The rest is looked up in the indexes of the shard as a whole, which may be nil.
func NewReader(ctx context.Context, st meta.Store, of Asked, stripe int, shared *Shared) (*Reader, error) {
	root := of.Root
	c, err := root.StripeIndexes(ctx, stripe)
	if err != nil {
		return nil, err
	}
	r := &Reader{store: st, root: root, policy: of.Policy, shared: shared}
	if len(c.GetIndexDescriptors()) > 0 || shared != nil {
		list, err := root.StripeList(ctx)
		if err != nil {
			return nil, err
		}
		r.first, r.records = list.Stripes[stripe].GetShardPosition(), list.Stripes[stripe].GetTotalRecordCount()
	}
	scoped := func(d *metapb.IndexDescriptor) bool {
		base, _ := meta.Properties(d.Properties).Text(propertyBase)
		return base == baseStripe
	}
	if err := r.add(c, root.URL(), scoped); err != nil {
		return nil, err
	}
	for _, id := range of.Fields {
		d, anchor, err := root.StripeField(ctx, stripe, id)
		if err != nil {
			return nil, err
		}
		if own := d.GetField().GetIndexes(); own != nil {
			if err := r.add(own, anchor, ofField(id, scoped)); err != nil {
				return nil, err
			}
		}
	}
	if len(r.usable) > 0 && r.records == 0 {
		list, err := root.StripeList(ctx)
		if err != nil {
			return nil, err
		}
		r.records = list.Stripes[stripe].GetTotalRecordCount()
	}
	return r, nil
}

// ofField narrows indexes to those of one field alone: what stands in its description.
func ofField(id uint32, scoped func(*metapb.IndexDescriptor) bool) func(*metapb.IndexDescriptor) bool {
	return func(d *metapb.IndexDescriptor) bool {
		return len(d.IndexedFields) == 1 && slices.Equal(d.IndexedFields[0].SchemaIds, []uint32{id}) && scoped(d)
	}
}

// add takes those of some indexes that may be relied on and are of the right scope: not one of another writer, of a later version, or
// that does not state all that it must.
func (r *Reader) add(c *metapb.IndexCollection, base string, scoped func(*metapb.IndexDescriptor) bool) error {
	for _, d := range c.GetIndexDescriptors() {
		if !relied(d.IndexType) {
			continue
		}
		if err := meta.NoReferences(d.Properties); err != nil {
			return corrupt.Locate(err, r.root.URL(), 0)
		}
		if fields, ok := fieldsOf(d); ok && scoped(d) {
			r.usable = append(r.usable, &usable{d: d, base: base, fields: fields})
		}
	}
	return nil
}

// fieldsOf are the columns of an index or a term filter of ours; ok is false for one that may not be relied on.
func fieldsOf(d *metapb.IndexDescriptor) (out []indexed, ok bool) {
	bag := meta.Properties(d.Properties)
	if v, _ := meta.Uint64Of(bag.Get(propertyVersion)); v != version {
		return nil, false
	}
	types, fields := texts(bag.Get(propertyTypes)), bag.Get(propertyFields).GetListValue().GetElements()
	tokenizers, keys := texts(bag.Get("tokenizers")), texts(bag.Get(propertyKeys))
	n := len(d.IndexedFields)
	ofText, ofHashes := len(tokenizers) == n, len(keys) == n
	if d.IndexType == layerindex.Type {
		ofText, ofHashes = false, false
	} else if ofText == ofHashes {
		return nil, false
	}
	if n == 0 || len(types) != n || len(fields) != n || d.IndexType == textindex.Type && !ofText || d.IndexType == hashindex.Type && !ofHashes ||
		d.IndexType == layerindex.Type && n != 1 {
		return nil, false
	}
	for i, f := range d.IndexedFields {
		built, ok := meta.Uint64Of(fields[i])
		parts := strings.Split(types[i], "+")
		if !ok || len(f.SchemaIds) == 0 || len(parts) != len(f.SchemaIds) {
			return nil, false
		}
		x := indexed{built: uint32(built)}
		if ofHashes {
			x.prefix = keys[i]
		} else if ofText {
			var err error
			if x.tokenizer, err = textindex.ParseTokenizer(tokenizers[i]); err != nil || tokenizers[i] == "" {
				return nil, false
			}
		}
		if len(parts) > 1 && !ofText && d.IndexType != layerindex.Type {
			return nil, false
		}
		for k, part := range parts { // any member of a composite is looked up by the lists of all; those of a key in their order
			x.node, x.typ = f.SchemaIds[k], part
			out = append(out, x)
		}
	}
	return out, true
}

func texts(v *metapb.AnyValue) (out []string) {
	for _, e := range v.GetListValue().GetElements() {
		s, _ := meta.TextOf(e)
		out = append(out, s)
	}
	return out
}

// Rows answers a question of a filter with the rows of the stripe that may match, by ascending ranges; known is false
// if no index can tell.
func (r *Reader) Rows(ctx context.Context, q filter.Question) (rows []filter.Range, known bool, err error) {
	if q.Kind == filter.All {
		rows, known, err = r.together(ctx, q)
	} else {
		rows, known, err = r.rows(ctx, q)
	}
	if known || err != nil {
		return rows, known, err
	}
	if rows, known, err = r.shared.rows(ctx, r.store, q); known || err != nil {
		return within(rows, r.first, r.records), known, err
	}
	if q.Kind == filter.HasTerm || q.Kind == filter.HasTermPrefix {
		r.Unindexed++
	}
	return nil, false, nil
}

// rows asks the reader's own indexes.
func (r *Reader) rows(ctx context.Context, q filter.Question) (rows []filter.Range, known bool, err error) {
	for _, kind := range []string{hashindex.Type, layerindex.Type, textindex.Type} { // the shorter way first
		for _, u := range r.usable {
			x := u.covers(q.Path[len(q.Path)-1])
			if u.d.IndexType != kind || x == nil || q.Joined && len(u.fields) > 1 && kind == layerindex.Type {
				continue
			}
			rows, known, err = r.ask(ctx, u, x, q)
			if errors.Is(err, corrupt.ErrUnsupported) {
				continue // a scan reads what an index can't tell
			}
			if known || err != nil {
				return rows, known, err
			}
		}
	}
	return nil, false, nil
}

// covers is the column of the index that a node is, as long as its type is that of then.
func (u *usable) covers(n *schema.Node) *indexed {
	for i, x := range u.fields {
		if i > 0 && u.d.IndexType == layerindex.Type {
			break // further columns of a key say nothing without the first
		}
		if x.node == n.ID && x.typ == n.TypeName() {
			return &u.fields[i]
		}
	}
	return nil
}

func (r *Reader) ask(ctx context.Context, u *usable, x *indexed, q filter.Question) ([]filter.Range, bool, error) {
	switch u.d.IndexType {
	case hashindex.Type:
		return r.askHash(ctx, u, x, q)
	case layerindex.Type:
		return r.askLayer(ctx, u, q)
	}
	plan := planTerms(x.tokenizer, q)
	if plan == nil {
		return nil, false, nil
	}
	if u.text == nil {
		var err error
		if u.text, err = textindex.Open(ctx, r.store, u.base, u.d, r.policy); err != nil {
			return nil, false, err
		}
	}
	var any [][]filter.Range
	for _, all := range plan {
		rows, err := u.allOf(ctx, x, all)
		if err != nil {
			return nil, false, err
		}
		any = append(any, rows)
	}
	return ranges.Union(any...), true, nil
}

// askHash answers which rows equal one of some values.
func (r *Reader) askHash(ctx context.Context, u *usable, x *indexed, q filter.Question) (rows []filter.Range, known bool, err error) {
	if q.Kind != filter.Equal {
		return nil, false, nil
	}
	if u.hash == nil {
		if u.hash, err = hashindex.Open(r.store, u.base, u.d, r.policy); err != nil {
			return nil, false, err
		}
	}
	n := q.Path[len(q.Path)-1]
	for _, v := range q.Values {
		found, err := u.hash.Lookup(ctx, hashindex.Hash(x.prefix, keyOf(n, v)))
		if err != nil {
			return nil, false, err
		}
		for _, p := range found {
			rows = append(rows, filter.Range{Start: p, End: p + 1})
		}
	}
	return ranges.Union(rows), true, nil
}

// keyOf is the bytes of a value of a node in its keys.
func keyOf(n *schema.Node, v filter.Value) []byte {
	switch {
	case n.Basic == schema.Boolean:
		return hashindex.AppendBool(nil, v.Bool)
	case n.Basic.IsInteger() && !n.Signed:
		return hashindex.AppendInteger(nil, n.Basic, v.Uint)
	case n.Basic.IsInteger(), n.Basic == schema.DateTime:
		return hashindex.AppendInteger(nil, n.Basic, uint64(v.Int))
	}
	return v.Bytes
}

// allOf are the rows that hold all of some terms.
func (u *usable) allOf(ctx context.Context, x *indexed, terms []asked) (rows []filter.Range, err error) {
	for i, t := range terms {
		var entries []textindex.Entry
		switch {
		case t.prefix:
			entries, err = u.text.PrefixSpellings(ctx, t.text)
		case t.exact:
			entries, err = u.text.Lookup(ctx, t.text)
		default:
			entries, err = u.text.Spellings(ctx, t.text)
		}
		if err != nil {
			return nil, err
		}
		found := rowsOf(entries, x.built)
		if i > 0 {
			found = ranges.Intersect(rows, found)
		}
		if rows = found; len(rows) == 0 {
			return nil, nil
		}
	}
	return rows, nil
}

// rowsOf are the records of the postings of a field.
func rowsOf(entries []textindex.Entry, field uint32) []filter.Range {
	var lists [][]filter.Range
	for _, e := range entries {
		for i := range e.Postings {
			if p := &e.Postings[i]; p.Field == field {
				lists = append(lists, p.Ranges())
			}
		}
	}
	return ranges.Union(lists...)
}
