package manifest

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Shape is a fingerprint of a schema: shards of one shape hold the same fields of the same types under the same field ids, so
// that their stripes can stand beside one another in one root. Names, nullability and documentation are no part of it,
// for a merge goes by the ids. It is positive: 63 bits of the XXH3-64 of, for each node in the order of their numbers, its parent,
// type, size, field id, and the names of its extension and internal kind.
func Shape(s *schema.Schema, ids []int) int64 {
	var b []byte
	s.Walk(func(_ string, n *schema.Node) bool {
		id := 0
		if int(n.ID) < len(ids) {
			id = ids[n.ID]
		}
		signed := byte(0)
		if n.Signed {
			signed = 1
		}
		b = binary.LittleEndian.AppendUint32(b, n.Parent)
		b = append(b, byte(n.Basic), signed)
		b = binary.LittleEndian.AppendUint64(b, uint64(n.FixedSize))
		b = binary.LittleEndian.AppendUint64(b, uint64(id))
		if n.Ext != nil {
			b = append(b, n.Ext.Label...)
		}
		b = append(append(b, 0), n.Internal...)
		b = append(b, 0)
		return true
	})
	return int64(xxh3.Hash(b)>>1 | 1)
}
