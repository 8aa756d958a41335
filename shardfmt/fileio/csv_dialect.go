package fileio

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// validateDialect reports which of the options of CSV has no meaning, or contradicts another.
func (o SourceOptions) validateDialect() error {
	if err := o.Encoding.validate(); err != nil {
		return err
	}
	if o.Skip < 0 {
		return fmt.Errorf("skip: invalid number of lines %d", o.Skip)
	}
	quote := o.Quote
	if quote == 0 {
		quote = '"'
	}
	if quote == NoQuote {
		quote = 0
	}
	given := map[byte]string{}
	for _, c := range []struct {
		name string
		c    byte
	}{{"comma", o.Comma}, {"quote", quote}, {"escape", o.Escape}, {"comment", o.Comment}} {
		switch {
		case c.c == 0 || c.name == "escape" && c.c == quote:
			continue
		case c.c == '\n' || c.c == '\r' || c.c >= 0x80:
			return fmt.Errorf("%s: invalid character %q: one ASCII character that is not a line break", c.name, rune(c.c))
		case given[c.c] != "":
			return fmt.Errorf("%s: %q is the %s", c.name, c.c, given[c.c])
		}
		given[c.c] = c.name
	}
	point := o.Decimal
	if point == 0 {
		point = '.'
	}
	if point != '.' && point != ',' {
		return fmt.Errorf("decimal: invalid decimal mark %q: . or ,", rune(point))
	}
	if t := o.Thousands; t != 0 && (t >= '0' && t <= '9' || t >= 0x80 || strings.IndexByte("+-eE", t) >= 0) {
		return fmt.Errorf("thousands: invalid mark %q", rune(t))
	}
	if o.Thousands == point {
		return fmt.Errorf("thousands: %q is the decimal mark", rune(point))
	}
	return nil
}

// pad brings a record to n fields, if it has fewer, or further ones that are all null, and reports whether it could.
func (r *csvRecord) pad(n int) bool {
	for i := n; i < len(r.cells); i++ {
		if !r.null(i) {
			return false
		}
	}
	if len(r.cells) > n {
		r.cells = r.cells[:n]
	}
	for len(r.cells) < n {
		r.cells = append(r.cells, newCSVCell(len(r.text), len(r.text), false))
	}
	return true
}

// isRecord reports whether an error is of one record, behind which the next one can be read.
func (s *csvSource) isRecord(err error) bool {
	var r recordError
	return errors.As(err, &r) || errors.Is(err, errUTF8)
}

// reject passes on a record that can't be read, or gives back its error where records are not rejected.
func (s *csvSource) reject(rec *csvRecord, err error) error {
	if s.options.Reject == nil {
		return err
	}
	reason := err.Error()
	var e *RecordError
	if errors.As(err, &e) {
		reason = (&RecordError{Input: "", Field: e.Field, Err: e.Err}).Error()
		reason = strings.TrimPrefix(reason, ": ")
	}
	return s.options.Reject(Rejected{Input: rec.input, Line: rec.line, Reason: reason, Text: strings.ToValidUTF8(string(rec.raw), "\uFFFD")})
}

// trialRows is how many records the builders of the trial take before they are emptied.
const trialRows = 1024

// try reports what is wrong with a record by adding it to builders that are thrown away: those of the batch can't give back a part of one.
func (s *csvSource) try(rec *csvRecord) error {
	batch := s.csvColumns
	s.csvColumns = s.trial
	err := s.append(rec)
	s.csvColumns = batch
	if s.tried++; err != nil || s.tried == trialRows {
		s.trial.builder.record.Release()
		s.trial, s.tried = s.newColumns(), 0
	}
	return err
}

// numberText reads numbers as they stand in text: as JSON writes them, with + before them, without digits before or behind the point, and
// with the marks of the options.
type numberText struct {
	point, thousands byte
	buf              []byte
}

func newNumberText(o SourceOptions) *numberText {
	n := &numberText{point: o.Decimal, thousands: o.Thousands}
	if n.point == 0 {
		n.point = '.'
	}
	return n
}

// custom: numbers are not written as JSON has them.
func (n *numberText) custom() bool { return n.point != '.' || n.thousands != 0 }

// kind is the kind that the text of a CSV field looks like, and for a number what JSON would write. Numbers have no leading zeros, nor a
// plus sign before an exponent, as other readers have it, or before as many digits as a telephone number has, so that those and codes such as
// 007 stay text; columns of a number's type take any plus sign.
func (n *numberText) kind(text []byte) (kind, []byte) {
	switch string(text) {
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return kindBoolean, nil
	case "NaN", "Infinity", "-Infinity":
		return kindNumber, text
	}
	if len(text) == 0 || text[0] == '+' && !isSigned(text[1:]) {
		return kindText, nil
	}
	if token, ok := n.token(text); ok {
		return kindNumber, token
	}
	return kindText, nil
}

// telephoneDigits is the least number of digits behind the plus sign of a telephone number, its country's included.
const telephoneDigits = 7

// isSigned reports whether what follows a plus sign makes a number of it.
func isSigned(text []byte) bool {
	return !bytes.ContainsAny(text, "eE") && (len(text) < telephoneDigits || !areDigits(text))
}

// token is a number as JSON writes it, valid until the next call.
func (n *numberText) token(text []byte) (token []byte, ok bool) {
	if len(text) == 0 || strings.IndexByte("+-.,0123456789", text[0]) < 0 {
		return nil, false // as described below, which takes longer
	}
	if !n.custom() {
		c := cursor{b: text}
		if token, err := c.number(); err == nil && len(token) == len(text) {
			return token, true
		}
	}
	return n.rewrite(text)
}

// rewrite makes what JSON would write of a number.
func (n *numberText) rewrite(text []byte) (token []byte, ok bool) {
	out := n.buf[:0]
	defer func() { n.buf = out[:0] }()
	if text[0] == '-' || text[0] == '+' {
		if text[0] == '-' {
			out = append(out, '-')
		}
		text = text[1:]
	}
	end := bytes.IndexAny(text, "eE")
	if end < 0 {
		end = len(text)
	}
	mantissa, exponent := text[:end], text[end:]
	whole, fraction, pointed := bytes.Cut(mantissa, []byte{n.point})
	if whole, ok = n.ungrouped(whole); !ok || len(whole)+len(fraction) == 0 || !areDigits(whole) || !areDigits(fraction) {
		return nil, false
	}
	if len(whole) == 0 {
		whole = []byte("0")
	}
	out = append(out, whole...)
	if pointed {
		out = append(out, '.')
		if len(fraction) == 0 {
			out = append(out, '0')
		}
		out = append(out, fraction...)
	}
	out = append(out, exponent...)
	c := cursor{b: out}
	token, err := c.number()
	return out, err == nil && len(token) == len(out)
}

func areDigits(text []byte) bool {
	return !bytes.ContainsFunc(text, func(c rune) bool { return c < '0' || c > '9' })
}

// ungrouped takes the marks between groups of three digits out.
func (n *numberText) ungrouped(whole []byte) ([]byte, bool) {
	if n.thousands == 0 || bytes.IndexByte(whole, n.thousands) < 0 {
		return whole, true
	}
	groups := bytes.Split(whole, []byte{n.thousands})
	for i, g := range groups {
		if len(g) != 3 && (i > 0 || len(g) == 0 || len(g) > 3) {
			return nil, false
		}
	}
	return bytes.Join(groups, nil), true
}
