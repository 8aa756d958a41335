// Package lance reads Lance files of versions 2.0, 2.1 and 2.2, and writes 2.0; package dataset, below it, reads and
// writes the folders that they make up.
//
//	buffers of pages, columns and the file   padded to multiples of 64 bytes, unpadded in files before 2024-11
//	global buffer 0                          FileDescriptor: the schema and the number of rows
//	column metadata                          one message a column, back to back
//	column offsets                           u64 position, u64 size of each of them
//	global buffer offsets                    u64 position, u64 size of each global buffer
//	footer, 40 bytes                         u64 column metadata, u64 column offsets, u64 global buffer offsets,
//	                                         u32 global buffers, u32 columns, u16 major, u16 minor, "LANC"
//
// All numbers are little-endian, all positions count from the start of the file. There are no row groups: a column
// has pages of its own. In version 2.0 a struct has a column without data in front of those of its fields, a list one of
// offsets in front of that of its items. What a page holds is a tree of encodings (encoding.go), whose leaves name
// buffers of the page, the column or the file.
//
// Since version 2.1 only values have columns. Nesting is stored with them as repetition and definition levels
// (structural_levels.go), nulls are too. A page has one of four layouts (structural_encoding.go): mini-block, small chunks
// that are compressed one by one; full-zip, large values each behind its levels; constant, one value or only nulls;
// blob, places of values elsewhere in the file. Values go through a tree of compressive encodings (structural_values.go).
//
// Reading goes in windows: as many rows as all columns have in their page available, or as fit into a bounded number of
// bytes. What a window needs of all columns is fetched together: offsets first, then what they point to. A column
// that is not requested costs nothing, and of a page only the bytes of the wanted rows are fetched, unless it is
// compressed.
package lance
