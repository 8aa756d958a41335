package urlresolve

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// checkText refuses what no reference of any form may hold, and the empty one.
func checkText(ref string) error {
	switch {
	case ref == "":
		return refuse(ref, "empty")
	case len(ref) > maxLength:
		return refuse(ref, "longer than "+strconv.Itoa(maxLength)+" bytes")
	case !utf8.ValidString(ref):
		return refuse(ref, "not UTF-8")
	case strings.ContainsAny(ref, "?#"):
		return refuse(ref, "a query or a fragment")
	case strings.IndexByte(ref, '\\') >= 0:
		return refuse(ref, "a backslash")
	case ref[0] == ' ' || ref[len(ref)-1] == ' ':
		return refuse(ref, "a space at its start or end")
	}
	for _, r := range ref {
		if isControl(r) {
			return refuse(ref, "a control character")
		}
	}
	return nil
}

// isControl also holds for what changes the direction or the look of the text around it.
func isControl(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e ||
		r >= 0x2060 && r <= 0x206f || r == 0xfeff || r == utf8.RuneError
}

// maxUnescape is how often a path is unescaped in search of dots: once is what a store does, the rest is for
// proxies on the way that do it again.
const maxUnescape = 3

// checkPath refuses a path that climbs, or that a store, a proxy or a file system might read as one that does.
// The error names ref. Of a reference of a shard no escape may stand for a slash or a control character, however often the path is
// unescaped; a key that the caller names, such as the folder d=1%2F2 that Hive writes for a value with a slash, may hold escapes, and
// such a folder also those of a value that would climb.
func checkPath(ref, path string, reference bool) error {
	for depth := range maxUnescape {
		if climbs(path) {
			return refuse(ref, "a dot segment")
		}
		plain, err := url.PathUnescape(path)
		if err != nil {
			return refuse(ref, "a malformed escape")
		}
		if plain == path {
			return nil
		}
		if err := checkUnescaped(ref, path, plain); err != nil && (reference || depth == 0) {
			return err
		}
		if path = plain; depth == 0 && !reference {
			path = withoutPartitions(path)
		}
		if !hasEscape(path) {
			break
		}
	}
	if climbs(path) {
		return refuse(ref, "a dot segment")
	}
	return nil
}

// withoutPartitions leaves the folders NAME=VALUE of a key out, whose escapes are of a name and a value.
func withoutPartitions(key string) string {
	folders := strings.Split(key, "/")
	return strings.Join(slices.DeleteFunc(folders, func(f string) bool { return strings.IndexByte(f, '=') > 0 }), "/")
}

// checkUnescaped refuses escapes whose meaning depends on who unescapes them.
func checkUnescaped(ref, path, plain string) error {
	switch {
	case !utf8.ValidString(plain):
		return refuse(ref, "escapes that are not UTF-8")
	case strings.Count(plain, "/") != strings.Count(path, "/"), strings.IndexByte(plain, '\\') >= 0:
		return refuse(ref, "an escaped slash")
	}
	for _, r := range plain {
		if isControl(r) {
			return refuse(ref, "an escaped control character")
		}
	}
	return nil
}

// hasEscape reports whether every '%' of path begins an escape and there is one: a key may hold a bare "%".
func hasEscape(path string) bool {
	_, err := url.PathUnescape(path)
	return err == nil && strings.IndexByte(path, '%') >= 0
}

// lookalikes of dots and slashes, which compatibility normalisation turns into them.
var lookalikes = strings.NewReplacer(
	"\u2024", ".", "\u2025", "..", "\u2026", "...", "\u3002", ".", "\uff0e", ".", "\uff61", ".", "\ufe52", ".",
	"\ufe19", "...", "\u2044", "/", "\u2215", "/", "\u29f8", "/", "\uff0f", "/", "\uff3c", "/", "\u2216", "/",
	"\ufe68", "/")

func climbs(path string) bool {
	if strings.IndexFunc(path, func(c rune) bool { return c >= utf8.RuneSelf }) >= 0 {
		path = lookalikes.Replace(path)
	}
	path = strings.ReplaceAll(path, `\`, "/")
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// normalPath escapes what the WHATWG URL standard escapes in a path, and nothing else.
func normalPath(path string) string {
	n := 0
	for n < len(path) && !escaped(path[n]) {
		n++
	}
	if n == len(path) { // as mostly
		return path
	}
	var b strings.Builder
	b.Grow(len(path))
	b.WriteString(path[:n])
	for i := n; i < len(path); i++ {
		if c := path[i]; escaped(c) {
			writeEscape(&b, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// escaped reports whether a byte of a path is escaped.
func escaped(c byte) bool { return c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`{}^", c) >= 0 }

func writeEscape(b *strings.Builder, c byte) {
	const hex = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(hex[c>>4])
	b.WriteByte(hex[c&15])
}

// hasScheme reports whether ref starts like a URL's scheme: a letter, then letters, digits, '+', '-' or '.',
// then ':'.
func hasScheme(ref string) bool {
	for i := 0; i < len(ref); i++ {
		c := ref[i]
		switch {
		case c == ':':
			return i > 0
		case isLetter(c):
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isLower(s string) bool { return s == strings.ToLower(s) }

// quote prints a redacted reference without letting it break the line.
func quote(ref string) string { return strconv.Quote(ref) }
