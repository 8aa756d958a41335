package colstream

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// Append appends the dictionary as a buffer, with sorted ids, to dst, whose length must be a multiple of 64.
// Type, Fixed, Count, Null, Data and (for values of any length) Offsets must be set.
func (d *Dictionary) Append(dst []byte) []byte {
	base := len(dst)
	dst = append(dst, make([]byte, dictionaryHeader)...)
	var ends [4]uint64
	ends[0] = dictionaryHeader
	dst = appendSection(dst, d.Data)
	ends[1] = uint64(len(dst) - base)
	if d.Fixed == 0 {
		dst = appendSection(dst, le64(d.Offsets))
	}
	ends[2] = uint64(len(dst) - base)
	dst = appendSection(dst, le32(d.sort()))
	ends[3] = uint64(len(dst) - base)
	d.putHeader(dst[base:base+dictionaryHeader], ends)
	return padFrom(dst, base, Alignment)
}

func (d *Dictionary) putHeader(h []byte, ends [4]uint64) {
	le := binary.LittleEndian
	h[0] = byte(d.Type)
	le.PutUint32(h[1:], uint32(d.Count))
	if d.Null >= 0 {
		h[5] = 1
		le.PutUint32(h[6:], uint32(d.Null))
	}
	le.PutUint32(h[10:], uint32(d.Fixed))
	for i := range 3 {
		le.PutUint64(h[14+16*i:], ends[i])
		le.PutUint64(h[22+16*i:], ends[i+1])
	}
	putHeaderChecksum(h)
}

func putHeaderChecksum(h []byte) {
	binary.LittleEndian.PutUint32(h[dictionaryChecksum:], meta.Checksum(h[:dictionaryChecksum]))
}

// sort gives the ids of all entries but the null entry, by the bytes of their values.
func (d *Dictionary) sort() []uint32 {
	ids := make([]uint32, 0, d.Count)
	for id := range d.Count {
		if int64(id) != d.Null {
			ids = append(ids, uint32(id))
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int { return bytes.Compare(d.Value(a), d.Value(b)) })
	return ids
}

func appendSection(dst, payload []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(payload)))
	dst = append(dst, payload...)
	end := alignUp(len(dst)-start+sectionPadding+4, sectionAlignment)
	dst = append(dst, make([]byte, end-4-(len(dst)-start))...)
	return binary.LittleEndian.AppendUint32(dst, meta.Checksum(payload))
}

func le64(v []int64) []byte {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

func le32(v []uint32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}
