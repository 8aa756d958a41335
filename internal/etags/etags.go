// Package etags compares the ETags of objects.
package etags

import "strings"

// Bare is an ETag without what stores and proxies print around it, some in lists and not in answers: quotes, the mark
// of a weak one, the suffix of a server that packed the body.
func Bare(etag string) string {
	etag = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	return strings.TrimSuffix(etag, "-gzip")
}

// Same reports whether two ETags are of one object, however they are printed.
func Same(a, b string) bool { return strings.EqualFold(Bare(a), Bare(b)) }
