// Package shardcat keeps tables of columnar shards on object storage: the one import of a program that appends Arrow
// records to tables, reads them back, and keeps shards few and large.
//
//	lake, err := shardcat.Open(ctx, "./lake", shardcat.Options{})       // a folder, or a URL of a store
//	events, err := lake.Create(ctx, shardcat.Name{Table: "events"}, shardcat.CreateOptions{Arrow: schema})
//	_, err = events.Append(ctx, reader, shardcat.AppendOptions{})        // array.RecordReader in
//	rows, err := events.Read(ctx, shardcat.ReadOptions{})                // array.RecordReader out
//	_, err = shardcat.Compact(ctx, events)
//
// Folders and memory (file, mem) are always there. Each object store is one more import, for its driver alone:
//
//	import _ "github.com/shardcat/shardcat/blobio/s3blob"   // s3://…
//	import _ "github.com/shardcat/shardcat/blobio/gcsblob"  // gs://…
//	import _ "github.com/shardcat/shardcat/blobio/azblob"   // az://…, abfss://…
//
// # Appending
//
// Each way is one commit (a Writer and IngestFiles: several), all rows or none, and repeats safely by a job id.
//
//	records in memory or from a reader    Table.Append         array.RecordReader; the default
//	a source that is not Arrow's          Table.Ingest         catalog.RecordSource, what Append is made of
//	files of any format, many of them     Table.IngestFiles    remembers the files it has committed
//	an endless stream                     Table.NewWriter      flushes by rows, bytes and age
//	parallel workers, one commit          Table.WriteShards in each worker, then Table.CommitShards once
//
// # Reading
//
//	rows as an array.RecordReader         Table.Read           in the types that the table was created with; the default
//	rows as an iterator                   Table.Scan           in canonical types (see shardfmt/arrowtype)
//	the plan first, then the rows         Table.Plan, Plan.Run
//	parallel readers, other processes     Plan.Tasks, then Table.ReadTask for each
//	rows as files                         Table.Export
//
// # Methods of a Table
//
//	read       Read Scan Plan Export Changes; At in the options selects a snapshot, tag, branch or time
//	write      Append Ingest IngestFiles NewWriter WriteShards CommitShards Register
//	change     Delete Truncate Overwrite DropOlder; AddColumn DropColumn RenameColumn WidenColumn MoveColumn
//	           CommentColumn RequireColumn OptionalColumn Repartition SortBy SetProperties AddIndex AddKeyIndex
//	maintain   PlanExpire Collect Verify Repair Rollback CherryPick CreateTag CreateBranch FastForward DropRef BuildIndexes;
//	           Compact of this package, and package compaction for policies and a service
//	inspect    Schema OriginalSchema Properties History Refs Shards Entries Statistics Jobs Indexes Why
//
// Results are named XResult after the operation X. Record batches and schemas at the border are those of arrow-go
// (github.com/apache/arrow-go/v18), the one other library whose types a program meets here.
//
// # Packages
//
// The types here are those of the packages below, which do everything that the command does: catalog (tables,
// snapshots, scans), compaction (policies and plans), shardfmt (single shards) and blobio (objects). docs/guides/library.md walks
// through them.
package shardcat

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	_ "github.com/shardcat/shardcat/blobio/fileblob" // file
	_ "github.com/shardcat/shardcat/blobio/memblob"  // mem
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// The types that a program meets first.
type (
	// Catalog is an open catalog of tables. Safe for concurrent use.
	Catalog = catalog.Catalog
	// Name is a table's name; an empty namespace is the default one.
	Name = catalog.Name
	// CreateOptions of Catalog.Create.
	CreateOptions = catalog.CreateOptions
	// Table is a table as it was when it was loaded. Load it once per goroutine.
	Table = catalog.Table
	// AppendOptions of Table.Append. The zero value is valid.
	AppendOptions = catalog.IngestOptions
	// AppendResult of Table.Append: the snapshot, the new shards, rows and bytes.
	AppendResult = catalog.IngestResult
	// ReadOptions of Table.Read. The zero value reads everything.
	ReadOptions = catalog.ReadOptions
	// ScanOptions are the part of ReadOptions that selects columns and rows.
	ScanOptions = catalog.ScanOptions
	// Policy determines when shards should be merged.
	Policy = compaction.Policy
)

// NoRows is the Limit of a scan that reads nothing; a Limit of 0 reads everything.
const NoRows = catalog.NoRows

// Errors to test for with errors.Is.
var (
	// ErrNotFound: no such table, namespace, snapshot or ref.
	ErrNotFound = catalog.ErrNotFound
	// ErrExists: there is one already.
	ErrExists = catalog.ErrExists
	// ErrConflict: another writer won, and trying again can't settle it.
	ErrConflict = catalog.ErrConflict
	// ErrInvalid: an invalid argument.
	ErrInvalid = catalog.ErrInvalid
	// ErrUnknownOutcome: a commit was sent and no answer came. Repeat it with the same job id.
	ErrUnknownOutcome = catalog.ErrUnknownOutcome
)

// Options of Open. The zero value is a catalog of its own in a local folder.
type Options struct {
	// Catalog is the URI of the Iceberg catalog: sqlite:PATH, postgres://…, rest+http://… or rest+https://…. For a
	// local place it may be empty, and is then the SQLite file catalog.db in it.
	Catalog string
	// Vault is the folder or URL under which shards lie, <warehouse>/vault if empty.
	Vault string
}

// Open opens the catalog of a place and makes it if it isn't there. The place is a folder, as a plain path or file URL,
// or the URL of a folder in an object store. In a folder lie catalog.db and warehouse, which the command opens by
// --catalog sqlite:PLACE/catalog.db --warehouse PLACE/warehouse; where Catalog names another catalog, the place is the
// warehouse itself.
func Open(ctx context.Context, place string, o Options) (*Catalog, error) {
	in := catalog.Options{URI: o.Catalog, Warehouse: place, Vault: o.Vault}
	switch {
	case place == "":
		return nil, fmt.Errorf("%w: missing location: use a folder, or a URL such as s3://bucket/folder", ErrInvalid)
	case o.Catalog != "":
	case isURL(place):
		return nil, fmt.Errorf("%w: %s is not a local folder: set Options.Catalog to its catalog, such as sqlite:PATH or rest+https://HOST",
			ErrInvalid, place)
	default:
		folder := strings.TrimPrefix(place, "file://")
		in.URI = "sqlite:" + filepath.Join(folder, "catalog.db")
		in.Warehouse = filepath.Join(folder, "warehouse")
	}
	return catalog.Open(ctx, in)
}

// isURL reports whether a place is a URL of something else than a local folder.
func isURL(place string) bool {
	return strings.Contains(place, "://") && !strings.HasPrefix(place, "file://")
}

// ParseName reads `[namespace.]name`.
func ParseName(text string) (Name, error) { return catalog.ParseName(text) }

// Where reads a filter for ScanOptions: `n >= 3 AND city LIKE 'B%'`; docs/guides/library.md links the grammar.
func Where(text string) (filter.Expr, error) { return filter.Parse(text) }

// Compact merges the small shards of a table by the policy that its properties and those of its namespace state. No data moves but that of
// shards that can't be concatenated. See compaction.Compact for a policy of one's own.
func Compact(ctx context.Context, t *Table) (*compaction.Report, error) {
	if t == nil {
		return nil, fmt.Errorf("%w: nil table", ErrInvalid)
	}
	in, err := compaction.Overrides(nil).Effective(ctx, t)
	if err != nil {
		return nil, err
	}
	return compaction.Compact(ctx, t, in.Policy, compaction.Options{})
}
