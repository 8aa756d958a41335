// Package nocache marks a context whose reads call the store whatever a cache holds: a damaged copy in a cache must not count as damage of the
// stored object.
package nocache

import "context"

type key struct{}

// With returns a context whose reads go past all caches.
func With(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Is reports whether reads with a context go past all caches.
func Is(ctx context.Context) bool { return ctx.Value(key{}) != nil }
