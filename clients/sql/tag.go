//go:build !duckdb_arrow

package shardsql

// DuckDB's Go module leaves its Arrow interface out without a tag.
var _ = build_with_tags_duckdb_arrow
