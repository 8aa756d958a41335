package conformance

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// referenceDamages are references that no reader follows, and lists whose parts do not agree.
func referenceDamages() []damage {
	var all []damage
	for _, r := range []struct{ name, what, url string }{
		{"escaped-climb", "a reference to ../ whose points are escaped", "%2e%2e/other.amudai.shard"},
		{"escaped-slash", "an escaped slash in a reference", "folder%2Fother.amudai.shard"},
		{"escaped-backslash", "an escaped backslash in a reference", "folder%5Cother.amudai.shard"},
		{"escaped-zero", "an escaped byte 0 in a reference", "other%00.amudai.shard"},
		{"escape-cut", "an escape of one digit in a reference", "other.amudai.shard%4"},
		{"escape-digits", "an escape without hexadecimal digits in a reference", "other%zz.amudai.shard"},
		{"query", "a reference with a query", "shard.amudai.shard?version=1"},
		{"fragment", "a reference with a fragment", "shard.amudai.shard#part"},
		{"backslash", "a reference with a backslash", `..\other.amudai.shard`},
		{"absolute-path", "a reference that starts with a slash", "/other.amudai.shard"},
		{"other-host", "a reference that names a host without a scheme", "//example.com/other.amudai.shard"},
		{"user", "a reference with a user and a password", "https://user:password@example.com/other.amudai.shard"},
		{"climb-within", "a reference that climbs and comes back", "folder/../shard.amudai.shard"},
	} {
		all = append(all, damage{name: "url-" + r.name, what: r.what, answer: unsafe, graft: func(g *graft) { g.dir.SchemaRef.Url = r.url }})
	}
	return append(all,
		damage{name: "reference-runs", what: "a field list of fewer ends than starts", answer: corrupt, graft: func(g *graft) {
			g.list = func(l *metapb.DataRefArray) { l.End = l.End[:len(l.End)-1] }
		}},
		damage{name: "descriptor-empty", what: "a descriptor of a stripe without its field", answer: corrupt, graft: func(g *graft) { g.fields[nodePacked].Field = nil }},
		damage{name: "deleted-sum", what: "the stripes have more deleted records than the directory says", answer: corrupt, graft: func(g *graft) {
			g.stripes.Stripes[0].DeletedRecordCount = 3
		}},
		damage{name: "group-open", what: "a group of an unknown field that does not end", answer: corrupt, graft: func(g *graft) { g.behind = map[int][]byte{nodePacked: {0x9b, 0x06, 0x08, 1}} }},
		damage{name: "group-crossed", what: "a group that ends with another number", answer: corrupt, graft: func(g *graft) { g.behind = map[int][]byte{nodePacked: {0x9b, 0x06, 0xa4, 0x06}} }},
		damage{name: "wire-type-6", what: "a field of the wire type 6 in a descriptor", answer: corrupt, graft: func(g *graft) { g.behind = map[int][]byte{nodePacked: {0x7e, 0}} }},
	)
}

// schemaDamages give the shard a schema whose nodes contradict each other.
func schemaDamages() []damage {
	broken := func(name, what string, change func(s *schema.Schema)) damage {
		return damage{name: "schema-" + name, what: what, answer: corrupt, graft: func(g *graft) {
			s, err := schema.Parse(sound().schema())
			if err != nil {
				panic(err) // it is ours
			}
			s.Number()
			change(s)
			g.dir.SchemaRef = g.add(schemawire.Marshal(s))
		}}
	}
	return []damage{
		broken("number-twice", "two nodes of one number", func(s *schema.Schema) { s.Fields[1].ID = s.Fields[0].ID }),
		broken("number-outside", "a node whose number is not below their count", func(s *schema.Schema) { s.Fields[0].ID = s.Count }),
		broken("parent", "a node with another parent than its own", func(s *schema.Schema) { s.Fields[5].Children[0].Parent = 0 }),
		broken("no-child", "a list without the type of its items", func(s *schema.Schema) { s.Fields[5].Children, s.Count = nil, s.Count-1 }),
		{name: "schema-offset", what: "a schema whose root table lies behind its end", answer: corrupt, graft: func(g *graft) {
			g.dir.SchemaRef = g.add([]byte{0xff, 0xff, 0, 0})
		}},
	}
}

// bufferDamages break the rules of buffers, block maps, value dictionaries and constants.
func bufferDamages() []damage {
	return slices.Concat(mapDamages(), dictionaryDamages(), descriptorDamages())
}

