package foreign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// csvRecord is one record of CSV: text with the fields marked in it.
type csvRecord struct {
	text  []byte
	cells []csvCell
	// names are the header of its input.
	names []string
	// input and line are where it starts.
	input string
	line  int64
}

// csvCell is a field of a record: text[start:end], quoted or not.
type csvCell struct {
	start, end int
	quoted     bool
}

// null tells the unquoted empty field.
func (c csvCell) null() bool { return c.start == c.end && !c.quoted }

func (r *csvRecord) cell(i int) []byte { return r.text[r.cells[i].start:r.cells[i].end] }

// clone is a copy that outlives the next read.
func (r *csvRecord) clone() csvRecord {
	c := *r
	c.text, c.cells = bytes.Clone(r.text), append([]csvCell(nil), r.cells...)
	return c
}

// csvReader reads records by RFC 4180: fields between commas, quoted where they hold commas, quotes (doubled)
// or line breaks.
type csvReader struct {
	lines  *texts
	comma  byte
	record csvRecord
}

// comma is the separator for an input: what the options say, else by the name.
func commaFor(o SourceOptions, in input) byte {
	if o.Comma != 0 {
		return o.Comma
	}
	if name := []byte(in.name); bytes.Contains(bytes.ToLower(name), []byte(".tsv")) {
		return '\t'
	}
	return ','
}

// next reads a record, valid until the next call; io.EOF after the last of all inputs.
func (r *csvReader) next(ctx context.Context) (*csvRecord, error) {
	line, err := r.lines.next(ctx)
	if err != nil {
		return nil, err
	}
	rec := &r.record
	rec.text, rec.cells = rec.text[:0], rec.cells[:0]
	rec.input, rec.line = r.lines.name(), r.lines.line
	for {
		if len(line) > 0 && line[0] == '"' {
			line, err = r.quoted(ctx, line[1:])
		} else {
			line, err = r.plain(line)
		}
		if err != nil {
			return nil, err
		}
		if line == nil {
			return rec, nil
		}
	}
}

var errQuote = errors.New(`a quote inside a field that doesn't start with one: quote the field, and double the quotes in it`)

// plain reads an unquoted field and gives what follows its comma, or nil at the end of the record.
func (r *csvReader) plain(line []byte) ([]byte, error) {
	field, rest := line, []byte(nil)
	if i := bytes.IndexByte(line, r.comma); i >= 0 {
		field, rest = line[:i], line[i+1:]
	}
	if bytes.IndexByte(field, '"') >= 0 {
		return nil, located(errQuote, r.record.input, r.record.line)
	}
	r.add(len(r.record.text), field, false)
	return rest, nil
}

// add ends a field that starts at start of the text, with a last piece.
func (r *csvReader) add(start int, piece []byte, quoted bool) {
	r.record.text = append(r.record.text, piece...)
	r.record.cells = append(r.record.cells, csvCell{start, len(r.record.text), quoted})
}

// quoted reads a quoted field behind its first quote; it may go on over many lines.
func (r *csvReader) quoted(ctx context.Context, line []byte) ([]byte, error) {
	rec := &r.record
	start := len(rec.text)
	for {
		i := bytes.IndexByte(line, '"')
		if i < 0 {
			rec.text = append(append(rec.text, line...), r.lines.ending...)
			var err error
			if line, err = r.more(ctx); err != nil {
				return nil, err
			}
			continue
		}
		rec.text = append(rec.text, line[:i]...)
		line = line[i+1:]
		switch {
		case len(line) == 0:
			r.add(start, nil, true)
			return nil, nil
		case line[0] == r.comma:
			r.add(start, nil, true)
			return line[1:], nil
		case line[0] != '"':
			return nil, located(errors.New("text behind the closing quote of a field"), rec.input, rec.line)
		}
		rec.text = append(rec.text, '"')
		line = line[1:]
	}
}

// more reads the next line of a quoted field.
func (r *csvReader) more(ctx context.Context) ([]byte, error) {
	at, body := r.lines.at, len(r.record.text)
	if body > maxRecord {
		return nil, located(fmt.Errorf("a record of more than %d bytes", maxRecord), r.record.input, r.record.line)
	}
	line, err := r.lines.next(ctx)
	if err != nil && !errors.Is(err, ErrRecord) || r.lines.at != at {
		if cause := ctx.Err(); cause != nil {
			return nil, cause
		}
		return nil, located(errors.New("the quote of a field is never closed"), r.record.input, r.record.line)
	}
	return line, err
}
