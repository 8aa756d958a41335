package filter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// isText reports whether the term operators and LIKE apply to a node.
func isText(n *schema.Node) error {
	if n.Basic == schema.String || n.IsDynamic() {
		return nil
	}
	return fmt.Errorf("filter: field %q is not a string", n.Name)
}

// likeTest matches a pattern.
type likeTest struct {
	segments []segment
	// prefix is what every match starts with.
	prefix string
}

// segment is a piece of a pattern between two %; every rune is literal or, where any is set, matches one character.
type segment struct {
	runes []rune
	any   []bool
	// text is the bytes of a segment that they alone decide, nil for others: bytes are found faster than runes.
	text []byte
}

// setText sets text, unless the segment has a place for any character, or U+FFFD, which bytes that are no UTF-8 match, too.
func (s *segment) setText() {
	if len(s.runes) > 0 && !slices.Contains(s.any, true) && !slices.Contains(s.runes, utf8.RuneError) {
		s.text = []byte(string(s.runes))
	}
}

func newLikeTest(n *schema.Node, pattern string) (test, error) {
	t := &likeTest{segments: []segment{{}}}
	literalSoFar := true
	var prefix strings.Builder
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		last := &t.segments[len(t.segments)-1]
		r := runes[i]
		if r == '%' {
			literalSoFar = false
			t.segments = append(t.segments, segment{})
			continue
		}
		if r == '\\' && i+1 < len(runes) {
			i++
			r = runes[i]
		} else if r == '_' {
			literalSoFar = false
			last.runes, last.any = append(last.runes, 0), append(last.any, true)
			continue
		}
		last.runes, last.any = append(last.runes, r), append(last.any, false)
		if literalSoFar {
			prefix.WriteRune(r)
		}
	}
	t.prefix = prefix.String()
	for i := range t.segments {
		t.segments[i].setText()
	}
	return t, isText(n)
}

func (t *likeTest) unknown() bool { return false }

// holds matches the first segment at the start, the last at the end, and each between at its first place:
// with only runs between them, the leftmost match of each is as good as any.
func (t *likeTest) holds(v *Value) bool {
	rest := v.Bytes
	first := &t.segments[0]
	n, ok := first.matchAt(rest)
	if !ok {
		return false
	}
	rest = rest[n:]
	if len(t.segments) == 1 {
		return len(rest) == 0
	}
	for i := 1; i < len(t.segments)-1; i++ {
		end, ok := t.segments[i].find(rest)
		if !ok {
			return false
		}
		rest = rest[end:]
	}
	return t.segments[len(t.segments)-1].matchEnd(rest)
}

// matchAt matches the segment at the start of b and returns the bytes it took.
func (s *segment) matchAt(b []byte) (int, bool) {
	if s.text != nil {
		return len(s.text), bytes.HasPrefix(b, s.text)
	}
	used := 0
	for i, want := range s.runes {
		r, size := utf8.DecodeRune(b[used:])
		if size == 0 || !s.any[i] && r != want {
			return 0, false
		}
		used += size
	}
	return used, true
}

// find is the end of the leftmost match.
func (s *segment) find(b []byte) (int, bool) {
	if s.text != nil {
		at := bytes.Index(b, s.text)
		return at + len(s.text), at >= 0
	}
	for start := 0; start <= len(b); {
		if n, ok := s.matchAt(b[start:]); ok {
			return start + n, true
		}
		_, size := utf8.DecodeRune(b[start:])
		start += max(size, 1)
	}
	return 0, false
}

func (s *segment) matchEnd(b []byte) bool {
	if s.text != nil {
		return bytes.HasSuffix(b, s.text)
	}
	start := len(b)
	for range s.runes {
		_, size := utf8.DecodeLastRune(b[:start])
		if size == 0 {
			return false
		}
		start -= size
	}
	_, ok := s.matchAt(b[start:]) // characters end at the same bytes from either side, those that are no UTF-8 too
	return ok
}

// textTest is a term operator.
type textTest struct {
	kind  textKind
	exact bool
	// want is folded unless exact.
	want []byte
}

func newTextTest(n *schema.Node, e textExpr) (test, error) {
	t := &textTest{kind: e.Kind, exact: e.Exact, want: []byte(e.Term)}
	if !e.Exact {
		t.want = tokenizer.AppendFolded(nil, t.want)
	}
	if len(t.want) == 0 {
		return nil, fmt.Errorf("filter: %s with an empty string", e.Kind)
	}
	return t, isText(n)
}

func (t *textTest) unknown() bool { return false }

func (t *textTest) holds(v *Value) bool {
	if t.exact {
		return t.find(v.Bytes, 0, v.Bytes)
	}
	if found, done := t.holdsASCII(v.Bytes); done {
		return found
	}
	text := tokenizer.AppendFolded(make([]byte, 0, 128), v.Bytes)
	return t.find(text, 0, text)
}

// find looks for an occurrence in piece, which is text from at on, but for its case.
func (t *textTest) find(text []byte, at int, piece []byte) bool {
	for from := 0; ; {
		i := bytes.Index(piece[from:], t.want)
		if i < 0 {
			return false
		}
		start := at + from + i
		if t.bounded(text, start, start+len(t.want)) {
			return true
		}
		from += i + 1
	}
}

// foldedBytes is how much of a text is folded at a time.
const foldedBytes = 256

// holdsASCII is holds for texts of which every character that comes to be looked at is ASCII. Most are, and need no memory; of others it reports that
// it isn't done.
func (t *textTest) holdsASCII(text []byte) (found, done bool) {
	if len(t.want) > foldedBytes/2 {
		return false, false
	}
	var room [foldedBytes]byte
	for from := 0; ; from += foldedBytes - len(t.want) + 1 {
		end := min(from+foldedBytes, len(text))
		folded := room[:end-from]
		if !tokenizer.FoldASCII(folded, text[from:end]) {
			return false, false
		}
		if t.find(text, from, folded) {
			return true, true
		}
		if end == len(text) {
			return false, true
		}
	}
}

// bounded reports whether the occurrence [start, end) has the borders that the operator requests.
func (t *textTest) bounded(text []byte, start, end int) bool {
	if t.kind == containsText {
		return true
	}
	before, _ := utf8.DecodeLastRune(text[:start])
	if start > 0 && tokenizer.Alphanumeric(before) {
		return false
	}
	after, _ := utf8.DecodeRune(text[end:])
	return t.kind == hasPrefix || end == len(text) || !tokenizer.Alphanumeric(after)
}
