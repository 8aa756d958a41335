package mutant

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// site is a buffer of a field of a stripe.
type site struct {
	r          *rand.Rand
	node       *schema.Node
	descriptor *metapb.StripeFieldDescriptor
	buffer     *metapb.EncodedBuffer
	// data are its bytes, to be changed; mapAt is where its block map starts in them, len(data) if it has none.
	data  []byte
	mapAt int
}

// onBuffer makes a kind of a change to a buffer, which gives the new bytes and reports what it changed.
func onBuffer(change func(*site) (string, error)) func(*rand.Rand, *Shard, []*Shard) (*Shard, string, error) {
	return onGraft(func(g *graft) (string, error) {
		list, err := g.stripes()
		if err != nil {
			return "", err
		}
		i, err := g.anyStripe(list)
		if err != nil {
			return "", err
		}
		node, d, err := g.anyField(i)
		if err != nil {
			return "", err
		}
		s, err := g.site(node, d)
		if err != nil {
			return "", err
		}
		what, err := change(s)
		if err != nil {
			return "", err
		}
		start := g.addBuffer(s.data)
		s.buffer.Buffer = meta.SelfRef(start, start+uint64(len(s.data)))
		if s.buffer.BlockMap != nil {
			s.buffer.BlockMap = meta.SelfRef(start+uint64(s.mapAt), start+uint64(len(s.data)))
		}
		err = g.setFields(list, i, map[uint32]*metapb.StripeFieldDescriptor{node.ID: d})
		g.setStripes(list)
		return fmt.Sprintf("stripe %d, field %d, %v: %s", i, node.ID, s.buffer.Kind, what), err
	})
}

// site chooses a buffer of a field and reads it.
func (g *graft) site(node *schema.Node, d *metapb.StripeFieldDescriptor) (*site, error) {
	if len(d.Encodings) == 0 || len(d.Encodings[0].GetNative().GetBuffers()) == 0 {
		return nil, errNothing
	}
	buffers := d.Encodings[0].GetNative().Buffers
	b := buffers[g.r.IntN(len(buffers))]
	url, err := g.root.Resolve(g.root.URL(), b.GetBuffer().GetUrl())
	if err != nil {
		return nil, err
	}
	start, end, err := meta.RefRange(b.Buffer)
	if err != nil || start == end {
		return nil, errNothing
	}
	s := &site{r: g.r, node: node, descriptor: d, buffer: b, data: make([]byte, end-start), mapAt: int(end - start)}
	if _, err := g.shard.Store().ReadRange(context.Background(), url, start, s.data); err != nil {
		return nil, err
	}
	if b.BlockMap != nil {
		s.mapAt = int(int64(b.BlockMap.GetRange().GetStart()) - start)
	}
	return s, nil
}

// blocks is the block map, errNothing if the buffer has no blocks.
func (s *site) blocks() (*colstream.Map, error) {
	if s.buffer.BlockMap == nil {
		return nil, errNothing
	}
	m, err := colstream.ParseMap(s.data[s.mapAt:])
	if err != nil {
		return nil, err
	}
	if m.Blocks() == 0 {
		return nil, errNothing
	}
	return m, nil
}

// mendBlock makes the checksum of a block right, if it has one.
func mendBlock(b []byte, checksums bool) {
	if n := len(b) - 4; checksums && n >= 0 {
		binary.LittleEndian.PutUint32(b[n:], meta.Checksum(b[:n]))
	}
}

// changeBytes changes one to four bytes, preferably near the start, where headers are.
func changeBytes(r *rand.Rand, b []byte) []int {
	var at []int
	for range 1 + r.IntN(4) {
		i := r.IntN(len(b))
		if r.IntN(2) == 0 {
			i = r.IntN(min(len(b), 48))
		}
		switch r.IntN(4) {
		case 0:
			b[i] = 0xff
		case 1:
			b[i] = 0
		case 2:
			b[i]++
		default:
			b[i] ^= 1 << r.IntN(8)
		}
		at = append(at, i)
	}
	return at
}

