package fileio

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcolumn"
)

// parquetFile reads one Parquet file, a row group's column chunk at a time.
type parquetFile struct {
	types *arrow.Schema
	file  *file.Reader
	// columns are those that are decoded here, by field, nil where a field is one of rest, which is nil if there is none.
	columns []*parquetcolumn.Column
	rest    pqarrow.RecordReader
	last    arrow.RecordBatch
	body    io.Closer
	// left is how many rows there are to read, most in a batch.
	left, batch int64
	// most bytes that a batch is taken for in the check for too many rows.
	most int64
	// sent is a file of which each batch is copied to another process, which checks it.
	sent bool
	// stored are types as the batches have them: some may be of codes.
	stored *arrow.Schema
}

// errNoReader is what a program gets that reads Parquet without having reported by which process.
var errNoReader = errors.New("a process of its own reads Parquet: call fileio.ServeReader() as the first line of main, or set SourceOptions.InProcess for files that you trust")

// openParquet opens a Parquet file in a process of its own (ServeReader), or in this one if the caller requests that.
func openParquet(ctx context.Context, sp *blobio.Client, in input, o SourceOptions) (batchFile, error) {
	if !o.InProcess && !readsApart.Load() {
		return nil, errNoReader
	}
	r, err := in.openRandom(ctx, sp)
	if err != nil {
		return nil, err
	}
	var f batchFile
	if o.InProcess {
		f, err = newParquet(ctx, r, o, false)
	} else {
		f, err = startReader(ctx, r, o)
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

// lentBuffer is the buffer of a column of a file that a process reads by itself, in bytes: to read costs it little, and pages that are longer
// are read past the buffer.
const lentBuffer = 32 << 10

// buffered is a file for which other buffers than the usual ones are best, of so many bytes at most.
type buffered interface{ buffer() int }

// newParquet opens a file, of which batches may be kept unless they are sent.
func newParquet(ctx context.Context, r random, o SourceOptions, sent bool) (*parquetFile, error) {
	properties := parquet.NewReaderProperties(memory.DefaultAllocator)
	properties.BufferedStreamEnabled = true // else column chunks are read whole
	properties.MaxCompressedPageSize = max(parquet.DefaultMaxCompressedPageSize, o.MaxMemory)
	properties.MaxUncompressedPageSize = max(parquet.DefaultMaxUncompressedPageSize, o.MaxMemory)
	p, err := openFooter(r, properties)
	if err != nil {
		return nil, damaged(err)
	}
	if p, err = readablePages(r, p, properties); err != nil {
		return nil, damaged(err)
	}
	columns := p.MetaData().Schema.NumColumns()
	if columns > maxFields {
		return nil, damaged(errTooManyFields)
	}
	properties.BufferSize = int64(min(max(parquetBuffers/max(columns, 1), minParquetBuffer), maxParquetBuffer))
	if b, ok := r.(buffered); ok {
		properties.BufferSize = min(properties.BufferSize, int64(b.buffer()))
	}
	if err := checkColumns(p); err != nil {
		return nil, err
	}
	durations, err := checkArrowSchema(p)
	if err != nil {
		return nil, err
	}
	declared := p.MetaData().Schema
	if p.MetaData().Schema, err = readableSchema(declared); err != nil {
		return nil, damaged(err)
	}
	o.BatchRows = rowsAtOnce(p, o.BatchRows, r.Size(), batchBytes)
	rows, err := pqarrow.NewFileReader(p, pqarrow.ArrowReadProperties{BatchSize: int64(o.BatchRows)}, memory.DefaultAllocator)
	if err != nil {
		return nil, damaged(err)
	}
	types, err := rows.Schema()
	if err != nil {
		return nil, damaged(err)
	}
	types = parquetTypes(types, declared)
	f := &parquetFile{file: p, body: r, batch: int64(o.BatchRows), most: o.MaxMemory, sent: sent}
	for g := range p.NumRowGroups() {
		f.left += p.MetaData().RowGroup(g).NumRows()
	}
	if rest := f.share(types, rows.Manifest, o.coded && o.BatchRows <= parquetcolumn.MaxCodedRows); len(rest) > 0 || columns == 0 {
		if f.rest, err = rows.GetRecordReader(ctx, rest, nil); err != nil {
			return nil, damaged(err)
		}
	}
	types = restoreDurations(types, durations)
	f.types, f.stored = withoutInt96(types), f.storedTypes(types)
	return f, nil
}

// batchBytes is about how much a batch has at most, by the footer: a column of one can't have more than 2 GiB.
const batchBytes = 128 << 20

// rowsAtOnce gives the rows of a batch: fewer than most where so many have more than batch bytes in a row group. A footer that exaggerates makes
// no more than one batch of each 4 KiB of a file of size bytes.
func rowsAtOnce(p *file.Reader, most int, size, batch int64) int {
	for g := range p.NumRowGroups() {
		group := p.MetaData().RowGroup(g)
		total := min(group.TotalByteSize(), max(size, 1)*max(batch>>12, 1))
		if parts := total/batch + 1; parts > 1 && group.NumRows() > 0 {
			most = min(most, int(max(group.NumRows()/parts, 1)))
		}
	}
	return most
}

// readablePages opens a file again with the pages that the library reads wrongly, or not at all, in another form.
func readablePages(r random, p *file.Reader, properties *parquet.ReaderProperties) (*file.Reader, error) {
	var source io.ReaderAt = r
	if parquetcodec.MayMisflag(p.MetaData()) {
		source = parquetcodec.NewFlagFixer(r, p.MetaData())
		var err error
		if p, err = file.NewParquetReader(unclosed{source, r}, file.WithReadProps(properties), file.WithMetadata(p.MetaData())); err != nil {
			return nil, err
		}
	}
	if !parquetcodec.HasDelta(p.MetaData()) {
		return p, nil
	}
	other, err := openFooter(r, properties)
	if err != nil {
		return nil, err
	}
	m := other.MetaData()
	if source, err = parquetcodec.WithPlainPages(source, p, m, properties.GetMaxUncompressedPageSize()); err != nil {
		return nil, err
	}
	return file.NewParquetReader(unclosed{source, r}, file.WithReadProps(properties), file.WithMetadata(m))
}

// unclosed is a file that a library reads from, and can't close.
type unclosed struct {
	io.ReaderAt
	io.Seeker
}

// openFooter reads the footer of a file, again without its logical types that are unknown if the library refuses it.
func openFooter(r random, properties *parquet.ReaderProperties) (*file.Reader, error) {
	source := unclosed{r, r}
	p, err := tryFooter(source, file.WithReadProps(properties))
	if err == nil {
		return p, nil
	}
	const lengthAndMagic, most = 8, 64 << 20
	end := make([]byte, lengthAndMagic)
	if _, e := r.ReadAt(end, r.Size()-lengthAndMagic); e != nil && e != io.EOF || string(end[4:]) != "PAR1" {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > min(r.Size()-lengthAndMagic, most) {
		return nil, err
	}
	footer := make([]byte, length)
	if _, e := r.ReadAt(footer, r.Size()-lengthAndMagic-length); e != nil && e != io.EOF {
		return nil, err
	}
	known, ok := parquetcodec.WithoutUnknownTypes(footer)
	if !ok {
		return nil, err
	}
	m, err := metadata.NewFileMetaData(known, nil)
	if err != nil {
		return nil, err
	}
	return tryFooter(source, file.WithReadProps(properties), file.WithMetadata(m))
}

// tryFooter opens a file; the library panics for some footers.
func tryFooter(r parquet.ReaderAtSeeker, o ...file.ReadOption) (p *file.Reader, err error) {
	defer guard(&err, "file")
	return file.NewParquetReader(r, o...)
}

// withoutInt96 gives the columns of a schema the types that they have in other readers.
func withoutInt96(s *arrow.Schema) *arrow.Schema {
	fields, metadata := s.Fields(), s.Metadata()
	for i := range fields {
		fields[i].Type = arrowtype.WithoutInt96(fields[i].Type)
	}
	return arrow.NewSchema(fields, &metadata)
}

// storedTypes are the types of the file, and in place of those of columns of codes theirs.
func (f *parquetFile) storedTypes(types *arrow.Schema) *arrow.Schema {
	fields, metadata := types.Fields(), types.Metadata()
	for i, c := range f.columns {
		if c != nil && c.Coded() != nil {
			fields[i].Type = c.Coded()
		}
	}
	return arrow.NewSchema(fields, &metadata)
}

// share takes the columns that are decoded here, as codes where that is wanted and pays, and gives the others, which are left to the
// library.
func (f *parquetFile) share(types *arrow.Schema, m *pqarrow.SchemaManifest, coded bool) (rest []int) {
	f.columns = make([]*parquetcolumn.Column, types.NumFields())
	o := parquetcolumn.Options{Keep: !f.sent, MaxPage: max(parquet.DefaultMaxUncompressedPageSize, f.most)}
	taken := map[int]bool{}
	for i := range f.columns {
		if i < len(m.Fields) && m.Fields[i].ColIndex >= 0 && len(m.Fields[i].Children) == 0 {
			if coded {
				f.columns[i] = parquetcolumn.NewCoded(f.file, m.Fields[i].ColIndex, types.Field(i).Type, o)
			}
			if f.columns[i] == nil {
				f.columns[i] = parquetcolumn.New(f.file, m.Fields[i].ColIndex, types.Field(i).Type, o)
			}
			taken[m.Fields[i].ColIndex] = f.columns[i] != nil
		}
	}
	for i := range f.file.MetaData().Schema.NumColumns() {
		if !taken[i] {
			rest = append(rest, i)
		}
	}
	return rest
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

// typed gives a column the type of the file's schema, which has the same values.
func (f *parquetFile) typed(i int, c arrow.Array) (arrow.Array, error) {
	if c.DataType().ID() == arrow.DICTIONARY || arrow.TypeEqual(c.DataType(), arrowtype.Int96) {
		c.Retain()
		return c, nil
	}
	a, err := reshape(c, f.stored.Field(i).Type)
	if err != nil {
		err = damaged(fmt.Errorf("column %q: %w", f.types.Field(i).Name, err))
	}
	return a, err
}

func (f *parquetFile) schema() *arrow.Schema { return f.types }

func (f *parquetFile) next(context.Context) (b arrow.RecordBatch, err error) {
	defer guard(&err, "Parquet file")
	if f.last != nil {
		f.last.Release()
		f.last = nil
	}
	n, rest := min(f.left, f.batch), []arrow.Array(nil)
	if f.rest != nil {
		if n, rest, err = f.nextOfRest(); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, io.EOF
	}
	f.left -= n
	if f.last, err = f.join(n, rest); err != nil || f.sent {
		return f.last, err
	}
	return f.last, sound(f.last, f.most)
}

// nextOfRest gives the next rows of the columns that the library reads, none at their end.
func (f *parquetFile) nextOfRest() (n int64, rest []arrow.Array, err error) {
	if f.rest.Next() {
		rest, n = f.rest.RecordBatch().Columns(), f.rest.RecordBatch().NumRows()
	} else if err := f.rest.Err(); err != nil && err != io.EOF {
		return 0, nil, damaged(err)
	}
	if own := len(f.columns) > len(f.rest.Schema().Fields()); own && (n > f.left || n == 0 && f.left > 0) {
		return 0, nil, damaged(fmt.Errorf("columns of different length: %d rows, expected %d", n, f.left))
	}
	return n, rest, nil
}

// join makes a batch of the next n rows of the columns that are decoded here and of the rest.
func (f *parquetFile) join(n int64, rest []arrow.Array) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(f.columns))
	for i, c := range f.columns {
		if c == nil {
			var err error
			if columns[i], err = f.typed(i, rest[0]); err != nil {
				return nil, err
			}
			rest = rest[1:]
		} else {
			one, err := c.Next(int(n))
			if err != nil {
				return nil, damaged(err)
			}
			columns[i], err = f.typed(i, one)
			one.Release()
			if err != nil {
				return nil, err
			}
		}
		defer columns[i].Release()
	}
	return array.NewRecordBatch(f.stored, columns, n), nil
}

func (f *parquetFile) close() error {
	if f.rest != nil {
		f.rest.Release()
	}
	for _, c := range f.columns {
		if c != nil {
			c.Close()
		}
	}
	f.file.Close()
	return f.body.Close()
}
