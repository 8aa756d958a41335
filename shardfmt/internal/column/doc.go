// Package column turns the values of one field of a stripe into buffers and descriptors, and back.
//
// A field is a node of the schema's tree. Its values are a sequence of positions; where the positions of its
// children lie follows from the type:
//
//	type             buffers                                    child positions
//	Unit             none                                       -
//	Boolean          DATA (bits), PRESENCE (bits)               -
//	numbers          DATA, RANGE_INDEX                          -
//	byte strings     DATA, or DATA (codes) + VALUE_DICTIONARY   -
//	List, Map        OFFSETS, PRESENCE                          [offset i, offset i+1)
//	FixedSizeList n  PRESENCE                                   [i*n, (i+1)*n)
//	Struct           PRESENCE                                   i
//	Union            DATA (u8, the variant)                     i, or by OFFSETS
//
// Nulls of numbers and byte strings are inside their blocks; a PRESENCE buffer beside them is read too. Other
// fields have PRESENCE only if something is null. A field whose values are all equal, or all null, needs no
// buffers at all; a field that a stripe does not know is null everywhere.
//
// Reading is in two steps, so that the bytes of all fields can be fetched together: Need reports what is
// missing for a range of positions, again and again until nothing is, then Read decodes. Arrays are Arrow's,
// of the canonical types of package arrowtype.
//
// Source: docs/format/fields.md.
package column
