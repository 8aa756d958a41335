// Package parquetchunk reads column chunks of Parquet files of which a shard holds references alone: the footer of a
// file, the chunk that a reference names in it, the pages of the chunk, and their values as arrays of the canonical
// types of a shard.
//
//	file       PAR1 … [dictionary page][data page][data page]… … footer, length u32, PAR1
//	reference         dictionary_range ^ data_pages_range    ^
//
// Pages are decoded by Arrow's reader, each run of them as the only pages of a miniature file in memory. Everything
// that reader allocates is charged to the account of the scan, and its panics are damage of the file.
//
// Source: docs/format/parquet.md.
package parquetchunk
