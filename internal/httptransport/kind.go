package httptransport

import (
	"net/http"
	"strings"
)

// Kind is what a request calls a store for.
type Kind string

// The kinds of requests.
const (
	Get    Kind = "get"    // content
	Stat   Kind = "stat"   // what is known of an object, without its content
	List   Kind = "list"   // a page of keys
	Put    Kind = "put"    // an object, a part of one, the begin or the end of an upload
	Delete Kind = "delete" // an object, or the parts of an upload
)

// KindOf reports what a request names, in the protocol of S3, Azure or GCS.
func KindOf(r *http.Request) Kind {
	switch r.Method {
	case http.MethodHead:
		return Stat
	case http.MethodDelete:
		return Delete
	case http.MethodGet, "":
		return kindOfGet(r)
	}
	return Put
}

// kindOfGet distinguishes lists and metadata from content. GCS lists at …/b/BUCKET/o and gives metadata where its
// address lacks alt=media; S3 and Azure mark lists by a parameter.
func kindOfGet(r *http.Request) Kind {
	q := r.URL.Query()
	switch {
	case !IsGCS(r):
		if q.Has("list-type") || q.Get("comp") == "list" {
			return List
		}
	case strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/o"):
		return List
	case q.Get("alt") != "media":
		return Stat
	}
	return Get
}

// IsGCS reports the JSON protocol of GCS by its paths.
func IsGCS(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/storage/v1/") || strings.HasPrefix(r.URL.Path, "/upload/")
}

// IsAzure reports Azure's protocol by the header that each of its requests has.
func IsAzure(r *http.Request) bool { return r.Header.Get("X-Ms-Version") != "" }
