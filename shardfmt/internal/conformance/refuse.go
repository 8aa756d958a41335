package conformance

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// What a reader should call a damage.
const (
	corrupt     = "corrupt"
	unsupported = "unsupported"
	missing     = "missing"
	unsafe      = "unsafe"
)

// The nodes of the shard that is damaged, by number.
const (
	nodePacked = iota
	nodeRuns
	nodeDictionary
	nodeSparse
	nodeText
	nodeList
	nodeItem
	nodeUnion
	nodeVariantInt
	nodeVariantText
	nodeConstant
	nodeCoded
	nodeAlp
	nodeNested
	nodeEntry
	nodeSame
	nodeFixed
	nodeFlag
	nodeGuid
)

// sound is the shard that is damaged.
func sound() *table {
	few := few(`"red"`, `"green"`, `"blue"`)
	return &table{level: Refuse, name: "sound", what: "the shard that is damaged, before it is", rows: 600, o: shardwriter.Options{Profile: encode.Balanced, Layout: shardwriter.Single}, columns: []column{
		{name: "packed", typ: "UInt32", value: below(500), tree: "FLBitPack"},
		{name: "runs", typ: "Int32", value: runs(9), tree: "RunLength[raw, raw]"},
		{name: "dictionary", typ: "Int64", value: sometimes(9, signed(40)), tree: "BlockDictionary[Plain, raw]"},
		{name: "sparse", typ: "Int32", value: rare(20, below(9)), tree: "Sparse[raw, raw]"},
		{name: "text", typ: "String", value: sometimes(3, logs), tree: "Plain"},
		{name: "list", typ: "List<Int32>", value: func(i int) string { return fmt.Sprintf("[%d]", i) }},
		{name: "union", typ: "Union<Int64, String>", value: func(i int) string { return []string{"1", `"text"`}[i%2] }},
		{name: "constant", typ: "Int32", value: func(int) string { return "7" }},
		{name: "coded", typ: "String", value: few},
		{name: "alp", typ: "Float64", value: hundredths, tree: "Alp[Plain]"},
		{name: "nested", typ: "List<Struct<same: Int32>>", value: func(int) string { return `[{"same":7}]` }},
		{name: "fixed", typ: "FixedSizeBinary(5)", value: blob(sized(formFixedSize)), tree: "Plain"},
		{name: "flag", typ: "Boolean", value: sometimes(4, boolean)},
		{name: "guid", typ: "Guid", value: func(int) string { return `"00112233-4455-6677-8899-aabbccddeeff"` }},
	}}
}

// damage is a rule that a shard breaks.
type damage struct {
	name, what, answer string
	// bytes changes the object as it is; graft its parts.
	bytes func(b []byte) []byte
	graft func(g *graft)
}

// writeDamaged writes a shard for every rule.
func writeDamaged(ctx context.Context, client *blobio.Client, base string) ([]Case, error) {
	plain, err := writeBroken(ctx, client, base, sound(), damages())
	if err != nil {
		return nil, err
	}
	book, err := writeBroken(ctx, client, base, soundForms(), formDamages())
	return append(plain, book...), err
}

// writeBroken writes a sound shard with each of some damages.
func writeBroken(ctx context.Context, client *blobio.Client, base string, t *table, list []damage) ([]Case, error) {
	c, err := t.write(ctx, client, base)
	if err != nil {
		return nil, err
	}
	whole, _, err := client.ReadAll(ctx, base+c.Shard, 1<<24)
	if err != nil {
		return nil, err
	}
	cases := []Case{c}
	for _, d := range list {
		b := append([]byte(nil), whole...)
		if d.graft != nil {
			g, err := takeApart(ctx, client, base+c.Shard)
			if err != nil {
				return nil, err
			}
			d.graft(g)
			b = g.together()
		}
		if d.bytes != nil {
			b = d.bytes(b)
		}
		path := Refuse + "/" + d.name + "/" + RootName
		if err := client.Put(ctx, base+path, b); err != nil {
			return nil, err
		}
		cases = append(cases, Case{Level: Refuse, Name: d.name, Shard: path, What: d.what, Answer: d.answer, Sound: t.name, Optional: t.optional})
	}
	return cases, nil
}

func damages() []damage {
	all := append(append(containerDamages(), directoryDamages()...), append(blockDamages(), fieldDamages()...)...)
	return slices.Concat(all, limitDamages(), referenceDamages(), schemaDamages(), encodingDamages(), bufferDamages())
}

// set changes bytes from the end of an object.
func set(fromEnd int, value byte) func([]byte) []byte {
	return func(b []byte) []byte {
		b[len(b)-fromEnd] = value
		return b
	}
}

