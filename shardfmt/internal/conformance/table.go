package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// creation of all shards, in ticks, so that they are the same every time.
const creation = 638_000_000_000_000_000

// column is a field with its values as JSON.
type column struct {
	name, typ string
	value     func(i int) string
	// tree are the encodings of its blocks, empty for the writer's choice.
	tree string
	// internal is the kind of an internal field, which no reader shows.
	internal string
}

// table is a shard to be written.
type table struct {
	level, name, what string
	optional          bool
	rows              int
	columns           []column
	o                 shardwriter.Options
	// indexes as on the command line.
	indexes string
	// deleted reports which records are marked as deleted, nil for none.
	deleted func(i int) bool
}

// marker is the field of deleted records in the text of a table: an internal one, without a name, that comes first.
const marker = `{"name":"","type":"Boolean","internal":"Kusto.Amudai.DeletedRecord"}`

// schema of the table, as text.
func (t *table) schema() string {
	var fields []string
	if t.deleted != nil {
		fields = append(fields, marker)
	}
	for _, c := range t.columns {
		internal := ""
		if c.internal != "" {
			internal = fmt.Sprintf(`,"internal":%q`, c.internal)
		}
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%q%s}`, c.name, c.typ, internal))
	}
	return `{"fields":[` + strings.Join(fields, ",") + "]}"
}

// text is the records of the table as NDJSON.
func (t *table) text() string {
	var b strings.Builder
	for i := range t.rows {
		sep := "{"
		if t.deleted != nil {
			fmt.Fprintf(&b, `{"":%v`, t.deleted(i))
			sep = ","
		}
		for _, c := range t.columns {
			fmt.Fprintf(&b, "%s%q:%s", sep, c.name, c.value(i))
			sep = ","
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// write writes the shard and its records.
func (t *table) write(ctx context.Context, client *blobio.Client, base string) (Case, error) {
	path := t.level + "/" + t.name + "/"
	c := Case{Level: t.level, Name: t.name, Shard: path + RootName, Rows: path + RowsName, What: t.what, Optional: t.optional, Schema: json.RawMessage(t.schema())}
	s, err := schema.Parse(t.schema())
	if err != nil {
		return c, err
	}
	src, err := fileio.OpenSource(ctx, client, []string{fileio.Stdin}, fileio.SourceOptions{
		Format: fileio.NDJSON, Schema: s, Stdin: strings.NewReader(t.text()), BatchRows: 1000,
	})
	if err != nil {
		return c, err
	}
	defer src.Close()
	var rows bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &rows, src.Schema(), fileio.SinkOptions{})
	if err != nil {
		return c, err
	}
	w, err := t.writer(ctx, client, base+c.Shard, src.Schema())
	if err != nil {
		return c, err
	}
	if err := copyRows(ctx, src, w, sink); err != nil {
		w.Abort(ctx)
		return c, err
	}
	kept := keep(rows.Bytes(), t.deleted != nil)
	if shown := t.shown(); len(shown.columns) < len(t.columns) {
		if kept, err = shown.lines(ctx, client); err != nil {
			return c, err
		}
	}
	c.Records = bytes.Count(kept, []byte("\n"))
	return c, client.Put(ctx, base+c.Rows, kept)
}

// shown is the table without its internal columns.
func (t *table) shown() *table {
	out := *t
	out.columns = keepColumns(t.columns, func(c column) bool { return c.internal == "" })
	return &out
}

// lines returns the records as every case has them, of a table without deleted ones.
func (t *table) lines(ctx context.Context, client *blobio.Client) ([]byte, error) {
	s, err := schema.Parse(t.schema())
	if err != nil {
		return nil, err
	}
	src, err := fileio.OpenSource(ctx, client, []string{fileio.Stdin}, fileio.SourceOptions{
		Format: fileio.NDJSON, Schema: s, Stdin: strings.NewReader(t.text()), BatchRows: 1000,
	})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var rows bytes.Buffer
	sink, err := fileio.NewSink(fileio.NDJSON, &rows, src.Schema(), fileio.SinkOptions{})
	if err != nil {
		return nil, err
	}
	if err := copyBatches(ctx, src, sink.Write); err != nil {
		return nil, err
	}
	return rows.Bytes(), sink.Close()
}

// writer starts the shard.
func (t *table) writer(ctx context.Context, client *blobio.Client, url string, s *schema.Schema) (*shardwriter.Writer, error) {
	o := t.o
	o.CreationMin, o.CreationMax, o.Trees = creation, creation, map[string]string{}
	for _, c := range t.columns {
		if c.tree != "" {
			o.Trees[c.name] = c.tree
		}
	}
	if t.indexes != "" {
		specs, err := stripeindex.ParseSpecs(t.indexes)
		if err != nil {
			return nil, err
		}
		s.Number()
		if o.Indexes, err = stripeindex.NewBuilders(specs, s); err != nil {
			return nil, err
		}
	}
	return shardwriter.New(ctx, client, url, s, o)
}

// copyRows gives the records of a source to a shard and to a sink.
func copyRows(ctx context.Context, src fileio.Source, w *shardwriter.Writer, sink fileio.Sink) error {
	toShard := func(b arrow.RecordBatch) error { return w.Write(ctx, b) }
	if err := copyBatches(ctx, src, sink.Write, toShard); err != nil {
		return err
	}
	if err := sink.Close(); err != nil {
		return err
	}
	_, err := w.Close(ctx)
	return err
}

// keep gives the lines of records that are not deleted, without the marker that each begins with.
func keep(lines []byte, marked bool) []byte {
	if !marked {
		return lines
	}
	var out []byte
	for line := range bytes.Lines(lines) {
		if rest, ok := bytes.CutPrefix(line, []byte(`{"":false,`)); ok {
			out = append(append(out, '{'), rest...)
		}
	}
	return out
}

// copyBatches gives each batch of a source to all that write.
func copyBatches(ctx context.Context, src fileio.Source, write ...func(arrow.RecordBatch) error) error {
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		for _, to := range write {
			if err == nil {
				err = to(b)
			}
		}
		if err != nil {
			return err
		}
	}
}
