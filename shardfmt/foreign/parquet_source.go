package foreign

import (
	"context"
	"encoding/base64"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// parquetFile reads one Parquet file, a row group's column chunk at a time.
type parquetFile struct {
	types *arrow.Schema
	file  *file.Reader
	rows  pqarrow.RecordReader
	last  arrow.RecordBatch
	body  io.Closer
	// most bytes that a batch is taken for, where it is asked whether it has too many rows for them.
	most int64
}

// openParquet opens a Parquet file, in a process of its own where there is one (ServeReader).
func openParquet(ctx context.Context, sp *blobio.Client, in input, o SourceOptions) (batchFile, error) {
	r, err := in.openRandom(ctx, sp)
	if err != nil {
		return nil, err
	}
	var f batchFile
	if readsApart.Load() {
		f, err = startReader(ctx, r, o)
	} else {
		f, err = newParquet(ctx, r, o)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return f, nil
}

// Buffers of the columns of a file, in bytes: for all, and at least and at most for one.
const (
	parquetBuffers   = 64 << 20
	minParquetBuffer = 16 << 10
	maxParquetBuffer = 1 << 20
)

func newParquet(ctx context.Context, r random, o SourceOptions) (*parquetFile, error) {
	properties := parquet.NewReaderProperties(memory.DefaultAllocator)
	properties.BufferedStreamEnabled = true  // else column chunks are read whole
	p, err := file.NewParquetReader(struct { // what a library reads from, it would close
		io.ReaderAt
		io.Seeker
	}{r, r}, file.WithReadProps(properties))
	if err != nil {
		return nil, damaged(err)
	}
	columns := p.MetaData().Schema.NumColumns()
	if columns > MaxFields {
		return nil, damaged(ErrTooManyFields)
	}
	properties.BufferSize = int64(min(max(parquetBuffers/max(columns, 1), minParquetBuffer), maxParquetBuffer))
	durations, err := checkArrowSchema(p)
	if err != nil {
		return nil, err
	}
	rows, err := pqarrow.NewFileReader(p, pqarrow.ArrowReadProperties{BatchSize: int64(o.BatchRows)}, memory.DefaultAllocator)
	if err != nil {
		return nil, damaged(err)
	}
	types, err := rows.Schema()
	if err != nil {
		return nil, damaged(err)
	}
	types = markJSON(restoreDurations(types, durations), p.MetaData().Schema, rows.Manifest)
	all, err := rows.GetRecordReader(ctx, nil, nil)
	if err != nil {
		return nil, damaged(err)
	}
	return &parquetFile{types: types, file: p, rows: all, body: r, most: o.MaxMemory}, nil
}

// markJSON notes which columns hold JSON by Parquet's own types, which Arrow's schema doesn't say.
func markJSON(types *arrow.Schema, s *pqschema.Schema, m *pqarrow.SchemaManifest) *arrow.Schema {
	fields := types.Fields()
	for i := range fields {
		if i >= len(m.Fields) || m.Fields[i].ColIndex < 0 || len(m.Fields[i].Children) > 0 {
			continue
		}
		if s.Column(m.Fields[i].ColIndex).LogicalType().Equals(pqschema.JSONLogicalType{}) {
			fields[i].Metadata = arrowtype.MarkJSON(fields[i].Metadata)
		}
	}
	metadata := types.Metadata()
	return arrow.NewSchema(fields, &metadata)
}

// checkArrowSchema checks the Arrow schema that a file may carry, in base64, before Arrow's reader takes its word for how
// many fields there are. That reader refuses durations, which pandas writes, so they are numbers in what it is given;
// the types that they have are returned by name.
func checkArrowSchema(p *file.Reader) (durations map[string]*arrow.DurationType, err error) {
	text := p.MetaData().KeyValueMetadata().FindValue("ARROW:schema")
	if text == nil {
		return nil, nil
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(*text, "="))
	if err != nil {
		return nil, damaged(err)
	}
	s, err := arrowtype.UnmarshalSchema(b)
	if err != nil {
		return nil, damaged(err)
	}
	durations = map[string]*arrow.DurationType{}
	fields := s.Fields()
	for i, f := range fields {
		if d, ok := f.Type.(*arrow.DurationType); ok {
			durations[f.Name], fields[i].Type = d, arrow.PrimitiveTypes.Int64
		}
	}
	if len(durations) == 0 {
		return nil, nil
	}
	metadata := s.Metadata()
	if b, err = arrowtype.MarshalSchema(arrow.NewSchema(fields, &metadata)); err != nil {
		return nil, damaged(err)
	}
	*text = base64.StdEncoding.EncodeToString(b)
	return durations, nil
}

// restoreDurations gives columns that are read as numbers their type.
func restoreDurations(types *arrow.Schema, durations map[string]*arrow.DurationType) *arrow.Schema {
	fields := types.Fields()
	for i, f := range fields {
		if d := durations[f.Name]; d != nil && f.Type.ID() == arrow.INT64 {
			fields[i].Type = d
		}
	}
	metadata := types.Metadata()
	return arrow.NewSchema(fields, &metadata)
}

// typed gives the columns of a batch the types of the file's schema, which have the same values.
func (f *parquetFile) typed(b arrow.RecordBatch) arrow.RecordBatch {
	columns := make([]arrow.Array, b.NumCols())
	for i, c := range b.Columns() {
		t := f.types.Field(i).Type
		if t.ID() == arrow.DURATION {
			data := array.NewData(t, c.Len(), c.Data().Buffers(), nil, c.NullN(), c.Data().Offset())
			columns[i] = array.MakeFromData(data)
			data.Release()
		} else {
			columns[i] = c
			c.Retain()
		}
		defer columns[i].Release()
	}
	return array.NewRecordBatch(f.types, columns, b.NumRows())
}

func (f *parquetFile) schema() *arrow.Schema { return f.types }

func (f *parquetFile) next(context.Context) (b arrow.RecordBatch, err error) {
	defer guard(&err, "Parquet file")
	if f.last != nil {
		f.last.Release()
		f.last = nil
	}
	if f.rows.Next() {
		f.last = f.typed(f.rows.RecordBatch())
		return f.last, sound(f.last, f.most)
	}
	if err := f.rows.Err(); err != nil && err != io.EOF {
		return nil, damaged(err)
	}
	return nil, io.EOF
}

func (f *parquetFile) close() error {
	f.rows.Release()
	f.file.Close()
	return f.body.Close()
}
