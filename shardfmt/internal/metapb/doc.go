// Package metapb holds the protobuf messages of a shard's metadata, as they are on the wire.
//
// The messages are generated from docs/format/amudai.proto; continuous integration compares what is
// generated with what is committed. Every message stands in a frame (package meta); nothing here
// is trusted before its checksum held. Fields a message has beyond these are kept as unknown fields.
package metapb

//go:generate go run -C gen . ../../../../docs/format ..
