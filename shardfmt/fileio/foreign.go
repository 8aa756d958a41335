package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Source yields records. Not for concurrent use.
type Source interface {
	// Schema is the schema of all batches; it doesn't change.
	Schema() *schema.Schema
	// Next gives the next batch in canonical types, or io.EOF. The caller releases it.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// Close lets go of the inputs.
	Close() error
}

// codedSource is a Source that has values which repeat as codes, where its files do.
type codedSource interface {
	Source
	// NextCoded is Next, but some columns may be coded: arrays of Arrow's dictionary type. The batch is valid until the
	// next call, which may use its memory again. Whoever calls it doesn't call Next.
	NextCoded(ctx context.Context) (arrow.RecordBatch, error)
}

// Sink takes records. Not for concurrent use.
type Sink interface {
	// Write takes a batch in canonical types; it keeps no reference to it.
	Write(batch arrow.RecordBatch) error
	// Close writes the rest; it does not close the underlying writer.
	Close() error
}

// GroupedSink is a Sink that holds rows in memory until a group of them ends, as row groups of Parquet do.
type GroupedSink interface {
	Sink
	// Held is about how many bytes of memory the group takes.
	Held() int64
	// EndGroup writes the group; the next row begins another.
	EndGroup() error
}

// Format is a foreign format, by its name on the command line.
type Format string

// The formats. Arrow is the IPC format with a footer, ArrowStream the one for pipes; reading, Arrow is either.
// Table is written only.
const (
	NDJSON      Format = "ndjson"
	CSV         Format = "csv"
	Parquet     Format = "parquet"
	Arrow       Format = "arrow"
	ArrowStream Format = "arrow-stream"
	Table       Format = "table"
	Lance       Format = "lance"
	COLE        Format = "cole"
	Layer       Format = "layer"
)

// UnknownFields determines what happens to a field of a record that the schema lacks.
type UnknownFields string

// ErrorOnUnknown fails and names the record, ExtendByUnknown adds the field to the end of the schema, which
// takes a pass over all inputs before the first batch, DropUnknown ignores it.
const (
	ErrorOnUnknown  UnknownFields = "error"
	ExtendByUnknown UnknownFields = "extend"
	DropUnknown     UnknownFields = "drop"
)

// GuidOrder is the order of bytes that the text of a guid stands for.
type GuidOrder string

// RFC: the text 00112233-4455-… is the bytes 00 11 22 33 44 55 …; Microsoft: 33 22 11 00 55 44 ….
const (
	RFCOrder       GuidOrder = "rfc"
	MicrosoftOrder GuidOrder = "microsoft"
)

// Defaults of SourceOptions.
const (
	DefaultInferRows = 10_000
	defaultBatchRows = 8192
)

// Limits that bound memory, in bytes: one record, one batch as text, the sample of inference.
const (
	maxRecord = 64 << 20
	maxBatch  = 16 << 20
	maxSample = 128 << 20
)

// maxFields is how many fields, nested ones included, a schema that is inferred or comes with a file may have. What
// has more is refused at once: each field of a shard has encoders, statistics and a descriptor of its own.
const maxFields = 50_000

// AllRows as SourceOptions.InferRows looks at every record before the first is given, which takes a pass of its own
// over the inputs.
const AllRows = -1

// DefaultNulls are the texts of CSV fields that stand for null in columns of anything but text.
var DefaultNulls = []string{"NA", "N/A", "n/a", "NULL", "null", "None", "-", `\N`}

