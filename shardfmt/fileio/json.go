package fileio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONDepth bounds how deep JSON may nest, in what is kept and in what is skipped.
const maxJSONDepth = 256

// cursor walks over the text of one JSON document. The text is valid UTF-8.
type cursor struct {
	b []byte
	i int
	// scratch holds strings that have escapes.
	scratch []byte
}

var errTruncated = errors.New("invalid JSON: unexpected end")

// peek skips white space and gives the next byte, or 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.b) {
		switch b := c.b[c.i]; b {
		case ' ', '\t', '\r', '\n':
			c.i++
		default:
			return b
		}
	}
	return 0
}

// take skips the next byte, if it is b.
func (c *cursor) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.i++
	return true
}

// takeText skips a text that isn't empty, if it is next.
func (c *cursor) takeText(text string) bool {
	if c.peek() == 0 || text == "" || !bytes.HasPrefix(c.b[c.i:], []byte(text)) {
		return false
	}
	c.i += len(text)
	return true
}

func (c *cursor) unexpected(want string) error {
	if c.peek() == 0 {
		return errTruncated
	}
	r, _ := utf8.DecodeRune(c.b[c.i:])
	return fmt.Errorf("invalid JSON: %q at column %d, expected %s%s", r, c.i+1, want, commentHint(c.b[c.i]))
}

// commentHint names what a byte that JSON has no use for most likely begins.
func commentHint(first byte) string {
	if first == '/' || first == '#' {
		return ": JSON has no comments, remove them"
	}
	return ""
}

// end makes sure that nothing follows.
func (c *cursor) end() error {
	if c.peek() != 0 || c.i < len(c.b) {
		return c.unexpected("the end")
	}
	return nil
}

// word skips the letters of a literal.
func (c *cursor) word(w string) error {
	if len(c.b)-c.i < len(w) || string(c.b[c.i:c.i+len(w)]) != w {
		return c.unexpected("a value")
	}
	c.i += len(w)
	return nil
}

// null skips a null, if one follows.
func (c *cursor) null() (bool, error) {
	if c.peek() != 'n' {
		return false, nil
	}
	return true, c.word("null")
}

// boolean reads true or false.
func (c *cursor) boolean() (bool, error) {
	if c.peek() == 't' {
		return true, c.word("true")
	}
	return false, c.word("false")
}

// number gives the text of a number.
func (c *cursor) number() ([]byte, error) {
	c.peek()
	start := c.i
	c.skipByte('-')
	if !c.skipByte('0') && !c.digits() {
		return nil, c.unexpected("a value")
	}
	if c.skipByte('.') && !c.digits() {
		return nil, c.unexpected("a digit")
	}
	if c.skipByte('e') || c.skipByte('E') {
		if !c.skipByte('+') {
			c.skipByte('-')
		}
		if !c.digits() {
			return nil, c.unexpected("a digit")
		}
	}
	return c.b[start:c.i], nil
}

func (c *cursor) skipByte(b byte) bool {
	if c.i < len(c.b) && c.b[c.i] == b {
		c.i++
		return true
	}
	return false
}

func (c *cursor) digits() bool {
	start := c.i
	for c.i < len(c.b) && c.b[c.i] >= '0' && c.b[c.i] <= '9' {
		c.i++
	}
	return c.i > start
}

// str gives the characters of a string, valid until the next call.
func (c *cursor) str() ([]byte, error) {
	if !c.take('"') {
		return nil, c.unexpected("a string")
	}
	start := c.i
	for c.skipPlain(); c.i < len(c.b); {
		switch b := c.b[c.i]; {
		case b == '"':
			c.i++
			return c.b[start : c.i-1], nil
		case b == '\\':
			return c.escaped(start)
		case b < 0x20:
			return nil, c.unexpected("an escape")
		}
		c.i++
	}
	return nil, errTruncated
}

