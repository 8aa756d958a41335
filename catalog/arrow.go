package catalog

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ArrowSchemaProperty is the table property that holds the Arrow schema which a table was made of, where its own schema
// does not tell it: base64 of an Arrow IPC stream without batches. Read gives its types back.
const ArrowSchemaProperty = "shardcat.arrow-schema"

// Append writes the records of an Arrow reader as shards of the table and commits them in one snapshot. Columns are
// matched by name, and any Arrow types that hold the table's values will do: timestamps of any unit, decimals, views,
// dictionaries. A value that its column can't hold is an *arrowtype.RowError, a column that the table lacks
// manifest.ErrSchema or arrowtype.ErrColumn; then nothing is committed. The reader stays the caller's to release.
//
// Ingest is the same for batches that have canonical types already.
func (t *Table) Append(ctx context.Context, r array.RecordReader, o IngestOptions) (*IngestResult, error) {
	if r == nil {
		return nil, fmt.Errorf("%w: nil reader", ErrInvalid)
	}
	src, err := t.newArrowSource(r)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.name, err)
	}
	defer src.release()
	return t.Ingest(ctx, src, o)
}

// arrowSource turns the records of a reader into canonical ones.
type arrowSource struct {
	reader   array.RecordReader
	schema   *schema.Schema
	importer *arrowtype.Importer
	batch    arrow.RecordBatch
}

// newArrowSource gives every column of the table; one that the reader lacks is null.
func (t *Table) newArrowSource(r array.RecordReader) (*arrowSource, error) {
	importer, err := arrowtype.NewImporter(r.Schema(), t.schema.Shard, arrowtype.ImportOptions{})
	if err != nil {
		return nil, err
	}
	return &arrowSource{reader: r, schema: t.schema.Shard, importer: importer}, nil
}

// Schema implements RecordSource.
func (s *arrowSource) Schema() *schema.Schema { return s.schema }

// Next implements RecordSource. A batch is valid until the next call.
func (s *arrowSource) Next(ctx context.Context) (arrow.RecordBatch, error) {
	s.release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !s.reader.Next() {
		if err := s.reader.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	var err error
	s.batch, err = s.importer.Import(s.reader.RecordBatch())
	return s.batch, err
}

func (s *arrowSource) release() {
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
}

// ofArrow derives the schema of a new table from an Arrow schema, if one is given, and notes it where the table's own
// schema would not give its types back.
func (o *CreateOptions) ofArrow() (err error) {
	switch {
	case o.Schema == nil && o.Arrow == nil:
		return fmt.Errorf("%w: a table needs a schema", ErrInvalid)
	case o.Arrow == nil:
		return nil
	case o.Schema != nil:
		return fmt.Errorf("%w: Schema and Arrow exclude each other", ErrInvalid)
	}
	if o.Schema, _, err = arrowtype.FromArrow(o.Arrow); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return o.KeepArrow(o.Arrow)
}

// KeepArrow notes the Arrow schema that the first records come with, so that theirs are the types that Read and files of Arrow and
// Parquet give back: the scale of decimals above all, which no row may decide. It does nothing where the table's own schema
// gives the same types, or s is nil.
func (o *CreateOptions) KeepArrow(s *arrow.Schema) error {
	if s == nil || arrowtype.Restores(s) {
		return nil
	}
	b, err := arrowtype.MarshalSchema(s)
	if err != nil {
		return err
	}
	properties := map[string]string{ArrowSchemaProperty: base64.StdEncoding.EncodeToString(b)}
	maps.Copy(properties, o.Properties)
	o.Properties = properties
	return nil
}

// OriginalSchema is the Arrow schema that the table was made of, nil if it reports none.
func (t *Table) OriginalSchema() *arrow.Schema {
	b, err := base64.StdEncoding.DecodeString(t.Properties()[ArrowSchemaProperty])
	if err != nil || len(b) == 0 {
		return nil
	}
	s, err := arrowtype.UnmarshalSchema(b)
	if err != nil {
		return nil // the property is anybody's to set; without it types are the usual ones
	}
	return s
}

// Read plans a scan and gives its rows as an Arrow reader. Release ends it early. Its records are valid until the next
// call of Next, as with any reader; they and the reader are not for concurrent use.
func (t *Table) Read(ctx context.Context, o ReadOptions) (array.RecordReader, error) {
	o.Runs = true
	p, err := t.Plan(ctx, o.ScanOptions)
	if err != nil {
		return nil, err
	}
	return p.Reader(ctx, o)
}

// ArrowSchema is the schema of the records that Read gives of all columns, with times in the given unit where nothing else
// gives one (ReadOptions.TimeUnit).
func (t *Table) ArrowSchema(timeUnit string) (*arrow.Schema, error) {
	return t.scanned(t.schema, nil).ArrowSchema(timeUnit)
}
