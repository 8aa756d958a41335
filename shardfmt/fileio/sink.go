package fileio

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// SinkOptions define how records are written. The zero value follows the conventions of this package.
type SinkOptions struct {
	// GuidOrder of the text of guids, RFCOrder if empty.
	GuidOrder GuidOrder
	// NoHeader: CSV without a header line.
	NoHeader bool
	// Comma between CSV fields, ',' if 0.
	Comma byte
	// Width of the terminal a table is printed on, in columns; 0 leaves no column out. PageRows is how many rows
	// are measured together and stand below one line of names, 200 if 0. Whole prints all of a table, however wide.
	Width, PageRows int
	Whole           bool
	// TimeUnit of timestamps and durations in Arrow and Parquet: ns (also if empty), us, ms or s.
	TimeUnit string
	// Decimal is the type in Arrow and Parquet of decimals that Original gives no type; text if nil. A value that it
	// can't hold is refused with its record.
	Decimal *arrow.Decimal128Type
	// GuidAsString makes text of guids in Arrow and Parquet.
	GuidAsString bool
	// Original is the Arrow schema that the records once came with (arrowtype.PropertySchema), or nil.
	Original *arrow.Schema
	// Variants makes Parquet's variants of dynamic values in Arrow and Parquet instead of JSON text.
	Variants bool
	// Exact refuses, with its record, a value of which digits would be cut otherwise, or that the format does
	// not hold as it is.
	Exact bool
	// Settings of the format, by the options that it declares (Files), and whether it will be read over a network.
	Settings fileformat.Settings
	Remote   bool
	// Workers is how many make text of the records of a batch side by side, for NDJSON and CSV; as many as there are processors if 0.
	Workers int
	// Warn is called, once each, with what can't be written as it is.
	Warn func(message string)
}

// NewSink starts writing records of a schema in a format.
func NewSink(f Format, w io.Writer, s *schema.Schema, o SinkOptions) (Sink, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	switch f {
	case NDJSON:
		return newNDJSONSink(w, o), nil
	case CSV:
		return newCSVSink(w, s, o), nil
	case Table:
		return newTableSink(w, s, o), nil
	}
	if f.HoldsBatches() {
		return newBatchSink(f, func(types *arrow.Schema) (fileformat.Sink, error) { return openBatchSink(f, w, types, o) }, s, o)
	}
	return nil, fmt.Errorf("format %q is not written", f)
}

// newNDJSONSink writes a JSON object a line.
func newNDJSONSink(w io.Writer, o SinkOptions) *textSink {
	r := newRenderer(o)
	return newTextSink(w, o, func(batch arrow.RecordBatch) render {
		object := r.object(batch.Schema().Fields(), batch.Column)
		return func(dst []byte, i int) []byte { return append(object(dst, i), '\n') }
	})
}
