package fileformat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Store reads the objects that a file consists of; *blobio.Client has it.
type Store interface {
	// ReadRange fills dst with the bytes of an object from off on, or fails.
	ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error)
	// ReadSuffix returns the last min(n, size) bytes.
	ReadSuffix(ctx context.Context, url string, n int64) ([]byte, blobio.Info, error)
	// ReadRanges reads many ranges in as few requests as makes sense.
	ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error)
	// Stat requests an object without its content.
	Stat(ctx context.Context, url string) (blobio.Info, error)
	// List yields the objects whose URL starts with urlPrefix.
	List(ctx context.Context, urlPrefix string) iter.Seq2[blobio.Info, error]
}

// Creator makes objects; *blobio.Client has it.
type Creator interface {
	Store
	// Create starts a new object: see blobio.Bucket.
	Create(ctx context.Context, url string, opts blobio.CreateOptions) (blobio.Writer, error)
	// Delete removes an object.
	Delete(ctx context.Context, url, etag string) error
}

// Format is one file format. All its functions may be called concurrently; those that are nil are not offered.
type Format struct {
	// Name on the command line, in lower case.
	Name string
	// Suffixes of file names, with their dot, in lower case.
	Suffixes []string
	// Options that reading and writing know, beside those of the structs below.
	Options []Option
	// Sniff reports whether an object is of this format, by its first and last bytes: up to SniffBytes each.
	Sniff func(head, tail []byte) bool
	// Open opens an object or, for formats that consist of several, a folder (its URL without a slash).
	Open func(ctx context.Context, st Store, url string, o OpenOptions) (File, error)
	// Folders: a file may be a folder instead of an object.
	Folders bool
	// NewSink starts a file of one object.
	NewSink func(w io.Writer, s *arrow.Schema, o SinkOptions) (Sink, error)
	// CreateFolder starts a file of several objects below url. Close of the sink makes it visible as a whole. A format
	// that has NewSink too writes a folder where the URL ends in a slash.
	CreateFolder func(ctx context.Context, st Creator, url string, s *arrow.Schema, o SinkOptions) (Output, error)
	// Missing reports why a format that is known by name can't be used by this version, or is empty.
	Missing string
}

// SniffBytes is how much of either end of an object Sniff is shown, in bytes.
const SniffBytes = 512

// Option is one setting of a format, given as text: --NAME VALUE on the command line.
type Option struct {
	Name, Doc string
	// Read and Write report when it has a meaning.
	Read, Write bool
	// Bool means that the value is true or false.
	Bool bool
}

// Settings are values of options by name. A value that makes no sense is an *OptionError.
type Settings map[string]string

// OpenOptions determine how a file is opened. The zero value is valid.
type OpenOptions struct{ Settings Settings }

// SinkOptions determine how a file is written. The zero value is valid.
type SinkOptions struct {
	Settings Settings
	// AllowLossy takes values that the format holds only in part, and counts them in the report; without it they
	// are refused with their row.
	AllowLossy bool
	// Remote: the file will be read over a network, where few large reads are better than many small ones.
	Remote bool
}

// OptionError is a setting that can't be used.
type OptionError struct {
	Name, Value string
	// What was expected.
	What string
}

// Error implements error.
func (e *OptionError) Error() string {
	return fmt.Sprintf("invalid argument %q for --%s: %s", e.Value, e.Name, e.What)
}

// File is an open file. Its methods may be called concurrently.
type File interface {
	// Schema of the batches with all columns.
	Schema() *arrow.Schema
	// Read starts reading.
	Read(ctx context.Context, o ReadOptions) (Source, error)
	// Inspect describes the file; detail runs from 0 to 3, each level with all of those before it.
	Inspect(ctx context.Context, detail int) (*Inspection, error)
	// Verify reads everything and checks it. Damage is in the report; the error is for stores that can't be read.
	Verify(ctx context.Context, o VerifyOptions) (*corrupt.Report, error)
	// Close lets go of the file.
	Close() error
}

