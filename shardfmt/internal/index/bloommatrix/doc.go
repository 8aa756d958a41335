// Package bloommatrix holds the sketches that rule stripes out: a Bloom filter of the terms, or hashed values, of each
// stripe, laid side by side so that one short read finds the stripes that may hold a term.
//
// A matrix has a column for each stripe and a row for each block of their filters:
//
//	         stripe 0   stripe 1        stripe c-1
//	row 0    32 bytes   32 bytes   …    32 bytes    checksum, 8 bytes
//	row 1    32 bytes   32 bytes   …    32 bytes    checksum, 8 bytes
//	…
//
// and before the rows 32 bytes:
//
//	0  "amtermf1"   8  id, u64   16  rows, u32   20  columns, u32   24  XXH3-64 of the 24 bytes before
//
// All integers are little-endian. The number of rows is a power of two. The row of a hash is its upper half, scaled to
// the number of rows; in its block of 32 bytes the hash has eight bits, as package bloom sets them. The checksum of a
// row is XXH3-64 of its blocks with the seed id + row, so that a row of another matrix, or another row, is known for what it
// is. What does not hold is not a filter: it rules nothing out.
//
// A column of few rows is widened to more by repeating each row, since a hash's row in the wide one begins with the bits of that
// in the narrow one: so columns of unlike size share a matrix, and matrices are joined without the terms.
package bloommatrix