// changeBlock changes bytes of one block.
func changeBlock(s *site) (string, error) {
	m, err := s.blocks()
	if err != nil {
		return "", err
	}
	i := s.r.IntN(m.Blocks())
	start, end := m.Range(i)
	b := s.data[start:end]
	body := b
	if s.buffer.BlockChecksums {
		body = b[:len(b)-4]
	}
	if len(body) == 0 {
		return "", errNothing
	}
	at := changeBytes(s.r, body)
	mendBlock(b, s.buffer.BlockChecksums)
	return fmt.Sprintf("block %d: bytes at %v", i, at), nil
}

// changeMap writes another block map: other bytes, or other counts of values in the right form.
func changeMap(s *site) (string, error) {
	m, err := s.blocks()
	if err != nil {
		return "", err
	}
	if s.r.IntN(3) == 0 {
		at := changeBytes(s.r, s.data[s.mapAt:])
		return fmt.Sprintf("map: bytes at %v", at), nil
	}
	changed, by := s.r.IntN(m.Blocks()), []int64{1, -1, 1 << 10, 1 << 20, 1 << 22, 1<<32 - 2}[s.r.IntN(6)]
	var w colstream.MapBuilder
	for i := range m.Blocks() {
		first, last := m.Span(i)
		start, end := m.Range(i)
		n := int64(last - first)
		if i == changed {
			n = max(1, min(n+by, 1<<32-2))
		}
		w.Add(uint32(n), uint32(end-start))
	}
	s.data = w.Append(s.data[:s.mapAt:s.mapAt])
	what := fmt.Sprintf("map: block %d has %d values more", changed, by)
	if s.r.IntN(2) == 0 {
		s.descriptor.Field.PositionCount += uint64(by)
		what += ", and so has the field"
	}
	return what, nil
}

// changeDictionary changes a value dictionary's header or one of its sections.
func changeDictionary(s *site) (string, error) {
	if s.buffer.Kind != metapb.BufferKind_VALUE_DICTIONARY || len(s.data) < 128 {
		return "", errNothing
	}
	if s.r.IntN(2) == 0 {
		at := changeBytes(s.r, s.data[:62])
		binary.LittleEndian.PutUint32(s.data[124:], meta.Checksum(s.data[:124]))
		return fmt.Sprintf("header: bytes at %v", at), nil
	}
	k := s.r.IntN(3)
	start, end := binary.LittleEndian.Uint64(s.data[14+16*k:]), binary.LittleEndian.Uint64(s.data[22+16*k:])
	if end < start+12 || end > uint64(len(s.data)) {
		return "", errNothing
	}
	section := s.data[start:end]
	n := binary.LittleEndian.Uint64(section)
	if n == 0 || n > uint64(len(section)-12) {
		return "", errNothing
	}
	at := changeBytes(s.r, section[8:8+n])
	binary.LittleEndian.PutUint32(section[len(section)-4:], meta.Checksum(section[8:8+n]))
	return fmt.Sprintf("section %d: bytes at %v", k, at), nil
}

// changeRangeIndex changes a range index's header, or a block of it.
func changeRangeIndex(s *site) (string, error) {
	const header = 40
	if s.buffer.Kind != metapb.BufferKind_RANGE_INDEX || len(s.data) < header {
		return "", errNothing
	}
	if s.r.IntN(3) == 0 {
		return fmt.Sprintf("header: bytes at %v", changeBytes(s.r, s.data[:header])), nil
	}
	at, k := uint64(header), s.r.IntN(3)
	for i := range k {
		at += binary.LittleEndian.Uint64(s.data[12+8*i:])
	}
	n := binary.LittleEndian.Uint64(s.data[12+8*k:])
	if n <= 12 || at+n > uint64(len(s.data)) {
		return "", errNothing
	}
	b := s.data[at : at+n]
	where := changeBytes(s.r, b[:len(b)-4])
	mendBlock(b, s.data[3] == 1)
	return fmt.Sprintf("array %d: bytes at %v", k, where), nil
}
