package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// habits are shards as another writer may make them: what the pages allow, and this writer never does.
var habits = []form{
	{level: "l1", name: "other-order", what: "buffers in another order, unaligned, with bytes between; frames with bytes behind them; fields that nobody knows; another minor version",
		change: func(g *graft) { g.reorder() }},
	{level: "l2", name: "runs-of-zero", what: "runs of no values among others", change: func(g *graft) {
		g.oneBlock(g.buffer(formID, metapb.BufferKind_DATA), formRows, nil, emptyRuns(formRows))
	}},
	{level: "l2", name: "presence-decides", what: "null positions of a BlockDictionary that have codes of values", change: func(g *graft) {
		text, offsets, present := formTexts()
		sub, err := encode.BytesAs(nil, encode.Bytes{Data: text, Offsets: offsets}, "BlockDictionary[Plain, raw]")
		if err != nil {
			panic(err) // it takes all
		}
		g.oneBlock(g.buffer(formText, metapb.BufferKind_DATA), formRows, present, sub)
	}},
	{level: "l1", name: "percent-encoding", what: "buffers in an object whose name has a blank", change: func(g *graft) { g.elsewhere("data 1.amudai.stripe", "data%201.amudai.stripe") }},
	{level: "l1", name: "bare-descriptors", what: "descriptors without counts of nulls and blocks, and without statistics", change: func(g *graft) { g.bare() }},
	{level: "l1", name: "null-block", what: "a field of nulls alone, with a block of them", change: nullBlock},
	{level: "l1", name: "late-times", what: "times behind the year 9999", change: lateTimes, table: &table{level: "l1", name: "late-times", what: "times behind the year 9999", rows: formRows,
		o: shardwriter.Options{Profile: encode.Plain, Layout: shardwriter.Single}, columns: []column{{name: "t", typ: "DateTime", value: datetime}}},
		rows: func(i int) string { return fmt.Sprintf(`{"t":"%d ticks"}`, lateTime(i)) }},
	{level: "l2", name: "zstd-frames", what: "a compressed section of two frames of Zstd", change: zstdFrames},
	{level: "l2", name: "dictionary-order", what: "a value dictionary whose sections stand in another order, without sorted ids", change: otherDictionary},
	{level: "l2", name: "dictionary-of-numbers", what: "numbers as ids of a value dictionary", change: numberDictionary},
	{level: "l2", name: "code-0", what: "the code 0 for numbers that are present, which are 0, and an entry that no code means", change: codeZero},
	{level: "l2", name: "deepest", what: "sub-blocks 16 deep", change: func(g *graft) {
		g.oneBlock(g.buffer(formID, metapb.BufferKind_DATA), formRows, nil, framesOver(must(encode.NumbersAs(nil, ids(), nil, "Plain")), 16))
	}},
	{level: "l2", name: "slack", what: "raw arrays and packed chunks with more values than are needed", change: slack},
	{level: "l4", name: "marks-without-count", what: "records marked as deleted that no count has", table: markedTable("marks-without-count"), change: func(g *graft) { g.count(0) }},
	{level: "l4", name: "marks-and-one-count", what: "more records marked as deleted than the count says", table: markedTable("marks-and-one-count"), change: func(g *graft) { g.count(1) }},
	{level: "l5", name: "presence-beside", optional: true, what: "PRESENCE beside byte strings", change: presenceBeside},
	{level: "l5", name: "offsets-beside", optional: true, what: "OFFSETS beside byte strings", change: offsetsBeside},
	{level: "l2", name: "fixed-without-padding", what: "Zstd of byte strings of one size that ends with its compressed section", change: func(g *graft) {
		var data []byte
		for i := range formRows {
			data = append(data, formFixedValue(i)...)
		}
		sub, err := encode.BytesAs(nil, encode.Bytes{Data: data, Fixed: formFixedSize}, "Zstd")
		if err != nil {
			panic(err) // it takes all
		}
		end := 8 + int(binary.LittleEndian.Uint32(sub[2:]))
		g.oneBlock(g.buffer(formFixed, metapb.BufferKind_DATA), formRows, nil, sub[:end])
	}},
}

// formFixedSize is the size of the values of formFixed.
const formFixedSize = 5

// formFixedValue is a value of five bytes.
func formFixedValue(i int) []byte {
	return binary.LittleEndian.AppendUint64(nil, noise(i)%7)[:formFixedSize]
}

// formFixedText is the same in base64, as JSON.
func formFixedText(i int) string {
	return `"` + base64.StdEncoding.EncodeToString(formFixedValue(i)) + `"`
}

// formTexts are the values of formText, one behind the other, and their presence section, a byte for each; nulls have the text of a value.
func formTexts() (text []byte, offsets []int64, present []byte) {
	offsets, present = []int64{0}, []byte{2}
	for i := range formRows {
		var s *string
		if err := json.Unmarshal([]byte(formTextValue(i)), &s); err != nil {
			panic(err) // the values are ours
		}
		there := byte(1)
		if s == nil {
			s, there = new(string), 0
			*s = "not there"
		}
		text, present = append(text, *s...), append(present, there)
		offsets = append(offsets, int64(len(text)))
	}
	return text, offsets, present
}

// emptyRuns is a RunLength of the numbers 0 … n-1 as u32, each run followed by one of no values.
func emptyRuns(n int) []byte {
	le := binary.LittleEndian
	sub := make([]byte, 16)
	sub[0] = 6
	le.PutUint32(sub[2:], uint32(8*n))
	le.PutUint32(sub[6:], uint32(2*n))
	for i := range n {
		sub = le.AppendUint32(le.AppendUint32(sub, uint32(i)), 1<<31)
	}
	for range n {
		sub = le.AppendUint32(le.AppendUint32(sub, 1), 0)
	}
	return sub
}

// reorder rewrites all buffers, the last first, none at a multiple of 8, and makes frames longer than their messages.
func (g *graft) reorder() {
	g.behind = map[int][]byte{}
	for i := len(g.fields) - 1; i >= 0; i-- {
		// Field 99, a varint; field 98, a group that holds one; and a varint in the place of the encodings.
		g.behind[i] = []byte{0x98, 0x06, 1, 0x93, 0x06, 0x98, 0x06, 1, 0x94, 0x06, 0x10, 1}
		if len(g.fields[i].GetEncodings()) == 0 {
			continue
		}
		for _, b := range g.buffers(i) {
			moved := bytes.Clone(g.bytes(b))
			for len(g.body)%8 != 5 {
				g.body = append(g.body, 0)
			}
			start := uint64(len(g.body))
			g.body = append(g.body, moved...)
			if b.BlockMap != nil {
				at := b.BlockMap.Range.Start - b.Buffer.Range.Start
				b.BlockMap.Range = &metapb.UInt64Range{Start: start + at, End: start + uint64(len(moved))}
			}
			b.Buffer.Range = &metapb.UInt64Range{Start: start, End: start + uint64(len(moved))}
		}
	}
	g.slack = []byte("slack")
	g.magic = []byte{'a', 'm', 'u', 'd', 7, 2, 0, 0}
	copy(g.body, g.magic)
}
