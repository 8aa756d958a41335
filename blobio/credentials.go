package blobio

import (
	"context"
	"time"
)

// Credentials hands out short-lived keys of a place, by the names that Iceberg's catalogs have for them ("s3.access-key-id" …), and
// reports when they end; a zero time is never. It is called before each request, and keeps what holds.
type Credentials func(ctx context.Context) (keys map[string]string, expires time.Time, err error)

type credentialsKey struct{}

// withCredentials lets Mount open a bucket by credentials that are handed out instead of those of the environment. The drivers of
// S3, Azure and GCS know them.
func withCredentials(ctx context.Context, c Credentials) context.Context {
	return context.WithValue(ctx, credentialsKey{}, c)
}

// CredentialsOf are those with which a scope opens the bucket, nil if there are none: drivers request them.
func CredentialsOf(ctx context.Context) Credentials {
	c, _ := ctx.Value(credentialsKey{}).(Credentials)
	return c
}
