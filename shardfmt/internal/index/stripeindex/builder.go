package stripeindex

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/index/bloommatrix"
	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/layerindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The names of properties.
const (
	propertyBase    = "position_base"
	propertyVersion = "shardcat.index"
	propertyName    = "shardcat.name"
	propertyTypes   = "shardcat.types"
	propertyFields  = "shardcat.fields"
	propertyKeys    = "shardcat.keys"
	propertyScope   = "shardcat.scope"
	propertyRecords = "shardcat.records"
	propertyHolder  = shardwriter.PropertyHolder

	baseStripe = "stripe"
	version    = 1
)

// Builder builds the indexes of one spec, stripe after stripe. It is a write.Index.
type Builder struct {
	spec    Spec
	columns []column
	// numbers are those of the columns in the postings: of their nodes, and of composites numbers that no node has.
	numbers []uint32
	rows    uint64 // of the stripe available
	text    *textindex.Builder
	hash    *hashindex.Builder
	layer   *layerindex.Builder
	// prefixes are what stands before the value in the keys of each column.
	prefixes []string
	filters  columnar
	shared   shared
}

// NewBuilders makes a builder for each spec. The schema is numbered.
func NewBuilders(specs []Spec, s *schema.Schema) ([]shardwriter.Index, error) {
	if err := Check(specs); err != nil {
		return nil, err
	}
	var out []shardwriter.Index
	for _, spec := range specs {
		b, err := newBuilder(spec, s)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func newBuilder(spec Spec, s *schema.Schema) (*Builder, error) {
	columns, err := spec.columns(s)
	if err != nil {
		return nil, err
	}
	b := &Builder{spec: spec, columns: columns}
	for i, c := range columns {
		b.prefixes = append(b.prefixes, hashindex.Prefix(c.names()...))
		number := c.leaf().ID
		if len(c.more) > 0 {
			number = s.Count + uint32(i)
		}
		b.numbers = append(b.numbers, number)
	}
	b.begin()
	if spec.Scope.Whole() {
		b.shared.begin(spec.Kind, b.newLayer)
	}
	return b, nil
}

// begin starts a stripe.
func (b *Builder) begin() {
	b.rows = 0
	switch b.spec.Kind {
	case Hash:
		b.hash = hashindex.NewBuilder(0)
		return
	case Layer:
		if !b.spec.Scope.Whole() {
			b.layer = b.newLayer()
		}
		return
	}
	fields := make([]textindex.Field, len(b.columns))
	for i := range b.columns {
		fields[i] = textindex.Field{ID: b.numbers[i], Tokenizer: b.spec.Tokenizer}
	}
	collation := textindex.CaseInsensitive
	if b.spec.Tokenizer == tokenizer.Trivial { // values are requested as they are
		collation = textindex.CasePreserving
	}
	b.text = textindex.NewBuilder(collation, fields)
}

// Kind implements write.Index.
func (b *Builder) Kind() string { return kindNames[b.spec.Kind] }

// Size implements write.Index.
func (b *Builder) Size() int {
	switch {
	case b.hash != nil:
		return b.hash.Size()
	case b.layer != nil:
		return b.layer.Size()
	case b.spec.Kind == Layer: // of the shard, in memory of its own
		return 0
	}
	return b.text.Size()
}

// Abort implements write.Index.
func (b *Builder) Abort() {
	if b.layer != nil {
		b.layer.Close() // of temporary files, which nobody will read
	}
	b.shared.close()
}

// Add implements write.Index.
func (b *Builder) Add(batch arrow.RecordBatch) error {
	for i := range b.columns {
		add := b.addText
		switch b.spec.Kind {
		case Hash:
			add = b.addHashes
		case Layer:
			add = b.addKeys
		}
		if err := add(i, batch); err != nil {
			return err
		}
	}
	b.rows += uint64(batch.NumRows())
	return nil
}

func (b *Builder) addText(i int, batch arrow.RecordBatch) error {
	if c := &b.columns[i]; len(c.path) == 1 && len(c.more) == 0 {
		return b.addTexts(i, batch.Column(c.top))
	}
	var add []func(row int) error // of each member
	for _, m := range b.columns[i].members() {
		leaf, rows := m.leaves(batch)
		value, err := textOf(leaf)
		if err != nil {
			return err
		}
		add = append(add, func(row int) error {
			return rows(row, func(k int) error {
				if leaf.IsNull(k) {
					return nil
				}
				return b.text.Add(i, b.rows+uint64(row), value(k))
			})
		})
	}
	for row := range int(batch.NumRows()) {
		for _, member := range add {
			if err := member(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// addTexts is addText of a column that is not a list and part of nothing.
func (b *Builder) addTexts(i int, a arrow.Array) error {
	if e, ok := a.(array.ExtensionArray); ok {
		a = e.Storage()
	}
	value, err := textOf(a)
	if err != nil {
		return err
	}
	nulls := a.NullN() > 0
	for row := range a.Len() {
		if nulls && a.IsNull(row) {
			continue
		}
		if err := b.text.Add(i, b.rows+uint64(row), value(row)); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) addHashes(i int, batch arrow.RecordBatch) error {
	leaf, rows := b.columns[i].leaves(batch)
	value, err := keyBytes(leaf, b.columns[i].leaf().Basic)
	if err != nil {
		return err
	}
	var key []byte
	for row := range int(batch.NumRows()) {
		err := rows(row, func(k int) error {
			key = key[:0]
			if !leaf.IsNull(k) {
				key = value(key, k)
			}
			b.hash.Add(hashindex.Hash(b.prefixes[i], key), b.rows+uint64(row))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) addKeys(i int, batch arrow.RecordBatch) error {
	if len(b.columns[i].more) > 0 {
		return b.addParts(batch)
	}
	leaf, rows := b.columns[i].leaves(batch)
	key, err := orderedKey(leaf, b.columns[i].leaf())
	if err != nil {
		return err
	}
	room := make([]byte, 0, layerindex.MaxKey)
	for row := range int(batch.NumRows()) {
		err := rows(row, func(k int) error {
			if leaf.IsNull(k) {
				return nil
			}
			bytes, ok := key(room, k)
			if !ok {
				return nil
			}
			return b.addKey(bytes, row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addKey takes the key of a row of a batch.
func (b *Builder) addKey(key []byte, row int) error {
	if b.shared.keys != nil {
		return b.shared.keys.Add(key, b.shared.records+b.rows+uint64(row))
	}
	return b.layer.Add(key, b.rows+uint64(row))
}

// addParts adds keys of several columns. A record without a value in the first has none.
func (b *Builder) addParts(batch arrow.RecordBatch) error {
	var parts []func(dst []byte, row int) (key []byte, ok bool)
	for _, m := range b.columns[0].members() {
		leaf, rows := m.leaves(batch)
		key, err := orderedKey(leaf, m.leaf())
		if err != nil {
			return err
		}
		var room []byte
		parts = append(parts, func(dst []byte, row int) (out []byte, ok bool) {
			_ = rows(row, func(k int) error {
				if leaf.IsNull(k) {
					return nil
				}
				if room, ok = key(room[:0], k); ok {
					dst = layerindex.AppendPart(dst, m.leaf(), room)
				}
				return nil
			})
			return dst, ok
		})
	}
	var key []byte
	for row := range int(batch.NumRows()) {
		key = key[:0]
		for i, part := range parts {
			var ok bool
			if key, ok = part(key, row); !ok && i == 0 {
				break
			} else if !ok {
				key = layerindex.AppendNoPart(key)
			}
		}
		if len(key) == 0 {
			continue
		}
		if err := b.addKey(key[:min(len(key), layerindex.MaxKey)], row); err != nil {
			return err
		}
	}
	return nil
}

// newLayer starts a layer index.
func (b *Builder) newLayer() *layerindex.Builder {
	form, _ := layerindex.FormOf(b.columns[0].leaf())
	encoded := layerindex.Encoded(b.columns[0].leaf())
	if len(b.columns[0].more) > 0 {
		form, encoded = layerindex.Bytes, true
	}
	out := layerindex.NewBuilder(form, 0)
	out.Encoded = encoded
	return out
}

// Finish implements write.Index: the index of a stripe, and its term filter.
func (b *Builder) Finish(ctx context.Context, to shardwriter.IndexTarget) ([]*metapb.IndexDescriptor, []shardwriter.Object, error) {
	defer b.begin()
	if b.spec.Scope.Whole() {
		return b.finishShared(ctx, to)
	}
	var d *metapb.IndexDescriptor
	var out []shardwriter.Object
	var keys []uint64
	var err error
	switch b.spec.Kind {
	case Hash:
		var objects []hashindex.Object
		keys = b.hash.Hashes()
		d, objects, err = b.hash.Write(ctx, to, hashindex.Type)
		out = written(objects)
	case Layer:
		var objects []layerindex.Object
		d, objects, err = b.layer.Write(ctx, to)
		out = written(objects)
	default:
		var objects []textindex.Object
		keys = b.termKeys()
		d, objects, err = b.text.Write(ctx, to)
		out = written(objects)
	}
	if err != nil || d == nil {
		return nil, out, err
	}
	b.describe(d, meta.Pair(propertyBase, meta.Text(baseStripe)))
	if b.spec.Kind == Layer { // whose file reports at once what a filter would
		return []*metapb.IndexDescriptor{d}, out, nil
	}
	f, more, err := b.filters.add(ctx, to, d, keys)
	out = append(out, more...)
	if err != nil {
		return nil, out, err
	}
	return []*metapb.IndexDescriptor{d, f}, out, nil
}

// written are objects of any kind of index.
func written[O ~struct {
	URL  string
	Size int64
}](objects []O) []shardwriter.Object {
	out := make([]shardwriter.Object, len(objects))
	for i, o := range objects {
		out[i] = shardwriter.Object(o)
	}
	return out
}

// termKeys are the keys of all terms of the stripe.
func (b *Builder) termKeys() []uint64 {
	keys := make([]uint64, 0, b.text.TermCount())
	var key uint64
	var room []byte
	for t := range b.text.Terms() {
		key, room = bloommatrix.TermKey(t, room)
		keys = append(keys, key)
	}
	return keys
}

// Close implements write.Index: it writes the term filters of the stripes, and the index that they share.
func (b *Builder) Close(ctx context.Context, to shardwriter.IndexTarget) ([]*metapb.IndexDescriptor, []shardwriter.Object, error) {
	out, err := b.filters.write(ctx, to)
	if err != nil || !b.spec.Scope.Whole() {
		return nil, out, err
	}
	d, more, err := b.closeShared(ctx, to)
	return d, append(out, more...), err
}

// describe adds what a scan must know to rely on the index, and some properties more.
func (b *Builder) describe(d *metapb.IndexDescriptor, more ...*metapb.NameValuePair) {
	var types, fields, keys []*metapb.AnyValue
	d.IndexedFields = nil
	for i, c := range b.columns {
		f := &metapb.IndexedField{}
		var typeNames []string
		for _, m := range c.members() {
			f.SchemaIds, typeNames = append(f.SchemaIds, m.leaf().ID), append(typeNames, m.leaf().TypeName())
		}
		d.IndexedFields = append(d.IndexedFields, f)
		types = append(types, meta.Text(strings.Join(typeNames, "+")))
		fields = append(fields, meta.Uint(uint64(b.numbers[i])))
		keys = append(keys, meta.Text(b.prefixes[i]))
	}
	d.Properties = append(append(d.Properties, more...),
		meta.Pair(propertyVersion, meta.Uint(version)),
		meta.Pair(propertyName, meta.Text(b.spec.Name())),
		meta.Pair(propertyTypes, meta.ListOf(types...)),
		meta.Pair(propertyFields, meta.ListOf(fields...)))
	if b.spec.Scope.ofField() {
		d.Properties = append(d.Properties, meta.Pair(propertyHolder, meta.Text(shardwriter.HolderField)))
	}
	if b.spec.Kind == Hash {
		d.Properties = append(d.Properties, meta.Pair(propertyKeys, meta.ListOf(keys...)))
	}
}

// Name is the name of an index of ours; ok is false for any other.
func Name(d *metapb.IndexDescriptor) (name string, ok bool) {
	if _, ours := meta.Uint64Of(meta.Properties(d.GetProperties()).Get(propertyVersion)); !ours {
		return "", false
	}
	return meta.Properties(d.GetProperties()).Text(propertyName)
}

// SpecOf is what an index of ours was requested by.
func SpecOf(d *metapb.IndexDescriptor) (Spec, error) {
	name, ok := Name(d)
	if !ok {
		return Spec{}, errors.New("an index of another writer")
	}
	s, err := ParseSpec(name)
	if err == nil && s.Kind == Text {
		z, _ := meta.TextOf(firstOf(meta.Properties(d.Properties).Get("tokenizers")))
		s.Tokenizer, err = tokenizer.ParseTokenizer(z)
	}
	if s.Scope = scopeOf(d); OfItsField(d) {
		s.Scope += OfField - OfStripe
	}
	return s, err
}

// OfItsField reports whether an index stands in the description of its field; a term filter beside one does not itself.
func OfItsField(d *metapb.IndexDescriptor) bool {
	holder, _ := meta.Properties(d.GetProperties()).Text(propertyHolder)
	return holder == shardwriter.HolderField
}

// scopeOf is the scope of an index, or of the one that a term filter stands for.
func scopeOf(d *metapb.IndexDescriptor) Scope {
	if text, _ := meta.Properties(d.GetProperties()).Text(propertyScope); text == scopeNames[OfShard] {
		return OfShard
	}
	return OfStripe
}

func firstOf(v *metapb.AnyValue) *metapb.AnyValue {
	if e := v.GetListValue().GetElements(); len(e) > 0 {
		return e[0]
	}
	return nil
}
