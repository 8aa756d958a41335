// Package convert turns a file of any format into one of any other, and reports what that loses.
//
// Between formats that hold Arrow batches (Parquet, Arrow IPC, Lance, COLE, layer files) the batches go straight
// across, in their own types. Where text or a shard is at either end they pass through the types of a shard
// (package arrowtype), which have no zone and no digits below 100 ns.
//
// Nothing is dropped in silence. A value that the other side can't hold exactly is refused, with its record; with
// AllowLossy it is changed and counted. What is lost of a column's type (a zone, an encoding) is in the report;
// with Strict that is refused too, before the first record is written.
package convert
