// Package opened gives packages below shardfmt the metadata of an open *shardfmt.Shard, which its exported methods do not show.
package opened

import "github.com/shardcat/shardcat/shardfmt/internal/meta"

// Handle holds the root of a shard. A type that embeds it is a Shard.
type Handle struct{ root *meta.Root }

// Shard is a type that embeds a Handle, as *shardfmt.Shard does.
type Shard interface{ openedRoot() *meta.Root }

// New returns the handle of a root.
func New(root *meta.Root) Handle { return Handle{root} }

// Root returns the root of an open shard.
func Root(s Shard) *meta.Root { return s.openedRoot() }

func (h Handle) openedRoot() *meta.Root { return h.root }
