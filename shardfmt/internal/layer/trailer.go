package layer

import (
	"encoding/binary"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// location of a block in the file.
type location struct {
	offset int64
	size   int64
}

// root is where the tree of a column begins.
type root struct {
	location
	index bool
	rows  uint64
}

// trailer is the last 512 bytes:
//
//	@0  CRC, LFFT | @8 u32 version | @12 u8 compression | @13 u32 columns | @17 the first column: u64 offset of its
//	    root, u32 size, u8 type (0 data, 1 index), 2 zeros, u64 rows | @40 and every 24 bytes, the others, with 3 zeros
//	@p = 40+24·(columns−1)  u64 filter offset, u32 filter size, u64 compatible features, u64 incompatible features,
//	    u64 and u64 filter offset and size where feature 0 is set, u64 negative weights, u32 touched windows
type trailer struct {
	version      uint32
	compression  Compression
	columns      []root
	filter       location // of size 0 if there is none
	compatible   uint64
	incompatible uint64
	// negative is the number of rows of negative weight, windows how many spans of 65,536 keys are touched: hints
	// that the database this format comes from keeps.
	negative uint64
	windows  uint32
}

// version is the oldest that is read, and the one that is written.
const version = 5

// The features that a trailer names.
const (
	compatibleFilter64 = 1 << 0 // the 64-bit place of the filter counts
	compatibleHints    = 1 << 1 // negative and windows are there
	incompatibleRoar   = 1 << 0 // the filter is a roaring bitmap
	incompatibleModule = 1 << 1 // the filter is a Bloom filter in modules
	// compatibleRecord: extension.go's record is there. incompatibleKeyless: it reports which columns' indexes have no keys.
	compatibleRecord    = 1 << 32
	incompatibleKeyless = 1 << 32
	knownIncompatible   = incompatibleRoar | incompatibleModule | incompatibleKeyless
)

// firstColumn is where the records of the columns begin, which the second one shows to be unaligned.
const firstColumn, secondColumn = 17, 40

// parseTrailer reads the trailer of a file of size bytes. Offsets of errors count from the trailer.
func parseTrailer(b []byte, size int64) (*trailer, error) {
	if err := checkSeal(b, magicTrailer); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	t := &trailer{version: le.Uint32(b[8:]), compression: Compression(b[12])}
	if t.version < version {
		return nil, corrupt.Unsupported(8, "unsupported version %d: the oldest supported is %d", t.version, version)
	}
	if t.compression > Zstd {
		return nil, corrupt.Unsupported(12, "compression %d", b[12])
	}
	n := le.Uint32(b[13:])
	if n == 0 || n > maxColumns {
		return nil, corrupt.At(13, "%d columns", n)
	}
	for i := range int(n) {
		c, err := parseRoot(b, i, size)
		if err != nil {
			return nil, err
		}
		if i > 0 && c.rows < t.columns[i-1].rows {
			return nil, corrupt.At(16, "column %d has %d rows, fewer than the %d of the column before", i, c.rows, t.columns[i-1].rows)
		}
		t.columns = append(t.columns, c)
	}
	return t, t.parseRest(b[secondColumn+24*(int(n)-1):], int64(secondColumn+24*(int(n)-1)), size)
}

func parseRoot(b []byte, i int, size int64) (r root, err error) {
	at, rows := firstColumn, 32
	if i > 0 {
		at = secondColumn + 24*(i-1)
		rows = at + 16
	}
	le := binary.LittleEndian
	if b[at+12] > 1 {
		return r, corrupt.At(int64(at+12), "a root of type %d", b[at+12])
	}
	r = root{index: b[at+12] == 1, rows: le.Uint64(b[rows:])}
	r.location, err = place(le.Uint64(b[at:]), uint64(le.Uint32(b[at+8:])), size, int64(at))
	if err == nil && (r.size == 0) != (r.rows == 0) {
		err = corrupt.At(int64(at), "a root of %d bytes for %d rows", r.size, r.rows)
	}
	return r, err
}

// place checks that a block lies in front of the trailer of a file of size bytes; one of no bytes is none.
func place(offset, length uint64, size int64, at int64) (location, error) {
	if length == 0 {
		return location{}, nil
	}
	end := uint64(size - trailerSize)
	if offset%blockUnit != 0 || length%blockUnit != 0 || offset > end || length > end-offset {
		return location{}, corrupt.At(at, "a block of %d bytes at offset %d of a file of %d", length, offset, size)
	}
	return location{int64(offset), int64(length)}, nil
}

// parseRest reads what stands behind the columns, at offset base of the trailer.
func (t *trailer) parseRest(b []byte, base, size int64) (err error) {
	le := binary.LittleEndian
	offset, length := le.Uint64(b), uint64(le.Uint32(b[8:]))
	t.compatible, t.incompatible = le.Uint64(b[12:]), le.Uint64(b[20:])
	if unknown := t.incompatible &^ knownIncompatible; unknown != 0 {
		return corrupt.Unsupported(base+20, "unsupported required features %#x", unknown)
	}
	if t.compatible&compatibleFilter64 != 0 {
		offset, length = le.Uint64(b[28:]), le.Uint64(b[36:])
	}
	if t.compatible&compatibleHints != 0 {
		t.negative, t.windows = le.Uint64(b[44:]), le.Uint32(b[52:])
	}
	if offset != 0 { // an offset of 0 means none, whatever the size
		t.filter, err = place(offset, length, size, base)
	}
	return err
}

// append writes the trailer, with a record that may be empty.
func (t *trailer) append(dst, record []byte) []byte {
	b := make([]byte, trailerSize)
	le := binary.LittleEndian
	le.PutUint32(b[8:], t.version)
	b[12] = byte(t.compression)
	le.PutUint32(b[13:], uint32(len(t.columns)))
	for i, c := range t.columns {
		at, rows := firstColumn, 32
		if i > 0 {
			at = secondColumn + 24*(i-1)
			rows = at + 16
		}
		le.PutUint64(b[at:], uint64(c.offset))
		le.PutUint32(b[at+8:], uint32(c.size))
		if c.index {
			b[at+12] = 1
		}
		le.PutUint64(b[rows:], c.rows)
	}
	p := b[secondColumn+24*(len(t.columns)-1):]
	if t.filter.size < 1<<31-1 {
		le.PutUint64(p, uint64(t.filter.offset))
		le.PutUint32(p[8:], uint32(t.filter.size))
	} else {
		t.compatible |= compatibleFilter64
		le.PutUint64(p[28:], uint64(t.filter.offset))
		le.PutUint64(p[36:], uint64(t.filter.size))
	}
	le.PutUint64(p[12:], t.compatible)
	le.PutUint64(p[20:], t.incompatible)
	le.PutUint64(p[44:], t.negative)
	le.PutUint32(p[52:], t.windows)
	if len(record) > 0 {
		copy(b[extensionAt:], record)
	}
	seal(b, magicTrailer)
	return append(dst, b...)
}
