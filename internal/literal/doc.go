// Package literal is how single values are written as text, in NDJSON, CSV, tables and literals:
//
//	DateTime   2024-02-29T12:00:00.1234567Z   RFC 3339 in UTC, up to 7 fraction digits, trailing zeros cut
//	TimeSpan   -1.02:03:04.5000000            [-][d.]hh:mm:ss[.fffffff], 7 fraction digits or none
//	Guid       00112233-4455-6677-8899-aabbccddeeff   bytes in stored order
//	floats     0.1  5.0  1e22  -0.0  NaN  Infinity    the shortest text that reads back to the same value
//	           of the same width
//
// Times are ticks: 100 ns, since 0001-01-01T00:00:00 where they are points in time.
package literal
