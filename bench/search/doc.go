// Command search builds indexes of a log, asks them, and compares what both cost with what others need for the same: Tantivy, Lance with its
// inverted and scalar indexes, DuckDB on Parquet with Bloom filters, and ripgrep on zstd files.
//
//	go run ./search -python PYTHON -dir DIR -o performance/page/220-searching.md && go run ./performance -render
//
// PYTHON is an interpreter with what peers.txt lists; without it, and without ripgrep and zstd, those contestants are left out. The log is made by
// the command, the same one each time (log.go); every contestant gets it as one Arrow file, row for row in the same order. DIR keeps the log and
// all files, what building them cost and what was answered, so that a run which was stopped goes on there; a temporary folder is used without it.
//
// Everyone builds in a process of its own with one thread, whose processor time and greatest memory count, reading the log included. Everyone opens
// its files again for each query; the files lie in the page cache of the system. The queries mean the same to all, and all must give the same number of lines, or
// the command fails. Whoever can read from an object store is run once more through one that responds after 30 ms (store.go).
package main
