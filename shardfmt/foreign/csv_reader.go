package foreign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// csvRecord is one record of CSV: text with the fields marked in it.
type csvRecord struct {
	// text holds the fields, each followed by one byte that belongs to none but the last.
	text []byte
	// cells are where the fields end, twice, plus one for those that were quoted.
	cells []uint32
	// names are the header of its input.
	names []string
	// input and line are where it starts.
	input string
	line  int64
}

// quoted reports whether field i was quoted.
func (r *csvRecord) quoted(i int) bool { return r.cells[i]&1 != 0 }

// cell is the text of field i.
func (r *csvRecord) cell(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = r.cells[i-1]>>1 + 1
	}
	return r.text[start : r.cells[i]>>1]
}

// null tells the unquoted empty field.
func (r *csvRecord) null(i int) bool { return !r.quoted(i) && len(r.cell(i)) == 0 }

// clone is a copy that outlives the next read.
func (r *csvRecord) clone() csvRecord {
	c := *r
	c.text, c.cells = bytes.Clone(r.text), append([]uint32(nil), r.cells...)
	return c
}

// csvReader reads records by RFC 4180: fields between commas, quoted where they hold commas, quotes (doubled)
// or line breaks.
type csvReader struct {
	lines *texts
	comma byte
	// sniff: the comma is told from each input by itself.
	sniff  bool
	begun  bool
	record csvRecord
	// own is text that had to be put together.
	own []byte
}

// newCSVReader reads by the comma that the options give, or tells it from the inputs.
func newCSVReader(lines *texts, comma byte) *csvReader {
	return &csvReader{lines: lines, comma: comma, sniff: comma == 0}
}

// next reads a record, valid until the next call; io.EOF after the last of all inputs. first tells that it is the
// first of its input.
func (r *csvReader) next(ctx context.Context) (rec *csvRecord, first bool, err error) {
	for {
		if err := r.lines.open(ctx); err != nil {
			return nil, false, err
		}
		first = !r.begun
		if first && r.sniff {
			r.comma = sniffComma(r.lines.reader, r.lines.name())
		}
		r.begun = true
		line, err := r.lines.here()
		if err == nil {
			rec, err := r.parse(line)
			return rec, first, err
		}
		if err != io.EOF {
			return nil, false, err
		}
		r.begun = false
		if err := r.lines.end(ctx); err != nil {
			return nil, false, err
		}
	}
}

// parse takes a record that starts with a line.
func (r *csvReader) parse(line []byte) (*csvRecord, error) {
	rec := &r.record
	rec.input, rec.line, rec.cells = r.lines.name(), r.lines.line, rec.cells[:0]
	if bytes.IndexByte(line, '"') < 0 { // fields are where they stand
		rec.text = line
		for at := 0; ; {
			i := bytes.IndexByte(line[at:], r.comma)
			if i < 0 {
				rec.cells = append(rec.cells, uint32(len(line))<<1)
				return rec, nil
			}
			rec.cells = append(rec.cells, uint32(at+i)<<1)
			at += i + 1
		}
	}
	r.own = r.own[:0]
	var err error
	for line != nil {
		if len(line) > 0 && line[0] == '"' {
			line, err = r.quoted(line[1:])
		} else {
			line, err = r.plain(line)
		}
		if err != nil {
			return nil, err
		}
	}
	rec.text = r.own
	return rec, nil
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
	r.own = append(r.own, field...)
	r.end(false)
	return rest, nil
}

// end ends a field at the end of the text.
func (r *csvReader) end(quoted bool) {
	end := uint32(len(r.own)) << 1
	if quoted {
		end++
	}
	r.record.cells = append(r.record.cells, end)
	r.own = append(r.own, r.comma)
}

// quoted reads a quoted field behind its first quote; it may go on over many lines.
func (r *csvReader) quoted(line []byte) ([]byte, error) {
	rec := &r.record
	for {
		i := bytes.IndexByte(line, '"')
		if i < 0 {
			r.own = append(append(r.own, line...), r.lines.ending...)
			var err error
			if line, err = r.more(); err != nil {
				return nil, err
			}
			continue
		}
		r.own = append(r.own, line[:i]...)
		line = line[i+1:]
		switch {
		case len(line) == 0:
			r.end(true)
			return nil, nil
		case line[0] == r.comma:
			r.end(true)
			return line[1:], nil
		case line[0] != '"':
			return nil, located(errors.New("text behind the closing quote of a field"), rec.input, rec.line)
		}
		r.own = append(r.own, '"')
		line = line[1:]
	}
}

// more reads the next line of a quoted field.
func (r *csvReader) more() ([]byte, error) {
	if len(r.own) > maxRecord {
		return nil, located(fmt.Errorf("a record of more than %d bytes", maxRecord), r.record.input, r.record.line)
	}
	line, err := r.lines.here()
	if err == io.EOF {
		return nil, located(errors.New("the quote of a field is never closed"), r.record.input, r.record.line)
	}
	return line, err
}
