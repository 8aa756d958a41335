package fileio

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
	// input and line are where it starts, and raw is its text as it stands there.
	input string
	line  int64
	raw   []byte
	// own: text was put together, and is not raw.
	own bool
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

// null reports the unquoted empty field.
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
	if c.raw = c.text; r.own {
		c.raw, k.text = kept(r.raw, k.text)
	}
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

// csvDialect is how CSV is written.
type csvDialect struct {
	// comma parts fields; quote, if not 0, stands around those that hold commas, quotes or line breaks.
	comma, quote byte
	// escape before a character takes its meaning away, comment begins a comment; 0 is none.
	escape, comment byte
	// skip is how many lines stand before the first record.
	skip int
	// blanks: blank lines at the start of an input are records.
	blanks bool
}

// dialect is set by the options; comma is 0 where it is detected in the input.
func (o SourceOptions) dialect() csvDialect {
	d := csvDialect{comma: o.Comma, quote: '"', escape: o.Escape, comment: o.Comment, skip: o.Skip, blanks: o.Header == NoHeader}
	if o.Quote != 0 {
		d.quote = o.Quote
	}
	if d.escape == d.quote {
		d.escape = 0 // quotes in quotes are doubled anyway
	}
	if o.Quote == NoQuote {
		d.quote = 0
	}
	return d
}

// csvReader reads records by RFC 4180: fields between commas, quoted where they hold commas, quotes (doubled)
// or line breaks. A quote inside an unquoted field is a character like others.
type csvReader struct {
	csvDialect
	lines *texts
	// sniff: the comma is detected in each input by itself.
	sniff bool
	// begun: what stands before the first record of the open input was read.
	begun, first bool
	record       csvRecord
	// own is text that had to be put together, and start where its last field begins; raw is the text that it is of.
	own, raw []byte
	start    int
	// invalid is the error of a line of the record that is no UTF-8.
	invalid error
}

// newCSVReader reads by the comma of the dialect, or detects it in the inputs.
func newCSVReader(lines *texts, d csvDialect) *csvReader {
	return &csvReader{csvDialect: d, lines: lines, sniff: d.comma == 0}
}

// begin opens the next input, if none is open, and reads what stands before its first record: lines to skip, blank lines, comments, and
// the line by which Excel states the separator.
func (r *csvReader) begin(ctx context.Context) error {
	if r.begun {
		return nil
	}
	if err := r.lines.open(ctx); err != nil {
		return err
	}
	r.begun, r.first = true, true
	for range r.skip {
		if _, err := r.lines.readLine(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		r.lines.line++
	}
	if err := r.skipBlanks(); err != nil {
		return err
	}
	said, err := r.excelComma()
	if err != nil {
		return err
	}
	if r.sniff {
		if r.comma = said; said == 0 {
			r.comma = sniffComma(r.lines, r.csvDialect)
		}
	}
	return nil
}

// skipBlanks skips blank lines and comments before the first record.
func (r *csvReader) skipBlanks() error {
	for {
		head, err := r.lines.buffered()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case (head[0] == '\n' || head[0] == '\r') && !r.blanks:
			r.lines.skip(head[:1])
			r.lines.noCR, r.lines.noLF = 0, 0
		case r.comment != 0 && head[0] == r.comment:
			if _, err := r.lines.readLine(); err != nil {
				return err
			}
			r.lines.line++
		default:
			return nil
		}
	}
}

// excelComma reads the line sep=C, by which Excel states the separator; 0 without one.
func (r *csvReader) excelComma() (byte, error) {
	const name = "sep="
	for n := range len(name) { // no byte is waited for behind one that differs
		if head, _ := r.lines.reader.Peek(n + 1); len(head) <= n || !bytes.EqualFold(head, []byte(name[:n+1])) {
			return 0, nil
		}
	}
	head, _ := r.lines.reader.Peek(len(name) + 2)
	if len(head) < len(name)+2 {
		return 0, nil
	}
	comma, after := head[len(name)], head[len(name)+1]
	if after != '\n' && after != '\r' || comma == '\n' || comma == '\r' || comma == '"' {
		return 0, nil
	}
	_, err := r.lines.here()
	return comma, err
}

// next reads a record, valid until the next call; io.EOF after the last of all inputs. first means that it is the
// first of its input. After an error that recoverable takes, the next record can be read.
func (r *csvReader) next(ctx context.Context) (rec *csvRecord, first bool, err error) {
	for {
		if err := r.begin(ctx); err != nil {
			return nil, false, err
		}
		line, err := r.lines.here()
		if err == nil && r.isComment(line) {
			continue
		}
		first, r.first = r.first, false
		if err == nil {
			rec, err := r.parse(line)
			return rec, first, err
		}
		if err != io.EOF {
			r.record = csvRecord{input: r.lines.name(), line: r.lines.line, raw: line, cells: r.record.cells[:0]}
			return nil, first, err
		}
		r.begun = false
		if err := r.lines.end(ctx); err != nil {
			return nil, false, err
		}
	}
}

// isComment reports whether a line holds nothing but a comment.
func (r *csvReader) isComment(line []byte) bool {
	if r.comment == 0 {
		return false
	}
	line = bytes.TrimLeft(line, " ")
	return len(line) > 0 && line[0] == r.comment
}

