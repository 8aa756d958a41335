// Package conformance is the kit by which any reader of the format is tested: shards with the records they hold, in five
// levels, and damaged shards that a reader must refuse. `shardcat conformance DIR --run COMMAND` runs a reader over it.
//
//	DIR/kit.json                     the cases, a Kit
//	DIR/l1/NAME/shard.amudai.shard   a shard (and its stripes)
//	DIR/l1/NAME/rows.ndjson          its records, a line each
//	DIR/refuse/NAME/shard.amudai.shard
//
// The levels are plain values (l1), every encoding (l2), nested types and unions (l3), indexes and deleted records (l4) and
// forms that the book of the format knows and the reference implementation does not write (l5). docs/format/conformance.md
// states what is expected of a reader. The records are those that were given to the writer; no reader has touched them.
package conformance

import (
	"context"

	"github.com/shardcat/shardcat/blobio"
	impl "github.com/shardcat/shardcat/shardfmt/internal/conformance"
)

// Version of the kit: it grows with every change of its cases.
const Version = impl.Version

// Levels of a kit, in order.
var Levels = impl.Levels

// Kit is a list of cases.
type Kit = impl.Kit

// Case is one shard of a kit.
type Case = impl.Case

// Write writes a kit below base, a canonical URL that ends with a slash and has no kit yet.
func Write(ctx context.Context, client *blobio.Client, base string) (*Kit, error) {
	return impl.Write(ctx, client, base)
}
