// Package urlresolve turns a reference found in a shard into the object it names, or refuses it.
//
// A shard is hostile until proven otherwise, and its references decide which requests are made with the
// reader's credentials. So nothing is requested before the reference went through Resolve, which does no I/O:
//
//	root        s3://bucket/tables/t/r.amudai.shard
//	container   s3://bucket/tables/t/                     everything up to the last '/'
//
//	"d/x.stripe"                      relative: container + reference
//	"s3://bucket/tables/t/d/x"        absolute, inside the container: accepted
//	"s3a://bucket/tables/t/d/x"       the same by an alias: accepted, in its canonical spelling
//	"s3://other/x"                    absolute, outside: only by Policy.Allow
//	"../x", "d/%2e%2e/x", "/x", "//host/x", `d\..\x`, "x?sig=…", "x#y", "C:/x", "d/\x00"     refused, always
//
// The base of a relative reference is the container of the shard's root, never that of the object in which
// the reference stands. An empty reference means that very object; it is the caller's
// to replace and an error here.
//
// Where the rules are stricter than the reference implementation's (query and fragment in relative
// references, backslashes, encoded slashes and control bytes, malformed escapes, look-alike dots), no writer
// we know of produces what is refused.
package urlresolve

import (
	"errors"
	"strconv"
	"strings"
)

// maxLength of a reference in bytes: an object key has at most 1,024 bytes on every store, 3,072 when each is
// escaped; the rest is for scheme and bucket.
const maxLength = 4096

// tooLong is why a reference is refused that is within maxLength itself: nobody could follow what it resolves to.
var tooLong = "its URL is longer than " + strconv.Itoa(maxLength) + " bytes"

// ErrRefused is matched (errors.Is) by every error of this package: the reference is malformed, or names what
// it must not.
var ErrRefused = errors.New("unsafe reference")

// Error is a refused reference.
type Error struct {
	// Ref is the reference, redacted: without user, password, query and fragment, and cut if long.
	Ref string
	// Reason in plain words; holds nothing of the reference.
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	return ErrRefused.Error() + ": " + quote(e.Ref) + ": " + e.Reason
}

// Is matches ErrRefused.
func (e *Error) Is(target error) bool { return target == ErrRefused }

func refuse(ref, reason string) error {
	return &Error{Ref: Redact(ref), Reason: reason}
}

// Prefix is a part of a store that absolute references may name.
type Prefix struct {
	// Scheme in its canonical spelling: "s3", "gs", "abfss", "https", "file", "mem".
	Scheme string
	// Bucket is the authority of the canonical URL: bucket, container@account.dfs.core.windows.net or
	// host:port; empty for file.
	Bucket string
	// PathPrefix is a folder or an object, escaped as in a URL, without a leading slash; empty is the whole
	// bucket. "a/b" holds "a/b" and "a/b/c", not "a/bc".
	PathPrefix string
}

// ParsePrefix reads a Prefix from a URL in any spelling that Parse knows.
func ParsePrefix(raw string) (Prefix, error) {
	l, err := Parse(raw)
	if err != nil {
		return Prefix{}, err
	}
	return Prefix{Scheme: l.Scheme, Bucket: l.Bucket, PathPrefix: l.Path}, nil
}

// Holds reports whether l lies at or below the prefix. The zero Prefix holds nothing.
func (p Prefix) Holds(l Location) bool {
	if p.Scheme == "" || p.Scheme != l.Scheme || p.Bucket != l.Bucket {
		return false
	}
	folder := strings.TrimSuffix(p.PathPrefix, "/")
	if folder == "" {
		return true
	}
	rest, ok := strings.CutPrefix(l.Path, folder)
	return ok && (rest == "" && folder == p.PathPrefix || strings.HasPrefix(rest, "/"))
}

// Policy determines what absolute references may name besides the container of the shard's root. The zero value
// allows nothing more.
type Policy struct {
	Allow []Prefix
}

// Base is the container of a shard's root, with its trailing slash, in canonical spelling.
func Base(rootURL string) (container string, err error) {
	root, err := Parse(rootURL)
	if err != nil {
		return "", err
	}
	return root.container(), nil
}

// Resolve gives the canonical URL of the object that the reference ref of the shard with this root names. All
// errors match ErrRefused; none holds a secret.
func Resolve(rootURL, ref string, p Policy) (canonicalURL string, err error) {
	container, err := Base(rootURL)
	if err != nil {
		return "", err
	}
	return ResolveIn(container, ref, p)
}

// ResolveIn is Resolve for who has what Base gives of the root.
func ResolveIn(container, ref string, p Policy) (canonicalURL string, err error) {
	if err := checkText(ref); err != nil {
		return "", err
	}
	if !hasScheme(ref) {
		return resolveRelative(container, ref)
	}
	l, err := parse(ref, true)
	if err != nil {
		return "", err
	}
	canonical := l.String()
	if len(canonical) > maxLength {
		return "", refuse(ref, tooLong)
	}
	if strings.HasPrefix(canonical, container) {
		return canonical, nil
	}
	for _, allowed := range p.Allow {
		if allowed.Holds(l) {
			return canonical, nil
		}
	}
	return "", refuse(ref, "outside the shard's folder and not on the allow list")
}

func resolveRelative(container, ref string) (string, error) {
	if err := checkPath(ref, ref, true); err != nil {
		return "", err
	}
	switch {
	case ref[0] == '/':
		return "", refuse(ref, "an absolute path without a store")
	case len(ref) > 1 && ref[1] == '|' && isLetter(ref[0]):
		return "", refuse(ref, "a drive letter")
	}
	canonical := container + normalPath(ref)
	if len(canonical) > maxLength {
		return "", refuse(ref, tooLong)
	}
	return canonical, nil
}

// Relative is the reference that a writer stores for an object of the shard with this root: empty for the
// root itself, the remaining path inside the root's container, and otherwise the canonical absolute URL.
// Both URLs are canonical; what can't be parsed is returned as it is.
func Relative(rootURL, objectURL string) string {
	root, err := Parse(rootURL)
	if err != nil {
		return objectURL
	}
	object, err := Parse(objectURL)
	if err != nil {
		return objectURL
	}
	canonical := object.String()
	if canonical == root.String() {
		return ""
	}
	container := root.container()
	rest, inside := strings.CutPrefix(canonical, container)
	if !inside || rest == "" || strings.HasSuffix(rest, "/") {
		return canonical
	}
	if hasScheme(rest) {
		return canonical
	}
	if back, err := resolveRelative(container, rest); err != nil || back != canonical {
		return canonical // "//x" below the container
	}
	return rest
}