// SourceOptions define how inputs are read. The zero value infers everything.
type SourceOptions struct {
	// Format of all inputs; by their names if empty.
	Format Format
	// Schema of the records; inferred, or taken from the file, if nil.
	Schema *schema.Schema
	// Types are fields of single columns, by name, where Schema is nil: they win over what is inferred.
	Types []*schema.Node
	// InferRows is how many records inference looks at, DefaultInferRows if 0, AllRows for all.
	InferRows int
	// InferWait bounds how long inference waits for records of a stream, from its first bytes on: what has come by then is the
	// sample. 0 waits until InferRows have come or the stream ends.
	InferWait time.Duration
	// UnknownFields is ErrorOnUnknown if empty.
	UnknownFields UnknownFields
	// Header reports whether the first line of a CSV input names its fields; without a header they are named column1,
	// column2 …. Empty is AutoHeader: detected by comparing the first line with the others.
	Header Header
	// Comma between CSV fields; detected in the first lines if 0.
	Comma byte
	// Encoding of text.
	Encoding Encoding
	// Quote stands around CSV fields that hold commas, quotes or line breaks: the double quote if 0, none if NoQuote.
	Quote byte
	// Escape takes the meaning of the character behind it away, in CSV; 0 is none, and quotes in quoted fields are doubled.
	Escape byte
	// Comment begins a comment, up to the end of its line, in CSV; 0 is none.
	Comment byte
	// Skip is how many lines stand before the header, or the first record, of each CSV input.
	Skip int
	// Pad reads the fields that a CSV record lacks as null.
	Pad bool
	// Decimal is the decimal mark of numbers in CSV, the point if 0; Thousands is what stands between groups of three digits, or 0.
	Decimal, Thousands byte
	// Reject, if not nil, is given the records of CSV that can't be read, and reading goes on; its error ends the reading. Calls may be
	// concurrent where several sources have the same options.
	Reject func(Rejected) error
	// Nulls are texts of CSV fields that stand for null, in columns of every type; an empty field without quotes always
	// does. If Nulls is nil, DefaultNulls do in columns that hold no text.
	Nulls []string
	// DateFormats are formats of times in text, as strftime has them (%d/%m/%Y), tried before ISO 8601.
	DateFormats []string
	// TimeZone is where times without a zone belong, UTC if nil.
	TimeZone *time.Location
	// NullsAsText makes Strings of the columns of Arrow files that have no type but Null, as is always done with those of
	// Parquet files; without it they are Units.
	NullsAsText bool
	// GuidOrder of the text of guids, RFCOrder if empty.
	GuidOrder GuidOrder
	// BatchRows is the largest batch, DefaultBatchRows if 0.
	BatchRows int
	// Exact refuses, with its record, a value of which digits would be cut otherwise.
	Exact bool
	// Settings of the format, by the options that it declares (Files).
	Settings fileformat.Settings
	// Columns to read, by name, of formats that hold columns, and by OpenRows of all formats; nil reads all.
	Columns []string
	// Where selects the records for which it is true, nil all. Only OpenRows filters.
	Where filter.Expr
	// MaxMemory bounds the memory of reading Arrow and Parquet, in bytes, 1 GiB if 0: a batch of Arrow may
	// take so much, packed and unpacked, the process that reads Parquet (ServeReader) 512 MiB more.
	MaxMemory int64
	// InProcess reads Parquet in the caller's process, where a file made to do harm can end the program: for files that the caller trusts, in
	// programs that don't call ServeReader.
	InProcess bool
	// Progress, if not nil, is called with the stored bytes of the inputs read so far, and how many there are to
	// read, passes of inference counted; 0 where nobody knows, as of pipes. Calls may be concurrent.
	Progress func(read, total int64)
	// Stdin is what "-" reads; nothing if nil.
	Stdin io.Reader
	// Warn is called, once each, with what is changed in passing: for instance digits below 100 ns that
	// are cut.
	Warn func(message string)

	// bound leaves out parts of files that hold columns in which no record can match. It is bound to the fields of the file; records are not
	// filtered one by one.
	bound *filter.Bound
	// coded: columns of a file's batches may be codes of dictionaries of their types, of which the file's schema doesn't tell.
	coded bool
	// unlent and unshared: the process that reads Parquet requests the bytes of its file, and sends its batches through a pipe, as it does
	// where it can have neither the file nor shared memory.
	unlent, unshared bool
}

