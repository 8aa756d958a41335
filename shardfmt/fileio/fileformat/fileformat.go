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

import (
	impl "github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// ErrMissing matches the refusal of a format that is known by name only.
var ErrMissing = impl.ErrMissing

// Fact is one property of a part.
type Fact = impl.Fact

// Inspection describes a file for people and tools.
type Inspection = impl.Inspection

// Option is one setting of a format, given as text: --NAME VALUE on the command line.
type Option = impl.Option

// OptionError is a setting that can't be used.
type OptionError = impl.OptionError

// Part is one part of a file: a row group, a page, a block.
type Part = impl.Part

// Settings are values of options by name. A value that makes no sense is an *OptionError.
type Settings = impl.Settings

// Store reads the objects that a file consists of; *blobio.Client has it.
type Store = impl.Store

// VerifyOptions of Verify. The zero value is valid.
type VerifyOptions = impl.VerifyOptions
