package foreign

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// csvRecord is one record of CSV: text with the fields marked in it.
type csvRecord struct {
	// text holds the fields, in the order of the record, with what parts them.
	text []byte
	// cells are where the fields stand in it.
	cells []csvCell
	// names are the header of its input.
	names []string
	// input and line are where it starts.
	input string
	line  int64
}

// csvCell is where a field stands in the text of its record, which is shorter than 2³¹ bytes: its start in the upper half, and
// in the lower one its end, twice, plus one for those that were quoted.
type csvCell uint64

func newCSVCell(start, end int, quoted bool) csvCell {
	c := csvCell(start)<<32 | csvCell(end)<<1
	if quoted {
		c++
	}
	return c
}

// quoted reports whether field i was quoted.
func (r *csvRecord) quoted(i int) bool { return r.cells[i]&1 != 0 }

// cell is the text of field i.
func (r *csvRecord) cell(i int) []byte {
	c := r.cells[i]
	return r.text[c>>32 : uint32(c)>>1]
}

// null tells the unquoted empty field.
func (r *csvRecord) null(i int) bool { return !r.quoted(i) && len(r.cell(i)) == 0 }

// csvCopies keeps copies of records, many in one piece of memory.
type csvCopies struct {
	text  []byte
	cells []csvCell
}

// keep copies a record, so that it outlives the next read.
func (k *csvCopies) keep(r *csvRecord) csvRecord {
	c := *r
	c.text, k.text = kept(r.text, k.text)
	c.cells, k.cells = kept(r.cells, k.cells)
	return c
}

// keptRoom is how much of records kept is taken at once, in bytes or in fields.
const keptRoom = 32 << 10

// kept copies some values behind those that a piece of memory holds, or to a new piece.
func kept[T any](values, room []T) (copied, rest []T) {
	if cap(room)-len(room) < len(values) {
		room = make([]T, 0, max(keptRoom, len(values)))
	}
	n := len(room)
	room = append(room, values...)
	return room[n:len(room):len(room)], room
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
	// own is text that had to be put together, and start where its last field begins.
	own   []byte
	start int
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
	rec.input, rec.line = r.lines.name(), r.lines.line
	if r.inPlace(line) {
		return rec, nil
	}
	return r.unquote(line)
}

// inPlace marks the fields of a record where they stand in its line. It gives up on what has to be put together, as fields with
// quotes in them and records of many lines are, and on what is wrong. It looks at eight characters at a time for those that mean
// something.
func (r *csvReader) inPlace(line []byte) bool {
	rec := &r.record
	rec.text, rec.cells = line, rec.cells[:0]
	comma := everyByte * uint64(r.comma)
	start, quote := 0, 0 // of the field, and how many quotes of it were met
	for at := 0; at < len(line); at += 8 {
		x := wordAt(line, at)
		for marks := equalBytes(x, comma) | equalBytes(x, everyByte*'"'); marks != 0; marks &= marks - 1 {
			i := at + bits.TrailingZeros64(marks)/8
			switch {
			case line[i] != r.comma:
				if quote == 0 && i != start || quote == 1 && i+1 < len(line) && line[i+1] != r.comma || quote == 2 {
					return false
				}
				quote++
			case quote == 0:
				rec.cells = append(rec.cells, newCSVCell(start, i, false))
				start = i + 1
			case quote == 2: // the comma is behind the second one
				rec.cells = append(rec.cells, newCSVCell(start+1, i-1, true))
				start, quote = i+1, 0
			}
		}
	}
	switch quote {
	case 0:
		rec.cells = append(rec.cells, newCSVCell(start, len(line), false))
	case 2:
		rec.cells = append(rec.cells, newCSVCell(start+1, len(line)-1, true))
	}
	return quote != 1
}

// wordAt is the text from a place on, up to eight characters of it, the first one lowest, and 0 behind its end.
func wordAt(text []byte, at int) uint64 {
	if at+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[at:])
	}
	return ending(text[at:]) >> (64 - 8*(len(text)-at))
}

// equalBytes marks by their highest bits the bytes that are the same in two words.
func equalBytes(x, y uint64) uint64 {
	const rest = everyByte * 0x7f
	x ^= y
	return ^(x&rest + rest | x | rest)
}

// unquote puts the fields of a record together, which starts with a line.
func (r *csvReader) unquote(line []byte) (*csvRecord, error) {
	rec := &r.record
	rec.cells, r.own = rec.cells[:0], r.own[:0]
	var err error
	for line != nil {
		r.start = len(r.own)
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
	r.record.cells = append(r.record.cells, newCSVCell(r.start, len(r.own), quoted))
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
