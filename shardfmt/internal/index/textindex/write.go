package textindex

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// Store is what writing an index needs of an object store; a *blobio.Client is one.
type Store = shardwriter.Store

// Write writes the artifacts and describes them. Their names are the prefix, "terms" or "positions", and the suffix of shards. Without any
// term nothing is written, and there is no descriptor. After an error the objects are those that were written all the same. The builder is
// used up.
func (b *Builder) Write(ctx context.Context, to shardwriter.IndexTarget) (*metapb.IndexDescriptor, []Object, error) {
	if b.terms.count() == 0 {
		return nil, nil, nil
	}
	return writeAll(ctx, to, b.Describe(), 0, b.lists)
}

// writeAll writes the artifacts of the lists that fill gives, and adds them to the descriptor d; without any list there is none. Memory is
// about how many bytes are held of what is written; the rest waits in temporary files. It is 0 where all may be held.
func writeAll(ctx context.Context, to shardwriter.IndexTarget, d *metapb.IndexDescriptor, memory int64, fill func(context.Context, *writer) error) (*metapb.IndexDescriptor, []Object, error) {
	w := &writer{memory: memory}
	defer w.abort(ctx)
	if err := w.create(ctx, to); err != nil {
		return nil, nil, err
	}
	if err := fill(ctx, w); err != nil || w.written == 0 {
		return nil, nil, err
	}
	written, err := w.finish(ctx)
	var objects []Object
	for _, a := range written {
		if a != nil {
			objects = append(objects, Object(*a))
		}
	}
	if err != nil {
		return nil, objects, err
	}
	return describe(d, to.Root, written), objects, nil
}

// Object is one that was written.
type Object struct {
	URL  string
	Size int64
}

// Describe is the descriptor of an index that has no artifacts yet.
func (b *Builder) Describe() *metapb.IndexDescriptor {
	d := &metapb.IndexDescriptor{IndexType: Type}
	var tokenizers []*metapb.AnyValue
	for _, f := range b.fields {
		d.IndexedFields = append(d.IndexedFields, &metapb.IndexedField{SchemaIds: []uint32{f.ID}})
		tokenizers = append(tokenizers, meta.Text(f.Tokenizer.String()))
	}
	d.Properties = []*metapb.NameValuePair{
		meta.Pair(propertyCollation, meta.Text(b.collation.String())),
		meta.Pair(propertyTokenizers, meta.ListOf(tokenizers...)),
	}
	return d
}

// describe adds the artifacts that were written to a descriptor.
func describe(d *metapb.IndexDescriptor, root string, written [2]*indexshard.Written) *metapb.IndexDescriptor {
	size := uint64(0)
	for i, name := range []string{artifactTerms, artifactPositions} {
		d.Artifacts = append(d.Artifacts, indexshard.Describe(root, name, written[i]))
		size += uint64(written[i].Size)
	}
	d.IndexSize = &size
	return d
}

// lists gives the lists of all terms to a writer, in the order of terms, stripes and fields.
func (b *Builder) lists(ctx context.Context, w *writer) error {
	return b.eachList(func(t string, c *column, l *list) error { return w.add(ctx, t, c.stripe, c.field, l) })
}

// eachList calls do with the list of each term and column, in the order of terms, stripes and fields. The builder is used up.
func (b *Builder) eachList(do func(t string, c *column, l *list) error) error {
	sorted := make([]sortedColumn, len(b.columns))
	for i, c := range b.columns {
		sorted[i] = c.sort(b.terms.count())
	}
	var l list
	terms := b.terms.texts()
	for _, id := range b.order(terms) {
		for i, c := range b.columns {
			positions := sorted[i].of(id)
			if len(positions) == 0 {
				continue
			}
			l.reset()
			l.addAll(positions)
			if err := do(terms[id], c, &l); err != nil {
				return err
			}
		}
	}
	return nil
}

