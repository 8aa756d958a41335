package conformance

import (
	"bytes"
	"encoding/binary"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

// limitDamages break the limits of the pages: each rule that every reader keeps and that needs no more than one field or byte.
func limitDamages() []damage {
	return append(append(listDamages(), positionDamages()...), sectionDamages()...)
}

// listDamages are directories that lack what they must name.
func listDamages() []damage {
	lacks := func(name string, at func(d *metapb.ShardDirectory) **metapb.DataRef) []damage {
		set := func(r *metapb.DataRef) func(*graft) {
			return func(g *graft) { g.last = func(d *metapb.ShardDirectory) { *at(d) = r } }
		}
		return []damage{
			{name: "no-" + name, what: "the directory names no " + name, answer: corrupt, graft: set(nil)},
			{name: "empty-" + name, what: "the directory's reference to its " + name + " is empty", answer: corrupt, graft: set(meta.SelfRef(0, 0))},
		}
	}
	all := lacks("stripe-list", func(d *metapb.ShardDirectory) **metapb.DataRef { return &d.StripeListRef })
	all = append(all, lacks("shard-field-list", func(d *metapb.ShardDirectory) **metapb.DataRef { return &d.FieldListRef })...)
	all = append(all, lacks("url-list", func(d *metapb.ShardDirectory) **metapb.DataRef { return &d.UrlListRef })...)
	return append(all,
		damage{name: "records-above-limit", what: "2^63 records", answer: corrupt, graft: func(g *graft) {
			g.dir.TotalRecordCount, g.stripes.Stripes[0].TotalRecordCount = 1<<63, 1<<63
		}},
		damage{name: "range-above-limit", what: "a buffer that ends at 2^63", answer: corrupt, graft: func(g *graft) {
			g.buffer(nodePacked, metapb.BufferKind_DATA).Buffer.Range.End = 1 << 63
		}},
		damage{name: "wire-type", what: "a field of the wire type 7 in a descriptor", answer: corrupt, graft: func(g *graft) {
			g.behind = map[int][]byte{nodePacked: {0x7f, 0}}
		}},
	)
}

func positionDamages() []damage {
	return []damage{
		{name: "nested-positions", what: "a struct of other than its list's number of items", answer: corrupt, graft: func(g *graft) { g.fields[nodeEntry].Field.PositionCount++ }},
		{name: "constant-positions", what: "a constant of fewer positions than its struct", answer: corrupt, graft: func(g *graft) { g.fields[nodeSame].Field.PositionCount-- }},
		{name: "null-count", what: "more nulls than positions", answer: corrupt, graft: func(g *graft) {
			g.fields[nodeText].Field.NullCount = proto.Uint64(601)
		}},
		{name: "map-segments", what: "a block map of segments of 1,200 blocks", answer: corrupt, graft: func(g *graft) {
			m := g.blockMap(g.buffer(nodePacked, metapb.BufferKind_DATA))
			binary.LittleEndian.PutUint64(m[len(m)-16:], 1200)
		}},
		{name: "dictionary-type", what: "a value dictionary of another type than the field's", answer: corrupt, graft: func(g *graft) {
			b := g.bytes(g.buffer(nodeCoded, metapb.BufferKind_VALUE_DICTIONARY))
			b[0] = 8
			put32(b[124:], meta.Checksum(b[:124]))
		}},
	}
}

func sectionDamages() []damage {
	values := func(node int, change func(v []byte)) func(*graft) {
		return func(g *graft) { g.block(node, metapb.BufferKind_DATA, func(_, v []byte) { change(v) }) }
	}
	presence := func(change func(p []byte)) func(*graft) {
		return func(g *graft) { g.block(nodeText, metapb.BufferKind_DATA, func(p, _ []byte) { change(p) }) }
	}
	return []damage{
		{name: "presence-null-long", what: "bytes behind presence that says all are null", answer: corrupt, graft: presence(func(p []byte) { p[0] = 1 })},
		{name: "presence-bitmap-long", what: "bytes behind a bitmap without containers", answer: corrupt, graft: presence(func(p []byte) {
			clear(p)
			p[0] = 3
			put32(p[2:], 12346)
		})},
		{name: "run-flag", what: "a flag of 9 in place of 0 or 1", answer: corrupt, graft: values(nodeRuns, func(v []byte) { v[10] = 9 })},
		{name: "runs-count", what: "2^30 runs", answer: corrupt, graft: values(nodeRuns, func(v []byte) { put32(v[6:], 1<<30) })},
		{name: "dictionary-count", what: "2^30 entries of a dictionary", answer: corrupt, graft: values(nodeDictionary, func(v []byte) { put32(v[6:], 1<<30) })},
		{name: "sparse-count", what: "more stored values than the block has", answer: corrupt, graft: values(nodeSparse, func(v []byte) { put32(v[2:], 601) })},
		{name: "alp-exponent", what: "an exponent of 24", answer: corrupt, graft: values(nodeAlp, func(v []byte) { v[8] = 24 })},
		{name: "alp-factor", what: "a factor of 255", answer: corrupt, graft: values(nodeAlp, func(v []byte) { v[9] = 255 })},
		{name: "code-of-null", what: "the code of null in a block without presence", answer: corrupt, graft: codeOfNull},
		{name: "delta-of-nothing", what: "a Delta of no values, for the entries of a dictionary without any", answer: corrupt, graft: emptyDelta},
	}
}

// codeOfNull gives a field of 600 byte strings one block, a dictionary whose code 1 all have but the first, which has code 0.
func codeOfNull(g *graft) {
	const n = 600
	sub, err := encode.BytesAs(nil, encode.Bytes{Data: bytes.Repeat([]byte{'x'}, n), Offsets: ramp(n)}, "BlockDictionary[Plain, raw]")
	if err != nil {
		panic(err) // it takes all
	}
	put32(sub[16+2:], 0) // the header, and the code of Plain, are before
	g.oneBlock(g.buffer(nodeText, metapb.BufferKind_DATA), n, nil, sub)
}

// ramp is the offsets of n strings of one byte.
func ramp(n int) []int64 {
	out := make([]int64, n+1)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// emptyDelta gives a field of 600 numbers one block, a dictionary of no entries, stored as a Delta.
func emptyDelta(g *graft) {
	const n = 600
	sub := []byte{14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}
	codes := append([]byte{7, 0}, 0, 0, 0, 0) // SingleValue of u32: all are code 0
	put32(sub[2:], uint32(len(codes)))
	sub = append(sub, codes...)
	sub = append(sub, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // Delta, its first value, padding
	g.oneBlock(g.buffer(nodeDictionary, metapb.BufferKind_DATA), n, nil, sub)
}
