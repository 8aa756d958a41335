package textindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// DefaultMemory is how many bytes of lists a Lists holds before they go to temporary files, and how many a Join reads ahead.
const DefaultMemory = 32 << 20

// Lists collects the lists of the stripes of a shard, and writes one index of all: positions count from the start of the shard. What
// does not fit in memory goes to temporary files. Not for concurrent use.
//
// A list is sorted by
//
//	upper-case form of the term, the term    the bytes, 00 as 00 FF; then 00 00
//	stripe, field                            2 and 4 bytes, the greatest first
type Lists struct {
	sorter *extsort.Sorter
	memory int
	// descriptor is that of the first stripe.
	descriptor *metapb.IndexDescriptor
	key, value []byte
}

// NewLists makes Lists that hold memory bytes, DefaultMemory if 0.
func NewLists(memory int) *Lists {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Lists{sorter: extsort.New(memory), memory: memory}
}

// Add takes the terms of b, which is used up, as those of a stripe whose first record is number first of the shard. All builders have the
// same collation and fields.
func (s *Lists) Add(b *Builder, stripe int, first uint64) error {
	if stripe > math.MaxUint16 {
		return fmt.Errorf("a text index covers %d stripes at most", math.MaxUint16+1)
	}
	if s.descriptor == nil {
		s.descriptor = b.Describe()
	}
	return b.eachList(func(t string, c *column, l *list) error {
		s.key = extsort.AppendTerminated(s.key[:0], tokenizer.AppendUpper(nil, []byte(t)))
		s.key = extsort.AppendTerminated(s.key, t)
		s.key = binary.BigEndian.AppendUint16(s.key, uint16(stripe))
		s.key = binary.BigEndian.AppendUint32(s.key, c.field)
		s.value = append(binary.AppendUvarint(s.value[:0], uint64(len(t))), t...)
		s.value = append(s.value, byte(l.kind))
		last := uint64(0)
		for _, v := range l.values { // relative to the stripe, ascending
			s.value = binary.AppendUvarint(s.value, v-last)
			last = v
		}
		s.value = binary.BigEndian.AppendUint64(s.value, first)
		return s.sorter.Add(s.key, s.value)
	})
}

// Write writes the index, as Builder.Write does. The lists are used up.
func (s *Lists) Write(ctx context.Context, to shardwriter.IndexTarget) (*metapb.IndexDescriptor, []Object, error) {
	defer s.Close()
	if s.descriptor == nil {
		return nil, nil, nil
	}
	return writeAll(ctx, to, s.descriptor, int64(s.memory), s.fill)
}

// fill gives the lists to a writer.
func (s *Lists) fill(ctx context.Context, w *writer) error {
	var l list
	for r, err := range s.sorter.Sorted() {
		if err != nil {
			return err
		}
		stripe, field := binary.BigEndian.Uint16(r.Key[len(r.Key)-6:]), binary.BigEndian.Uint32(r.Key[len(r.Key)-4:])
		n, at := binary.Uvarint(r.Value)
		t, rest := string(r.Value[at:][:n]), r.Value[at+int(n):]
		l.reset()
		l.kind, rest = Kind(rest[0]), rest[1:]
		position := binary.BigEndian.Uint64(rest[len(rest)-8:])
		for rest = rest[:len(rest)-8]; len(rest) > 0; {
			step, n := binary.Uvarint(rest)
			position += step
			l.values, rest = append(l.values, position), rest[n:]
		}
		if err := w.add(ctx, t, stripe, field, &l); err != nil {
			return err
		}
	}
	return nil
}

// Close lets go of what was added, and of temporary files.
func (s *Lists) Close() error { return s.sorter.Close() }
