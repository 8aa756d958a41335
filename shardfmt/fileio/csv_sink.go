package fileio

import (
	"bytes"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// newCSVSink writes CSV: a header, then a line a record. A field is quoted if it has to be: also the empty string, for an empty field is
// null.
func newCSVSink(w io.Writer, s *schema.Schema, o SinkOptions) *textSink {
	c := csvRenderer{newRenderer(o), o.Comma}
	if c.comma == 0 {
		c.comma = ','
	}
	sink := newTextSink(w, o, c.rows)
	if !o.NoHeader {
		for i, f := range s.Fields {
			if i > 0 {
				sink.head = append(sink.head, c.comma)
			}
			sink.head = c.appendField(sink.head, []byte(f.Name))
		}
		sink.head = append(sink.head, '\n')
	}
	return sink
}

// csvRenderer makes renders of records as lines of CSV.
type csvRenderer struct {
	*renderer
	comma byte
}

// rows makes the render of a batch's records.
func (c csvRenderer) rows(batch arrow.RecordBatch) render {
	columns := make([]render, batch.NumCols())
	for i := range columns {
		columns[i] = c.column(batch.Column(i))
	}
	return func(dst []byte, row int) []byte {
		for i, column := range columns {
			if i > 0 {
				dst = append(dst, c.comma)
			}
			dst = column(dst, row)
		}
		return append(dst, '\n')
	}
}

// column renders the fields of one column, nulls as nothing.
func (c csvRenderer) column(a arrow.Array) render {
	field := c.field(a)
	if _, ok := a.(*array.SparseUnion); !ok && a.NullN() == 0 {
		return field
	}
	return func(dst []byte, i int) []byte {
		if arrowtype.IsNull(a, i) {
			return dst
		}
		return field(dst, i)
	}
}

// field renders values that are not null.
func (c csvRenderer) field(a arrow.Array) render {
	if text, ok := a.(*array.LargeString); ok {
		return c.texts(text)
	}
	value := c.plain(a)
	if isHarmless(a) && !isHarmlessByte(c.comma) {
		return value
	}
	var text []byte
	return func(dst []byte, i int) []byte {
		text = value(text[:0], i)
		return c.appendField(dst, text)
	}
}

// texts renders strings. Which of the characters that request quotes there are at all is looked at once.
func (c csvRenderer) texts(a *array.LargeString) render {
	var special []byte
	for _, b := range [...]byte{c.comma, '"', '\r', '\n'} {
		if bytes.IndexByte(a.ValueBytes(), b) >= 0 {
			special = append(special, b)
		}
	}
	return func(dst []byte, i int) []byte {
		text := a.Value(i)
		quote := text == ""
		for _, b := range special {
			quote = quote || strings.IndexByte(text, b) >= 0
		}
		if quote {
			return appendQuoted(dst, text)
		}
		return append(dst, text...)
	}
}

// appendField appends a field, quoted if it has to be.
func (c csvRenderer) appendField(dst, text []byte) []byte {
	if len(text) > 0 && bytes.IndexByte(text, c.comma) < 0 && !bytes.ContainsAny(text, "\"\r\n") {
		return append(dst, text...)
	}
	return appendQuoted(dst, string(text))
}

// appendQuoted appends text in quotes, those in it doubled.
func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for {
		at := strings.IndexByte(text, '"')
		if at < 0 {
			break
		}
		dst = append(append(dst, text[:at+1]...), '"')
		text = text[at+1:]
	}
	return append(append(dst, text...), '"')
}

// isHarmless reports the arrays whose values are written by isHarmlessByte's characters alone, at least one each.
func isHarmless(a arrow.Array) bool {
	switch a.(type) {
	case *array.Float32, *array.Float64, *array.Boolean, *arrowtype.DateTimeArray, *arrowtype.TimeSpanArray, *arrowtype.DecimalArray, *extensions.UUIDArray:
		return true
	}
	return integerRender(a) != nil
}

// isHarmlessByte reports what numbers, times and guids are written with: never what CSV gives a meaning, but somebody may request fields
// that are parted by one of these.
func isHarmlessByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.' || c == ':' || c == '-' || c == '+' || c == ' '
}

// plain renders values without the quotes of JSON, for fields that hold one value each.
func (r *renderer) plain(a arrow.Array) render {
	switch a := a.(type) {
	case *array.LargeString:
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }
	case *array.Float32:
		return func(dst []byte, i int) []byte { return literal.AppendFloat(dst, float64(a.Value(i)), 32) }
	case *array.Float64:
		var floats literal.Floats
		return func(dst []byte, i int) []byte { return floats.Append(dst, a.Value(i)) }
	}
	if isText(a) {
		return r.text(a)
	}
	return r.value(a)
}
