// Package parquetwrite writes Arrow batches as a Parquet file by arrow-go's encoders, on all processors and in little memory.
//
//	"PAR1"
//	row group 0:  pages of column 0 │ pages of column 1 │ …     a dictionary page first, if the column has one
//	row group 1:  …
//	footer, its length (uint32), "PAR1"
//
// The columns of a batch are encoded side by side as it comes, each into memory of its own, where only encoded pages and codes of 16 bits
// stay until the row group is written. What the bytes of pages and of the footer are is the library's. This package chooses for each column of
// each row group whether its values get a dictionary, finds the codes (the library looks each value up at several times the cost), and
// says in the footer where the pages came to lie.
package parquetwrite