func containerDamages() []damage {
	return []damage{
		{name: "no-magic", what: "the object does not end with the magic", answer: corrupt, bytes: set(8, 'A')},
		{name: "major-version", what: "major version 1", answer: unsupported, bytes: set(1, 1)},
		{name: "cut", what: "the object ends in the middle", answer: corrupt, bytes: func(b []byte) []byte { return b[:len(b)/2] }},
		{name: "empty", what: "an object of no bytes", answer: corrupt, bytes: func([]byte) []byte { return nil }},
		{name: "directory-lengths", what: "the two lengths of the directory differ", answer: corrupt, bytes: func(b []byte) []byte {
			b[len(b)-12]++
			return b
		}},
		{name: "directory-too-long", what: "a directory that starts before the object", answer: corrupt, bytes: set(9, 0x7f)},
		{name: "directory-checksum", what: "a wrong checksum of the directory", answer: corrupt, bytes: func(b []byte) []byte {
			b[len(b)-16] ^= 1
			return b
		}},
	}
}

func directoryDamages() []damage {
	return []damage{
		{name: "schema-checksum", what: "a wrong checksum of the schema", answer: corrupt, graft: func(g *graft) { g.body[g.dir.SchemaRef.Range.End-1] ^= 1 }},
		{name: "schema-frame", what: "the frame of the schema is longer than its range", answer: corrupt, graft: func(g *graft) { g.body[g.dir.SchemaRef.Range.Start+2] = 0xff }},
		{name: "no-schema", what: "the directory names no schema", answer: corrupt, graft: func(g *graft) { g.dir.SchemaRef = nil }},
		{name: "range-reversed", what: "a range that ends before it starts", answer: corrupt, graft: func(g *graft) {
			r := g.dir.SchemaRef.Range
			r.Start, r.End = r.End, r.Start
		}},
		{name: "range-outside", what: "a range behind the end of the object", answer: corrupt, graft: func(g *graft) {
			g.dir.SchemaRef.Range.Start += 1 << 40
			g.dir.SchemaRef.Range.End += 1 << 40
		}},
		{name: "url-climbs", what: "a reference to ../other", answer: unsafe, graft: func(g *graft) { g.dir.SchemaRef.Url = "../other.amudai.shard" }},
		{name: "url-elsewhere", what: "a reference to another host", answer: unsafe, graft: func(g *graft) { g.dir.SchemaRef.Url = "https://example.com/x.amudai.shard" }},
		{name: "object-missing", what: "a reference to an object that is not there", answer: missing, graft: func(g *graft) { g.dir.SchemaRef.Url = "not-there.amudai.stripe" }},
		{name: "stripe-count", what: "two stripes are counted, one is listed", answer: corrupt, graft: func(g *graft) { g.dir.StripeCount++ }},
		{name: "record-count", what: "the stripes hold fewer records than the directory says", answer: corrupt, graft: func(g *graft) { g.dir.TotalRecordCount++ }},
		{name: "deleted-count", what: "more records are deleted than there are", answer: corrupt, graft: func(g *graft) {
			g.dir.DeletedRecordCount = g.dir.TotalRecordCount + 1
			g.stripes.Stripes[0].DeletedRecordCount = g.dir.DeletedRecordCount
		}},
		{name: "stripe-position", what: "the first stripe starts at record 5", answer: corrupt, graft: func(g *graft) { g.stripes.Stripes[0].ShardPosition = 5 }},
		{name: "no-field-list", what: "a stripe without a field list", answer: corrupt, bytes: nil, graft: func(g *graft) {
			g.stripes.Stripes = append(g.stripes.Stripes, &metapb.StripeDirectory{ShardPosition: g.dir.TotalRecordCount})
			g.dir.StripeCount++
		}},
	}
}

// put32 changes a number.
func put32(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }

