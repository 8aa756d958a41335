// Package dataset reads Lance datasets, folders of Lance files in any store, and writes those of version 2.0.
//
//	_versions/N.manifest        one version each; N is the version, or in 20 digits 2^64-1 less the version, so that the
//	                            newest comes first
//	_refs/tags/NAME.json        a name for a version
//	data/*.lance                data files
//	_deletions/F-V-I.arrow|bin  the rows of fragment F that are deleted: an Arrow IPC file of one column of numbers, or a
//	                            roaring bitmap
//
// A manifest ends with u64 position of the message, u16 major, u16 minor, "LANC"; at the position stand u32 length and the
// message. It lists the fields of the schema, each with an id for good, and fragments: ranges of rows, whose columns lie in
// one data file or in several. Columns are found by the ids of their fields, so that they may be renamed, added, and dropped
// without a data file being written again; a field that no file of a fragment has is null there.
//
// Opening reads the list of versions and one manifest. Reading opens only the data files that hold a wanted column of a
// wanted row, and of those reads the ranges that package lance needs. Indices are not read, and not needed.
//
// Writing makes the first version of a new dataset: data files of names that nobody else has, one a fragment, and then the
// manifest, which is put only where there is none. Nothing is a dataset before that.
//
// Source: the Lance table format, protos/table.proto.
package dataset
