package verify

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// streamCheck checks a block stream.
type streamCheck struct {
	// free means that any number of values will do.
	free      bool
	mapAt     int64
	checksums bool
	// blocks and nulls by the descriptor, negative if it does not state; values the stream must have.
	blocks, nulls int64
	values        uint64
	// embedded: blocks may carry presence sections, which must have nulls together.
	embedded bool
	decode   decode
	// packed: blocks are super-blocks. What their members hold, a scan of the fields reports.
	packed bool
	opaque *block.Opaque
	// named are the value dictionaries of which each block must name one, nil if blocks name none.
	named []uint32
	// copies are copies of parts of the buffer, which starts at start of its object.
	start  uint64
	copies []meta.RangeCopy
}

// check takes the whole buffer. Its errors are relative to the buffer.
func (s *streamCheck) check(data []byte) (unprotected int64, err error) {
	for _, c := range s.copies {
		if at := c.Start - s.start; !bytes.Equal(c.Bytes, data[at:at+uint64(len(c.Bytes))]) {
			return 0, corrupt.At(int64(at), "the bytes differ from %s", meta.PropertyCopies)
		}
	}
	m, err := colstream.ParseMap(data[s.mapAt:])
	if err != nil {
		return 0, shift(err, s.mapAt)
	}
	if err := s.checkMap(m, data); err != nil {
		return 0, err
	}
	scratch, nulls := &block.Scratch{Opaque: s.opaque}, int64(0)
	for i := range m.Blocks() {
		start, end := m.Range(i)
		first, last := m.Span(i)
		if last-first > maxBlockValues {
			return 0, corrupt.At(int64(start), "a block of %d values", last-first)
		}
		check := s.block
		if s.packed {
			check = s.super
		}
		n, err := check(data[start:end], int(last-first), scratch)
		if err != nil {
			return 0, shift(err, int64(start))
		}
		nulls += n
		if !s.checksums {
			unprotected += int64(end - start)
		}
	}
	if s.embedded && s.nulls >= 0 && nulls != s.nulls {
		return 0, corrupt.At(0, "%d nulls in the blocks, the descriptor says %d", nulls, s.nulls)
	}
	return unprotected, nil
}

// checkMap holds the map to the descriptor and to the bytes around it.
func (s *streamCheck) checkMap(m *colstream.Map, data []byte) error {
	switch {
	case !s.free && m.Values() != s.values:
		return corrupt.At(s.mapAt, "the block map covers %d values, %d were expected", m.Values(), s.values)
	case s.blocks >= 0 && int64(m.Blocks()) != s.blocks:
		return corrupt.At(s.mapAt, "the block map has %d blocks, the descriptor says %d", m.Blocks(), s.blocks)
	case m.Bytes() > uint64(s.mapAt):
		return corrupt.At(s.mapAt, "%d bytes of blocks before a map at %d", m.Bytes(), s.mapAt)
	case !m.Canonical(data[s.mapAt:]):
		return corrupt.At(s.mapAt, "the block map is not in canonical form")
	}
	if i := firstNonZero(data[m.Bytes():s.mapAt]); i >= 0 {
		return corrupt.At(int64(m.Bytes())+int64(i), "the padding after the blocks is not zero")
	}
	return nil
}

// block checks one block and counts its nulls.
func (s *streamCheck) block(data []byte, n int, scratch *block.Scratch) (nulls int64, err error) {
	f, err := block.ParseFrame(data, s.checksums)
	if err != nil {
		return 0, err
	}
	if s.named != nil {
		id, codes, err := f.Named()
		if err == nil && !slices.Contains(s.named, id) {
			err = corrupt.At(f.ValuesOffset(), "a block of codes of value dictionary %d, which the field does not have", id)
		}
		if err != nil {
			return 0, err
		}
		f = codes
	}
	var present []byte
	if len(f.Presence) > 0 {
		present = make([]byte, (n+7)/8)
		if _, err = block.DecodePresence(present, f.Presence, n); err != nil {
			return 0, shift(err, 8)
		}
	}
	if err := s.decode(f.Values, n, present, scratch); err != nil {
		return 0, shift(err, f.ValuesOffset())
	}
	if present == nil {
		return 0, nil
	}
	ones := 0
	for _, b := range present {
		ones += bits.OnesCount8(b)
	}
	return int64(n - ones), nil
}

// super checks one super-block and counts the structs that are null.
func (s *streamCheck) super(data []byte, n int, scratch *block.Scratch) (nulls int64, err error) {
	members, err := colstream.SplitSuper(data, s.checksums)
	if err != nil {
		return 0, err
	}
	one := *s
	one.decode = func([]byte, int, []byte, *block.Scratch) error { return nil }
	for i, r := range members {
		own, err := one.block(data[r.Start:r.End], n, scratch)
		if err != nil {
			return 0, shift(err, int64(r.Start))
		}
		if s.embedded && i == len(members)-1 {
			nulls = own
		}
	}
	return nulls, nil
}

// shift moves the offset of an error of stored data by base; others, and those that name an object, stay.
func shift(err error, base int64) error { return corrupt.Locate(err, "", base) }
