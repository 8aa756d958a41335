// Package readertest runs a reader of shards, any command, over every case of a conformance kit, and reports what became of each.
package readertest
