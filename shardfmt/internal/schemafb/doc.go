// Package schemafb holds the accessors of a serialized schema that flatc generates from docs/format/schema.fbs.
//
// They trust the buffer: on one that is damaged they panic, or read what is not theirs. Package shardfmt/schema checks
// each table before it calls an accessor of it, and nothing else should read schemas by this package.
//
// flatc is the one of Debian's package flatbuffers-compiler (2.0.8); continuous integration compares what it generates
// with what is committed.
package schemafb

//go:generate flatc --go --go-namespace schemafb --gen-onefile -o . ../../../docs/format/schema.fbs
//go:generate gofmt -w schema_generated.go
