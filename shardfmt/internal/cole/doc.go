// Package cole reads and writes COLE files, version 1.0: columns of 32-bit and 64-bit integers and of strings, in row
// groups, with the smallest and the greatest value of every page of integers, so that a reader skips what it does not
// need.
//
//	header      43 4F 4C 45 "COLE" | u16 major = 1 | u16 minor = 0
//	row groups  for each row group, for each column: a chunk of one or more pages
//	metadata    u32 columns | for each: u32 length, name, u8 type, u8 encoding
//	            u32 row groups | for each: u32 rows, u32 columns | for each column:
//	                u64 offset of its first page header, u64 size, u32 pages, the page headers again
//	            u32 rows of the file
//	footer      54 4F 4F 46 "TOOF" | u64 offset of the metadata
//
//	page        u32 uncompressed size, u32 compressed size, u32 values, u8 encoding, u8 has statistics (0 or 1),
//	            statistics if there are any: u8 has min, i64 min if so, u8 has max, i64 max if so, u32 nulls
//	            compressed-size bytes of data
//
// All integers are little-endian. uvarint is LEB128, svarint is zigzag in a uvarint. The encodings of the data:
//
//	PLAIN       integers of 4 or 8 bytes; strings: u32 offsets[values+1], then the bytes
//	RLE         uvarint runs | for each: uvarint length, svarint value (integers only)
//	DELTA       the first value in 4 or 8 bytes | uvarint deltas = values-1 | svarint deltas, which wrap (integers only)
//	DICTIONARY  u32 entries | for each: u32 length, bytes | the index of every value, as RLE (strings only)
//
// There are no checksums, no compression beyond the encodings, no nulls and no types but the three.
//
// docs/reference/formats/cole.md reports what is read, written, refused and lost, and what this package decides where the
// published text is silent. Source: docs/reference/formats/cole.md.
package cole
