// Package compat writes a set of files that a version of this program leaves behind, and reads those of all versions: what
// was written once is read for ever. The sets lie in testdata/released, whose README reports what each file is.
package compat

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/memblob" // the scheme of root
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// root stands in all locations that a set stores, wherever its folder lies.
const root = "mem://released/"

// types are the columns of the shards.
const types = `nothing: Unit, b: Boolean, i8: Int8, i16: Int16, i32: Int32, i64: Int64, u8: UInt8, u16: UInt16, u32: UInt32, u64: UInt64,
f32: Float32, f64: Float64, s: String, word: String, bin: Binary, fix: FixedSizeBinary(4), g: Guid, t: DateTime, span: TimeSpan, dec: Decimal,
dyn: Dynamic, list: List<String>, pair: FixedSizeList(2)<Int32>, st: Struct<x: Float64, y: String>, m: Map<String, Int64>, u: Union<Int64, String>`

// shardRowsFile holds the rows of every shard.
const shardRowsFile = "shards.ndjson"

// stripeRows makes two stripes of shardRows.
const shardRows, stripeRows = 100, 60

// Write writes the set of the present version to a folder, which must not exist.
func Write(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	client, err := open(dir)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := writeShards(ctx, client, dir); err != nil {
		return err
	}
	return writeTable(ctx, dir)
}

// open gives a client to which a folder is root.
func open(dir string) (*blobio.Client, error) {
	c := blobio.NewClient(blobio.ClientOptions{})
	return c, c.MountBucket(root, fileblob.Open(dir))
}

// form is how one of the shards is written.
type form struct {
	name    string
	options shardfmt.WriterOptions
}

// forms are all profiles, both layouts, and what is written by option only.
func forms() (out []form) {
	profiles := map[string]shardfmt.Profile{"plain": shardfmt.Plain, "minimal-compression": shardfmt.MinimalCompression,
		"balanced": shardfmt.Balanced, "high-compression": shardfmt.HighCompression, "minimal-size": shardfmt.MinimalSize}
	for name, profile := range profiles {
		out = append(out, form{name, shardfmt.WriterOptions{Profile: profile}})
	}
	out = append(out, form{"single", shardfmt.WriterOptions{Layout: shardfmt.Single}})
	return append(out, form{"options", shardfmt.WriterOptions{SparseUnions: true, Bloom: map[string]float64{"word": 0.01},
		Indexes: []shardfmt.IndexSpec{{Kind: shardfmt.TextIndex, Columns: []string{"s"}}, {Kind: shardfmt.HashIndex, Columns: []string{"word"}}}}})
}

// writeShards writes the same rows in every form, and the rows as NDJSON.
func writeShards(ctx context.Context, c *blobio.Client, dir string) error {
	const input = "mem://released-input/rows.ndjson"
	if err := c.Put(ctx, input, []byte(allTypes(shardRows))); err != nil {
		return err
	}
	for _, f := range forms() {
		f.options.StripeRows, f.options.DataPrefix = stripeRows, "data/"+f.name+"/"
		if err := writeShard(ctx, c, input, root+"shards/"+f.name+".amudai.shard", f.options); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	src, err := source(ctx, c, input)
	if err != nil {
		return err
	}
	defer src.Close()
	text, err := render(batches(ctx, src))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, shardRowsFile), []byte(text), 0o644)
}

// batches are those of a source, up to its end or an error.
func batches(ctx context.Context, src fileio.Source) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for {
			b, err := src.Next(ctx)
			if err == io.EOF || !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// render gives rows as NDJSON.
func render(rows iter.Seq2[arrow.RecordBatch, error]) (string, error) {
	var out strings.Builder
	sink, err := fileio.NewSink(fileio.NDJSON, &out, nil, fileio.SinkOptions{})
	if err != nil {
		return "", err
	}
	for b, err := range rows {
		if err == nil {
			err = sink.Write(b)
		}
		if err != nil {
			return "", err
		}
	}
	err = sink.Close()
	return out.String(), err
}

func source(ctx context.Context, c *blobio.Client, url string) (fileio.Source, error) {
	s, err := schema.Parse(strings.ReplaceAll(types, "\n", " "))
	if err != nil {
		return nil, err
	}
	return fileio.OpenSource(ctx, c, []string{url}, fileio.SourceOptions{Schema: s})
}

func writeShard(ctx context.Context, c *blobio.Client, input, url string, o shardfmt.WriterOptions) error {
	src, err := source(ctx, c, input)
	if err != nil {
		return err
	}
	defer src.Close()
	w, err := shardfmt.NewWriter(ctx, c, url, src.Schema(), o)
	if err != nil {
		return err
	}
	for b, err := range batches(ctx, src) {
		if err == nil {
			err = w.Write(ctx, b)
		}
		if err != nil {
			w.Abort(ctx)
			return err
		}
	}
	_, err = w.Close(ctx)
	return err
}

// allTypes are n rows of types as NDJSON: every fifth is null wherever it can be.
func allTypes(n int) string {
	var out strings.Builder
	for i := range n {
		if i%5 == 4 {
			out.WriteString("{}\n")
			continue
		}
		fmt.Fprintf(&out, `{"nothing":null,"b":%t,"i8":%d,"i16":%d,"i32":%d,"i64":%d,"u8":%d,"u16":%d,"u32":%d,"u64":%d,`,
			i%3 == 0, i-60, -i*100, i*i*i, -int64(i)<<40, i, i*500, i*30_000_000, uint64(i)<<57)
		fmt.Fprintf(&out, `"f32":%d.5,"f64":%de-30,"s":"row %d of the réleased set","word":"w%d","bin":"AAEC","fix":"%s","g":"%08x-0000-4000-8000-%012x",`,
			i, i+1, i, i%7, []string{"AAAAAA==", "/////w=="}[i%2], i, i*i)
		fmt.Fprintf(&out, `"t":"20%02d-02-03T04:05:06.%07dZ","span":"%d.01:02:03.0000004","dec":"%d.25","dyn":{"k":[%d,null]},`,
			i%100, i, i, i*1000, i)
		fmt.Fprintf(&out, `"list":[%s],"pair":[%d,null],"st":{"x":%d.25,"y":null},"m":[{"key":"k%d","value":%d}],"u":%s}`+"\n",
			strings.TrimSuffix(strings.Repeat(`"e",`, i%4), ","), i, i, i%3, i, []string{`7`, `"seven"`}[i%2])
	}
	return out.String()
}