func (o SourceOptions) withDefaults() SourceOptions {
	if o.InferRows == 0 {
		o.InferRows = DefaultInferRows
	}
	if o.Header == "" {
		o.Header = AutoHeader
	}
	if o.BatchRows <= 0 {
		o.BatchRows = defaultBatchRows
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = defaultMaxMemory
	}
	if o.UnknownFields == "" {
		o.UnknownFields = ErrorOnUnknown
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

// NoQuote as SourceOptions.Quote takes quotes as text.
const NoQuote = 0xFF

// Rejected is a record that was left out.
type Rejected struct {
	Input string
	// Line is where it starts, from 1.
	Line int64
	// Reason is what is wrong with it, and Text what stands there.
	Reason, Text string
}

// Header reports whether a CSV input begins with the names of its fields.
type Header string

// AutoHeader looks, WithHeader and NoHeader know.
const (
	AutoHeader Header = "auto"
	WithHeader Header = "yes"
	NoHeader   Header = "no"
)

// Validate reports which option has no meaning, or nil.
func (o SourceOptions) Validate() error {
	switch o.UnknownFields {
	case "", ErrorOnUnknown, ExtendByUnknown, DropUnknown:
	default:
		return fmt.Errorf("unknown fields: %q is not one of error, extend, drop", o.UnknownFields)
	}
	switch o.GuidOrder {
	case "", RFCOrder, MicrosoftOrder:
	default:
		return fmt.Errorf("guid order: %q is not one of rfc, microsoft", o.GuidOrder)
	}
	switch o.Header {
	case "", AutoHeader, WithHeader, NoHeader:
	default:
		return fmt.Errorf("header: %q is not one of auto, yes, no", o.Header)
	}
	if err := o.validateDialect(); err != nil {
		return err
	}
	if o.InferRows < AllRows {
		return fmt.Errorf("infer rows: %d", o.InferRows)
	}
	if _, err := newTimeText(o); err != nil {
		return err
	}
	switch o.Format {
	case "", NDJSON, CSV, Parquet, Arrow, ArrowStream:
	default:
		f := o.Format.File()
		if f == nil {
			return fmt.Errorf("format: %q is not supported: ndjson, csv, parquet, arrow, lance, cole or layer", o.Format)
		}
		return f.Check()
	}
	return nil
}

// ErrRecord matches every error that names a record which can't be read.
var ErrRecord = errors.New("bad record")

// RecordError is a record that can't be read, and where it stands.
type RecordError struct {
	// Input is the name of the file or object.
	Input string
	// Line counts from 1, in text; Row counts from 1, in files of batches. One of them is 0.
	Line, Row int64
	// Field is the dotted path of the field, or empty.
	Field string
	// Err is what is wrong.
	Err error
}

// Error implements error: input:line: field "x": what.
func (e *RecordError) Error() string {
	s := e.Input
	if e.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, e.Line)
	}
	if e.Row > 0 {
		s = fmt.Sprintf("%s: row %d", s, e.Row)
	}
	if e.Field != "" {
		s = fmt.Sprintf("%s: field %q", s, e.Field)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap gives ErrRecord and the cause.
func (e *RecordError) Unwrap() []error { return []error{ErrRecord, e.Err} }

// fieldError is an error of one field, before its record is known.
type fieldError struct {
	path string
	err  error
	// unknown: the schema lacks the field.
	unknown bool
	// wants is a type that would hold the value, and text the value where it may stand for null.
	wants, text string
}

func (e *fieldError) Error() string { return fmt.Sprintf("field %q: %v", e.path, e.err) }

func (e *fieldError) Unwrap() error { return e.err }

var errUnknownField = errors.New("the schema has no such field")

func inField(path, format string, args ...any) error {
	return &fieldError{path: path, err: fmt.Errorf(format, args...)}
}

// located adds the place of the record to an error of its content.
func located(err error, input string, line int64) error {
	e := &RecordError{Input: input, Line: line, Err: err}
	var f *fieldError
	if errors.As(err, &f) {
		e.Field, e.Err = f.path, f.err
	}
	return e
}
