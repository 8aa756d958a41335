// Package colstream reads and writes encoded buffers: the byte sequences that a field's values are stored in.
//
// There are two shapes. A block stream (DATA, PRESENCE, OFFSETS) is blocks back to back and, at the tail, a
// block map that reports where each block lies and how many values it holds:
//
//	0                                                  data_size                      end
//	+---------+---------+-----+---------+-------------+--------------------------------+
//	| block 0 | block 1 | ... | block n | 0..15 zeros | block map                      |
//	+---------+---------+-----+---------+-------------+--------------------------------+
//
// An opaque buffer (VALUE_DICTIONARY, RANGE_INDEX) has a header of its own and no block map. Every buffer
// starts at a multiple of 64 bytes of its object; the length of the data part of a block stream is a
// multiple of 16, so that the block map starts aligned.
//
// The block map groups blocks into segments of 1024 (only the last one may be shorter):
//
//	+----------+-----+----------+--------------------+-------------------+-----------+
//	| record 0 | ... | record S | logical u64 x S+1  | records u64 x S+1 | footer 40 |
//	+----------+-----+----------+--------------------+-------------------+-----------+
//
//	record   0  u64  first logical position        16  u32  least block length, values
//	         8  u64  offset of the first block     20  u32  least block length, bytes
//	        24  u8   bits of a values delta (8, 16, 32)
//	        25  u8   bits of a bytes delta          26  u16  blocks
//	        28  deltas of values, zeros to 4, deltas of bytes, zeros to 8
//	footer   0  u64  values     8 u64 blocks   16 u64 segments   24 u64 blocks per segment
//	        32  u64  bytes of all blocks, without the padding behind them
//
// A bit buffer (booleans, presence) is a block stream of unsigned bytes, eight positions in each, lowest
// bit first; its block map counts bytes. An offsets buffer is a block stream of N+1 unsigned 64-bit values,
// the first one 0.
//
// Source: docs/format/fields.md.
package colstream

// Alignment of the start of every buffer in its object, in bytes.
const Alignment = 64

// streamAlignment of the block map behind the blocks, in bytes.
const streamAlignment = 16

// SegmentBlocks is how many blocks a full segment of a block map holds.
const SegmentBlocks = 1024

// alignUp is the smallest multiple of a that is at least n.
func alignUp(n, a int) int { return (n + a - 1) / a * a }
