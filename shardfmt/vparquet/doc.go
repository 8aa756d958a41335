// Package vparquet reads an opened shard as a Parquet file that is stored nowhere: any range of its bytes is made of the blocks that
// it covers, and is the same whenever, wherever and in whatever pieces it is read.
//
//	"PAR1"
//	row group 0     column chunk 0: pages │ zeros   column chunk 1: …       a stripe of the shard, deleted rows included
//	row group 1     …
//	offset indexes  chunk 0 of row group 0 │ zeros   chunk 1 …
//	512 KiB of zeros
//	footer, its length (uint32), "PAR1"
//
//	page:           header, 45 bytes │ repetition levels │ definition levels │ values, PLAIN
//	levels:         length (uint32) │ one bit-packed run; absent where the highest level is 0
//
// Where chunks lie and how large the file is follows from the metadata of the shard. The size of a chunk within its space is known from there
// for flat columns; columns whose size depends on their values are decoded once, and the sizes of their pages kept in a Cache. Values of flat
// columns of fixed size have space for all rows of their page, zeros behind those that are not null.
//
// docs/design/virtual-parquet.md reports why.
package vparquet
