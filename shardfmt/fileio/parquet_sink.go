package fileio

import (
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetwrite"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// parquetSink writes batches of any Arrow types as Parquet: columns of which Parquet lacks the type pass through the types of a shard to one
// that it has.
type parquetSink struct {
	out    *parquetwrite.Writer
	types  *arrow.Schema
	fields []*schema.Node
	report *arrowtype.Report
	// columns are those that change, by field, nil for all others.
	columns []*parquetColumn
}

// parquetColumn changes the type of a column.
type parquetColumn struct {
	from *arrow.Schema
	into *arrowtype.Importer
	out  *arrowtype.Exporter
}

func newParquetSink(w io.Writer, s *arrow.Schema, exact bool) (fileformat.Sink, error) {
	p := &parquetSink{report: &arrowtype.Report{}, fields: arrowtype.Demanding(s.Fields()), columns: make([]*parquetColumn, s.NumFields())}
	fields, metadata := s.Fields(), s.Metadata()
	for i, f := range fields {
		if _, changed := arrowtype.ParquetField(f, f.Name, p.report); !changed {
			continue
		}
		c, err := newParquetColumn(f, exact)
		if err != nil {
			return nil, err
		}
		p.columns[i], fields[i] = c, c.out.Schema().Field(0)
	}
	p.types = arrow.NewSchema(fields, &metadata)
	err := parquetReport(p.types, p.report)
	if err == nil {
		p.out, err = parquetwrite.New(w, p.types)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func newParquetColumn(f arrow.Field, exact bool) (*parquetColumn, error) {
	c := &parquetColumn{from: arrow.NewSchema([]arrow.Field{f}, nil)}
	s, _, err := arrowtype.FromArrow(c.from)
	if err != nil {
		return nil, err
	}
	if c.into, err = arrowtype.NewImporter(c.from, s, arrowtype.ImportOptions{Strict: exact}); err != nil {
		return nil, err
	}
	c.out, err = arrowtype.NewExporter(s, arrowtype.ExportOptions{Original: c.from, Parquet: true, Strict: exact})
	return c, err
}

// Write implements fileformat.Sink. A null in a required field is refused.
func (p *parquetSink) Write(batch arrow.RecordBatch) error {
	if batch.NumRows() == 0 { // such arrays may lack buffers
		return nil
	}
	if err := arrowtype.CheckNulls(batch, p.fields); err != nil {
		return err
	}
	columns := make([]arrow.Array, batch.NumCols())
	for i, c := range p.columns {
		var err error
		if columns[i], err = c.convert(batch.Column(i)); err != nil {
			return err
		}
		defer columns[i].Release()
	}
	out := array.NewRecordBatch(p.types, columns, batch.NumRows())
	defer out.Release()
	return p.out.Write(out)
}

// convert gives a column the type that it has in the file.
func (c *parquetColumn) convert(a arrow.Array) (arrow.Array, error) {
	if c == nil {
		return knownCodes(a), nil
	}
	raw := array.NewRecordBatch(c.from, []arrow.Array{a}, int64(a.Len()))
	defer raw.Release()
	batch, err := c.into.Import(raw)
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	out, err := c.out.Export(batch)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	one := out.Column(0)
	one.Retain()
	return one, nil
}

// knownCodes makes nulls of the codes of a dictionary's null entries, which the writer does not take.
func knownCodes(a arrow.Array) arrow.Array {
	d, ok := a.(*array.Dictionary)
	if !ok || d.Dictionary().NullN() == 0 {
		a.Retain()
		return a
	}
	entries := d.Dictionary()
	validity := make([]byte, bitutil.BytesForBits(int64(d.Len())))
	nulls := 0
	for i := range d.Len() {
		valid := d.IsValid(i) && entries.IsValid(d.GetValueIndex(i))
		bitutil.SetBitTo(validity, i, valid)
		if !valid {
			nulls++
		}
	}
	width := d.DataType().(*arrow.DictionaryType).IndexType.(arrow.FixedWidthDataType).Bytes()
	codes := d.Data().Buffers()[1].Bytes()[width*d.Data().Offset():]
	data := array.NewData(d.DataType(), d.Len(), []*memory.Buffer{memory.NewBufferBytes(validity), memory.NewBufferBytes(codes)}, nil, nulls, 0)
	defer data.Release()
	buffers := slices.Clone(entries.Data().Buffers())
	buffers[0] = nil // no row has the null entries any more
	known := array.NewData(entries.DataType(), entries.Len(), buffers, entries.Data().Children(), 0, entries.Data().Offset())
	defer known.Release()
	data.SetDictionary(known)
	return array.MakeFromData(data)
}

// Close implements fileformat.Sink.
func (p *parquetSink) Close() error { return p.out.Close() }

// Report implements fileformat.Sink.
func (p *parquetSink) Report() *arrowtype.Report {
	all := &arrowtype.Report{}
	all.Merge(p.report)
	for _, c := range p.columns {
		if c != nil {
			all.Merge(c.into.Report())
			all.Merge(c.out.Report())
		}
	}
	return all
}
