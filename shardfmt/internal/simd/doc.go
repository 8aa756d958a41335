// Package simd holds the inner loops of the block encodings: FastLanes bit packing, frame of reference,
// prefix sums, run expansion, dictionary gather, the ALP conversions and bitmap packing.
//
// A kernel knows numbers and bytes, not blocks: callers (package block for reading, package encode for
// writing) have checked every count, width and index that comes from a file before they call, or call a
// kernel whose result reports whether an index was out of range. Kernels write to slices of the caller and
// never allocate.
//
// # Tiers
//
// What is worth it comes in tables of functions for kinds of processors (docs/design/kernels.md): plain loops, Go on
// 64-bit words, and assembly. All give the same bits.
//
// # FastLanes layout
//
// A chunk holds 1024 values of B bits (8, 16, 32, 64) in 128·W bytes, W being the packed width:
//
//	word (B bits)    0      1      …  L-1     |  L    …  2L-1    |  …      L = 1024/B lanes
//	                 lane 0 lane 1    lane L-1   lane 0 …           W words per lane
//
// The words of a lane, one after the other, are a stream of bits, least significant bit first; row r of the
// lane has the stream's bits [r·W, (r+1)·W). Row and lane name the value
//
//	index(row, lane) = order[row/8]·16 + (row%8)·128 + lane,  order = 0 4 2 6 1 5 3 7
//
// (docs/format/blocks.md; Afroozeh and Boncz, The FastLanes Compression Layout, VLDB 2023).
package simd
