// Package meta reads and writes the metadata of a shard: its frames, its references, its directory.
//
// A root object starts and ends with the same eight bytes (Magic). Between them, in any order and at any
// offset, lie messages, each in a frame; the last of them is the directory:
//
//	offset      size
//	0           8     "amud" 00 01 00 00          magic, version patch, minor (u16), major
//	8           …     buffers of stripes (single-file layout only), then framed messages
//	S-20-n      4     n                           frame of the directory
//	S-16-n      n     ShardDirectory
//	S-16        4     checksum
//	S-12        4     n again
//	S-8         8     "amud" 00 01 00 00
//
// A frame:
//
//	0           4     n, length of the payload
//	4           n     payload: a protobuf message (package metapb), or the FlatBuffers schema
//	4+n         4     XXH3-64 of the payload, its halves folded by xor
//
// A reference to a message covers its whole frame. A reference without URL means the object that holds the
// message in which it stands, its anchor. A relative one starts at the folder of the root, whatever its
// anchor is.
//
// Nothing in an object is trusted: lengths are checked against bytes that exist, checksums come before
// decoding, nesting and the number of messages are limited before anything is allocated, references are
// resolved by package urlresolve. What is wrong ends in an error of package corrupt.
package meta
