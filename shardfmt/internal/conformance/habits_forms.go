package conformance

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// ids are the values of formID.
func ids() []uint32 {
	out := make([]uint32, formRows)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}

// elsewhere moves all that the shard has of data to an object of its own, which url means.
func (g *graft) elsewhere(name, url string) {
	g.objects = map[string][]byte{name: slices.Concat(g.body, meta.Magic[:])}
	for i := range g.fields {
		if len(g.fields[i].GetEncodings()) == 0 {
			continue
		}
		for _, b := range g.buffers(i) {
			b.Buffer.Url = url
		}
	}
	g.dir.UrlListRef = g.add(meta.Marshal(&metapb.UrlList{Urls: []string{url}}))
}

// bare leaves out of the descriptors, those of the shard too, what they need not have, and range indexes with it.
func (g *graft) bare() {
	shard := make([]*metapb.DataRef, len(g.fields))
	for i, f := range g.fields {
		f.Field = &metapb.FieldDescriptor{PositionCount: f.Field.PositionCount, ConstantValue: f.Field.ConstantValue}
		shard[i] = g.add(meta.Marshal(f.Field))
		if len(f.Encodings) == 0 {
			continue
		}
		n := f.Encodings[0].GetNative()
		n.Buffers = slices.DeleteFunc(n.Buffers, func(b *metapb.EncodedBuffer) bool { return b.Kind == metapb.BufferKind_RANGE_INDEX })
		for _, b := range n.Buffers {
			b.BlockCount = nil
		}
	}
	g.dir.FieldListRef = g.add(meta.Marshal(meta.RefsOf(shard)))
}

// newBuffer adds a buffer to a field, which gets an encoding if it has none.
func (g *graft) newBuffer(field int, kind metapb.BufferKind) *metapb.EncodedBuffer {
	f := g.fields[field]
	if len(f.Encodings) == 0 {
		f.Encodings = []*metapb.DataEncoding{{Kind: &metapb.DataEncoding_Native{Native: &metapb.NativeDataEncoding{}}}}
	}
	n := f.Encodings[0].GetNative()
	b := &metapb.EncodedBuffer{Kind: kind, BlockChecksums: true, Buffer: new(metapb.DataRef), BlockMap: new(metapb.DataRef)}
	n.Buffers = append(n.Buffers, b)
	return b
}

// nullBlock gives the field of nulls a block, whose presence reports that all are null, in the place of its constant.
func nullBlock(g *graft) {
	g.bare()
	g.fields[formNone].Field.ConstantValue = nil
	b := g.newBuffer(formNone, metapb.BufferKind_DATA)
	b.EmbeddedPresence = true
	g.oneBlock(b, formRows, []byte{1}, must(encode.NumbersAs(nil, make([]int64, formRows), nil, "SingleValue")))
}

// lateTime is one of some ticks behind the last one that has a date.
func lateTime(i int) uint64 {
	const last = 3155378975999999999
	return []uint64{last + 1, 1 << 62, 1 << 63, 1<<64 - 1}[i%4]
}

func lateTimes(g *graft) {
	g.bare()
	ticks := make([]uint64, formRows)
	for i := range ticks {
		ticks[i] = lateTime(i)
	}
	setBlocks(g, g.buffer(0, metapb.BufferKind_DATA), ticks)
}

// zstdFrames puts the ids into two frames of Zstd.
func zstdFrames(g *graft) {
	const half = formRows / 2
	sub := must(encode.NumbersAs(nil, ids()[:half], nil, "Zstd"))
	sub = append(sub, must(encode.NumbersAs(nil, ids()[half:], nil, "Zstd"))[8:]...)
	g.oneBlock(g.buffer(formID, metapb.BufferKind_DATA), formRows, nil, sub)
}

// valueDictionary lays a dictionary out: the offsets, if any, before the values, and none for sorted ids. null is the id of the null
// entry, negative if there is none.
func valueDictionary(basic byte, entries [][]byte, fixed, null int) []byte {
	le := binary.LittleEndian
	head := make([]byte, 128)
	head[0] = basic
	le.PutUint32(head[1:], uint32(len(entries)))
	le.PutUint32(head[10:], uint32(fixed))
	if null >= 0 {
		head[5] = 1
		le.PutUint32(head[6:], uint32(null))
	}
	out := head
	section := func(at int, payload []byte) {
		le.PutUint64(out[at:], uint64(len(out)))
		out = append(le.AppendUint64(out, uint64(len(payload))), payload...)
		out = append(out, make([]byte, 64)...)
		for len(out)%16 != 12 {
			out = append(out, 0)
		}
		out = le.AppendUint32(out, meta.Checksum(payload))
		le.PutUint64(out[at+8:], uint64(len(out)))
	}
	if fixed == 0 {
		offsets, end := le.AppendUint64(nil, 0), uint64(0)
		for _, e := range entries {
			end += uint64(len(e))
			offsets = le.AppendUint64(offsets, end)
		}
		section(30, offsets)
	}
	section(14, slices.Concat(entries...))
	le.PutUint32(out[124:], meta.Checksum(out[:124]))
	return append(out, make([]byte, -len(out)&63)...)
}