// skipPlain skips characters that mean nothing in a string, eight at a time, as far as there are so many: it stops at or before a
// quote, a backslash or a control character.
func (c *cursor) skipPlain() {
	for b := c.b[c.i:]; len(b) >= 8; b = b[8:] {
		x := binary.LittleEndian.Uint64(b)
		quote, slash := x^everyByte*'"', x^everyByte*'\\'
		// The lowest bit set is that of the first such byte: what is subtracted carries upwards only.
		stop := ((quote-everyByte)&^quote | (slash-everyByte)&^slash | (x-everyByte*0x20)&^x) & (everyByte * 0x80)
		if stop != 0 {
			c.i += bits.TrailingZeros64(stop) / 8
			return
		}
		c.i += 8
	}
}

// escaped goes on with a string at its first escape.
func (c *cursor) escaped(start int) ([]byte, error) {
	c.scratch = append(c.scratch[:0], c.b[start:c.i]...)
	for c.i < len(c.b) {
		b := c.b[c.i]
		switch {
		case b == '"':
			c.i++
			return c.scratch, nil
		case b < 0x20:
			return nil, c.unexpected("an escape")
		case b != '\\':
			c.scratch = append(c.scratch, b)
			c.i++
		default:
			if err := c.escape(); err != nil {
				return nil, err
			}
		}
	}
	return nil, errTruncated
}

const (
	escapes  = `"\/bfnrt`
	escapees = "\"\\/\b\f\n\r\t"
)

func (c *cursor) escape() error {
	c.i++
	if c.i == len(c.b) {
		return errTruncated
	}
	b := c.b[c.i]
	if b == 'u' {
		c.i++
		return c.unicode()
	}
	for i := range len(escapes) {
		if escapes[i] == b {
			c.scratch = append(c.scratch, escapees[i])
			c.i++
			return nil
		}
	}
	return c.unexpected("an escape")
}

// unicode reads the digits of \u, and of the second half of a surrogate pair.
func (c *cursor) unicode() error {
	r, ok := c.hex4()
	if ok && utf16.IsSurrogate(r) {
		var low rune
		if c.skipByte('\\') && c.skipByte('u') {
			low, ok = c.hex4()
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return errors.New("half a surrogate pair is not a character")
		}
	}
	if !ok {
		return c.unexpected("four hexadecimal digits")
	}
	c.scratch = utf8.AppendRune(c.scratch, r)
	return nil
}

func (c *cursor) hex4() (r rune, ok bool) {
	for range 4 {
		if c.i == len(c.b) {
			return 0, false
		}
		d := c.b[c.i]
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(d)
		c.i++
	}
	return r, true
}

// raw gives the text of the next value, whatever it is.
func (c *cursor) raw() ([]byte, error) {
	c.peek()
	start := c.i
	err := c.skip(0)
	return c.b[start:c.i], err
}

func (c *cursor) skip(depth int) error {
	if depth > maxJSONDepth {
		return fmt.Errorf("JSON nests deeper than %d levels", maxJSONDepth)
	}
	var err error
	switch c.peek() {
	case '{':
		return c.object(func([]byte) error { return c.skip(depth + 1) })
	case '[':
		return c.array(func() error { return c.skip(depth + 1) })
	case '"':
		_, err = c.str()
	case 't', 'f':
		_, err = c.boolean()
	case 'n':
		err = c.word("null")
	default:
		_, err = c.number()
	}
	return err
}

// object calls member at the value of each member, which it must read. The key is valid until then.
func (c *cursor) object(member func(key []byte) error) error {
	if !c.take('{') {
		return c.unexpected("an object")
	}
	if c.take('}') {
		return nil
	}
	for {
		key, err := c.str()
		if err != nil {
			return err
		}
		if !c.take(':') {
			return c.unexpected("':'")
		}
		if err := member(key); err != nil {
			return err
		}
		if c.take('}') {
			return nil
		}
		if !c.take(',') {
			return c.unexpected("',' or '}'")
		}
	}
}

// array calls element at each element, which it must read.
func (c *cursor) array(element func() error) error {
	if !c.take('[') {
		return c.unexpected("an array")
	}
	if c.take(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if c.take(']') {
			return nil
		}
		if !c.take(',') {
			return c.unexpected("',' or ']'")
		}
	}
}

// what names the kind of the next value, for errors.
func (c *cursor) what() string {
	switch c.peek() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case 0:
		return "nothing"
	}
	return "a number"
}
