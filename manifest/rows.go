package manifest

import (
	"context"
	"encoding/binary"
	"math/bits"
	"path"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/meta"
)

// RowsID names rows by where their bytes lie: the rows of a stripe, or those of a shard, which are its stripes' in their order. A deletion or
// a change of indexes writes a new root over the same stripes, so the rows of both roots have one name; a merge that leaves data where it is
// keeps the names of stripes. Rows that are written anew have another.
type RowsID [16]byte

// rowsSum gathers the ranges of objects that a stripe's values lie in, in any order. Objects are written once under names of which none is
// used again, so no other stripe has the same.
type rowsSum struct {
	low, high uint64
	ranges    int
}

// add adds a range of an object.
func (s *rowsSum) add(object string, start, end uint64) {
	b := make([]byte, 0, 256)
	b = append(b, object...)
	b = binary.LittleEndian.AppendUint64(b, start)
	h := xxh3.Hash128(binary.LittleEndian.AppendUint64(b, end))
	var carry uint64
	s.low, carry = bits.Add64(s.low, h.Lo, 0)
	s.high, _ = bits.Add64(s.high, h.Hi, carry)
	s.ranges++
}

// id names the rows of a stripe of so many records; ok is false if no byte of them lies anywhere, as where all values are null.
func (s *rowsSum) id(records uint64) (id RowsID, ok bool) {
	var b []byte
	for _, v := range []uint64{s.low, s.high, uint64(s.ranges), records} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return xxh3.Hash128(b).Bytes(), s.ranges > 0
}

// rowsOf names the rows of a shard by those of its stripes.
func rowsOf(stripes []RowsID) RowsID {
	var b []byte
	for i := range stripes {
		b = append(b, stripes[i][:]...)
	}
	return xxh3.Hash128(b).Bytes()
}

// StripeRows names the rows of each stripe of an opened shard, and those of the shard; ids are the field ids of its nodes, as for Describe.
// ok is false if a stripe's have no name.
func StripeRows(ctx context.Context, root *meta.Root, ids []int) (stripes []RowsID, shard RowsID, ok bool, err error) {
	d, err := describe(ctx, root, ids)
	if err != nil {
		return nil, shard, false, err
	}
	stripes, ok, err = d.stripeRows()
	if !ok || err != nil {
		return nil, shard, false, err
	}
	return stripes, rowsOf(stripes), true, nil
}

// stripeRows names the rows of each stripe, once all fields are described.
func (d *describer) stripeRows() (out []RowsID, ok bool, err error) {
	stripes, err := d.root.Stripes(d.ctx)
	if err != nil || len(stripes) != len(d.rows) {
		return nil, false, err
	}
	for i, s := range stripes {
		id, ok := d.rows[i].id(s.GetTotalRecordCount())
		if !ok {
			return nil, false, nil
		}
		out = append(out, id)
	}
	return out, len(out) > 0, nil
}

// encodeRows is what the entry of a root at url carries of the name of its rows. It holds the checksum of the root's name: a bound that another
// engine copied to another file says nothing.
func encodeRows(url string, id RowsID) string {
	return string(binary.LittleEndian.AppendUint64(id[:], xxh3.HashString(path.Base(url))))
}

// RowsID is the name of the shard's rows, if the entry says it.
func (e *Entry) RowsID() (id RowsID, ok bool) {
	if len(e.Rows) != len(id)+8 {
		return id, false
	}
	copy(id[:], e.Rows)
	return id, e.IsShard() && e.Rows == encodeRows(e.Path, id)
}
