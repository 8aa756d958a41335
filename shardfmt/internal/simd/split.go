package simd

import (
	"math"
	"slices"
)

// Lefts looks up the left parts of ALP-RD, of up to 16 bits, in a dictionary of at most eight. Each entry has a place of its own among eight, by the
// upper bits of its product with a factor that was looked for, so one comparison reports whether a left part is there.
type Lefts struct {
	entries []uint16
	found   bool // a factor
	factor  uint32
	// lefts are the entries by their places, numbers what they are numbered; where none is, noLeft and 0.
	lefts, numbers [8]uint32
}

const (
	// noLeft is no left part.
	noLeft = math.MaxUint32
	// mostFactors are tried: one of some 400 serves eight entries that are anyhow.
	mostFactors = 1 << 14
)

// Set takes a dictionary; of entries that are alike the first counts. The slice is kept.
func (d *Lefts) Set(entries []uint16) {
	d.entries, d.found = entries, false
	factor := uint32(0x9E3779B1) // 2^32 by the golden ratio
	for range mostFactors {
		if d.fits(factor) {
			return
		}
		factor = factor*1664525 + 1013904223 // Numerical Recipes' generator
	}
}

// fits tries a factor.
func (d *Lefts) fits(factor uint32) bool {
	for i := range d.lefts {
		d.lefts[i], d.numbers[i] = noLeft, 0
	}
	for i, e := range d.entries {
		at := uint32(e) * factor >> 29
		switch d.lefts[at] {
		case noLeft:
			d.lefts[at], d.numbers[at] = uint32(e), uint32(i)
		case uint32(e):
		default:
			return false
		}
	}
	d.factor, d.found = factor, true
	return true
}

// SplitLefts writes the number of the left part of each value, the bits from cut on, and 0 with a bit in missed for those that the dictionary lacks. missed
// has (len(vals)+7)/8 bytes. It gives all bits that any value has.
func SplitLefts[U uint32 | uint64](codes []uint16, missed []byte, vals []U, cut int, d *Lefts) (all U) {
	codes, missed = codes[:len(vals)], missed[:(len(vals)+7)/8]
	at := 0
	if d.found {
		if SizeOf[U]() == 4 {
			at, all = splitSome(active.split32, codes, missed, Cast[uint32](vals), all, cut, d)
		} else {
			at, all = splitSome(active.split64, codes, missed, Cast[uint64](vals), all, cut, d)
		}
	}
	return all | splitPlain(codes[at:], missed[at/8:], vals[at:], cut, d)
}

// splitSome has the first values split by a function of the tier, if it has one.
func splitSome[V, U uint32 | uint64](split func(codes []uint16, missed []byte, vals []V, cut int, d *Lefts) uint64, codes []uint16, missed []byte, vals []V,
	_ U, cut int, d *Lefts) (int, U) {
	n := len(vals) &^ 7
	if split == nil || n == 0 {
		return 0, 0
	}
	return n, U(split(codes[:n], missed[:n/8], vals[:n], cut, d))
}

// splitPlain is SplitLefts without vectors.
func splitPlain[U uint32 | uint64](codes []uint16, missed []byte, vals []U, cut int, d *Lefts) (all U) {
	clear(missed)
	for i, v := range vals {
		all |= v
		left, number := uint32(v>>cut)&math.MaxUint16, uint32(0)
		if d.found {
			at := left * d.factor >> 29
			if number = d.numbers[at]; d.lefts[at] == left {
				codes[i] = uint16(number)
				continue
			}
		} else if at := slices.Index(d.entries, uint16(left)); at >= 0 {
			codes[i] = uint16(at)
			continue
		}
		codes[i] = 0
		missed[i/8] |= 1 << (i % 8)
	}
	return all
}
