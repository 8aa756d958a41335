package bench

import (
	"context"
	"fmt"
	"os"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/opened"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// loop is the least that decoding a shard's only column takes: its blocks, one after the other, into the same memory.
type loop struct {
	node    *schema.Node
	file    *os.File
	stripes []*loopStripe

	// fresh: each block of values and all that is read gets new memory, as a scan has to take it whose batches may be kept.
	fresh bool

	scratch block.Scratch
	words   []uint64
	codes   []uint32
	bytes   block.Bytes
}

// loopStripe is the column's buffers in a stripe.
type loopStripe struct {
	start, mapStart, end int64
	data                 []byte
	blocks               *colstream.Map
	checksums            bool
	entries              *colstream.Dictionary // nil without a value dictionary
}

// openLoop finds the buffers of a column without nulls.
func openLoop(s *shardfmt.Shard) (*loop, error) {
	ctx := context.Background()
	all, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	l := &loop{node: all.Fields[0]}
	for i := range s.Stripes() {
		d, anchor, err := opened.Root(s).StripeField(ctx, i, l.node.ID)
		if err != nil {
			return nil, err
		}
		st := &loopStripe{}
		for _, b := range d.Encodings[0].GetNative().GetBuffers() {
			if err := l.take(s, st, anchor, b); err != nil {
				return nil, err
			}
		}
		l.stripes = append(l.stripes, st)
	}
	return l, nil
}

// take notes a buffer.
func (l *loop) take(s *shardfmt.Shard, st *loopStripe, anchor string, b *metapb.EncodedBuffer) (err error) {
	url, err := opened.Root(s).Resolve(anchor, b.Buffer.GetUrl())
	if err != nil {
		return err
	}
	start, end, err := meta.RefRange(b.Buffer)
	if err != nil {
		return err
	}
	if l.file == nil {
		if l.file, err = os.Open(path(url)); err != nil {
			return err
		}
	}
	if l.file.Name() != path(url) {
		return fmt.Errorf("a second object %s", url)
	}
	switch b.Kind {
	case metapb.BufferKind_DATA:
		st.start, st.end, st.checksums = start, end, b.BlockChecksums
		st.mapStart, _, err = meta.RefRange(b.BlockMap)
		st.data = make([]byte, end-start)
	case metapb.BufferKind_VALUE_DICTIONARY:
		raw := make([]byte, end-start)
		if _, err := l.file.ReadAt(raw, start); err != nil {
			return err
		}
		fixed := int(l.node.FixedSize)
		st.entries, err = colstream.ParseDictionary(raw, l.node.Basic, fixed, false)
	case metapb.BufferKind_PRESENCE:
		err = fmt.Errorf("column %s has nulls", l.node.Name)
	}
	return err
}

// read reads the buffers and their block maps.
func (l *loop) read() (err error) {
	for _, st := range l.stripes {
		if l.fresh {
			st.data = bufpool.Bytes(len(st.data))
		}
		if _, err := l.file.ReadAt(st.data, st.start); err != nil {
			return err
		}
		if st.blocks, err = colstream.ParseMap(st.data[st.mapStart-st.start:]); err != nil {
			return err
		}
	}
	return nil
}

// run decodes every block.
func (l *loop) run() error {
	for _, st := range l.stripes {
		for i := range st.blocks.Blocks() {
			from, to := st.blocks.Range(i)
			first, end := st.blocks.Span(i)
			f, err := block.ParseFrame(st.data[from:to], st.checksums)
			if err != nil {
				return err
			}
			if err := l.decode(st, f, int(end-first)); err != nil {
				return err
			}
		}
	}
	return nil
}

// decode decodes a block of n values.
func (l *loop) decode(st *loopStripe, f block.Frame, n int) error {
	if l.fresh {
		return l.decodeFresh(st, f, n)
	}
	return l.decodeInto(st, f, n)
}

// decodeFresh decodes a block of n values into new memory.
func (l *loop) decodeFresh(st *loopStripe, f block.Frame, n int) error {
	l.words = nil
	l.bytes = block.Bytes{Data: bufpool.Bytes(cap(l.bytes.Data))[:0], Offsets: bufpool.Of[int64](cap(l.bytes.Offsets))[:0]}
	return l.decodeInto(st, f, n)
}

// decodeInto decodes a block of n values.
func (l *loop) decodeInto(st *loopStripe, f block.Frame, n int) error {
	if st.entries != nil {
		l.codes = room(l.codes, n)
		if err := block.DecodeNumbers(l.codes, f.Values, &l.scratch); err != nil {
			return err
		}
		return l.look(st.entries)
	}
	switch l.node.Basic {
	case schema.Int64:
		l.words = room(l.words, n)
		return block.DecodeNumbers(simd.Cast[int64](l.words), f.Values, &l.scratch)
	case schema.Float64:
		l.words = room(l.words, n)
		return block.DecodeNumbers(simd.Cast[float64](l.words), f.Values, &l.scratch)
	}
	l.bytes.Reset()
	return block.DecodeBytes(&l.bytes, f.Values, n, int(l.node.FixedSize), nil, &l.scratch)
}

// look copies the entries of a dictionary that the codes name.
func (l *loop) look(d *colstream.Dictionary) error {
	l.bytes.Reset()
	for _, id := range l.codes {
		if int(id) >= d.Count {
			return fmt.Errorf("code %d of %d", id, d.Count)
		}
		l.bytes.Data = append(l.bytes.Data, d.Value(id)...)
		if d.Fixed == 0 {
			l.bytes.Offsets = append(l.bytes.Offsets, int64(len(l.bytes.Data)))
		}
	}
	return nil
}

// kind reports how the first block is encoded.
func (l *loop) kind() (string, error) {
	st := l.stripes[0]
	from, to := st.blocks.Range(0)
	_, n := st.blocks.Span(0)
	f, err := block.ParseFrame(st.data[from:to], st.checksums)
	if err != nil {
		return "", err
	}
	elem, prefix := block.Binary, ""
	switch {
	case st.entries != nil:
		elem, prefix = block.Uint32, "dictionary of "
	case l.node.Basic == schema.Int64:
		elem = block.Int64
	case l.node.Basic == schema.Float64:
		elem = block.Float64
	case l.node.FixedSize > 0:
		elem = block.FixedBinary
	}
	t, err := block.Describe(f.Values, elem, int(n), int(l.node.FixedSize))
	if err != nil {
		return "", err
	}
	return prefix + t.String(), nil
}

// room is a slice of n, the same memory where that suffices.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return bufpool.Of[T](n)
	}
	return s[:n]
}
