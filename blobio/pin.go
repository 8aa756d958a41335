package blobio

import "context"

type pinKey struct{}

// WithPin makes the reads with the returned context conditional: they are answered by the object that has
// this ETag (Info.ETag, as the store printed it), or end in ErrChanged. An empty etag lifts the condition.
func WithPin(ctx context.Context, etag string) context.Context {
	return context.WithValue(ctx, pinKey{}, etag)
}

// Pinned is the ETag that reads with ctx ask for, empty if any object will do. Drivers send it as a condition
// and answer ErrChanged where it does not hold.
func Pinned(ctx context.Context) string {
	etag, _ := ctx.Value(pinKey{}).(string)
	return etag
}
