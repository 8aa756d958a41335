// Package tokenizer cuts text into terms and orders them, for the filter and for text indexes alike.
//
// A word is a longest run of alphanumeric characters. The filter's HAS matches text between words' borders, a text
// index stores words, so both must mean the same by one: Alphanumeric is the only place that states it.
//
// Source: docs/format/indexes.md.
package tokenizer

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// Alphanumeric reports whether a character belongs to words: letters, numbers of every kind, and the marks that
// Unicode counts as alphabetic.
func Alphanumeric(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiWord[byte(r)]
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.Other_Alphabetic)
}

// asciiWord holds the alphanumeric bytes below 0x80.
var asciiWord = func() (t [256]bool) {
	for c := '0'; c <= 'z'; c++ {
		t[c] = c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c
	}
	return t
}()

// IsASCII reports whether a text has no byte of 0x80 or more. Its words are Regular as they are.
func IsASCII(text []byte) bool {
	for ; len(text) >= 8; text = text[8:] {
		if binary.LittleEndian.Uint64(text)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Fold is the least character of r's simple folding orbit: characters that differ in case only have the same.
func Fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// FoldASCII writes text with Fold applied to every character to dst, which has space for it. It is false if text has a byte of 0x80 or more; dst is
// of no use then.
func FoldASCII(dst, text []byte) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	dst = dst[:len(text)]
	for ; len(text) >= 8; dst, text = dst[8:], text[8:] {
		x := binary.LittleEndian.Uint64(text)
		if x&high != 0 {
			return false
		}
		lower := (x + (0x80-'a')*ones) &^ (x + (0x80-'z'-1)*ones) & high // of each byte the highest bit: it is a to z
		binary.LittleEndian.PutUint64(dst, x^lower>>2)
	}
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
		dst[i] = byte(Fold(rune(c)))
	}
	return true
}

// AppendFolded appends text with Fold applied to every character; bytes that are not characters stay.
func AppendFolded(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 {
			dst = append(dst, text[i])
		} else {
			dst = utf8.AppendRune(dst, Fold(r))
		}
		i += max(size, 1)
	}
	return dst
}
