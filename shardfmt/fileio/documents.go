package fileio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// document is one record of JSON as text, and where it starts.
type document struct {
	text  []byte
	input string
	line  int64
	// row counts the elements of an array from 1; it is 0 where lines distinguish records.
	row int64
}

// located adds the place of the document to an error of its content.
func (d document) located(err error) error {
	e := &RecordError{Input: d.input, Line: d.line, Row: d.row, Err: err}
	var f *fieldError
	if errors.As(err, &f) {
		e.Field, e.Err = f.path, f.err
	}
	return e
}

// documents reads JSON as files hold it: an object a line, objects that take several lines, or one array of objects,
// which may be all on one line. The start of an input reports which.
type documents struct {
	lines *texts
	// begun: the form of the open input is known.
	begun bool
	form  documentForm
	row   int64
	text  []byte
	// rest is what stands behind the last document on its line.
	rest []byte
}

type documentForm uint8

const (
	byLine documentForm = iota
	spanning
	inArray
	// afterArray: the array was closed.
	afterArray
)

// next gives the next document, valid until the next call; io.EOF after the last of all inputs.
func (d *documents) next(ctx context.Context) (document, error) {
	for {
		if err := d.lines.open(ctx); err != nil {
			return document{}, err
		}
		if !d.begun {
			d.begin()
		}
		doc, err := d.nextHere()
		if err != io.EOF {
			return doc, err
		}
		d.begun = false
		if err := d.lines.end(ctx); err != nil {
			return document{}, err
		}
	}
}

// begin finds out how the open input holds its documents. The first error of reading is left to who reads on.
func (d *documents) begin() {
	d.begun, d.form, d.row, d.rest = true, byLine, 0, nil
	first, err := d.lines.skipSpace()
	switch {
	case err != nil:
		return
	case first == '[':
		d.form = inArray
		d.lines.reader.Discard(1)
	case first == '{' && !d.lineIsWhole():
		d.form = spanning
	default:
		d.lines.line-- // the line is still to be read
	}
}

// lineIsWhole reports whether the object that follows ends on its line. A line longer than the buffer is taken for one
// that doesn't, as what reads objects over lines reads those on one too.
func (d *documents) lineIsWhole() bool {
	r := d.lines.reader
	for {
		head, _ := r.Peek(r.Buffered())
		at := bytes.IndexAny(head, "\r\n")
		line, ends := head, at >= 0
		if ends {
			line = head[:at]
		}
		var err error
		if !ends {
			if len(head) == r.Size() {
				return false
			}
			if _, err = r.Peek(len(head) + 1); err != nil {
				line, _ = r.Peek(len(head)) // what was buffered may have moved
			}
		}
		if ends || err != nil { // the end of the input ends its last line
			var s jsonScan
			_, whole := s.end(line)
			return whole || err != nil
		}
	}
}

// nextHere gives the next document of the open input, or io.EOF.
func (d *documents) nextHere() (document, error) {
	if d.form == byLine {
		for {
			line, err := d.rest, error(nil)
			if d.rest = nil; line == nil {
				line, err = d.lines.here()
			}
			if err != nil {
				return document{}, err
			}
			if len(bytes.TrimSpace(line)) > 0 {
				return document{text: line, input: d.lines.name(), line: d.lines.line}, nil
			}
		}
	}
	first, err := d.separator()
	if err != nil {
		return document{}, err
	}
	doc := document{input: d.lines.name(), line: d.lines.line}
	if d.form == inArray {
		d.row++
		doc.row = d.row
	}
	if doc.text, err = d.value(first); err != nil {
		return document{}, doc.located(err)
	}
	return doc, nil
}

// cut ends the last document of a line behind n bytes of it, if another object follows there, which is the next document then; it
// reports whether one does.
func (d *documents) cut(text []byte, n int) bool {
	if d.form != byLine || n >= len(text) || text[n] != '{' {
		return false
	}
	d.rest = text[n:]
	return true
}

// separator skips what stands before a document, and gives its first byte; io.EOF if there are no more.
func (d *documents) separator() (byte, error) {
	first, err := d.lines.skipSpace()
	switch {
	case err == io.EOF && d.form == inArray:
		return 0, d.lines.located(errors.New("the array is never closed"))
	case err != nil:
		return 0, err
	case d.form == afterArray:
		return 0, d.lines.located(fmt.Errorf("%q after the end of the array%s", first, commentHint(first)))
	case d.form == spanning:
		return first, nil
	case first == ']':
		d.lines.reader.Discard(1)
		d.form = afterArray
		return d.separator()
	case d.row == 0:
		return first, nil
	case first != ',':
		return 0, d.lines.located(fmt.Errorf("%q after an element of the array, expected ',' or ']'%s", first, commentHint(first)))
	}
	d.lines.reader.Discard(1)
	if first, err = d.lines.skipSpace(); err == io.EOF {
		return 0, d.lines.located(errors.New("the array is never closed"))
	}
	return first, err
}

// value takes the text of one value, of at most maxRecord bytes; what is not an object or array ends before a separator.
func (d *documents) value(first byte) ([]byte, error) {
	d.text = d.text[:0]
	scan := jsonScan{}
	for {
		chunk, err := d.lines.buffered()
		if err == io.EOF && first != '{' && first != '[' {
			break
		}
		if err == io.EOF {
			return nil, errTruncated
		}
		if err != nil {
			return nil, err
		}
		n, ended := 0, false
		if first == '{' || first == '[' {
			n, ended = scan.end(chunk)
		} else if n = bytes.IndexAny(chunk, ",]}\n\r\t "); n >= 0 {
			ended = true
		} else {
			n = len(chunk)
		}
		d.text = append(d.text, chunk[:n]...)
		d.lines.skip(chunk[:n])
		if len(d.text) > maxRecord {
			return nil, fmt.Errorf("a record of more than %d bytes", maxRecord)
		}
		if ended {
			break
		}
	}
	if !utf8.Valid(d.text) {
		return nil, errUTF8
	}
	return d.text, nil
}

// jsonScan finds the end of an object or array without understanding what is in it.
type jsonScan struct {
	depth           int
	inText, escaped bool
}

// end gives how many bytes of a chunk belong to the value, and whether it ends there.
func (s *jsonScan) end(chunk []byte) (n int, ended bool) {
	for i, b := range chunk {
		if s.inText {
			switch {
			case s.escaped:
				s.escaped = false
			case b == '\\':
				s.escaped = true
			case b == '"':
				s.inText = false
			}
			continue
		}
		switch b {
		case '"':
			s.inText = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth <= 0 {
				return i + 1, true
			}
		}
	}
	return len(chunk), false
}
