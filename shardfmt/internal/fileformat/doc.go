// Package fileformat is the seam between the file formats: what each of them has to offer, so that every command
// and every conversion works on any of them.
//
// A Format opens a File in a store, of which it reads only the ranges that it needs; a File yields Arrow batches
// through a Source, and reports about itself (Inspect, Verify). A Sink takes Arrow batches of any types: what the
// format can't hold it refuses, with the row, or notes in its loss report; nothing is dropped in silence.
//
// Batches here have the Arrow types that a file's own types come closest to, not the canonical types of a shard:
// a conversion from one format to another does not pass through the types of a third. Package foreign holds the
// table of all formats and makes canonical batches of theirs; a format is a package of its own that knows no
// other.
//
// A Source is read by one goroutine; a File may have many Sources at once.
package fileformat
