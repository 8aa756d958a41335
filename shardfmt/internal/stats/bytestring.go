package stats

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// maxConstant is how long a constant string may be, in bytes.
const maxConstant = 128

// byteStrings covers String, Binary, Guid and FixedSizeBinary.
type byteStrings struct {
	extent
	size     uint64
	ascii    uint64
	sketch   *counter
	hashes   *hashSet
	min, max []byte
	// minHead and maxHead are textHead of min and max.
	minHead, maxHead uint64
	// last is the value before, nil at the start of an array: it points into that array.
	last    []byte
	hasLast bool
}

func newByteStrings(c *Collector) *byteStrings {
	return &byteStrings{sketch: newCounter(&c.options), hashes: c.filterFor(!c.options.Plain || c.node.Basic == schema.Guid)}
}

func (s *byteStrings) add(a arrow.Array) {
	nullable := a.NullN() > 0
	text, ends, whole := wholeText(a)
	switch {
	case whole && !nullable:
		s.addAll(text, ends)
		return
	case whole:
		s.addBetween(a, text, ends)
	default:
		value := valueBytes(a)
		for i := range a.Len() {
			if !nullable || a.IsValid(i) {
				s.one(value(i))
			}
		}
	}
	s.last, s.hasLast = nil, false // or the collector of each stripe would keep an array alive
}

// valueBytes gives the bytes of each value of an array without copying them.
func valueBytes(a arrow.Array) func(i int) []byte {
	switch v := a.(type) {
	case *array.LargeString:
		text, offsets := stringBytes(v), v.ValueOffsets()
		return func(i int) []byte { return text[offsets[i]:offsets[i+1]] }
	case *array.LargeBinary:
		return v.Value
	case *array.FixedSizeBinary:
		return v.Value
	}
	panic("stats: " + a.DataType().String() + " holds no canonical byte strings")
}

// stringBytes is the text of all values, which ValueOffset points into.
func stringBytes(v *array.LargeString) []byte {
	if b := v.Data().Buffers()[2]; b != nil {
		return b.Bytes()
	}
	return nil
}

func (s *byteStrings) many(b []byte, n uint64) {
	s.size += (n - 1) * uint64(len(b))
	if isASCII(b) {
		s.ascii += n - 1
	}
	s.one(b)
	s.last, s.hasLast = nil, false
}

func (s *byteStrings) one(b []byte) {
	first := !s.measured
	s.measure(uint64(len(b)))
	s.size += uint64(len(b))
	if isASCII(b) {
		s.ascii++
	}
	if s.hasLast && bytes.Equal(b, s.last) {
		return
	}
	s.last, s.hasLast = b, true
	if s.sketch.add(b) {
		return
	}
	s.hashes.add(b)
	if first {
		s.begin(b)
		return
	}
	s.bound(b, textHead(b, 0, len(b)))
}

// begin sets the bounds to the first value.
func (s *byteStrings) begin(b []byte) {
	s.min, s.max = bytes.Clone(b), bytes.Clone(b)
	s.minHead = textHead(b, 0, len(b))
	s.maxHead = s.minHead
}

// bound widens the bounds by a value and its textHead.
func (s *byteStrings) bound(b []byte, head uint64) {
	if head <= s.minHead && bytes.Compare(b, s.min) < 0 {
		s.min, s.minHead = append(s.min[:0], b...), head
	} else if head >= s.maxHead && bytes.Compare(b, s.max) > 0 {
		s.max, s.maxHead = append(s.max[:0], b...), head
	}
}

func isASCII(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (s *byteStrings) describe(c *Collector, d *metapb.FieldDescriptor) uint64 {
	text := c.node.Basic == schema.String
	if text {
		d.TypeSpecific = &metapb.FieldDescriptor_StringStats{StringStats: &metapb.StringStats{
			MinSize: s.extent.min, MinNonEmptySize: s.nonEmpty(), MaxSize: s.extent.max, AsciiCount: &s.ascii,
		}}
	} else {
		d.TypeSpecific = &metapb.FieldDescriptor_BinaryStats{BinaryStats: &metapb.BinaryStats{
			MinLength: s.extent.min, MinNonEmptyLength: s.nonEmpty(), MaxLength: s.extent.max,
		}}
	}
	if !c.options.Reference {
		d.RangeStats = s.bounds(text)
	}
	if !s.measured {
		return 0
	}
	d.Cardinality = s.sketch.info()
	d.MembershipFilters = c.filter(s.hashes)
	if len(s.min) <= maxConstant && bytes.Equal(s.min, s.max) && (!text || utf8.Valid(s.min)) {
		c.constant(d, byteValue(s.min, text))
	}
	return s.size
}

// bounds is the range of the values: without a value a range without bounds, as numbers have it, so that
// an all-null stripe doesn't cost the shard its range.
func (s *byteStrings) bounds(text bool) *metapb.RangeStats {
	if !s.measured {
		return &metapb.RangeStats{MinInclusive: true, MaxInclusive: true}
	}
	return boundRange(s.min, s.max, text)
}
