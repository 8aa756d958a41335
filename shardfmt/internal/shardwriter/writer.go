package shardwriter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/parallel"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Writer writes one shard. Not for concurrent use.
type Writer struct {
	schema *schema.Schema
	types  *arrow.Schema
	o      Options
	field  column.Options

	columns []column.Encoder // of the stripe available, nil between stripes
	rows    int              // in the stripe available
	deleted uint64           // of them, by the marker field
	bags    meta.Bags        // of the stripes to come
	stripes int              // ended
	out     *objects
	err     error // the first failure; the writer is of no use then
}

// Written is a finished shard.
type Written struct {
	// URL of the root, and its size in bytes.
	URL  string
	Size int64
	// Records of the shard, deleted ones included; Deleted is how many of them are.
	Records, Deleted uint64
	// Objects of the shard, the root last.
	Objects []Object
}

// Object is one object of a shard.
type Object struct {
	URL  string
	Size int64
}

// New starts a shard whose root will be at url, a canonical URL. The schema is numbered by the writer.
func New(ctx context.Context, st Store, url string, s *schema.Schema, o Options) (*Writer, error) {
	s.Number()
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := arrowtype.Check(s); err != nil {
		return nil, err
	}
	if err := o.complete(s); err != nil {
		return nil, err
	}
	out, err := newObjects(ctx, st, url, s, &o)
	if err != nil {
		return nil, err
	}
	w := &Writer{schema: s, types: arrowtype.Schema(s), o: o, out: out, bags: o.StripeProperties}
	w.field = column.Options{
		Profile: o.Profile, SparseUnions: o.SparseUnions, Stats: o.stats, Trees: o.trees, Pack: o.pack, Opaque: o.opaque, Encodings: o.encodings, Hints: hints(s),
		DictionaryEntries: o.entries, NoRangeIndex: o.Unsearched, LongBlocks: o.LongBlocks,
		Memory: new(column.Memory), Choices: o.Choices,
	}
	if o.SpillBytes > 0 {
		w.field.Spill = colstream.NewSpill(o.SpillBytes)
	}
	return w, nil
}

// Write appends the records of a batch, whose columns are the schema's fields in order, in their canonical
// types; those that may be coded (arrowtype.Codable) may be. Nothing of the batch is kept.
func (w *Writer) Write(ctx context.Context, b arrow.RecordBatch) error {
	if w.err != nil {
		return w.err
	}
	if err := w.check(b); err != nil {
		return err
	}
	if err := w.checkNulls(b); err != nil {
		return err
	}
	for at := int64(0); at < b.NumRows(); {
		n := min(b.NumRows()-at, int64(w.o.StripeRows-w.rows))
		if w.err = w.add(ctx, b.NewSlice(at, at+n)); w.err != nil {
			return w.err
		}
		at += n
	}
	return nil
}

// check compares the columns of a batch with the schema.
func (w *Writer) check(b arrow.RecordBatch) error {
	if int(b.NumCols()) != len(w.schema.Fields) {
		return fmt.Errorf("batch of %d columns for a schema of %d fields", b.NumCols(), len(w.schema.Fields))
	}
	for i, f := range w.types.Fields() {
		got := b.Column(i).DataType()
		if d, ok := got.(*arrow.DictionaryType); ok && arrowtype.Codable(w.schema.Fields[i]) {
			got = d.ValueType
		}
		if !sameType(got, f.Type) {
			return fmt.Errorf("column %d (%q) has type %v, the field %v", i, f.Name, b.Column(i).DataType(), f.Type)
		}
	}
	return nil
}

// checkNulls refuses nulls of fields that are not nullable.
func (w *Writer) checkNulls(b arrow.RecordBatch) error {
	for i, f := range w.schema.Fields {
		if path, row, found := arrowtype.FindNull(b.Column(i), f); found {
			return fmt.Errorf("row %d of the batch, field %q: null, and the field is not nullable", row, path)
		}
	}
	return nil
}

// sameType compares types without names and nullability of what is nested.
func sameType(a, b arrow.DataType) bool {
	if a == b || arrow.TypeEqual(a, b) {
		return true
	}
	x, ok := a.(arrow.NestedType)
	y, ok2 := b.(arrow.NestedType)
	if !ok || !ok2 || a.ID() != b.ID() || x.NumFields() != y.NumFields() {
		return false
	}
	if l, ok := a.(*arrow.FixedSizeListType); ok && l.Len() != b.(*arrow.FixedSizeListType).Len() {
		return false
	}
	return slices.EqualFunc(x.Fields(), y.Fields(), func(f, g arrow.Field) bool { return sameType(f.Type, g.Type) })
}

// add appends records that fit into the stripe available.
func (w *Writer) add(ctx context.Context, b arrow.RecordBatch) error {
	defer b.Release()
	if w.columns == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if len(w.o.Indexes) > 0 {
		plain := arrowtype.PlainBatch(b, w.types)
		defer plain.Release()
		b = plain
	}
	for _, a := range b.Columns() {
		settle(a)
	}
	err := parallel.Each(ctx, w.o.Workers, len(w.columns)+len(w.o.Indexes), func(i int) error {
		if i >= len(w.columns) {
			return w.o.Indexes[i-len(w.columns)].Add(b)
		}
		return w.columns[i].Add(b.Column(i))
	})
	if err != nil {
		return err
	}
	for i, f := range w.schema.Fields {
		if f.Internal == schema.InternalDeletedRecord {
			w.deleted += countTrue(b.Column(i))
		}
	}
	w.rows += int(b.NumRows())
	if w.rows >= w.o.StripeRows || w.size() >= w.o.StripeBytes {
		return w.endStripe(ctx)
	}
	return nil
}

