package conformance

import (
	"context"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/block"
	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/internal/encode"
	"github.com/shardcat/shardcat/internal/write"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
)

// form is a form that no writer here makes: a shard is written, changed and put in its place, with the same records.
type form struct {
	name, what string
	change     func(g *graft)
}

// The nodes of the shard that gets another form.
const (
	formID = iota
	formText
	formNone
)

func formTable(f form) *table {
	return &table{level: "l5", name: f.name, what: f.what, rows: 300, o: write.Options{Profile: encode.Plain, Layout: write.Single}, columns: []column{
		{name: "id", typ: "UInt32", value: steps(0, 1)},
		{name: "text", typ: "String", value: sometimes(4, words)},
		{name: "none", typ: "Int64", value: func(int) string { return "null" }},
	}}
}

var bookForms = []form{
	{"alternative-encodings", "encodings that nobody knows before one that all know", func(g *graft) {
		for _, node := range []int{formID, formText} {
			g.fields[node].Encodings = append([]*metapb.DataEncoding{{}, {}}, g.fields[node].Encodings...)
		}
	}},
	{"no-block-checksums", "blocks without checksums", func(g *graft) { g.withoutChecksums(g.buffer(formID, metapb.BufferKind_DATA), 300) }},
	{"short-field-list", "a field list that ends before the last field, whose values are all null", func(g *graft) { g.fields = g.fields[:formNone] }},
	{"no-descriptor", "a field list with an empty range for a field whose values are all null", func(g *graft) { g.fields[formNone] = nil }},
}

// writeForms writes the shards of bookForms.
func writeForms(ctx context.Context, client *blobio.Client, base string) ([]Case, error) {
	var cases []Case
	for _, f := range bookForms {
		c, err := formTable(f).write(ctx, client, base)
		if err != nil {
			return nil, err
		}
		g, err := takeApart(ctx, client, base+c.Shard)
		if err != nil {
			return nil, err
		}
		f.change(g)
		if err := client.Delete(ctx, base+c.Shard, ""); err != nil {
			return nil, err
		}
		if err := client.Put(ctx, base+c.Shard, g.together()); err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// withoutChecksums gives a buffer one block of the numbers 0 … n-1, without a checksum.
func (g *graft) withoutChecksums(b *metapb.EncodedBuffer, n int) {
	vals := make([]uint32, n)
	for i := range vals {
		vals[i] = uint32(i)
	}
	sub, err := encode.NumbersAs(nil, vals, nil, "Plain")
	if err != nil {
		panic(err) // Plain takes all
	}
	data := block.AppendFrame(nil, nil, sub, false)
	var m buffer.MapBuilder
	m.Add(uint32(n), uint32(len(data)))
	for len(data)%16 != 0 {
		data = append(data, 0)
	}
	at := len(data)
	g.place(b, buffer.Encoded{Bytes: m.Append(data), MapStart: at, Blocks: 1})
	b.BlockChecksums = false
}

// refs of the field list: an empty range for a field without a descriptor.
func (g *graft) refs() []*metapb.DataRef {
	refs := make([]*metapb.DataRef, len(g.fields))
	for i, f := range g.fields {
		if refs[i] = meta.SelfRef(0, 0); f != nil {
			refs[i] = g.add(meta.Marshal(f))
		}
	}
	return refs
}
