package conformance

import (
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
)

// offsets makes the lists of the damaged shard hold one item each, but for the offset at, which is off.
func (g *graft) offsets(at int, off uint64) {
	ends := make([]uint64, 601)
	for i := range ends {
		ends[i] = uint64(i)
	}
	ends[at] = off
	setBlocks(g, g.buffer(nodeList, metapb.BufferKind_OFFSETS), ends)
}

// fill is a value n times.
func fill[T simd.Number](v T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// setBlocks gives a buffer one block of values, behind what is there.
func setBlocks[T simd.Number](g *graft, b *metapb.EncodedBuffer, vals []T) {
	sub, err := encode.NumbersAs(nil, vals, nil, "Plain")
	if err != nil {
		panic(err) // Plain takes all
	}
	var w colstream.StreamWriter
	if err := w.Add(encode.Block{Values: len(vals), Sub: sub}); err != nil {
		panic(err)
	}
	g.place(b, w.Finish())
}

// place puts a buffer behind what is there.
func (g *graft) place(b *metapb.EncodedBuffer, e colstream.Encoded) {
	for len(g.body)%colstream.Alignment != 0 {
		g.body = append(g.body, 0)
	}
	start := uint64(len(g.body))
	g.body = append(g.body, e.Bytes...)
	b.Buffer.Range = &metapb.UInt64Range{Start: start, End: uint64(len(g.body))}
	b.BlockMap.Range = &metapb.UInt64Range{Start: start + uint64(e.MapStart), End: uint64(len(g.body))}
	n := uint64(e.Blocks)
	b.BlockCount = &n
}

// oneBlock gives a buffer one block of n values, behind what is there.
func (g *graft) oneBlock(b *metapb.EncodedBuffer, n int, presence, values []byte) {
	data := block.AppendFrame(nil, presence, values, b.BlockChecksums)
	var m colstream.MapBuilder
	m.Add(uint32(n), uint32(len(data)))
	for len(data)%16 != 0 {
		data = append(data, 0)
	}
	at := len(data)
	g.place(b, colstream.Encoded{Bytes: m.Append(data), MapStart: at, Blocks: 1})
}
