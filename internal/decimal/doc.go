// Package decimal reads and writes the 16-byte decimals of a shard (extension KustoDecimal): IEEE 754-2008
// decimal128 with densely packed digits, least significant byte first (docs/format/fields.md).
//
//	bit 127   126…122       121…110                109…0
//	 sign | combination | exponent, low part | 11 declets of 3 digits
//
// The combination reports what the number is:
//
//	ab cde   (ab ≠ 11)  finite: exponent's two high bits ab, first digit cde (0 to 7)
//	11 ab c  (ab ≠ 11)  finite: exponent's two high bits ab, first digit 8 + c
//	11110               infinity
//	11111               not a number; bit 121 set: signalling
//
// A finite value is coefficient × 10^(exponent − 6176), with 34 digits and exponents from 0 to 12287. The
// members of a cohort (1, 1.0, 1.00) are different bytes and compare equal. Sixteen zero bytes are 0E-6176.
//
// A declet packs three digits into ten bits by Cowlishaw's rules; 24 of the 1024 codes are second
// spellings, which are read and never written.
package decimal
