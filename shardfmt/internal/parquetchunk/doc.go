// Package parquetchunk reads column chunks of Parquet files of which a shard holds references alone: the footer of a
// file, the chunk that a reference names in it, the pages of the chunk, and their values as arrays of the canonical
// types of a shard.
//
//	file       PAR1 … [dictionary page][data page][data page]… … footer, length u32, PAR1
//	reference         dictionary_range ^ data_pages_range    ^
//
// Pages are decoded by package parquetcolumn, each run of them into one array. What that needs is charged to the account of the
// scan. Footers are read by Arrow's reader, whose panics are damage of the file.
//
// Source: docs/format/parquet.md.
package parquetchunk
