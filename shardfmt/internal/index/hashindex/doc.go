// Package hashindex reads and writes hash indexes: which records hold a value, by its 64-bit hash.
//
// An index is a power of two of partitions, artifacts that are shards of their own. The high bits of a hash choose the
// partition, its low bits the bucket, which is one record:
//
//	hash       pppp ………………………………………… bbbb     p: of 2^k partitions, b: of the partition's 2^n buckets
//	partition  bucket | bucket | …                as many records as buckets, also empty ones
//	bucket     [ {hash, [position, position, …]}, … ]
//
// The hash is XXH3-64 of a key: names of the path to a field, joined by points, a colon, and the bytes of the value.
// Positions count records from the start of the shard, or, where the descriptor has the property
// position_base=stripe, from the start of the stripe that it belongs to. Different keys may have the same hash, so what
// is found may match, and what is not found certainly does not.
//
// Builder makes an index, Open and Index.Lookup ask one. Source: docs/format/indexes.md.
package hashindex
