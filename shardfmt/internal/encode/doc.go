// Package encode turns the values of a block into bytes: one value sub-block per call, in any of the
// nineteen encodings of the format, chosen so that the block becomes small and stays quick to read.
//
// What is written stays inside the subset that every known reader decodes rightly:
//
//   - every sub-block, the outer one and each nested one, starts at a multiple of eight bytes counted from
//     the start of the outer one (which itself starts at a multiple of eight in its block);
//   - nothing trails inside a sub-block;
//   - null slots hold no bytes, fixed-size zero bytes or, of numbers, the value before or zero, whatever the caller's arrays held
//     there;
//   - floats are compared by their bits, so −0 and the payloads of NaNs survive;
//   - fixed-size byte values use Plain, LZ4, Zstd and FSST only; ZigZag always has a nested stream; ALP-RD
//     has a dictionary of four or eight entries; Delta has eight values or more.
//
// The layouts are in docs/format/blocks.md; package block reads them. A value is measured twice here:
// first a plan is made (what would this block cost as …), from the statistics of the whole block where they
// are cheap and from a sample where they are not, then the plan is carried out. The same values, profile and
// seed give the same bytes.
package encode
