package conformance

import (
	"encoding/binary"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// The nodes of the shard in forms of the book that is damaged, by number.
const (
	nodeGroup = iota
	nodeGroupNumber
	nodeGroupText
	nodeDrifting
)

// soundForms is the shard that is damaged where a rule is about forms that the reference does not write. A reader that does
// not know the forms refuses it, damaged or not.
func soundForms() *table {
	group := func(i int) string {
		if i%7 == 3 {
			return "null"
		}
		return fmt.Sprintf(`{"n":%d,"s":"text %d"}`, i, i%5)
	}
	return &table{level: Refuse, name: "sound-forms", what: "the shard in forms of the book that is damaged, before it is", optional: true, rows: 600, columns: []column{
		{name: "group", typ: "Struct<n: Int32, s: String>", value: group},
		{name: "host", typ: "String", value: drifting},
	}, o: shardwriter.Options{Profile: encode.Balanced, Layout: shardwriter.Single,
		Pack: map[string][]string{"group": nil}, DictionaryEntries: map[string]int{"host": 8}}}
}

func formDamages() []damage { return append(packedDamages(), dictionariesDamages()...) }

// inSuper changes the first super-block of the group; header reports that its header's checksum is made right.
func inSuper(header bool, change func(super []byte)) func(*graft) {
	return func(g *graft) {
		b := g.bytes(g.buffer(nodeGroup, metapb.BufferKind_DATA))
		change(b)
		if !header {
			return
		}
		// Two members, the presence of the struct, and the checksum: 4 + 3·4 + 4 bytes, up to a multiple of 8.
		const end = 24
		binary.LittleEndian.PutUint32(b[end-4:], meta.Checksum(b[:end-4]))
	}
}

// member is the one buffer of a member of the group.
func member(g *graft, node int) *metapb.EncodedBuffer { return g.buffers(node)[0] }

func packedDamages() []damage {
	return []damage{
		{name: "packed-checksum", what: "a wrong checksum of the header of a super-block", answer: corrupt, graft: inSuper(false, func(b []byte) { b[4] += 8 })},
		{name: "packed-sizes", what: "blocks of members that do not fill their super-block", answer: corrupt, graft: inSuper(true, func(b []byte) { b[4] += 8 })},
		{name: "packed-count", what: "a super-block of more blocks than it has bytes", answer: corrupt, graft: inSuper(false, func(b []byte) { b[3] = 0x7f })},
		{name: "packed-index-twice", what: "two members of one index", answer: corrupt, graft: func(g *graft) {
			*member(g, nodeGroupText).PackedGroupIndex = member(g, nodeGroupNumber).GetPackedGroupIndex()
		}},
		{name: "packed-index-outside", what: "a member without a block", answer: corrupt, graft: func(g *graft) { *member(g, nodeGroupText).PackedGroupIndex = 9 }},
		{name: "packed-member-alone", what: "a member of a packed group, but its struct is not stored as a packed group", answer: unsupported, graft: func(g *graft) {
			e := g.fields[nodeGroup].Encodings[0].GetNative()
			e.PackedGroup, e.Buffers = false, nil
		}},
		{name: "packed-member-reference", what: "a member of a packed group that refers to bytes of its own", answer: corrupt, graft: func(g *graft) {
			member(g, nodeGroupText).Buffer = g.buffer(nodeGroup, metapb.BufferKind_DATA).Buffer
		}},
	}
}

func dictionariesDamages() []damage {
	data := metapb.BufferKind_DATA
	named := func(change func(values []byte)) func(*graft) {
		return func(g *graft) { g.block(nodeDrifting, data, func(_, values []byte) { change(values) }) }
	}
	second := func(g *graft) *metapb.EncodedBuffer { return g.buffers(nodeDrifting)[2] }
	return []damage{
		{name: "dictionaries-unknown", what: "a block that names a value dictionary that the field has not", answer: corrupt, graft: named(func(v []byte) { v[4] = 0xfe })},
		{name: "dictionaries-unnamed", what: "a block that names none of several value dictionaries", answer: corrupt, graft: named(func(v []byte) { v[1] = 0 })},
		{name: "dictionaries-no-id", what: "one of several value dictionaries without an id", answer: corrupt, graft: func(g *graft) { second(g).BufferId = nil }},
		{name: "dictionaries-same-id", what: "two value dictionaries of one id", answer: corrupt, graft: func(g *graft) {
			*second(g).BufferId = g.buffers(nodeDrifting)[1].GetBufferId()
		}},
		{name: "dictionaries-alone", what: "a block that names its dictionary where there is but one", answer: unsupported, graft: func(g *graft) {
			n := g.fields[nodeDrifting].Encodings[0].GetNative()
			n.Buffers = n.Buffers[:2]
		}},
	}
}
