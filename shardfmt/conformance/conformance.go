// Package conformance is the kit by which any reader of the format is tested: shards with the records they hold, in five
// levels, damaged shards that a reader must refuse, and a driver that asks a reader for every one of them.
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

// Placeholder stands for the path of a shard in the command line of a reader; IndexPlaceholder and KeysPlaceholder for those of
// an index and of questions to it.
const (
	Placeholder      = impl.Placeholder
	IndexPlaceholder = impl.IndexPlaceholder
	KeysPlaceholder  = impl.KeysPlaceholder
)

// DefaultTimeout is the time that a reader has for a shard. The largest has 20,000 records.
const DefaultTimeout = impl.DefaultTimeout

// Version of the kit: it grows with every change of its cases.
const Version = impl.Version

// Levels of a kit, in order.
var Levels = impl.Levels

// Kit is a list of cases.
type Kit = impl.Kit

// Outcome is what became of a case.
type Outcome = impl.Outcome

// RunOptions of Run. The zero value is valid.
type RunOptions = impl.RunOptions

// Score is what became of the cases of a level.
type Score = impl.Score

// Run asks a reader for every case of the kit in a folder. command is a command line that is split at spaces, without a
// shell; Placeholder in it stands for the path of the shard. It prints every record as a line of JSON and ends with 0, or
// refuses the shard by an exit code and a word.
func Run(ctx context.Context, dir string, command string, o RunOptions) ([]Outcome, error) {
	return impl.Run(ctx, dir, command, o)
}

// Scores sums up outcomes, a Score for each level that has any, in the order of Levels.
func Scores(outcomes []Outcome) []Score {
	return impl.Scores(outcomes)
}

// Write writes a kit below base, a canonical URL that ends with a slash and has no kit yet.
func Write(ctx context.Context, client *blobio.Client, base string) (*Kit, error) {
	return impl.Write(ctx, client, base)
}