// parse takes a record that starts with a line.
func (r *csvReader) parse(line []byte) (*csvRecord, error) {
	rec := &r.record
	rec.input, rec.line, rec.raw, rec.own = r.lines.name(), r.lines.line, line, false
	marked := r.escape != 0 && bytes.IndexByte(line, r.escape) >= 0 || r.comment != 0 && bytes.IndexByte(line, r.comment) >= 0
	if !marked && r.inPlace(line) {
		return rec, nil
	}
	return r.unquote(line)
}

// inPlace marks the fields of a record where they stand in its line. It gives up on what has to be put together, as quoted fields with
// quotes in them and records of many lines are, and on what is wrong. It looks at eight characters at a time for those that mean
// something.
func (r *csvReader) inPlace(line []byte) bool {
	rec := &r.record
	rec.text, rec.cells = line, rec.cells[:0]
	comma, quotes := everyByte*uint64(r.comma), everyByte*uint64(r.quote)
	if r.quote == 0 {
		quotes = comma
	}
	start, quote := 0, 0 // of the field, and how many quotes of it were met
	for at := 0; at < len(line); at += 8 {
		x := wordAt(line, at)
		for marks := equalBytes(x, comma) | equalBytes(x, quotes); marks != 0; marks &= marks - 1 {
			i := at + bits.TrailingZeros64(marks)/8
			switch {
			case line[i] != r.comma:
				if quote == 0 && i != start {
					continue // a character of an unquoted field
				}
				if quote == 1 && i+1 < len(line) && line[i+1] != r.comma {
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
	rec.cells, r.own, r.raw = rec.cells[:0], r.own[:0], append(r.raw[:0], line...)
	rec.raw, rec.own, r.invalid = r.raw, true, nil
	var err error
	for line != nil {
		r.start = len(r.own)
		if len(line) > 0 && line[0] == r.quote && r.quote != 0 {
			line, err = r.quoted(line[1:])
		} else {
			line = r.plain(line)
		}
		if err != nil {
			return nil, err
		}
	}
	rec.text = r.own
	return rec, r.invalid
}

// plain reads an unquoted field and gives what follows its comma, or nil at the end of the record.
func (r *csvReader) plain(line []byte) []byte {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == r.comma:
			r.end(false)
			return line[i+1:]
		case c == r.comment && c != 0:
			r.end(false)
			return nil
		case c == r.escape && c != 0 && i+1 < len(line) && !r.isNull(line[i:]):
			i++
			r.own = append(r.own, line[i])
		default:
			r.own = append(r.own, c)
		}
	}
	r.end(false)
	return nil
}

// isNull reports whether a field is \N, which databases write for null; it begins here.
func (r *csvReader) isNull(line []byte) bool {
	return len(r.own) == r.start && line[1] == 'N' && (len(line) == 2 || line[2] == r.comma)
}

// end ends a field at the end of the text.
func (r *csvReader) end(quoted bool) {
	r.record.cells = append(r.record.cells, newCSVCell(r.start, len(r.own), quoted))
	r.own = append(r.own, r.comma)
}

var errBehindQuote = errors.New("text after the closing quote of a field: double the quotes in a quoted field, set the escape character with --escape, or read quotes as text with --quote none")

// quoted reads a quoted field behind its first quote; it may go on over many lines.
func (r *csvReader) quoted(line []byte) ([]byte, error) {
	for {
		i := r.quoteOrEscape(line)
		if i < 0 {
			r.own = append(append(r.own, line...), r.lines.ending...)
			var err error
			if line, err = r.more(); err != nil {
				return nil, err
			}
			continue
		}
		r.own = append(r.own, line[:i]...)
		mark := line[i]
		line = line[i+1:]
		if mark != r.quote {
			if len(line) > 0 {
				r.own, line = append(r.own, line[0]), line[1:]
			}
			continue
		}
		switch rest := bytes.TrimLeft(line, " "); {
		case len(line) == 0, r.comment != 0 && len(rest) > 0 && rest[0] == r.comment:
			r.end(true)
			return nil, nil
		case line[0] == r.comma:
			r.end(true)
			return line[1:], nil
		case line[0] != r.quote:
			return nil, r.recoverable(errBehindQuote)
		}
		r.own = append(r.own, r.quote)
		line = line[1:]
	}
}

// quoteOrEscape is where the first of either stands, −1 without one.
func (r *csvReader) quoteOrEscape(line []byte) int {
	i := bytes.IndexByte(line, r.quote)
	if r.escape == 0 {
		return i
	}
	if j := bytes.IndexByte(line, r.escape); j >= 0 && (i < 0 || j < i) {
		return j
	}
	return i
}

// recordError is an error of a record behind which the next one can be read.
type recordError struct{ error }

func (e recordError) Unwrap() error { return e.error }

// recoverable means that the next record can be read.
func (r *csvReader) recoverable(err error) error {
	return recordError{located(err, r.record.input, r.record.line)}
}

// more reads the next line of a quoted field.
func (r *csvReader) more() ([]byte, error) {
	if len(r.own) > maxRecord {
		return nil, located(fmt.Errorf("a record of more than %d bytes", maxRecord), r.record.input, r.record.line)
	}
	ending := r.lines.ending
	line, err := r.lines.here()
	if err == io.EOF {
		return nil, located(errors.New("the quote of a field is never closed: --quote none reads quotes as text"), r.record.input, r.record.line)
	}
	r.raw = append(append(r.raw, ending...), line...)
	if r.record.raw = r.raw; errors.Is(err, errUTF8) {
		r.invalid, err = err, nil // the record goes on
	}
	return line, err
}
