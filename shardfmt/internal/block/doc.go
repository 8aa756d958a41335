// Package block reads encoded blocks: the frame, the presence of values, and the nineteen value encodings
// with everything nested in them (docs/format/blocks.md).
//
//	block                                     sub-block
//	+---------------------+ 0                 +---------------------+ 0
//	| presence_size  u32  |                   | encoding code  u16  |
//	| values_size    u32  |                   | metadata            |
//	+---------------------+ 8                 | zero, up to 8 × k   |
//	| presence section    |                   +---------------------+
//	| zero, up to 8 × k   |                   | payload, in which   |
//	+---------------------+ V                 | sub-blocks may nest |
//	| value sub-block     |                   +---------------------+ values_size
//	| zero                |
//	+---------------------+ L-4, L % 8 = 0
//	| checksum       u32  |  XXH3-64 of [0, L-4) folded to 32 bits; only where the buffer reports it
//	+---------------------+
//
// A block states neither how many values it has nor of which type: both come from the block map and the
// schema. All numbers are little-endian.
//
// Decoders write to slices of the caller, take their working memory from a Scratch and allocate nothing
// per block. Bytes are hostile: every count is bounded by the bytes that carry it, by the number of values
// requested, or by the true largest expansion of the encoding; a block that breaks a rule ends in an error
// of package corrupt whose offset is relative to the slice given.
package block