func mapDamages() []damage {
	inMap := func(name, what string, change func(m []byte)) damage {
		return damage{name: "map-" + name, what: what, answer: corrupt, graft: func(g *graft) {
			change(g.blockMap(g.buffer(nodePacked, metapb.BufferKind_DATA)))
		}}
	}
	return []damage{
		inMap("bytes", "a footer of more bytes than the blocks have", func(m []byte) { m[len(m)-8]++ }),
		inMap("width", "deltas of 24 bits in a block map", func(m []byte) { m[24] = 24 }),
		inMap("first-position", "a segment that starts at position 1", func(m []byte) { m[0] = 1 }),
		inMap("first-offset", "a segment that starts at byte 8", func(m []byte) { m[8] = 8 }),
		inMap("blocks", "a segment of more blocks than the footer says", func(m []byte) { m[26]++ }),
		inMap("records", "a list of records with a gap", func(m []byte) { m[len(m)-40-8]++ }),
		inMap("block-size", "blocks that end behind their block map", func(m []byte) {
			le := binary.LittleEndian
			le.PutUint32(m[20:], le.Uint32(m[20:])+1<<20)
			le.PutUint64(m[len(m)-8:], le.Uint64(m[len(m)-8:])+uint64(binary.LittleEndian.Uint16(m[26:]))<<20)
		}),
		{name: "map-outside", what: "a block map that lies before its buffer", answer: corrupt, graft: func(g *graft) {
			g.buffer(nodePacked, metapb.BufferKind_DATA).BlockMap.Range = &metapb.UInt64Range{Start: 0, End: 56}
		}},
		{name: "map-short", what: "a block map of 48 bytes", answer: corrupt, graft: func(g *graft) {
			r := g.buffer(nodePacked, metapb.BufferKind_DATA).BlockMap.Range
			r.Start = r.End - 48
		}},
		{name: "no-map", what: "DATA without a block map", answer: corrupt, graft: func(g *graft) { g.buffer(nodePacked, metapb.BufferKind_DATA).BlockMap = nil }},
	}
}

// dictionaryDamages change the value dictionary of the coded texts, and make the checksum of its header right.
func dictionaryDamages() []damage {
	header := func(name, what string, change func(b []byte)) damage {
		return damage{name: "values-" + name, what: what, answer: corrupt, graft: func(g *graft) {
			b := g.bytes(g.buffer(nodeCoded, metapb.BufferKind_VALUE_DICTIONARY))
			change(b)
			put32(b[124:], meta.Checksum(b[:124]))
		}}
	}
	return []damage{
		header("section-outside", "a section of a value dictionary that ends behind it", func(b []byte) { put32(b[22:], 1<<30) }),
		header("section-reversed", "a section of a value dictionary that ends before it starts", func(b []byte) { put32(b[22:], 0) }),
		header("null-entry", "a null entry that the value dictionary does not have", func(b []byte) { b[5] = 1; put32(b[6:], 99) }),
		header("width", "texts of four bytes each", func(b []byte) { put32(b[10:], 4) }),
		header("count", "2^30 entries of a value dictionary", func(b []byte) { put32(b[1:], 1<<30) }),
		{name: "values-header", what: "a wrong checksum of the header of a value dictionary", answer: corrupt, graft: func(g *graft) {
			g.bytes(g.buffer(nodeCoded, metapb.BufferKind_VALUE_DICTIONARY))[124] ^= 1
		}},
		{name: "values-cut", what: "a value dictionary of 100 bytes", answer: corrupt, graft: func(g *graft) {
			r := g.buffer(nodeCoded, metapb.BufferKind_VALUE_DICTIONARY).Buffer.Range
			r.End = r.Start + 100
		}},
	}
}

func descriptorDamages() []damage {
	constant := func(name, what string, node int, v *metapb.AnyValue) damage {
		return damage{name: "constant-" + name, what: what, answer: corrupt, graft: func(g *graft) { g.fields[node].Field.ConstantValue = v }}
	}
	data := metapb.BufferKind_DATA
	return []damage{
		constant("range", "a constant of 2^40 for an Int32", nodeConstant, meta.Int(1<<40)),
		constant("size", "a constant of three bytes for a Guid", nodeGuid, meta.Blob([]byte{1, 2, 3})),
		{name: "no-data", what: "texts without buffers and without a constant", answer: corrupt, graft: func(g *graft) {
			f := g.fields[nodeText]
			f.Encodings, f.Field.NullCount = nil, proto.Uint64(0)
		}},
		{name: "no-offsets", what: "a list without OFFSETS", answer: corrupt, graft: func(g *graft) { g.fields[nodeList].Encodings = nil }},
		{name: "delimited", what: "texts without offsets, in or beside their blocks", answer: unsupported, graft: func(g *graft) { g.buffer(nodeText, data).EmbeddedOffsets = false }},
		{name: "buffer-kind", what: "a buffer of the kind 6 in place of DATA", answer: unsupported, graft: func(g *graft) { g.buffer(nodePacked, data).Kind = 6 }},
		{name: "same-ids", what: "two buffers of one id", answer: corrupt, graft: func(g *graft) {
			for _, b := range g.buffers(nodeCoded) {
				b.BufferId = proto.Uint32(5)
			}
		}},
	}
}
