package block

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// Fsst (docs/format/blocks.md; Boncz, Neumann and Leis, FSST, VLDB 2020):
//
//	0   code u16, symbols s u8, stream_size u32, offsets nested u8, offset width u8, zero × 7
//	16  s × symbol u64: up to 8 bytes, the first one lowest
//	…   s × symbol length u8, 1..8
//	…   stream_size bytes: 255 = the next byte as it is, c < s = symbol c; zero, up to 8 × k
//	…   offsets section, to the end, into the uncompressed bytes
//
// The stream is one text: symbols cross the borders of values.
type fsst struct {
	table   simd.FsstTable
	symbols int
	stream  []byte
	at      int // of the stream
	offsets []byte
	offAt   int
	nested  bool
}

const fsstHeader = 16

// fsstOf is the table of the Fsst block available. It takes more memory than all else of a Scratch, and few columns need one.
func (s *Scratch) fsstOf() *fsst {
	if s.fsst == nil {
		s.fsst = new(fsst)
	}
	return s.fsst
}

// parse reads the header and the table. The table is filled in place: it is too large to hand around.
func (f *fsst) parse(sub []byte, fixed int) error {
	if err := checkHeader(sub, Fsst, fsstHeader); err != nil {
		return err
	}
	count, size := int(sub[2]), u32(sub, 3)
	f.symbols = count
	f.nested = sub[7] != 0
	if err := checkWidth(sub[8], fixed, 8); err != nil {
		return err
	}
	if err := checkFlags(sub, Fsst, 7); err != nil {
		return err
	}
	table, err := cut(sub, Fsst, "symbols", fsstHeader, 9*count)
	if err != nil {
		return err
	}
	f.at = fsstHeader + len(table)
	if f.stream, err = cut(sub, Fsst, "stream", f.at, size); err != nil {
		return err
	}
	if !f.table.Set(table[:8*count], table[8*count:]) {
		return corrupt.At(fsstHeader+8*int64(count), "Fsst: symbol length outside 1..8, or symbol code 255")
	}
	f.offAt = min(fsstHeader+align8(9*count+size), len(sub))
	f.offsets = sub[f.offAt:]
	return nil
}

func decodeBytesFsst(dst *Bytes, sub []byte, n, fixed int, s *Scratch) error {
	f := s.fsstOf()
	if err := f.parse(sub, fixed); err != nil {
		return err
	}
	total, err := dst.decodeOffsets(f.offsets, f.nested, n, fixed, s)
	if err != nil {
		return corrupt.Locate(err, "", int64(f.offAt))
	}
	if total > 8*len(f.stream) {
		return corrupt.At(int64(f.offAt), "Fsst: %d bytes can't become %d", len(f.stream), total)
	}
	room, err := dst.grow(total)
	if err != nil {
		return err
	}
	if !f.table.Decode(room, f.stream) {
		return corrupt.At(int64(f.at), "Fsst: the stream does not decode to exactly %d bytes", total)
	}
	return nil
}
