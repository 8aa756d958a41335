package manifest

import (
	"encoding/binary"
	"path"

	"github.com/zeebo/xxh3"
)

// RowsID names rows by where their bytes lie: the rows of a stripe, or those of a shard, which are its stripes' in their order. A deletion or
// a change of indexes writes a new root over the same stripes, so the rows of both roots have one name; a merge that leaves data where it is
// keeps the names of stripes. Rows that are rewritten have another.
type RowsID [16]byte

// rowsOf names the rows of a shard by those of its stripes.
func rowsOf(stripes []RowsID) RowsID {
	var b []byte
	for i := range stripes {
		b = append(b, stripes[i][:]...)
	}
	return xxh3.Hash128(b).Bytes()
}

func rowsIDs(rows [][16]byte) []RowsID {
	out := make([]RowsID, len(rows))
	for i := range rows {
		out[i] = rows[i]
	}
	return out
}

// encodeRows is what the entry of a root at url carries of the name of its rows. It holds the checksum of the root's name: a bound that another
// engine copied to another file states nothing.
func encodeRows(url string, id RowsID) string {
	return string(binary.LittleEndian.AppendUint64(id[:], xxh3.HashString(path.Base(url))))
}

// RowsID is the name of the shard's rows, if the entry states it.
func (e *Entry) RowsID() (id RowsID, ok bool) {
	if len(e.Rows) != len(id)+8 {
		return id, false
	}
	copy(id[:], e.Rows)
	return id, e.IsShard() && e.Rows == encodeRows(e.Path, id)
}
