package tokenizer

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// MaxBytes is the longest term; longer ones are cut at the last border of characters before it.
const MaxBytes = 128

// Tokenizer determines which terms a value has.
type Tokenizer uint8

// The tokenizers.
const (
	// Word gives the words of a value.
	Word Tokenizer = iota
	// Log gives the IPv4 addresses of a value, then its words.
	Log
	// IPv4 gives the IPv4 addresses only.
	IPv4
	// Trivial gives the value as it is, as one term.
	Trivial
)

var tokenizerNames = [...]string{Word: "unicode-word", Log: "unicode-log", IPv4: "ipv4", Trivial: "trivial"}

// String is the name in descriptors and on the command line.
func (t Tokenizer) String() string { return tokenizerNames[t] }

// ParseTokenizer reads the name of a tokenizer; the empty string is Word.
func ParseTokenizer(name string) (Tokenizer, error) {
	if name == "" {
		return Word, nil
	}
	for t, s := range tokenizerNames {
		if s == name {
			return Tokenizer(t), nil
		}
	}
	return 0, fmt.Errorf("unknown tokenizer %q: unicode-word, unicode-log, ipv4 or trivial", name)
}

// Set reads the name of a tokenizer, as a flag does; the empty string is Word.
func (t *Tokenizer) Set(name string) (err error) {
	*t, err = ParseTokenizer(name)
	return err
}

// Each calls emit with the terms of a value in order, repeated ones too. Terms are UTF-8, whatever value is, and are
// lent until emit returns.
func (t Tokenizer) Each(value []byte, emit func([]byte)) {
	switch t {
	case Trivial:
		if len(value) > 0 {
			emit(Cut(valid(value)))
		}
	case IPv4:
		addresses(value, emit)
	case Log:
		addresses(value, emit)
		words(value, emit)
	default:
		words(value, emit)
	}
}

// valid is v with bytes that are not characters replaced.
func valid(v []byte) []byte {
	if utf8.Valid(v) {
		return v
	}
	return bytes.ToValidUTF8(v, []byte("\uFFFD"))
}

// Cut shortens a term to MaxBytes.
func Cut(t []byte) []byte {
	if len(t) <= MaxBytes {
		return t
	}
	end := MaxBytes
	for end > 0 && !utf8.RuneStart(t[end]) {
		end--
	}
	return t[:end]
}

// words emits the longest runs of alphanumeric characters.
func words(v []byte, emit func([]byte)) {
	if IsASCII(v) {
		asciiWords(v, emit)
		return
	}
	start := -1
	for i := 0; i < len(v); {
		c, n, in := v[i], 1, false
		if c < utf8.RuneSelf {
			in = asciiWord[c]
		} else {
			var r rune
			r, n = utf8.DecodeRune(v[i:])
			in = Alphanumeric(r)
		}
		switch {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			emit(Cut(v[start:i]))
			start = -1
		}
		i += n
	}
	if start >= 0 {
		emit(Cut(v[start:]))
	}
}

// asciiWords is words for a value of ASCII alone.
func asciiWords(v []byte, emit func([]byte)) {
	for i := 0; i < len(v); i++ { // v[i] is none of a word, or the first of one
		start := i
		for i < len(v) && asciiWord[v[i]] {
			i++
		}
		if i > start {
			emit(Cut(v[start:i]))
		}
	}
}

// addresses emits the IPv4 addresses that no ASCII letter or digit touches.
func addresses(v []byte, emit func([]byte)) {
	for i := 0; i < len(v); {
		if isDigit(v[i]) && (i == 0 || !asciiWord[v[i-1]]) {
			if end, ok := address(v, i); ok && (end == len(v) || !asciiWord[v[end]]) {
				emit(v[i:end])
				i = end
				continue
			}
		}
		i++
	}
}

// address reads four octets from i on and returns where they end.
func address(v []byte, i int) (end int, ok bool) {
	for octet := range 4 {
		if octet > 0 {
			if i == len(v) || v[i] != '.' {
				return 0, false
			}
			i++
		}
		n, digits := 0, 0
		for ; i < len(v) && isDigit(v[i]); i++ {
			n = 10*n + int(v[i]-'0')
			if digits++; digits > 3 || n > 255 {
				return 0, false
			}
		}
		if digits == 0 {
			return 0, false
		}
	}
	return i, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
