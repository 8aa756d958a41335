// Package layer reads and writes layer files, version 5: n columns of sorted rows, each a key and an auxiliary value,
// where every row of a column owns a group of rows of the next. One column is a sorted map; two are a map of maps.
//
//	file        blocks of multiples of 512 bytes, in any order; the trailer is the last 512 bytes
//	block       u32 CRC-32C of all that follows | magic | … | zero padding
//	LFDB data   u32 values, u32 value map, u32 row groups, u8 width of the value map (0: start and stride), u8 width
//	            of the row groups (0: none), 10 zeros | items | value map: the offset of every item | row groups:
//	            values+1 boundaries of rows in the next column
//	LFIB index  u32 bound map, u32 row totals, u32 child offsets, u32 child sizes, u16 children, u8 type of children
//	            (0 data, 1 index), u8 widths of the four arrays, 0 | first and last key of every child | bound map: the
//	            offset of every key | row totals: rows up to the end of every child | child offsets and child sizes in
//	            units of 512 bytes
//	LFIR index  an index block without keys and bound map, in columns that are not searched by value
//	LFFB Bloom filter, LFMB Bloom filter in modules, LFFR roaring bitmap: of the keys of the first column
//	LFPF, LFPT  filters of parts of the first column and their table: see partition.go
//	LFXX        what a file states about itself, where the trailer has no space for it: see extension.go
//	LFFT trailer: see trailer.go
//
// LFIR, LFPF, LFPT and LFXX are this package's own additions; the features that announce them tell other readers whether
// they may pass over them.
//
// Each column is a tree of its own: data blocks are its leaves, all at the same depth, index blocks its inner nodes.
// Integers in arrays have the fewest bytes of 1, 2, 3, 4, 6 and 8 that hold the greatest. Compressed files hold, in
// place of a data or index block, u32 compressed length, the compressed block, zero padding.
//
// Files of other writers do not report which types their values have: see ParseTypes. docs/reference/formats/layer.md reports what is read, written,
// refused and lost. Source: docs/reference/formats/layer.md.
package layer
