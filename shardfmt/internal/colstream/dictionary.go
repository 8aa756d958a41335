package colstream

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// A value dictionary is a header of 128 bytes, up to three sections, and zeros to a multiple of 64:
//
//	0    u8   basic type of the values      10   u32  bytes of each value, 0 if they vary
//	1    u32  values, null entry included   14   u64 u64  range of the values section
//	5    u8   1 if there is a null entry    30   u64 u64  range of the offsets section, empty for a fixed size
//	6    u32  id of the null entry          46   u64 u64  range of the sorted ids section, may be empty
//	62   zeros                              124  u32  checksum of the bytes before it
//
//	section  0  u64  payload length    8  payload    then at least 64 zeros    end-4  u32  checksum of the payload
//
// Values are concatenated in the order of their ids; offsets are one u64 more than there are values; sorted
// ids are u32, by the bytes of their values, the null entry left out. Ranges are from the start of the buffer.
const (
	dictionaryHeader   = 128
	dictionaryChecksum = 124
	sectionPadding     = 64
	sectionAlignment   = 16
)

// Dictionary is a value dictionary: the distinct values of a field, by id.
type Dictionary struct {
	// Type of the values.
	Type schema.Basic
	// Fixed is the size of each value in bytes, 0 if they vary.
	Fixed int
	// Count of entries, the null entry included.
	Count int
	// Null is the id of the null entry, negative if there is none.
	Null int64
	// Data holds the values one after the other.
	Data []byte
	// Offsets of the values in Data, Count+1 of them; nil if they have a fixed size.
	Offsets []int64
	// Sorted ids, nil if not stored.
	Sorted []uint32
}

// Value gives the bytes of an entry; id must be below Count.
func (d *Dictionary) Value(id uint32) []byte {
	if d.Fixed > 0 {
		at := int(id) * d.Fixed
		return d.Data[at : at+d.Fixed : at+d.Fixed]
	}
	return d.Data[d.Offsets[id]:d.Offsets[id+1]:d.Offsets[id+1]]
}

// ParseDictionary reads a value dictionary of values of a type, each of fixed bytes or, with 0, of any length.
// All checksums, ranges and ids are checked; strict also refuses bytes that no checksum covers and that are
// not zero. The result refers to b.
func ParseDictionary(b []byte, typ schema.Basic, fixed int, strict bool) (*Dictionary, error) {
	if len(b) < dictionaryHeader {
		return nil, corrupt.At(0, "value dictionary of %d bytes", len(b))
	}
	le := binary.LittleEndian
	if want, got := le.Uint32(b[dictionaryChecksum:]), meta.Checksum(b[:dictionaryChecksum]); want != got {
		return nil, corrupt.At(dictionaryChecksum, "value dictionary: checksum is %08x, its header gives %08x", want, got)
	}
	d := &Dictionary{
		Type:  schema.Basic(b[0]),
		Count: int(le.Uint32(b[1:])),
		Null:  -1,
		Fixed: int(le.Uint32(b[10:])),
	}
	if b[5] != 0 {
		d.Null = int64(le.Uint32(b[6:]))
	}
	switch {
	case d.Type != typ:
		return nil, corrupt.At(0, "value dictionary of type %d for a field of type %d", d.Type, typ)
	case d.Fixed != fixed:
		return nil, corrupt.At(10, "value dictionary of values of %d bytes for a field of %d", d.Fixed, fixed)
	case d.Null >= int64(d.Count):
		return nil, corrupt.At(6, "value dictionary: null entry %d of %d entries", d.Null, d.Count)
	}
	return d, d.parseSections(b, strict)
}

func (d *Dictionary) parseSections(b []byte, strict bool) error {
	var sections [3][]byte
	var starts [3]int64
	covered := [][2]uint64{{0, dictionaryHeader}}
	for i, name := range [...]string{"values", "offsets", "sorted ids"} {
		start, stop := binary.LittleEndian.Uint64(b[14+16*i:]), binary.LittleEndian.Uint64(b[22+16*i:])
		if start > stop || stop > uint64(len(b)) {
			return corrupt.At(int64(14+16*i), "value dictionary: %s section [%d, %d) in %d bytes", name, start, stop, len(b))
		}
		if start == stop {
			continue
		}
		covered = append(covered, [2]uint64{start, stop})
		payload, err := parseSection(b[start:stop], name, strict)
		if err != nil {
			return corrupt.Locate(err, "", int64(start))
		}
		sections[i], starts[i] = payload, int64(start)+8
	}
	if strict {
		if err := zeros(b, 62, dictionaryChecksum); err != nil {
			return err
		}
		if err := zerosOutside(b, covered); err != nil {
			return err
		}
	}
	d.Data = sections[0]
	if err := d.setOffsets(sections[1]); err != nil {
		return corrupt.Locate(err, "", starts[1])
	}
	return corrupt.Locate(d.setSorted(sections[2]), "", starts[2])
}