// ReadOptions determine what of a file is read. The zero value reads everything.
type ReadOptions struct {
	// Columns to read, by index in the file's schema, in the order of the batches; nil reads all.
	Columns []int
	// MayMatch, if not nil, is called for parts of the file whose statistics are known, by index of the column in
	// the file's schema (nil where nothing is known). Parts for which it states false are left out: the batches
	// then hold all rows that may match, and others.
	MayMatch func(stats func(column int) *filter.Stats) bool
	// BatchRows is the most rows of a batch, DefaultBatchRows if 0.
	BatchRows int
}

// DefaultBatchRows is the usual size of a batch.
const DefaultBatchRows = 8192

// VerifyOptions of Verify. The zero value is valid.
type VerifyOptions struct {
	// Progress, if not nil, is called with the number of bytes that were checked since its last call.
	Progress func(bytes int64)
}

// Source yields the batches of a file. Not for concurrent use.
type Source interface {
	// Schema of all batches.
	Schema() *arrow.Schema
	// Next gives the next batch, which is valid until the next call of Next or Close, or io.EOF.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// Report reports what of the file the batches don't hold, as far as it was read.
	Report() *arrowtype.Report
	// Close lets go of what reading holds.
	Close() error
}

// Sink takes batches of one schema. Not for concurrent use.
type Sink interface {
	// Write takes a batch and keeps no reference to it. A value that the format can't hold is an
	// *arrowtype.RowError, whose row counts from the start of the batch.
	Write(batch arrow.RecordBatch) error
	// Close writes the rest; it does not close the underlying writer.
	Close() error
	// Report reports what the file does not hold; it is complete after Close, and what concerns whole columns is
	// in it before the first batch.
	Report() *arrowtype.Report
}

// Output is a sink that owns the objects it writes.
type Output interface {
	Sink
	// Abort abandons them; after Close it does nothing.
	Abort()
}

// ErrMissing matches the refusal of a format that is known by name only.
var ErrMissing = errors.New("this build does not support this format")

// Check is nil if the format can be used.
func (f *Format) Check() error {
	if f.Missing == "" {
		return nil
	}
	return fmt.Errorf("%s: %w: %s", f.Name, ErrMissing, f.Missing)
}

// Named reports whether a file name has one of the format's suffixes.
func (f *Format) Named(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(path.Base(name), "/"))
	for _, suffix := range f.Suffixes {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// Create starts the file of a format at url, whatever number of objects it takes.
func (f *Format) Create(ctx context.Context, st Creator, url string, s *arrow.Schema, o SinkOptions) (Output, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if f.CreateFolder != nil && (f.NewSink == nil || strings.HasSuffix(url, "/")) {
		return f.CreateFolder(ctx, st, strings.TrimSuffix(url, "/"), s, o)
	}
	w, err := NewObject(ctx, st, url)
	if err != nil {
		return nil, err
	}
	sink, err := f.NewSink(w, s, o)
	if err != nil {
		w.Abort()
		return nil, err
	}
	return &object{sink, w}, nil
}

// object is a file of one object on its way up.
type object struct {
	Sink
	w *Object
}

// Close implements Sink: it commits the object.
func (o *object) Close() error {
	if err := o.Sink.Close(); err != nil {
		o.w.Abort()
		return err
	}
	return o.w.Commit()
}

// Abort implements Output.
func (o *object) Abort() { o.w.Abort() }

// Object is an object on its way up, written through a buffer.
type Object struct {
	*bufio.Writer
	to blobio.Writer
}

// objectBuffer is how much is gathered before it is handed to the store's writer, in bytes.
const objectBuffer = 256 << 10

// NewObject starts an object at url.
func NewObject(ctx context.Context, st Creator, url string) (*Object, error) {
	w, err := st.Create(ctx, url, blobio.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &Object{bufio.NewWriterSize(w, objectBuffer), w}, nil
}

// Commit makes the object visible, or leaves nothing behind.
func (o *Object) Commit() error {
	if err := o.Flush(); err != nil {
		o.to.Abort()
		return err
	}
	return o.to.Close()
}

// Abort abandons the object; after Commit it does nothing.
func (o *Object) Abort() { o.to.Abort() }
