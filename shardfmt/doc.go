// Package shardfmt reads and writes shards: columnar files of the Amudai format.
//
// A shard is a root object, which holds metadata only, and the objects of its stripes, which hold data only.
// A stripe is a run of records; each of its fields is a run of values of one type, with statistics.
//
//	ID.amudai.shard                     magic | messages: field descriptors, stripes, schema … | directory | magic
//	ID-0123456789abcdef-0.amudai.stripe magic | buffers of the fields of stripe 0, each at a multiple of 64 | magic
//	ID-0123456789abcdef-1.amudai.stripe …
//
// In the single-file layout the buffers of all stripes lie in the root, before its messages.
//
// Open reads a root; Scan reads records, as Arrow batches of the canonical types of package arrowtype, and as
// few bytes as the columns, the range of records and the filter leave; NewWriter writes a shard. All of them take
// a Store, which a *blobio.Client is; OpenReaderAt opens a shard in memory. Package verify
// reads every byte and checks it, package inspect reports what a shard holds, package merge concatenates shards.
//
// The order of writing is stripes, then the root, then the root is read back: a shard exists once its root
// does, and an object that no root names is no part of any shard.
//
// Errors of stored data are of package corrupt, those of object stores of package blobio, those of references
// of package urlresolve.
//
// docs/format specifies the bytes.
package shardfmt
