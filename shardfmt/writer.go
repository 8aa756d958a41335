package shardfmt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/field"
	"github.com/shardcat/shardcat/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/encode"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Writer writes one shard. Not for concurrent use.
type Writer struct {
	ctx    context.Context
	schema *schema.Schema
	types  *arrow.Schema
	o      WriterOptions
	field  field.Options

	columns []field.Encoder // of the stripe at hand, nil between stripes
	rows    int             // in the stripe at hand
	deleted uint64          // of them, by the marker field
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

// NewWriter starts a shard whose root will be at url, a canonical URL. The schema is numbered by the writer.
func NewWriter(ctx context.Context, sp *blobio.Client, url string, s *schema.Schema, o WriterOptions) (*Writer, error) {
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
	out, err := newObjects(ctx, sp, url, s, &o)
	if err != nil {
		return nil, err
	}
	w := &Writer{ctx: ctx, schema: s, types: arrowtype.Schema(s), o: o, out: out}
	w.field = field.Options{Profile: o.Profile, SparseUnions: o.SparseUnions, Stats: o.Stats}
	return w, nil
}

// complete fills in the defaults.
func (o *WriterOptions) complete(s *schema.Schema) error {
	if o.StripeRows < 0 || o.StripeBytes < 0 || o.Workers < 0 {
		return errors.New("a stripe needs a positive number of records")
	}
	if o.StripeRows == 0 {
		o.StripeRows = DefaultStripeRows
	}
	if o.StripeBytes == 0 {
		o.StripeBytes = DefaultStripeBytes
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.FieldIDs != nil && len(o.FieldIDs) != int(s.Count) {
		return fmt.Errorf("%d field ids for the %d nodes of the schema", len(o.FieldIDs), s.Count)
	}
	if o.CreationMin == 0 && o.CreationMax == 0 {
		o.CreationMin = ticksOf(time.Now())
		o.CreationMax = o.CreationMin
	}
	if o.CreationMin > o.CreationMax {
		return fmt.Errorf("creation times %d to %d", o.CreationMin, o.CreationMax)
	}
	return o.completeStats(s)
}

// completeStats makes the statistics options that the Bloom filters asked for imply.
func (o *WriterOptions) completeStats(s *schema.Schema) error {
	asked := make(map[uint32]float64)
	for path, fpp := range o.Bloom {
		n, err := s.Lookup(path)
		if err != nil {
			return err
		}
		asked[n.ID] = fpp
	}
	given := o.Stats
	o.Stats = func(n *schema.Node) stats.Options {
		so := stats.Options{Plain: o.Profile == encode.Plain}
		if given != nil {
			so = given(n)
		}
		if fpp, ok := asked[n.ID]; ok {
			so.Bloom, so.FPP = stats.BloomAlways, fpp
		}
		return so
	}
	return nil
}

// unixEpoch is 1970-01-01 in ticks.
const unixEpoch = 621_355_968_000_000_000

func ticksOf(t time.Time) uint64 {
	return uint64(unixEpoch + t.Unix()*10_000_000 + int64(t.Nanosecond())/100)
}

// Write appends the records of a batch, whose columns are the schema's fields in order, in their canonical
// types. Nothing of the batch is kept.
func (w *Writer) Write(b arrow.RecordBatch) error {
	if w.err != nil {
		return w.err
	}
	if err := w.check(b); err != nil {
		return err
	}
	for at := int64(0); at < b.NumRows(); {
		n := min(b.NumRows()-at, int64(w.o.StripeRows-w.rows))
		if w.err = w.add(b.NewSlice(at, at+n)); w.err != nil {
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
		if !sameType(b.Column(i).DataType(), f.Type) {
			return fmt.Errorf("column %d (%q) has type %v, the field %v", i, f.Name, b.Column(i).DataType(), f.Type)
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

// add appends records that fit into the stripe at hand.
func (w *Writer) add(b arrow.RecordBatch) error {
	defer b.Release()
	if w.columns == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	err := parallel(w.ctx, w.o.Workers, len(w.columns), func(i int) error {
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
		return w.endStripe()
	}
	return nil
}

// begin makes the encoders of a stripe.
func (w *Writer) begin() error {
	w.columns = make([]field.Encoder, len(w.schema.Fields))
	for i, f := range w.schema.Fields {
		var err error
		if w.columns[i], err = field.NewEncoder(f, &w.field); err != nil {
			return err
		}
	}
	return nil
}

// size is about how many bytes the stripe at hand holds.
func (w *Writer) size() (n int) {
	for _, c := range w.columns {
		n += c.Size()
	}
	return n
}

// EndStripe ends the stripe at hand; the next record starts another. Without records it does nothing.
func (w *Writer) EndStripe() error {
	if w.err == nil && w.rows > 0 {
		w.err = w.endStripe()
	}
	return w.err
}

// endStripe finishes all fields and writes the stripe.
func (w *Writer) endStripe() error {
	finished := make([][]*field.Encoded, len(w.columns))
	err := parallel(w.ctx, w.o.Workers, len(w.columns), func(i int) error {
		err := w.columns[i].Finish(func(e *field.Encoded) error {
			finished[i] = append(finished[i], e)
			return nil
		})
		w.columns[i] = nil
		return err
	})
	if err != nil {
		return err
	}
	s := &stripe{records: uint64(w.rows), deleted: w.deleted, fields: slices.Concat(finished...)}
	w.columns, w.rows, w.deleted = nil, 0, 0
	return w.out.add(s)
}

// Close ends the last stripe, writes the root and reads it back. After an error the objects written so far
// are removed, as far as that works.
func (w *Writer) Close() (*Written, error) {
	if err := w.EndStripe(); err != nil {
		w.Abort()
		return nil, err
	}
	written, err := w.out.finish()
	if err != nil {
		w.Abort()
		return nil, err
	}
	w.err = errClosed
	return written, nil
}

var errClosed = errors.New("the writer is closed")

// Abort gives the shard up and removes what was written of it. After Close succeeded it does nothing.
func (w *Writer) Abort() {
	if w.err == errClosed {
		return
	}
	w.err, w.columns = errClosed, nil
	w.out.abort()
}

// customProperties are the shard's custom properties with those of our own.
func (o *WriterOptions) customProperties() []*metapb.NameValuePair {
	out := slices.Clone(o.Properties)
	if o.FieldIDs != nil {
		ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(o.FieldIDs), " ", ","), "[]")
		out = append(out, fieldIDsProperty(ids))
	}
	return out
}
