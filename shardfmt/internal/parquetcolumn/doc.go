// Package parquetcolumn decodes the most common columns of Parquet files into Arrow arrays: values at the top level, of types that
// are copied or widened, plain or coded by a dictionary.
//
//	page, version 1   [length u32, levels][values]      compressed as a whole
//	page, version 2   [levels][values]                  the values compressed
//	levels            hybrid of width 1: 1 is a value, 0 a null; only if the column may hold nulls
//	values, plain     one behind the other; texts each behind its length, u32
//	values, coded     width u8, hybrid of codes of that width
//	hybrid            runs: uvarint n<<1,   value in whole bytes: n times the value
//	                  packed: uvarint n<<1|1, n × 8 values of width bits, from the lowest bit on
//
// A column that is coded by short dictionaries can be had as arrays of codes, too ([NewCoded]).
//
// Arrow's reader finds the pages and unpacks them. It also reads whatever isn't common: [New] reports what is.
// Files are hostile: a batch takes memory for the rows that are requested and for bytes that exist, texts of a dictionary at
// most 2 GiB.
//
// Source: https://parquet.apache.org/docs/file-format/data-pages/encodings/.
package parquetcolumn
