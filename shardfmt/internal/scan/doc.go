// Package scan reads the records of an opened shard, as batches, and as few bytes as columns, filter and range of
// records leave.
//
// Three collaborators share the work:
//
//	plan      which fields, which stripes by their statistics, which rows of a stripe by its range indexes
//	fetcher   the bytes of columns, near ranges of an object in one request, all of a round at once
//	decoder   arrays of columns, the rows that a filter selects, batches
//
// A stripe goes through its rows in windows whose bytes fit into memory, and through each window in batches:
//
//	rows ---- range indexes ----> ranges ---- windows of fetchBytes ----> batches
//
// With a filter the columns it needs are fetched and decoded first, and the others only where a row of a batch
// was selected, unless they are so small that a second round of requests costs more than they do.
package scan
