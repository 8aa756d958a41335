package foreign

import (
	"bytes"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/valuetext"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// csvSink writes CSV: a header, then a line a record.
type csvSink struct {
	w      io.Writer
	comma  byte
	render renderer
	buf    []byte
	cell   []byte
}

func newCSVSink(w io.Writer, s *schema.Schema, o SinkOptions) *csvSink {
	sink := &csvSink{w: w, comma: o.Comma, render: renderer{guidOrder: o.GuidOrder, warn: o.Warn}}
	if sink.comma == 0 {
		sink.comma = ','
	}
	if !o.NoHeader {
		for i, f := range s.Fields {
			sink.separate(i)
			sink.put([]byte(f.Name))
		}
		sink.buf = append(sink.buf, '\n')
	}
	return sink
}

func (s *csvSink) separate(i int) {
	if i > 0 {
		s.buf = append(s.buf, s.comma)
	}
}

// put appends a field, quoted if it has to be: also the empty string, for an empty field is null.
func (s *csvSink) put(text []byte) {
	if len(text) > 0 && bytes.IndexByte(text, s.comma) < 0 && !bytes.ContainsAny(text, "\"\r\n") {
		s.buf = append(s.buf, text...)
		return
	}
	s.buf = append(s.buf, '"')
	for _, c := range text {
		if c == '"' {
			s.buf = append(s.buf, '"')
		}
		s.buf = append(s.buf, c)
	}
	s.buf = append(s.buf, '"')
}

// Write implements Sink.
func (s *csvSink) Write(batch arrow.RecordBatch) error {
	plain := make([]render, batch.NumCols())
	for i := range plain {
		plain[i] = s.render.plain(batch.Column(i))
	}
	for row := range int(batch.NumRows()) {
		for i, text := range plain {
			s.separate(i)
			if !arrowtype.IsNull(batch.Column(i), row) {
				s.cell = text(s.cell[:0], row)
				s.put(s.cell)
			}
		}
		s.buf = append(s.buf, '\n')
		if len(s.buf) >= flushSize {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return s.flush()
}

func (s *csvSink) flush() error {
	_, err := s.w.Write(s.buf)
	s.buf = s.buf[:0]
	return err
}

// Close implements Sink: a header is written even if no record came.
func (s *csvSink) Close() error { return s.flush() }

// plain renders values without the quotes of JSON, for fields that hold one value each.
func (r *renderer) plain(a arrow.Array) render {
	switch a := a.(type) {
	case *array.LargeString:
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }
	case *array.Float32:
		return func(dst []byte, i int) []byte { return valuetext.AppendFloat(dst, float64(a.Value(i)), 32) }
	case *array.Float64:
		return func(dst []byte, i int) []byte { return valuetext.AppendFloat(dst, a.Value(i), 64) }
	}
	if isText(a) {
		return r.text(a)
	}
	return r.value(a)
}
