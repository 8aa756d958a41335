package layer

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// dataBlock is a leaf: the items of rows [0, n) of it.
type dataBlock struct {
	b      []byte
	n      int
	items  packed // the offset of every item
	groups packed // n+1 boundaries; of no width in the last column
}

// parseData reads a data block of the given rows. Last means that no column follows.
func parseData(b []byte, p Pair, rows uint64, last bool) (*dataBlock, error) {
	if len(b) < blockHeader {
		return nil, corrupt.At(0, "a data block of %d bytes", len(b))
	}
	le := binary.LittleEndian
	n := le.Uint32(b[8:])
	if uint64(n) != rows {
		return nil, corrupt.At(8, "a data block of %d rows, but its parent says %d", n, rows)
	}
	d := &dataBlock{b: b, n: int(n)}
	var err error
	if b[20] == 0 {
		d.items, err = strided(b, le.Uint32(b[12:]))
	} else {
		d.items, err = newArray(b, le.Uint32(b[12:]), b[20], uint64(n))
	}
	if err != nil {
		return nil, err
	}
	for i := range d.n {
		if at := d.items.at(i); at < blockHeader || at > uint64(len(b)) || uint64(p.size) > uint64(len(b))-at {
			return nil, corrupt.At(12, "item %d at byte %d of a block of %d", i, at, len(b))
		}
	}
	if last {
		if b[21] != 0 {
			return nil, corrupt.At(21, "row groups in the last column")
		}
		return d, nil
	}
	d.groups, err = newArray(b, le.Uint32(b[16:]), b[21], uint64(n)+1)
	if err != nil {
		return nil, err
	}
	for i := range d.n {
		if d.groups.at(i) >= d.groups.at(i+1) {
			return nil, corrupt.At(int64(le.Uint32(b[16:])), "row group %d runs from %d to %d", i, d.groups.at(i), d.groups.at(i+1))
		}
	}
	return d, nil
}

// strided is the form of a value map whose offsets have a constant distance. Both numbers are bounded by the block,
// so that no offset overflows.
func strided(b []byte, at uint32) (packed, error) {
	if at < blockHeader || uint64(at)+8 > uint64(len(b)) {
		return packed{}, corrupt.At(12, "a value map at byte %d of a block of %d", at, len(b))
	}
	return packed{start: uint64(binary.LittleEndian.Uint32(b[at:])), stride: uint64(binary.LittleEndian.Uint32(b[at+4:]))}, nil
}

// indexBlock is an inner node.
type indexBlock struct {
	b          []byte
	n          int
	childIndex bool
	bounds     packed // offsets of the first and last key of every child
	totals     packed // rows up to the end of every child
	offsets    packed // of the children, in units of 512 bytes
	sizes      packed
}

// parseIndex reads an index block of the given rows, in a file whose blocks end at fileEnd. A keyless one has no keys, and so
// no map of them.
func parseIndex(b []byte, rows uint64, fileEnd int64, keyless bool) (*indexBlock, error) {
	if len(b) < blockHeader {
		return nil, corrupt.At(0, "an index block of %d bytes", len(b))
	}
	le := binary.LittleEndian
	x := &indexBlock{b: b, n: int(le.Uint16(b[24:])), childIndex: b[26] == 1}
	if x.n == 0 || b[26] > 1 {
		return nil, corrupt.At(24, "%d children of type %d", x.n, b[26])
	}
	if keyless && (le.Uint32(b[8:]) != 0 || b[27] != 0) {
		return nil, corrupt.At(8, "keys in an index of row numbers")
	}
	n := uint64(x.n)
	for _, a := range []struct {
		to    *packed
		at    int
		width int
		n     uint64
	}{{&x.bounds, 8, 27, 2 * n}, {&x.totals, 12, 28, n}, {&x.offsets, 16, 29, n}, {&x.sizes, 20, 30, n}} {
		if keyless && a.width == 27 {
			continue
		}
		var err error
		if *a.to, err = newArray(b, le.Uint32(b[a.at:]), b[a.width], a.n); err != nil {
			return nil, err
		}
	}
	before := uint64(0)
	for i := range x.n {
		if t := x.totals.at(i); t <= before {
			return nil, corrupt.At(12, "child %d of an index block ends at row %d, after row %d", i, t, before)
		} else {
			before = t
		}
		if offset, size := x.offsets.at(i), x.sizes.at(i); size == 0 || offset > uint64(fileEnd/blockUnit) || size > uint64(fileEnd/blockUnit)-offset {
			return nil, corrupt.At(16, "child %d of %d units at unit %d, outside the file", i, size, offset)
		}
	}
	if before != rows {
		return nil, corrupt.At(12, "an index block of %d rows, but its parent says %d", before, rows)
	}
	return x, nil
}

// child gives the place of a child and its rows, counted from the block's first row.
func (x *indexBlock) child(i int) (loc location, start, end uint64) {
	if i > 0 {
		start = x.totals.at(i - 1)
	}
	return location{int64(x.offsets.at(i)) * blockUnit, int64(x.sizes.at(i)) * blockUnit}, start, x.totals.at(i)
}
