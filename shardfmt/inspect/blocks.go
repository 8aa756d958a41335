package inspect

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Block is one block of a buffer.
type Block struct {
	// Position is the first value, Values their number (bytes, in a bit buffer), Bytes the size with its frame.
	Position uint64      `json:"position"`
	Values   uint64      `json:"values"`
	Bytes    uint64      `json:"bytes"`
	Presence string      `json:"presence"`
	Plan     *block.Tree `json:"plan"`
}

// element is the element type of a block stream, with the size of fixed-size byte strings.
type element struct {
	elem  block.Elem
	fixed int
}

// elementOf is the element type of a buffer of a field.
func elementOf(n *schema.Node, kind metapb.BufferKind, e *metapb.NativeDataEncoding) element {
	switch kind {
	case metapb.BufferKind_PRESENCE:
		return element{elem: block.Uint8}
	case metapb.BufferKind_OFFSETS:
		return element{elem: block.Uint64}
	}
	for _, b := range e.GetBuffers() {
		if b.Kind == metapb.BufferKind_VALUE_DICTIONARY {
			return element{elem: block.Uint32}
		}
	}
	signed := func(yes, no block.Elem) element {
		if n.Signed {
			return element{elem: yes}
		}
		return element{elem: no}
	}
	switch n.Basic {
	case schema.Boolean, schema.Union:
		return element{elem: block.Uint8}
	case schema.Int8:
		return signed(block.Int8, block.Uint8)
	case schema.Int16:
		return signed(block.Int16, block.Uint16)
	case schema.Int32:
		return signed(block.Int32, block.Uint32)
	case schema.Int64, schema.DateTime:
		return signed(block.Int64, block.Uint64)
	case schema.Float32:
		return element{elem: block.Float32}
	case schema.Float64:
		return element{elem: block.Float64}
	case schema.FixedSizeBinary, schema.Guid:
		return element{block.FixedBinary, int(n.FixedSize)}
	}
	return element{elem: block.Binary}
}

// hasBlocks reports whether buffers of a kind are streams of blocks. Elsewhere a block map means nothing.
func hasBlocks(k metapb.BufferKind) bool {
	return k == metapb.BufferKind_DATA || k == metapb.BufferKind_PRESENCE || k == metapb.BufferKind_OFFSETS
}

// proveSize is from which length on, in bytes, memory is taken for a buffer only after its last byte was read.
const proveSize = 1 << 20

// blocks reads a block stream and describes each block.
func (v *inspector) blocks(out *Buffer, b *metapb.EncodedBuffer, url string, e element) error {
	mapStart, mapEnd, err := meta.RefRange(b.GetBlockMap())
	end := out.Start + out.Size
	if err != nil {
		return err
	}
	if limit := budget.New(v.o.MaxMemory).Limit(); uint64(out.Size) > limit {
		return corrupt.Locate(corrupt.Unsupported(out.Start, "a buffer of %d bytes needs more than %d bytes of memory; raise the limit with --max-memory",
			out.Size, limit), url, 0)
	}
	if mapStart < out.Start || mapEnd > end {
		return corrupt.Locate(corrupt.At(out.Start, "a block map [%d, %d) in a buffer [%d, %d)", mapStart, mapEnd, out.Start, end), url, 0)
	}
	if out.Size > proveSize {
		if _, err := v.st.ReadRange(v.ctx, url, end-1, make([]byte, 1)); err != nil {
			return meta.Missing(err, url)
		}
	}
	data := make([]byte, out.Size)
	if _, err := v.st.ReadRange(v.ctx, url, out.Start, data); err != nil {
		return meta.Missing(err, url)
	}
	m, err := colstream.ParseMap(data[mapStart-out.Start : mapEnd-out.Start])
	if err != nil {
		return corrupt.Locate(err, url, mapStart)
	}
	if m.Bytes() > uint64(mapStart-out.Start) {
		return corrupt.Locate(corrupt.At(0, "%d bytes of blocks", m.Bytes()), url, mapStart)
	}
	count := m.Blocks()
	out.Blocks, out.Plans = &count, map[string]int{}
	for i := range count {
		start, stop := m.Range(i)
		first, last := m.Span(i)
		one, err := describe(data[start:stop], last-first, b.BlockChecksums, e)
		if err != nil {
			return corrupt.Locate(err, url, out.Start+int64(start))
		}
		one.Position = first
		out.Trees = append(out.Trees, one)
		out.Plans[one.Plan.String()]++
	}
	return nil
}

func describe(data []byte, n uint64, checksums bool, e element) (Block, error) {
	f, err := block.ParseFrame(data, checksums)
	if err != nil {
		return Block{}, err
	}
	tree, err := block.Describe(f.Values, e.elem, int(n), e.fixed)
	if err != nil {
		return Block{}, corrupt.Locate(err, "", f.ValuesOffset())
	}
	return Block{Values: n, Bytes: uint64(len(data)), Presence: presenceForm(f.Presence), Plan: tree}, nil
}

// presenceForm names the form of a presence section.
func presenceForm(section []byte) string {
	if len(section) == 0 {
		return "all present"
	}
	switch section[0] {
	case 1:
		return "all null"
	case 2:
		return "bytes"
	case 3:
		return "roaring"
	}
	return "unknown"
}