func blockDamages() []damage {
	data := metapb.BufferKind_DATA
	inBlock := func(node int, change func(values []byte)) func(*graft) {
		return func(g *graft) { g.block(node, data, func(_, values []byte) { change(values) }) }
	}
	return []damage{
		{name: "block-checksum", what: "a wrong checksum of a block", answer: corrupt, graft: func(g *graft) { g.bytes(g.buffer(nodePacked, data))[20] ^= 1 }},
		{name: "block-sections", what: "the sections of a block are longer than the block", answer: corrupt, graft: func(g *graft) {
			g.block(nodePacked, data, func(_, _ []byte) { g.bytes(g.buffer(nodePacked, data))[7] = 0x7f })
		}},
		{name: "code-unknown", what: "encoding 20", answer: unsupported, graft: inBlock(nodePacked, func(v []byte) { v[0] = 20 })},
		{name: "code-of-another-type", what: "FSST on numbers", answer: corrupt, graft: inBlock(nodePacked, func(v []byte) { v[0] = 15 })},
		{name: "bit-width-0", what: "values of 0 bits", answer: corrupt, graft: inBlock(nodePacked, func(v []byte) { v[2] = 0 })},
		{name: "bit-width-33", what: "values of 33 bits in words of 32", answer: corrupt, graft: inBlock(nodePacked, func(v []byte) { v[2] = 33 })},
		{name: "runs-too-long", what: "runs that make more values than the block has", answer: corrupt, graft: inBlock(nodeRuns, func(v []byte) { v[len(v)-4]++ })},
		{name: "dictionary-code", what: "a code beyond the dictionary", answer: corrupt, graft: inBlock(nodeDictionary, func(v []byte) { put32(v[18:], 1<<30) })},
		{name: "positions-fall", what: "positions of Sparse that do not rise", answer: corrupt, graft: inBlock(nodeSparse, func(v []byte) { put32(v[20:], 0) })},
		{name: "positions-outside", what: "a position behind the values", answer: corrupt, graft: inBlock(nodeSparse, func(v []byte) { put32(v[16:], 1<<20) })},
		{name: "offsets-fall", what: "offsets of strings that fall", answer: corrupt, graft: inBlock(nodeText, func(v []byte) { put32(v[3+8:], 1<<20) })},
		{name: "presence-form", what: "form 9 of a presence section", answer: unsupported, graft: func(g *graft) {
			g.block(nodeText, data, func(p, _ []byte) { p[0] = 9 })
		}},
		{name: "presence-length", what: "a presence section that covers fewer values than the block has", answer: corrupt, graft: func(g *graft) {
			g.block(nodeText, data, func(p, _ []byte) { p[0] = 2 })
		}},
		{name: "map-sums", what: "a block map whose footer does not agree with its blocks", answer: corrupt, graft: func(g *graft) {
			m := g.blockMap(g.buffer(nodePacked, data))
			m[len(m)-40]++
		}},
		{name: "map-values", what: "a block map of fewer values than the field has", answer: corrupt, graft: func(g *graft) {
			b := g.buffer(nodePacked, data)
			m := g.blockMap(b)
			m[16]--            // least number of values
			m[len(m)-40]--     // footer
			m[len(m)-40-3*8]-- // end of the segment
		}},
	}
}

func fieldDamages() []damage {
	data := metapb.BufferKind_DATA
	return []damage{
		{name: "positions", what: "a field of other than the stripe's number of records", answer: corrupt, graft: func(g *graft) { g.fields[nodePacked].Field.PositionCount++ }},
		{name: "block-count", what: "another number of blocks than the block map has", answer: corrupt, graft: func(g *graft) {
			n := g.buffer(nodePacked, data).GetBlockCount() + 1
			g.buffer(nodePacked, data).BlockCount = &n
		}},
		{name: "list-offsets-fall", what: "offsets of lists that fall", answer: corrupt, graft: func(g *graft) { g.offsets(2, 0) }},
		{name: "list-offsets-start", what: "offsets of lists that start with 1", answer: corrupt, graft: func(g *graft) { g.offsets(0, 1) }},
		{name: "list-offsets-outside", what: "a list that ends behind its children", answer: corrupt, graft: func(g *graft) { g.offsets(600, 1<<30) }},
		{name: "variant", what: "a variant that the union has not", answer: corrupt, graft: func(g *graft) { setBlocks(g, g.buffer(nodeUnion, data), fill[uint8](2, 600)) }},
		{name: "dictionary-checksum", what: "a wrong checksum of a value dictionary", answer: corrupt, graft: func(g *graft) {
			g.bytes(g.buffer(nodeCoded, metapb.BufferKind_VALUE_DICTIONARY))[140] ^= 1
		}},
		{name: "dictionary-id", what: "an id that its value dictionary has not", answer: corrupt, graft: func(g *graft) { setBlocks(g, g.buffer(nodeCoded, data), fill[uint32](77, 600)) }},
		{name: "constant-kind", what: "a text for the constant of a number", answer: corrupt, graft: func(g *graft) { g.fields[nodeConstant].Field.ConstantValue = meta.Text("x") }},
		{name: "encoding-unknown", what: "a field whose only encoding is unknown", answer: unsupported, graft: func(g *graft) {
			g.fields[nodePacked].Encodings = []*metapb.DataEncoding{{}}
		}},
		{name: "two-buffers", what: "two DATA buffers without ids", answer: unsupported, graft: func(g *graft) {
			n := g.fields[nodePacked].Encodings[0].GetNative()
			n.Buffers = append(n.Buffers, g.buffer(nodePacked, data))
		}},
	}
}
