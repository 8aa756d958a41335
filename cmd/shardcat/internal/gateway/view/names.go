package view

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// elsewhere is the folder of names of objects that lie outside the folder in which they are expected.
const elsewhere = "_x/"

// names turns URLs of objects of a table into names of the read endpoint and back, without memory of either: any replica with the same key
// resolves what another one named.
type names struct{ key []byte }

// name of an object in a folder that ends in a slash. A URL outside the folder becomes part of the name, with a code that only holders of
// the key compute, so that nobody makes the gateway read URLs of their choice.
func (n names) name(folder, url string) string {
	if rest, ok := strings.CutPrefix(url, folder); ok && plain(rest) {
		return rest
	}
	return elsewhere + n.code(url) + "/" + base64.RawURLEncoding.EncodeToString([]byte(url))
}

// url of a name.
func (n names) url(folder, name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, elsewhere)
	if !ok {
		return folder + name, plain(name)
	}
	code, text, ok := strings.Cut(rest, "/")
	if !ok {
		return "", false
	}
	url, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || !hmac.Equal([]byte(n.code(string(url))), []byte(code)) {
		return "", false
	}
	return string(url), true
}

func (n names) code(url string) string {
	h := hmac.New(sha256.New, n.key)
	h.Write([]byte("object\x00" + url))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// plain reports whether a path below a folder stands in a URL as it is, and stays below the folder.
func plain(path string) bool {
	if path == "" || strings.HasPrefix(path, elsewhere) {
		return false
	}
	for _, r := range path {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=", r)) {
			return false
		}
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}
