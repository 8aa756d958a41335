// Package manifest is what the Iceberg manifests of a table state about its shards: an Entry for each, which tells readers and planners what the
// shard holds without opening it. Tables give entries by themselves (catalog.Table.Entries); Manifests and Entries read them from the metadata of any
// snapshot. docs/design/entry.md has what entries carry.
package manifest

import (
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	impl "github.com/shardcat/shardcat/catalog/internal/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Format is the file format of a shard's entry.
const Format = impl.Format

// Unknown stands for a count that is not known.
const Unknown = impl.Unknown

// The flags, one bit each.
const (
	// StandardProperties: the shard carries drop-by, ingest-by or other standard properties; it is not merged
	// unless requested.
	StandardProperties = impl.StandardProperties
	// Foreign: not written by shardcat.
	Foreign = impl.Foreign
	// DraftWire: the older layout of the metadata.
	DraftWire = impl.DraftWire
	// Adopted: its objects lie outside the table's vault; they are read and never swept.
	Adopted = impl.Adopted
)

// ErrPartition: the rows of a shard do not lie in one partition of the table, or it can't be determined.
var ErrPartition = impl.ErrPartition

// ErrSchema: a shard's fields do not fit the table's columns.
var ErrSchema = impl.ErrSchema

// Entry is one shard of a table, as the table knows it without opening it. An entry read from a table is shared
// between readers and must not be changed.
type Entry = impl.Entry

// Column is what an entry states about one field.
type Column = impl.Column

// Private are the numbers of an entry that travel in the private block.
type Private = impl.Private

// Flags are properties of a shard that decide what may be done with it.
type Flags = impl.Flags

// CreationRange is when the records of a shard were created: the first and the last, in ticks since year 1.
// The zero value is unknown.
type CreationRange = impl.CreationRange

// TableSchema is a table's schema seen from both sides.
type TableSchema = impl.TableSchema

// Manifests reads the manifest list of a snapshot of a table of an Iceberg format version. The list is required
// from version 2 on: a snapshot that names none is corrupt, not empty.
func Manifests(fs io.IO, version int, s *table.Snapshot) ([]iceberg.ManifestFile, error) {
	return impl.Manifests(fs, version, s)
}

// Entries reads all entries of a manifest, deleted ones included.
func Entries(fs io.IO, m iceberg.ManifestFile) ([]iceberg.ManifestEntry, error) {
	return impl.Entries(fs, m)
}

// EntryOfManifest is the Entry of an entry of a manifest.
func EntryOfManifest(m iceberg.ManifestEntry) *Entry { return impl.EntryOfManifest(m) }

// Bound reads a bound of a Column of a node back, in the form in which filters compare values; false if the bytes are no value
// of that type. A timestamp's bound is exact to the microsecond, which is why bounds are inclusive.
func Bound(n *schema.Node, b []byte) (filter.Value, bool) { return impl.Bound(n, b) }

// Shape is a fingerprint of a schema whose nodes have the field ids: shards of one shape hold the same fields of the same types
// under the same ids, so that a merge can put their stripes into one root. It is positive.
func Shape(s *schema.Schema, ids []int) int64 { return impl.Shape(s, ids) }
