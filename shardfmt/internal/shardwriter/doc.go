// Package shardwriter makes shards: a Writer cuts batches into stripes and encodes their fields, and objects places
// finished stripes in objects and writes the root that names them.
//
// The order is stripes, then the root, then the root is read back: a shard exists once its root does.
package shardwriter
