package tokenizer

import (
	"bytes"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Collation is an order of terms.
type Collation uint8

// The collations.
const (
	// CaseInsensitive compares the upper-case forms of characters: terms that differ in case are equal.
	CaseInsensitive Collation = iota
	// CasePreserving orders by CaseInsensitive, and terms that are equal there by their own characters.
	CasePreserving
)

var collationNames = [...]string{CaseInsensitive: "unicode-case-insensitive", CasePreserving: "unicode-case-preserving"}

// String is the name in descriptors.
func (c Collation) String() string { return collationNames[c] }

// ParseCollation reads the name of a collation.
func ParseCollation(name string) (Collation, error) {
	for c, s := range collationNames {
		if s == name {
			return Collation(c), nil
		}
	}
	return 0, fmt.Errorf("unknown collation %q: %s or %s", name, collationNames[0], collationNames[1])
}

// Compare is the three-way comparison of two terms.
func (c Collation) Compare(a, b []byte) int {
	if r := compareUpper(a, b); r != 0 || c == CaseInsensitive {
		return r
	}
	return bytes.Compare(a, b)
}

// HasPrefix reports whether a term starts with prefix, by the collation's notion of equal characters.
func (c Collation) HasPrefix(t, prefix []byte) bool {
	if c == CasePreserving {
		return bytes.HasPrefix(t, prefix)
	}
	for len(prefix) > 0 {
		if len(t) == 0 {
			return false
		}
		p, n := utf8.DecodeRune(prefix)
		r, m := utf8.DecodeRune(t)
		if upper(p) != upper(r) {
			return false
		}
		prefix, t = prefix[n:], t[m:]
	}
	return true
}

func compareUpper(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		x, n := utf8.DecodeRune(a)
		y, m := utf8.DecodeRune(b)
		if x != y {
			if x, y = upper(x), upper(y); x != y {
				return int(x) - int(y)
			}
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b) // one of them is 0
}

// AppendUpper appends the upper-case form of a term. Its bytes sort as CaseInsensitive does.
func AppendUpper(dst, t []byte) []byte {
	n := len(dst)
	dst = slices.Grow(dst, len(t))[:n+len(t)]
	if FoldASCII(dst[n:], t) { // which is its upper case
		return dst
	}
	dst = dst[:n]
	for len(t) > 0 {
		r, n := utf8.DecodeRune(t)
		dst = utf8.AppendRune(dst, upper(r))
		t = t[n:]
	}
	return dst
}

// Regular is a term in which characters that fold alike have the same upper-case form, which few have not: the
// signs of Kelvin and Ångström for instance. For a term that is regular already it is the term itself; else the
// irregular characters are replaced. Two terms that differ in case only have regular forms that are equal under
// CaseInsensitive.
func Regular(t []byte) []byte {
	for i := 0; i < len(t); {
		r, n := rune(t[i]), 1
		if r >= utf8.RuneSelf {
			if r, n = utf8.DecodeRune(t[i:]); upper(r) != upper(Fold(r)) {
				return regularFrom(t, i)
			}
		}
		i += n
	}
	return t
}

// regularFrom replaces the irregular characters, the first of which is at i.
func regularFrom(t []byte, i int) []byte {
	out := append([]byte(nil), t[:i]...)
	for i < len(t) {
		r, n := utf8.DecodeRune(t[i:])
		if least := Fold(r); upper(r) != upper(least) {
			r = least
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return out
}

// upper is the upper-case form of a character: Unicode 15.0's simple mapping but for the sharp s, which has one here,
// and some Greek letters with iota subscript, which have none.
func upper(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	case r == 0xDF:
		return 0x1E9E
	case 0x1F80 <= r && r <= 0x1FF3 && isSubscript(r):
		return r
	}
	return unicode.ToUpper(r)
}

// isSubscript reports whether r is one of the 27 letters that stay as they are.
func isSubscript(r rune) bool {
	switch r &^ 7 {
	case 0x1F80, 0x1F90, 0x1FA0:
		return true
	}
	return r == 0x1FB3 || r == 0x1FC3 || r == 0x1FF3
}
