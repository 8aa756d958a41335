// Package nocache marks a context whose reads call the store whatever a cache holds: a damaged copy in a cache must not count as damage of the
// stored object.
package nocache

import "context"

type key struct{}

// With returns a context whose reads go past all caches.
func With(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Reads is how often something is read before it counts as damaged or lost: a bit that flips on the way to the reader, an object that a store denies once, or a
// cache that has a damaged copy must not cost a row, or halt a table until somebody looks.
const Reads = 3

// Retry reads, up to Reads times as long as the error may be one of what is stored, past all caches from the second time on.
func Retry(ctx context.Context, damaged func(error) bool, read func(context.Context) error) error {
	err := read(ctx)
	for n := 1; n < Reads && err != nil && ctx.Err() == nil && damaged(err); n++ {
		err = read(With(ctx))
	}
	return err
}

// Is reports whether reads with a context go past all caches.
func Is(ctx context.Context) bool { return ctx.Value(key{}) != nil }
