// Package metapb holds the protobuf messages of a shard's metadata, as they are on the wire.
//
// The messages are generated from common.proto and shard.proto beside this file:
//
//	protoc -I. --go_out=. --go_opt=paths=source_relative shardfmt/metapb/*.proto
//
// run from the top of the repository. Every message stands in a frame (package meta); nothing here
// is trusted before its checksum held. Fields a message has beyond these are kept as unknown fields.
package metapb
