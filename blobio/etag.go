package blobio

import "strings"

// BareETag is an ETag without what stores and proxies print around it, some in lists and not in answers: quotes, the mark
// of a weak one, the suffix of a server that packed the body.
func BareETag(etag string) string {
	etag = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	return strings.TrimSuffix(etag, "-gzip")
}

// SameETag reports whether two ETags are of one object, however they are printed.
func SameETag(a, b string) bool { return strings.EqualFold(BareETag(a), BareETag(b)) }
