// Package manifest ties shards to Iceberg: one shard is one data-file entry, one write is one snapshot.
//
// # Schemas
//
// ToIceberg and FromIceberg map the two type systems onto each other. A node of a shard's schema has exactly
// one Iceberg field id: that of its column, list element, map key or value. What Iceberg's types can't say
// (an Int8, a time span, a union) is kept beside them as TypeNotes, by field id, in the table property
// [TypesProperty].
//
// # Entries
//
// An Entry is what a table knows of a shard without opening it:
//
//	file_path, file_format = "amudai"      the root object
//	record_count                           live records
//	file_size_in_bytes                     size of the root object
//	column_sizes                           stored bytes per field
//	value_counts, null_value_counts,
//	nan_value_counts                       per field, where exact
//	lower_bounds, upper_bounds             per field, and the private block below
//
// # Private field ids
//
// Numbers of the shard as a whole travel as bounds of field ids that no schema has. All are 8-byte
// little-endian integers, lower and upper bound equal unless the line states otherwise:
//
//	2147480000  creation range: lower = first, upper = last record's time, in 100 ns ticks since year 1
//	2147480001  stripes
//	2147480002  deleted records
//	2147480003  metadata bytes: what a merge has to copy of this shard, without schema and property bags
//	2147480004  flags, see Flags
//	2147480005  stored bytes of all objects that the root reaches, the root included
//	2147480006  distinct objects that the root reaches, the root included
//	2147480007  shape: a fingerprint of the shard's schema, by which a planner knows what can be merged with what
//	2147480011  bytes of the objects of indexes; absent in entries of older versions
//	2147480012  distinct objects that values lie in, the root among them where some do; absent in entries of older versions
//	2147480013  ranges of these objects that a column takes on average, rounded up; absent in entries of older versions
//	2147480014  term filters: lower = their objects, upper = the bytes of these, which are among those of indexes; absent in entries of
//	            older versions, and without any
//	2147480009  lower: where the term filters of its stripes lie, see Entry.TermRuns
//
// The block ends at 2147480063; Iceberg reserves ids from 2147483447 on for itself. A reader that does not know
// an id ignores it; a shard that lacks one (a foreign Parquet file) has the zero value.
//
// # Snapshots
//
// Stage writes the manifests and the manifest list of one change (append or replace) on top of a given head and
// returns the requirements and updates that Iceberg's catalogs commit. It is our own producer because
// iceberg-go's front doors refuse files of a format they do not know. It reads and writes through the
// io.WriteFileIO it is given and knows of no bucket.
package manifest
