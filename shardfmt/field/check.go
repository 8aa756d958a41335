package field

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/block"
	"github.com/shardcat/shardcat/shardfmt/buffer"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Checker checks the stored bytes of fields, whether or not a scan would read them: every encoding, every
// buffer, every checksum, padding, and the form of what has no checksum.
type Checker struct {
	Source Source
	// Read gives the bytes [start, end) of an object.
	Read func(url string, start, end uint64) ([]byte, error)
	// Cover is told of every buffer, and how many of its bytes no checksum covers.
	Cover func(url string, start, end uint64, unprotected uint64)
	// Report is told of every error.
	Report func(error)
}

// Check checks the buffers of one node of a stripe.
func (k *Checker) Check(ctx context.Context, stripe int, node *schema.Node) {
	d, anchor, err := k.Source.StripeField(ctx, stripe, node.ID)
	if err != nil {
		k.Report(err)
		return
	}
	if d.GetField() == nil {
		return
	}
	o := &opener{ctx: ctx, src: k.Source, stripe: stripe}
	f := &stored{o: o, node: node, desc: d.Field, anchor: anchor, count: d.Field.GetPositionCount(), typ: arrowtype.Type(node)}
	for _, e := range d.Encodings {
		if e.GetNative() == nil {
			k.Report(f.unsupported(refusal(e)))
			continue
		}
		f.encoding = e.GetNative()
		for _, b := range f.encoding.Buffers {
			k.buffer(f, b)
		}
	}
}

// buffer checks one buffer.
func (k *Checker) buffer(f *stored, b *metapb.EncodedBuffer) {
	url, start, end, err := f.locate(b.Buffer)
	if err != nil {
		k.Report(err)
		return
	}
	raw, err := k.Read(url, uint64(start), uint64(end))
	if err != nil {
		k.Report(err)
		return
	}
	unprotected, err := k.content(f, b, raw)
	k.Cover(url, uint64(start), uint64(end), unprotected)
	if err != nil {
		k.Report(corrupt.Locate(err, url, start))
	}
}

// content checks the bytes of a buffer and gives the number of those that no checksum covers. Offsets of errors
// are from the start of the buffer.
func (k *Checker) content(f *stored, b *metapb.EncodedBuffer, raw []byte) (uint64, error) {
	switch b.Kind {
	case metapb.BufferKind_DATA, metapb.BufferKind_PRESENCE, metapb.BufferKind_OFFSETS:
		one := *f
		one.encoding = &metapb.NativeDataEncoding{Buffers: []*metapb.EncodedBuffer{b}}
		s, err := one.stream(b.Kind, unknown)
		if err != nil {
			return 0, err
		}
		return checkStream(s, raw)
	case metapb.BufferKind_VALUE_DICTIONARY:
		fixed, err := f.fixedSize()
		if fixed == 0 {
			fixed = numberWidth(f.node.Basic)
		}
		if err == nil {
			_, err = buffer.ParseDictionary(raw, f.node.Basic, fixed, true)
		}
		return 0, err
	case metapb.BufferKind_RANGE_INDEX:
		_, err := buffer.ParseRangeIndex(raw, f.node.Basic, indexWidth(f.node), f.count, true)
		return buffer.RangeIndexUnprotected(raw), err
	}
	return uint64(len(raw)), nil
}

// checkStream checks map, blocks and padding of a block stream.
func checkStream(s *buffer.Stream, raw []byte) (unprotected uint64, err error) {
	mapAt := s.MapStart - s.Start
	unprotected = uint64(len(raw)) - mapAt
	m, err := buffer.ParseMap(raw[mapAt:])
	if err != nil {
		return unprotected, corrupt.Locate(err, "", int64(mapAt))
	}
	switch {
	case m.Bytes() > mapAt:
		return unprotected, corrupt.At(int64(mapAt), "block map: %d bytes of blocks in %d", m.Bytes(), mapAt)
	case s.Blocks >= 0 && int64(m.Blocks()) != s.Blocks:
		return unprotected, corrupt.At(int64(mapAt), "block map of %d blocks, the descriptor says %d", m.Blocks(), s.Blocks)
	case !m.Canonical(raw[mapAt:]):
		return unprotected, corrupt.At(int64(mapAt), "block map is not canonical")
	}
	unprotected += mapAt - m.Bytes()
	if !s.Checksums {
		unprotected += m.Bytes()
	}
	for i := m.Bytes(); i < mapAt; i++ {
		if raw[i] != 0 {
			return unprotected, corrupt.At(int64(i), "padding is not zero")
		}
	}
	for i := range m.Blocks() {
		start, end := m.Range(i)
		if _, err := block.ParseFrame(raw[start:end], s.Checksums); err != nil {
			return unprotected, corrupt.Locate(err, "", int64(start))
		}
	}
	return unprotected, nil
}
