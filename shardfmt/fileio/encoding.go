package fileio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding of text.
type Encoding string

// The encodings. AutoEncoding is UTF-8 unless the text begins with a byte order mark of UTF-16, or with ASCII as UTF-16 has it.
const (
	AutoEncoding Encoding = ""
	UTF8         Encoding = "utf-8"
	UTF16LE      Encoding = "utf-16le"
	UTF16BE      Encoding = "utf-16be"
	Latin1       Encoding = "latin-1"
	Windows1252  Encoding = "windows-1252"
)

// encodings are those that can be requested.
var encodings = []Encoding{UTF8, UTF16LE, UTF16BE, Latin1, Windows1252}

// Byte order marks.
var (
	bom      = []byte("\xef\xbb\xbf")
	bom16LE  = []byte("\xff\xfe")
	bom16BE  = []byte("\xfe\xff")
	bom32LE  = []byte("\xff\xfe\x00\x00")
	bom32BE  = []byte("\x00\x00\xfe\xff")
	errUTF32 = errors.New("UTF-32 is not supported: convert it to UTF-8 first (iconv -f UTF-32 -t UTF-8)")
)

// detectEncoding distinguishes UTF-16 from UTF-8 by the first bytes of a text.
func detectEncoding(head []byte) (Encoding, error) {
	switch {
	case bytes.HasPrefix(head, bom32LE), bytes.HasPrefix(head, bom32BE):
		return "", errUTF32
	case bytes.HasPrefix(head, bom16LE):
		return UTF16LE, nil
	case bytes.HasPrefix(head, bom16BE):
		return UTF16BE, nil
	case len(head) < 4:
		return UTF8, nil
	case head[0] != 0 && head[1] == 0 && head[2] != 0 && head[3] == 0:
		return UTF16LE, nil
	case head[0] == 0 && head[1] != 0 && head[2] == 0 && head[3] != 0:
		return UTF16BE, nil
	}
	return UTF8, nil
}

// decode gives a reader of the text as UTF-8, or nil if it is r, with a byte order mark skipped.
func (e Encoding) decode(r *bufio.Reader) (io.Reader, error) {
	head, _ := r.Peek(4)
	if e == AutoEncoding {
		var err error
		if e, err = detectEncoding(head); err != nil {
			return nil, err
		}
	}
	switch e {
	case UTF8:
		if bytes.HasPrefix(head, bom) {
			r.Discard(len(bom))
		}
		return nil, nil
	case UTF16LE:
		if bytes.HasPrefix(head, bom16LE) {
			r.Discard(len(bom16LE))
		}
		return &decoder{from: r, rune: readUTF16(binary.LittleEndian)}, nil
	case UTF16BE:
		if bytes.HasPrefix(head, bom16BE) {
			r.Discard(len(bom16BE))
		}
		return &decoder{from: r, rune: readUTF16(binary.BigEndian)}, nil
	case Windows1252:
		return &decoder{from: r, rune: readWindows1252}, nil
	}
	return &decoder{from: r, rune: readLatin1}, nil
}

func (e Encoding) validate() error {
	if e != AutoEncoding && !slices.Contains(encodings, e) {
		return fmt.Errorf("encoding: %q is not one of utf-8, utf-16le, utf-16be, latin-1, windows-1252", e)
	}
	return nil
}

// decoder reads text of another encoding as UTF-8.
type decoder struct {
	from *bufio.Reader
	rune func(r *bufio.Reader) (rune, error)
	// rest is the part of a character that the last read had no space for.
	rest []byte
	err  error
}

// Read implements io.Reader.
func (d *decoder) Read(p []byte) (int, error) {
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	for d.err == nil && n < len(p) {
		if n > 0 && d.from.Buffered() < utf8.UTFMax {
			break // what is there is given before more is waited for
		}
		var r rune
		if r, d.err = d.rune(d.from); d.err == nil {
			text := utf8.AppendRune(make([]byte, 0, utf8.UTFMax), r)
			copied := copy(p[n:], text)
			n, d.rest = n+copied, text[copied:]
		}
	}
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, d.err
}

var errUTF16 = errors.New("invalid UTF-16: half a surrogate pair, or half a character at the end")

func readUTF16(order binary.ByteOrder) func(r *bufio.Reader) (rune, error) {
	unit := func(r *bufio.Reader) (rune, error) {
		b, err := r.Peek(2)
		if len(b) == 2 {
			u := order.Uint16(b)
			r.Discard(2)
			return rune(u), nil
		}
		if err == io.EOF && len(b) == 1 {
			err = errUTF16
		}
		return 0, err
	}
	return func(r *bufio.Reader) (rune, error) {
		c, err := unit(r)
		if err != nil || !utf16.IsSurrogate(c) {
			return c, err
		}
		low, err := unit(r)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if c = utf16.DecodeRune(c, low); err == io.EOF || c == utf8.RuneError {
			return 0, errUTF16
		}
		return c, nil
	}
}

func readLatin1(r *bufio.Reader) (rune, error) {
	b, err := r.ReadByte()
	return rune(b), err
}

// windows1252 are the characters that it has where Latin-1 has control characters.
var windows1252 = []rune("\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f" +
	"\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178")

func readWindows1252(r *bufio.Reader) (rune, error) {
	b, err := r.ReadByte()
	if b >= 0x80 && b < 0xa0 {
		return windows1252[b-0x80], err
	}
	return rune(b), err
}
