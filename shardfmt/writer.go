package shardfmt

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Writer writes one shard. Not for concurrent use.
type Writer struct {
	w *shardwriter.Writer
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
func NewWriter(ctx context.Context, st WriteStore, url string, s *schema.Schema, o WriterOptions) (*Writer, error) {
	if isNil(st) || s == nil {
		return nil, fmt.Errorf("%w: a writer needs a store and a schema", ErrMissing)
	}
	if err := simd.Refused(); err != nil {
		return nil, err
	}
	s.Number()
	options := o.room()
	options.Choices = o.Choices.of(s)
	var err error
	if options.Indexes, err = stripeindex.NewBuilders(o.Indexes, s); err != nil {
		return nil, err
	}
	w, err := shardwriter.New(ctx, st, url, s, options)
	if err != nil {
		return nil, err
	}
	return &Writer{w}, nil
}

// Write appends the records of a batch, whose columns are the schema's fields in order, in their canonical
// types; columns whose values are stored as byte strings may be coded, as dictionaries. Nothing of the batch is kept. After an error the writer is of use for Abort only.
func (w *Writer) Write(ctx context.Context, b arrow.RecordBatch) error { return w.w.Write(ctx, b) }

// EndStripe ends the stripe available; the next record starts another. Without records it does nothing.
func (w *Writer) EndStripe(ctx context.Context) error { return w.w.EndStripe(ctx) }

// Held is about how many bytes of memory the stripe available holds: EndStripe gives them back.
func (w *Writer) Held() int64 { return w.w.Held() }

// SetStripeProperties gives the stripe available, and those after it, other properties than WriterOptions.StripeProperties. The
// writer may add one of its own, with the checksums of objects.
func (w *Writer) SetStripeProperties(p Properties) error { return w.w.SetStripeProperties(p.bags()) }

// Close ends the last stripe, writes the root and reads it back. After an error the objects written so far
// are removed, as far as that works.
func (w *Writer) Close(ctx context.Context) (*Written, error) {
	out, err := w.w.Close(ctx)
	if err != nil {
		return nil, err
	}
	return written(out), nil
}

// LaterRoot is the root of a shard whose other objects are written.
type LaterRoot struct {
	root *shardwriter.LaterRoot
	out  *shardwriter.Written
}

// CloseLater is Close that leaves writing the root to the caller, so that other requests can be made at the same time: before Put and ReadBack have
// returned nil nothing may depend on the shard, whose Size is known, and Objects are not. The root is nil where it was written and read back, as for all
// layouts but TwoLevel.
func (w *Writer) CloseLater(ctx context.Context) (*Written, *LaterRoot, error) {
	out, root, err := w.w.CloseLater(ctx)
	if err != nil {
		return nil, nil, err
	}
	if root == nil {
		return written(out), nil, nil
	}
	return written(out), &LaterRoot{root, out}, nil
}

// Bytes are the root, which must not be changed.
func (r *LaterRoot) Bytes() []byte { return r.root.Bytes }

// Put writes the root by a store, and gives the shard with all its objects. After an error they are removed, as far as that works and no root can
// name them.
func (r *LaterRoot) Put(ctx context.Context, st WriteStore) (*Written, error) {
	if err := r.root.Put(ctx, st); err != nil {
		return nil, err
	}
	return written(r.out), nil
}

// ReadBack reads the root that was put, and compares.
func (r *LaterRoot) ReadBack(ctx context.Context, st WriteStore) error {
	return r.root.ReadBack(ctx, st)
}

// Abort removes what was written of the shard, if its root was not.
func (r *LaterRoot) Abort(ctx context.Context) { r.root.Abort(ctx) }

// written is a finished shard in the terms of this package.
func written(w *shardwriter.Written) *Written {
	out := &Written{URL: w.URL, Size: w.Size, Records: w.Records, Deleted: w.Deleted}
	for _, o := range w.Objects {
		out.Objects = append(out.Objects, Object(o))
	}
	return out
}

// Abort gives the shard up and removes what was written of it, also when ctx has ended. After Close succeeded it
// does nothing.
func (w *Writer) Abort(ctx context.Context) { w.w.Abort(ctx) }
