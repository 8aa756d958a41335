package blobio

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// OpenBucket opens the bucket of a URL, whose query holds the options and whose path is none of its business.
// It should not make a request.
type OpenBucket func(ctx context.Context, u *url.URL) (Bucket, error)

var registry = struct {
	sync.Mutex
	byScheme map[string]OpenBucket
}{byScheme: map[string]OpenBucket{}}

// Register makes a scheme known; drivers do so when they are imported. Registering one twice panics.
func Register(scheme string, open OpenBucket) {
	registry.Lock()
	defer registry.Unlock()
	if _, dup := registry.byScheme[scheme]; dup {
		panic("blobio: scheme registered twice: " + scheme)
	}
	registry.byScheme[scheme] = open
}

func driver(scheme string) (OpenBucket, error) {
	registry.Lock()
	defer registry.Unlock()
	if open := registry.byScheme[scheme]; open != nil {
		return open, nil
	}
	known := make([]string, 0, len(registry.byScheme))
	for s := range registry.byScheme {
		known = append(known, s)
	}
	slices.Sort(known)
	if pkg := drivers[scheme]; pkg != "" {
		return nil, fmt.Errorf("no driver for %s: import _ %q", scheme, driverPath+pkg)
	}
	return nil, fmt.Errorf("no driver for scheme %q; available: %s", scheme, strings.Join(known, " "))
}

// driverPath is where the packages of drivers lie.
const driverPath = "github.com/shardcat/shardcat/blobio/"

// drivers are the packages that register a scheme, for the error where one is not linked.
var drivers = map[string]string{
	"file": "fileblob", "mem": "memblob", "http": "httpsblob", "https": "httpsblob",
	"s3": "s3blob", "s3a": "s3blob", "gs": "gcsblob", "gcs": "gcsblob",
	"az": "azblob", "azblob": "azblob", "abfs": "azblob", "abfss": "azblob", "wasb": "azblob", "wasbs": "azblob",
}
