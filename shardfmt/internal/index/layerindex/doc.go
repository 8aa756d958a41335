// Package layerindex reads and writes layer indexes: which records hold a key, or keys of a range.
//
// An index is one artifact, a layer file of two columns (package layer):
//
//	column 0   the different keys, ascending          i64, u64, f64 or bytes; nothing beside them
//	column 1   for each key the positions, ascending  u64; nothing beside them
//
// so that the positions of neighbouring keys lie side by side, and the number of records of any range of keys is known before one
// of them is read. Signed integers and times are i64, unsigned integers and Booleans u64, floats f64, all others bytes, which a
// writer may cut: then what is found may match, and what is not found certainly does not. Nulls and NaNs are left out.
//
// Positions count records from the start of the stripe, as the descriptor's property position_base=stripe states.
//
// Builder makes an index with bounded memory, Open and Index.Rows ask one. Source: docs/format/indexes.md;
// docs/format/indexes.md.
package layerindex