// begin makes the encoders of a stripe.
func (w *Writer) begin() error {
	w.columns = make([]column.Encoder, len(w.schema.Fields))
	for i, f := range w.schema.Fields {
		var err error
		if w.columns[i], err = column.NewEncoder(f, &w.field); err != nil {
			return err
		}
	}
	return nil
}

// Held is about how many bytes of memory the stripe available holds.
func (w *Writer) Held() int64 { return int64(w.size()) }

// size is Held in the unit of Options.StripeBytes.
func (w *Writer) size() (n int) {
	for _, c := range w.columns {
		n += c.Size()
	}
	for _, x := range w.o.Indexes {
		n += x.Size()
	}
	return n
}

// EndStripe ends the stripe available; the next record starts another. Without records it does nothing.
func (w *Writer) EndStripe(ctx context.Context) error {
	if w.err == nil && w.rows > 0 {
		w.err = w.endStripe(ctx)
	}
	return w.err
}

// endStripe finishes all fields and writes the stripe.
func (w *Writer) endStripe(ctx context.Context) error {
	finished := make([][]*column.Encoded, len(w.columns))
	err := parallel.Each(ctx, w.o.Workers, len(w.columns), func(i int) error {
		err := w.columns[i].Finish(func(e *column.Encoded) error {
			finished[i] = append(finished[i], e)
			return nil
		})
		w.columns[i] = nil
		return err
	})
	if err != nil {
		return err
	}
	s := &stripe{records: uint64(w.rows), deleted: w.deleted, fields: slices.Concat(finished...), bags: w.bags}
	if w.o.FromEnd {
		s.sortBySize()
	}
	w.columns, w.rows, w.deleted = nil, 0, 0
	if s.indexes, err = w.out.finishIndexes(ctx, w.stripes); err != nil {
		return err
	}
	w.stripes++
	return w.out.add(ctx, s)
}

// SetStripeProperties gives the stripe available, and those after it, other properties than the options say.
func (w *Writer) SetStripeProperties(b meta.Bags) error {
	for _, bag := range []meta.Properties{b.Standard, b.Custom} {
		if err := bag.Check(); err != nil {
			return err
		}
	}
	w.bags = b
	return nil
}

// FieldOptions are those of the encoders of the writer's stripes, for fields that are made elsewhere.
func (w *Writer) FieldOptions() *column.Options { return &w.field }

// AddStripe adds a stripe whose fields were made elsewhere: every field of the schema, children before their parents.
func (w *Writer) AddStripe(ctx context.Context, records uint64, fields ...*column.Encoded) error {
	return w.AddExternalStripe(ctx, records, nil, fields...)
}

// AddExternalStripe is AddStripe of fields whose values lie in objects that are not the shard's, in ranges with the given checksums.
func (w *Writer) AddExternalStripe(ctx context.Context, records uint64, sums []meta.ObjectSum, fields ...*column.Encoded) error {
	if err := w.EndStripe(ctx); err != nil {
		return err
	}
	for _, f := range fields {
		if d := f.Descriptor; !f.Node.Nullable && d.GetPositionCount() > 0 && (d.NullCount == nil || *d.NullCount > 0) {
			return fmt.Errorf("field %q: null or unknown presence, and the field is not nullable", f.Node.Name)
		}
	}
	s := &stripe{records: records, fields: fields, bags: w.bags, external: sums}
	if w.o.FromEnd {
		s.sortBySize()
	}
	w.err = w.out.add(ctx, s)
	return w.err
}

// Close ends the last stripe, writes the root and reads it back. After an error the objects written so far
// are removed, as far as that works.
func (w *Writer) Close(ctx context.Context) (*Written, error) {
	if err := w.EndStripe(ctx); err != nil {
		w.Abort(ctx)
		return nil, err
	}
	written, err := w.out.finish(ctx)
	if err != nil {
		w.Abort(ctx)
		return nil, err
	}
	w.err = errClosed
	return written, w.field.Spill.Close()
}

// CloseLater is Close that leaves writing the root to the caller, where the layout makes it an object of its own; it is nil where it was written. After
// an error the objects written so far are removed, as far as that works.
func (w *Writer) CloseLater(ctx context.Context) (*Written, *LaterRoot, error) {
	if err := w.EndStripe(ctx); err != nil {
		w.Abort(ctx)
		return nil, nil, err
	}
	written, root, err := w.out.finishLater(ctx)
	if err != nil {
		w.Abort(ctx)
		return nil, nil, err
	}
	w.err = errClosed
	if err := w.field.Spill.Close(); err != nil {
		if root != nil {
			root.Abort(ctx)
		}
		return nil, nil, err
	}
	return written, root, nil
}

// Spilled is how many bytes of buffers went to a temporary file so far.
func (w *Writer) Spilled() int64 {
	if w.field.Spill == nil {
		return 0
	}
	return w.field.Spill.Bytes()
}

var errClosed = errors.New("the writer is closed")

// Abort gives the shard up and removes what was written of it. After Close succeeded it does nothing.
func (w *Writer) Abort(ctx context.Context) {
	if w.err == errClosed {
		return
	}
	w.err, w.columns = errClosed, nil
	_ = w.field.Spill.Close() // of a file that nobody will read
	for _, x := range w.o.Indexes {
		x.Abort()
	}
	w.out.abort(ctx)
}

// countTrue counts the values of a boolean column that are true.
func countTrue(a arrow.Array) (n uint64) {
	b, ok := a.(*array.Boolean)
	if !ok {
		return 0
	}
	for i := range b.Len() {
		if b.IsValid(i) && b.Value(i) {
			n++
		}
	}
	return n
}
