// Package flightsql serves the tables of a catalog as Arrow Flight SQL, for ADBC and JDBC drivers: catalogs, schemas, tables,
// and simple queries,
//
//	SELECT columns|* FROM [namespace.]table [WHERE expression] [LIMIT n]
//
// whose expressions are those of scans (docs/reference/filters.md). A query becomes a plan with one endpoint for each task; a ticket
// holds all that reading it takes, so that any server over the same catalog serves it, and a server keeps nothing between
// requests. What needs more of SQL is refused with the way to it: a SQL engine over the rows of these queries.
package flightsql
