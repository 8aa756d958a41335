// Package shardsql asks the tables of a catalog anything that DuckDB's SQL can say: joins, aggregates, windows, over many
// tables and over the files that DuckDB reads.
//
// A table is a function of DuckDB that gives the batches of a scan as they come, of the columns that DuckDB requests. Which
// rows it must read is seen in DuckDB's own plan: conditions that stand right above a table, and that mean the same in both
// languages or let more through here, become the filter of its scan. DuckDB looks at them again, so that a filter can spare
// reading and never decide an answer.
//
// The module needs cgo and the build tag duckdb_arrow, for DuckDB's library comes as a static one in its Go modules.
package shardsql
