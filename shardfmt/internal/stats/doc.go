// Package stats computes the statistics of a field: what its FieldDescriptor states about the values besides
// where they lie (docs/format/fields.md).
//
// A Collector is fed the arrays of one field of one stripe, nested fields each with their own. It counts
// what the reference counts, bit for bit: null counts, raw sizes, ranges, the counts of the type, the
// cardinality sketch and the Bloom filter. Beyond the reference it gives, unless Options.Reference is set:
//
//   - ranges of strings and byte strings, bounds shortened to BoundSize bytes: a shortened minimum is a
//     prefix and stands below every value, a shortened maximum is a prefix counted up and exclusive;
//   - cardinality of integers, times, floats and decimals;
//   - Bloom filters of integers and times whose values lie scattered, where a range would prune nothing.
//
// # What is hashed
//
// Sketches and filters hash the bytes of a value with XXH3-64, each with its own seed: the bytes of strings,
// byte strings and guids as they are stored; of integers, times and booleans the 8 bytes, little-endian, of
// the value widened to 64 bits; of floats the 8 bytes of the float64, −0 as +0, each NaN as the quiet NaN; of
// decimals the 16 bytes of the member of the cohort with the fewest digits.
//
// # Constants
//
// A field is constant only if its values are the same bits: no NaN, one sign of zero, one member of a
// decimal's cohort. The reference is less strict and loses them (note 03 §19.1).
package stats
