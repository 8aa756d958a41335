// Package tablescan plans scans of a table by what its manifests state, and reads the shards that remain. Package catalog has the table: it finds the
// snapshot and the manifest entries, and opens key indexes.
package tablescan

import (
	"context"
	"log/slog"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/check"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/urlresolve"
)

// At selects a state of a table. The zero value is the head of main; at most one member may be set.
type At struct {
	// SnapshotID of a retained snapshot.
	SnapshotID int64
	// AsOf: the snapshot that was current at this time.
	AsOf time.Time
	// Ref is a branch or a tag.
	Ref string
}

// State is the state of a table that is read.
type State struct {
	Table
	Name string
	// SnapshotID is 0 for a table that has none yet.
	SnapshotID int64
	// Schema by which the table is read.
	Schema    *manifest.TableSchema
	Metadata  table.Metadata
	Client    *blobio.Client
	Log       *slog.Logger
	MaxMemory int64
}

// Table is what else a scan requests of its table.
type Table interface {
	UUID() string
	MetadataLocation() string
	// Allowed are the folders in which shards lie, and those that they may refer to.
	Allowed() ([]urlresolve.Prefix, error)
	OriginalSchema() *arrow.Schema
}

// Open opens the shard of an entry.
func (s *State) Open(ctx context.Context, client *blobio.Client, e *manifest.Entry) (*shardfmt.Shard, error) {
	return Open(ctx, client, s, e.Path, shardfmt.OpenOptions{Size: e.RootBytes})
}

// Open opens a shard by its root, allowed to refer to the table's own vault folder and to what it has adopted.
func Open(ctx context.Context, client *blobio.Client, of Table, root string, o shardfmt.OpenOptions) (_ *shardfmt.Shard, err error) {
	if o.Allow, err = of.Allowed(); err != nil {
		return nil, err
	}
	if err := check.Place(root, o.Allow); err != nil {
		return nil, err
	}
	return shardfmt.Open(ctx, client, root, o)
}