// order is the terms by the collation. Under CaseInsensitive equal ones come in the order of their bytes.
func (b *Builder) order(terms []string) []uint32 {
	type keyed struct {
		head uint64 // the first eight bytes of the upper-case form
		id   uint32
	}
	upper := make([]byte, 0, len(b.terms.data)+len(b.terms.data)/16)
	ends, all := make([]int, len(terms)+1), make([]keyed, len(terms))
	for i := range terms {
		upper = tokenizer.AppendUpper(upper, b.terms.term(uint32(i)))
		ends[i+1] = len(upper)
		var head [8]byte
		copy(head[:], upper[ends[i]:])
		all[i] = keyed{binary.BigEndian.Uint64(head[:]), uint32(i)}
	}
	key := func(id uint32) []byte { return upper[ends[id]:ends[id+1]] }
	slices.SortFunc(all, func(x, y keyed) int {
		if x.head != y.head {
			return cmp.Compare(x.head, y.head)
		}
		return cmp.Or(bytes.Compare(key(x.id), key(y.id)), strings.Compare(terms[x.id], terms[y.id]))
	})
	out := make([]uint32, len(all))
	for i, k := range all {
		out[i] = k.id
	}
	return out
}

const positionsSchema = "position: UInt64"

// writer writes the two artifacts side by side.
type writer struct {
	terms, positions *shardwriter.Writer
	tree             *tree
	types            *arrow.Schema // of positions
	values           []uint64      // positions that wait to be written
	written          uint64        // positions
	memory           int64         // 0: all may be held
	spill            *colstream.Spill
}

// positionRows are written at a time.
const positionRows = 64 << 10

func (w *writer) create(ctx context.Context, to shardwriter.IndexTarget) error {
	termsType, err := indexshard.Schema(termsSchema)
	if err != nil {
		return err
	}
	positionsType, err := indexshard.Schema(positionsSchema)
	if err != nil {
		return err
	}
	o := indexshard.Options{Profile: encode.MinimalCompression, Memory: w.memory}
	if w.terms, err = indexshard.Create(ctx, to.Store, to.Prefix+artifactTerms+".amudai.shard", termsType, o); err != nil {
		return err
	}
	o.LongBlocks = true
	if w.positions, err = indexshard.Create(ctx, to.Store, to.Prefix+artifactPositions+".amudai.shard", positionsType, o); err != nil {
		return err
	}
	w.types = arrowtype.Schema(positionsType)
	if w.memory > 0 {
		w.spill = colstream.NewSpill(indexshard.SpillBytes(w.memory))
	}
	w.tree = newTree(w.terms, arrowtype.Schema(termsType), w.spill)
	return nil
}

// add takes the next list.
func (w *writer) add(ctx context.Context, t string, stripe uint16, field uint32, l *list) error {
	start := w.written
	if err := w.append(ctx, l.values); err != nil {
		return err
	}
	return w.tree.add(ctx, t, listAt{stripe: stripe, field: field, kind: l.kind, start: start, end: w.written})
}

// append takes values of the list available.
func (w *writer) append(ctx context.Context, values []uint64) error {
	w.values = append(w.values, values...)
	w.written += uint64(len(values))
	if len(w.values) < positionRows {
		return nil
	}
	return w.flush(ctx)
}

// flush writes the values that wait, of which the writer keeps nothing.
func (w *writer) flush(ctx context.Context) error {
	n := len(w.values)
	data := array.NewData(arrow.PrimitiveTypes.Uint64, n, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Uint64Traits.CastToBytes(w.values))}, nil, 0, 0)
	defer data.Release()
	column := array.NewUint64Data(data)
	defer column.Release()
	b := array.NewRecordBatch(w.types, []arrow.Array{column}, int64(n))
	defer b.Release()
	w.values = w.values[:0]
	return w.positions.Write(ctx, b)
}

// finish writes the rest, and closes both.
func (w *writer) finish(ctx context.Context) (out [2]*indexshard.Written, err error) {
	if err := w.flush(ctx); err != nil {
		return out, err
	}
	if err := w.tree.finish(ctx); err != nil {
		return out, err
	}
	for i, a := range []*shardwriter.Writer{w.terms, w.positions} {
		if out[i], err = indexshard.Finish(ctx, a); err != nil {
			return out, err
		}
	}
	return out, nil
}

// abort gives up what was not finished.
func (w *writer) abort(ctx context.Context) {
	for _, a := range []*shardwriter.Writer{w.terms, w.positions} {
		if a != nil {
			a.Abort(ctx)
		}
	}
	_ = w.spill.Close() // of a file that nobody will read
}
