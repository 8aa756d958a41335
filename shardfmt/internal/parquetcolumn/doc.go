// Package parquetcolumn decodes pages of Parquet files into Arrow arrays: those of flat columns of a file that Arrow's reader has opened ([Column]),
// and pages in memory of any column ([Run]).
//
//	page, version 1   [length u32, levels][values]      compressed as a whole
//	page, version 2   [levels][values]                  the values compressed
//	levels            hybrid: of a flat column 1 is a value, 0 a null; only if the column may hold nulls. Old writers pack them instead
//	values, plain     one behind the other; texts each behind its length, u32
//	values, coded     width u8, hybrid of codes of that width
//	hybrid            runs: uvarint n<<1,   value in whole bytes: n times the value
//	                  packed: uvarint n<<1|1, n × 8 values of width bits, from the lowest bit on
//
// A column that is coded by short dictionaries can be had as arrays of codes, too ([NewCoded]).
//
// Values in other encodings are made plain by package parquetcodec, and booleans are codes of one bit. [New] reports what is decoded of a file.
// Files are hostile: a batch takes memory for the rows that are requested and for bytes that exist, texts of a dictionary at
// most 2 GiB.
//
// Source: https://parquet.apache.org/docs/file-format/data-pages/encodings/.
package parquetcolumn