// coded gives a field a value dictionary and ids of its entries.
func (g *graft) coded(field int, dictionary []byte, codes []uint32) {
	g.bare()
	d := g.newBuffer(field, metapb.BufferKind_VALUE_DICTIONARY)
	d.BlockMap, d.BlockChecksums = nil, false
	for len(g.body)%64 != 0 {
		g.body = append(g.body, 0)
	}
	start := uint64(len(g.body))
	g.body = append(g.body, dictionary...)
	d.Buffer = meta.SelfRef(start, uint64(len(g.body)))
	b := g.buffer(field, metapb.BufferKind_DATA)
	b.EmbeddedOffsets = false
	setBlocks(g, b, codes)
}

// otherDictionary gives the texts a value dictionary in the order of their occurrence, whose null entry is the last.
func otherDictionary(g *graft) {
	known, codes := map[string]uint32{}, make([]uint32, formRows)
	var entries [][]byte
	var nulls []int
	for i := range codes {
		var s *string
		if err := json.Unmarshal([]byte(formTextValue(i)), &s); err != nil {
			panic(err) // the values are ours
		}
		if s == nil {
			nulls = append(nulls, i)
			continue
		}
		id, there := known[*s]
		if !there {
			id = uint32(len(entries))
			known[*s], entries = id, append(entries, []byte(*s))
		}
		codes[i] = id
	}
	for _, i := range nulls {
		codes[i] = uint32(len(entries))
	}
	null := len(entries)
	const basicString = 10
	g.coded(formText, valueDictionary(basicString, append(entries, nil), 0, null), codes)
}

// numberDictionary gives the ids a value dictionary that has them backwards.
func numberDictionary(g *graft) {
	entries, codes := make([][]byte, formRows), make([]uint32, formRows)
	for i := range codes {
		codes[i] = uint32(formRows - 1 - i)
		entries[codes[i]] = binary.LittleEndian.AppendUint32(nil, uint32(i))
	}
	const basicInt32 = 4
	g.coded(formID, valueDictionary(basicInt32, entries, 4, -1), codes)
}

// codeZero stores the ids as a BlockDictionary whose codes are the ids: 0 stands for 0.
func codeZero(g *graft) {
	codes := must(encode.NumbersAs(nil, ids(), nil, "Plain"))
	sub := make([]byte, 16)
	sub[0] = 14
	put32(sub[2:], uint32(len(codes)))
	put32(sub[6:], formRows) // one more than codes mean
	sub = append(sub, codes...)
	for i := 1; i <= formRows; i++ {
		sub = binary.LittleEndian.AppendUint32(sub, uint32(i))
	}
	g.oneBlock(g.buffer(formID, metapb.BufferKind_DATA), formRows, nil, sub)
}

// slack stores the ids as runs of one value each, whose arrays go on, and the offsets of texts in one chunk more than they fill.
func slack(g *graft) {
	runs := make([]byte, 16)
	runs[0] = 6
	put32(runs[2:], 4*(formRows+2))
	put32(runs[6:], formRows)
	for i := range uint32(formRows + 2) {
		runs = binary.LittleEndian.AppendUint32(runs, i)
	}
	for range formRows + 3 {
		runs = binary.LittleEndian.AppendUint32(runs, 1)
	}
	g.oneBlock(g.buffer(formID, metapb.BufferKind_DATA), formRows, nil, runs)
	text, offsets, present := formTexts()
	sub := must(encode.BytesAs(nil, encode.Bytes{Data: text, Offsets: offsets}, "Zstd[FLBitPack]"))
	packed := 8 + (int(binary.LittleEndian.Uint32(sub[2:]))+7)&^7
	sub = append(sub, make([]byte, 128*int(sub[packed+2]))...)
	g.oneBlock(g.buffer(formText, metapb.BufferKind_DATA), formRows, present, sub)
}

// markedTable is a shard of which one record in four is marked as deleted.
func markedTable(name string) *table {
	return &table{level: "l4", name: name, what: "records marked as deleted whose count says otherwise", rows: formRows, o: shardwriter.Options{Profile: encode.Plain, Layout: shardwriter.Single},
		columns: []column{{name: "id", typ: "UInt32", value: steps(0, 1)}}, deleted: func(i int) bool { return noise(i)%4 == 0 }}
}

// count sets the number of deleted records.
func (g *graft) count(n uint64) {
	g.dir.DeletedRecordCount, g.stripes.Stripes[0].DeletedRecordCount = n, n
}

// presenceBeside moves the presence of the texts to a buffer of its own.
func presenceBeside(g *graft) {
	text, offsets, present := formTexts()
	data := g.buffer(formText, metapb.BufferKind_DATA)
	data.EmbeddedPresence = false
	g.oneBlock(data, formRows, nil, must(encode.BytesAs(nil, encode.Bytes{Data: text, Offsets: offsets}, "Plain")))
	bits := make([]byte, (formRows+7)/8)
	for i, there := range present[1:] {
		bits[i/8] |= there << (i % 8)
	}
	setBlocks(g, g.newBuffer(formText, metapb.BufferKind_PRESENCE), bits)
}

// offsetsBeside stores the texts as a stream of bytes and one of offsets; nulls are in PRESENCE.
func offsetsBeside(g *graft) {
	presenceBeside(g)
	text, offsets, _ := formTexts()
	ends := make([]uint64, len(offsets))
	for i, o := range offsets {
		ends[i] = uint64(o)
	}
	data := g.buffer(formText, metapb.BufferKind_DATA)
	data.EmbeddedOffsets = false
	setBlocks(g, data, text)
	setBlocks(g, g.newBuffer(formText, metapb.BufferKind_OFFSETS), ends)
}
