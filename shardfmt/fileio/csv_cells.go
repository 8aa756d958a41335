package fileio

import (
	"bytes"
	"fmt"
)

// put appends field i of a record to a column. Quotes make text of what would be null in a column of text; in others
// they mean nothing, as do spaces around a value.
func (s *csvSource) put(column int, rec *csvRecord, i int) error {
	text := rec.cell(i)
	if s.inText[column] {
		if !rec.quoted(i) && (len(text) == 0 || s.options.Nulls != nil && s.nulls[string(text)]) {
			return s.columns[column].null()
		}
		return s.cells[column](text)
	}
	if text = trimSpaces(text); len(text) == 0 || s.isNull(text) {
		if len(text) > 0 && s.options.Nulls == nil && !s.noted[column] && s.found == nil {
			s.noted[column] = true
			s.options.Warn(fmt.Sprintf("field %q: %q is read as null (--null)", s.schema.Fields[column].Name, text))
		}
		return s.columns[column].null()
	}
	return s.cells[column](text)
}

// maxNullText is longer than any text that is looked up among those for null.
const maxNullText = 64

func (s *csvSource) isNull(text []byte) bool {
	// Most values begin with a digit, and none of the usual texts do.
	if s.options.Nulls == nil && (text[0] >= '0' && text[0] <= '9' || len(text) > maxNullText) {
		return false
	}
	return s.nulls[string(text)]
}

func trimSpaces(text []byte) []byte {
	if len(text) > 0 && (text[0] == ' ' || text[len(text)-1] == ' ') {
		return bytes.Trim(text, " ")
	}
	return text
}

// usualReader takes the fields of a column that are written as most are, none of which may stand for null by the usual texts: it is
// nil where there are others.
func (s *csvSource) usualReader(col column) func(text []byte) bool {
	c, ok := col.(*scalarColumn)
	switch {
	case !ok || s.options.Nulls != nil || s.sniff.numbers.custom() && c.scalar.number != nil:
		return nil
	case c.scalar.plain != nil:
		return c.scalar.plain
	default:
		return c.scalar.usual
	}
}

// cellReader appends the text of a CSV field to a column: scalars as they are, nested values as JSON.
func cellReader(col column, numbers *numberText) func(text []byte) error {
	if text, ok := col.(*textColumn); ok {
		col = text.scalarColumn // cells are text as they are
	}
	c, ok := col.(*scalarColumn)
	if !ok {
		return func(text []byte) error {
			cur := &cursor{b: text}
			if err := element(col, cur); err != nil {
				return err
			}
			return cur.end()
		}
	}
	switch sc := c.scalar; {
	case sc.boolean != nil:
		return func(text []byte) error { return c.boolean(text) }
	case sc.number != nil:
		return func(text []byte) error { return c.number(text, numbers) }
	default:
		return sc.text
	}
}

// boolean reads true and false, in the spellings that programs write.
func (c *scalarColumn) boolean(text []byte) error {
	switch string(text) {
	case "true", "True", "TRUE":
		c.scalar.boolean(true)
	case "false", "False", "FALSE":
		c.scalar.boolean(false)
	default:
		return wanting(c.path, textHolder(text), text, "%.40q where true or false was expected", text)
	}
	return nil
}

// number reads a number as text has them, or text such as NaN.
func (c *scalarColumn) number(text []byte, numbers *numberText) error {
	if c.scalar.plain != nil && !numbers.custom() && c.scalar.plain(text) {
		return nil
	}
	if token, ok := numbers.token(text); ok {
		return c.scalar.number(token)
	}
	if c.scalar.text != nil {
		return c.scalar.text(text)
	}
	return wanting(c.path, textHolder(text), text, "%.40q where %s was expected", text, c.n.TypeName())
}