// parseSection checks a section and gives its payload.
func parseSection(s []byte, name string, strict bool) ([]byte, error) {
	if len(s) < 12 {
		return nil, corrupt.At(0, "value dictionary: %s section of %d bytes", name, len(s))
	}
	n := binary.LittleEndian.Uint64(s)
	if n > uint64(len(s)-12) {
		return nil, corrupt.At(0, "value dictionary: %s section of %d bytes holds %d", name, len(s), n)
	}
	payload := s[8 : 8+n : 8+n]
	if want, got := binary.LittleEndian.Uint32(s[len(s)-4:]), meta.Checksum(payload); want != got {
		return nil, corrupt.At(int64(len(s)-4), "value dictionary: checksum of the %s section is %08x, its payload gives %08x", name, want, got)
	}
	if strict {
		return payload, zeros(s, 8+int(n), len(s)-4)
	}
	return payload, nil
}

// setOffsets checks that values lie one after the other and fill the values section.
func (d *Dictionary) setOffsets(payload []byte) error {
	if d.Fixed > 0 {
		if len(payload) != 0 || uint64(len(d.Data)) != uint64(d.Count)*uint64(d.Fixed) {
			return corrupt.At(0, "value dictionary: %d bytes for %d values of %d", len(d.Data), d.Count, d.Fixed)
		}
		return nil
	}
	if uint64(len(payload)) != 8*(uint64(d.Count)+1) {
		return corrupt.At(0, "value dictionary: %d bytes of offsets for %d values", len(payload), d.Count)
	}
	d.Offsets = make([]int64, d.Count+1)
	last := int64(0)
	for i := range d.Offsets {
		v := u64(payload, i)
		if v > uint64(len(d.Data)) || int64(v) < last || i == 0 && v != 0 {
			return corrupt.At(int64(8*i), "value dictionary: offset %d of entry %d after %d in %d bytes", v, i, last, len(d.Data))
		}
		last = int64(v)
		d.Offsets[i] = last
	}
	return nil
}

func (d *Dictionary) setSorted(payload []byte) error {
	if payload == nil {
		return nil
	}
	want := d.Count
	if d.Null >= 0 {
		want--
	}
	if len(payload) != 4*want {
		return corrupt.At(0, "value dictionary: %d bytes of sorted ids for %d values", len(payload), want)
	}
	d.Sorted = make([]uint32, want)
	for i := range d.Sorted {
		id := binary.LittleEndian.Uint32(payload[4*i:])
		if int64(id) >= int64(d.Count) || int64(id) == d.Null {
			return corrupt.At(int64(4*i), "value dictionary: sorted id %d of %d values", id, d.Count)
		}
		d.Sorted[i] = id
	}
	return nil
}

// CheckOrder checks that the sorted ids name each entry but the null one once, in the order of their bytes, and that no two
// entries are equal. Without sorted ids there is nothing to check.
func (d *Dictionary) CheckOrder() error {
	for i := 1; i < len(d.Sorted); i++ {
		if bytes.Compare(d.Value(d.Sorted[i-1]), d.Value(d.Sorted[i])) >= 0 {
			return corrupt.At(-1, "value dictionary: sorted ids %d and %d are entries %d and %d, which are not in order",
				i-1, i, d.Sorted[i-1], d.Sorted[i])
		}
	}
	return nil
}

// zerosOutside checks that the bytes in none of some ranges are zeros, and that no two ranges share a byte. A writer may put the
// sections in any order.
func zerosOutside(b []byte, covered [][2]uint64) error {
	slices.SortFunc(covered, func(x, y [2]uint64) int { return cmp.Compare(x[0], y[0]) })
	end := uint64(0)
	for _, r := range append(covered, [2]uint64{uint64(len(b)), uint64(len(b))}) {
		if r[0] < end {
			return corrupt.At(int64(r[0]), "value dictionary: a section that starts before the one before it ends, at %d", end)
		}
		if err := zeros(b, int(end), int(r[0])); err != nil {
			return err
		}
		end = r[1]
	}
	return nil
}

// zeros checks that the bytes [start, end) of b are padding.
func zeros(b []byte, start, end int) error {
	for i := start; i < end; i++ {
		if b[i] != 0 {
			return corrupt.At(int64(i), "padding is not zero")
		}
	}
	return nil
}
