package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetref"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// form is a form that no writer here makes: a shard is written, changed and put in its place, with the same records.
type form struct {
	level, name, what string
	optional          bool
	change            func(g *graft)
	// table is the shard before it is changed, formTable if nil; rows its records after that, those of the table if nil.
	table *table
	rows  func(i int) string
}

// The nodes of the shard that gets another form.
const (
	formID = iota
	formText
	formFixed
	formNone
)

const formRows = 300

// formTextValue is a value of formText.
var formTextValue = sometimes(4, words)

func formTable(f form) *table {
	return &table{level: f.level, name: f.name, what: f.what, optional: f.optional, rows: formRows, o: shardwriter.Options{Profile: encode.Plain, Layout: shardwriter.Single}, columns: []column{
		{name: "id", typ: "UInt32", value: steps(0, 1)},
		{name: "text", typ: "String", value: formTextValue},
		{name: "fixed", typ: fmt.Sprintf("FixedSizeBinary(%d)", formFixedSize), value: formFixedText},
		{name: "none", typ: "Int64", value: func(int) string { return "null" }},
	}}
}

var bookForms = []form{
	{level: "l5", name: "alternative-encodings", what: "encodings that nobody knows before one that all know", optional: true, change: func(g *graft) {
		for _, node := range []int{formID, formText} {
			g.fields[node].Encodings = append([]*metapb.DataEncoding{{}, {}}, g.fields[node].Encodings...)
		}
	}},
	{level: "l5", name: "no-block-checksums", what: "blocks without checksums", change: func(g *graft) { g.withoutChecksums(g.buffer(formID, metapb.BufferKind_DATA), formRows) }},
	{level: "l5", name: "short-field-list", what: "a field list that ends before the last field, whose values are all null", change: func(g *graft) { g.fields = g.fields[:formNone] }},
	{level: "l5", name: "no-descriptor", what: "a field list with an empty range for a field whose values are all null", change: func(g *graft) { g.fields[formNone] = nil }},
}

// writeForms writes the shards of habits and of bookForms.
func writeForms(ctx context.Context, client *blobio.Client, base string) ([]Case, error) {
	var cases []Case
	for _, f := range append(habits, bookForms...) {
		t := f.table
		if t == nil {
			t = formTable(f)
		}
		c, err := t.write(ctx, client, base)
		if err != nil {
			return nil, err
		}
		if f.rows != nil {
			if err := f.writeRows(ctx, client, base+c.Rows, t.rows); err != nil {
				return nil, err
			}
		}
		g, err := takeApart(ctx, client, base+c.Shard)
		if err != nil {
			return nil, err
		}
		f.change(g)
		if err := client.Delete(ctx, base+c.Shard, ""); err != nil {
			return nil, err
		}
		if err := g.put(ctx, client, base+c.Shard); err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	c, err := writeExternal(ctx, client, base)
	return append(cases, c), err
}

// writeRows writes the records of a form in the place of its table's.
func (f *form) writeRows(ctx context.Context, client *blobio.Client, url string, n int) error {
	var lines []byte
	for i := range n {
		lines = append(append(lines, f.rows(i)...), '\n')
	}
	if err := client.Delete(ctx, url, ""); err != nil {
		return err
	}
	return client.Put(ctx, url, lines)
}

// put writes the root, and the other objects in its folder.
func (g *graft) put(ctx context.Context, client *blobio.Client, url string) error {
	folder := strings.TrimSuffix(url, RootName)
	for name, b := range g.objects {
		if err := client.Put(ctx, folder+name, b); err != nil {
			return err
		}
	}
	return client.Put(ctx, url, g.together())
}

// writeExternal writes a shard over Parquet files of its records: two files.
func writeExternal(ctx context.Context, client *blobio.Client, base string) (Case, error) {
	t := &table{level: "l5", name: "external-parquet", optional: true, what: "fields whose values are in column chunks of two Parquet files", rows: 700, columns: []column{
		{name: "id", typ: "Int64", value: steps(0, 1)}, {name: "word", typ: "String", value: sometimes(5, few(`"red"`, `"green"`))},
		{name: "text", typ: "String", value: sometimes(4, words)}, {name: "f", typ: "Float64", value: sometimes(6, float(64))},
		{name: "yes", typ: "Boolean", value: sometimes(3, boolean)}, {name: "b", typ: "Binary", value: blob(sized(3))},
	}}
	folder, text := t.level+"/"+t.name+"/", []byte(t.text())
	c := Case{Level: t.level, Name: t.name, Shard: folder + RootName, Rows: folder + RowsName, What: t.what, Records: t.rows, Optional: true, Schema: json.RawMessage(t.schema())}
	var files []string
	var rows bytes.Buffer
	for i, lines := range [][]byte{text[:half(text)], text[half(text):]} {
		url := fmt.Sprintf("%s%spart-%d.parquet", base, folder, i)
		if err := t.parquet(ctx, client, url, lines, &rows); err != nil {
			return c, err
		}
		files = append(files, url)
	}
	if err := client.Put(ctx, base+c.Rows, rows.Bytes()); err != nil {
		return c, err
	}
	_, err := parquetref.Parquet(ctx, client, base+c.Shard, files, parquetref.Options{Write: shardwriter.Options{CreationMin: creation, CreationMax: creation}})
	return c, err
}

// half is where the line begins that holds the middle of lines.
func half(lines []byte) int { return bytes.LastIndexByte(lines[:len(lines)/2], '\n') + 1 }

// parquet writes lines as a Parquet file, and their records as every case has them.
func (t *table) parquet(ctx context.Context, client *blobio.Client, url string, lines []byte, rows io.Writer) error {
	s, err := schema.Parse(t.schema())
	if err != nil {
		return err
	}
	src, err := fileio.OpenSource(ctx, client, []string{fileio.Stdin}, fileio.SourceOptions{
		Format: fileio.NDJSON, Schema: s, Stdin: bytes.NewReader(lines), BatchRows: 200,
	})
	if err != nil {
		return err
	}
	defer src.Close()
	var out bytes.Buffer
	sink, err := fileio.NewSink(fileio.Parquet, &out, src.Schema(), fileio.SinkOptions{})
	if err != nil {
		return err
	}
	kept, err := fileio.NewSink(fileio.NDJSON, rows, src.Schema(), fileio.SinkOptions{})
	if err != nil {
		return err
	}
	if err := copyBatches(ctx, src, sink.Write, kept.Write); err != nil {
		return err
	}
	if err := errors.Join(sink.Close(), kept.Close()); err != nil {
		return err
	}
	return client.Put(ctx, url, out.Bytes())
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
	b.BlockChecksums = false
	g.oneBlock(b, n, nil, sub)
}

// refs of the field list: an empty range for a field without a descriptor.
func (g *graft) refs() []*metapb.DataRef {
	refs := make([]*metapb.DataRef, len(g.fields))
	for i, f := range g.fields {
		if refs[i] = meta.SelfRef(0, 0); f != nil {
			refs[i] = g.add(append(meta.Marshal(f), g.behind[i]...))
			g.body = append(g.body, g.slack...)
			refs[i].Range.End += uint64(len(g.slack))
		}
	}
	return refs
}
