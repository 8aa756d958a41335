package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// batchSource reads inputs that hold Arrow batches, or what becomes some: Parquet and Arrow IPC.
type batchSource struct {
	origins
	options  SourceOptions
	sp       *blobio.Client
	inputs   []input // those not opened yet
	schema   *schema.Schema
	original *arrow.Schema

	name     string
	file     batchFile
	importer *arrowtype.Importer
	row      int64             // rows of the file before what is imported next
	raw      arrow.RecordBatch // rows of the file that are still to be imported
	batch    arrow.RecordBatch
	// unpacking bounds what raw becomes.
	unpacking unpacking
	told      map[string]bool
	report    arrowtype.Report
	types     *arrow.Schema // of plain batches
	reuse     bool          // batches are valid until the next one alone
}

// batchFile is one open input.
type batchFile interface {
	schema() *arrow.Schema
	// next gives a batch, valid until the next call, or io.EOF.
	next(ctx context.Context) (arrow.RecordBatch, error)
	close() error
}

// reuser is a batchFile that may use the memory of a batch for the next one; without being told so it doesn't.
type reuser interface{ reuse(may bool) }

// OriginalSchema is the Arrow schema of a source's first input, or nil for formats that have none.
func OriginalSchema(s Source) *arrow.Schema {
	if b, ok := s.(*batchSource); ok {
		return b.original
	}
	return nil
}

// Report reports what a source changed so far; formats of text change nothing but what they refuse or warn of.
func Report(s Source) *arrowtype.Report {
	if p, ok := s.(*partitioned); ok {
		s = p.Source
	}
	if b, ok := s.(*batchSource); ok {
		return &b.report
	}
	return &arrowtype.Report{}
}

func newBatchSource(ctx context.Context, sp *blobio.Client, inputs []input, o SourceOptions) (*batchSource, error) {
	s := &batchSource{options: o, sp: sp, inputs: inputs, schema: o.Schema, told: map[string]bool{}, unpacking: unpacking{limit: o.MaxMemory}}
	if err := s.findSchema(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// findSchema takes the schema from the first input, and extends it by those of the others if requested to.
func (s *batchSource) findSchema(ctx context.Context) error {
	all := s.inputs
	if err := s.open(ctx); err != nil {
		return err
	}
	s.original = s.file.schema()
	found, report, err := arrowtype.FromArrow(s.original)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if s.options.Format == Parquet || s.options.NullsAsText {
		found = textForNulls(found, report)
	}
	if s.schema == nil {
		if s.schema, err = override(found, s.options.Types); err != nil {
			return err
		}
		s.tell(report)
	}
	if s.options.UnknownFields == ExtendByUnknown {
		if err := rereadable(all); err != nil && len(all) > 1 {
			return err
		}
		s.schema = extendNodes(s.schema, found)
		for _, in := range all[1:] {
			if err := s.extendBy(ctx, in); err != nil {
				return err
			}
		}
		if s.options.Schema != nil {
			if s.schema, err = overrideNew(s.schema, s.options); err != nil {
				return err
			}
		}
	}
	return s.begin()
}

// childName is the name of a child in dotted paths.
func childName(n *schema.Node, i int) string {
	switch n.Basic {
	case schema.List, schema.FixedSizeList:
		return "item"
	case schema.Map:
		return [2]string{"key", "value"}[i]
	}
	return n.Children[i].Name
}

// extendBy adds the fields of another input.
func (s *batchSource) extendBy(ctx context.Context, in input) error {
	f, err := openBatches(ctx, s.sp, in, s.options)
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	defer f.close()
	found, report, err := arrowtype.FromArrow(f.schema())
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	if s.options.Format == Parquet || s.options.NullsAsText {
		found = textForNulls(found, report)
	}
	s.schema = extendNodes(s.schema, found)
	return nil
}

// extendNodes adds the fields that s lacks to its end, and members that its structs lack, at any depth, to the end of these, nullable.
func extendNodes(s, by *schema.Schema) *schema.Schema {
	out := &schema.Schema{Fields: extendedBy(s.Fields, by.Fields)}
	out.Number()
	return out
}

func extendedBy(fields, by []*schema.Node) []*schema.Node {
	known := map[string]*schema.Node{}
	var out []*schema.Node
	for _, f := range fields {
		n := cloneNode(f)
		out = append(out, n)
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			known[name] = n
		}
	}
	for _, f := range by {
		n := known[f.Name]
		switch {
		case n == nil:
			more := cloneNode(f)
			more.Nullable = true
			out = append(out, more)
		case n.Basic == schema.Struct && f.Basic == schema.Struct:
			n.Children = extendedBy(n.Children, f.Children)
		default:
			extendItems(n, f)
		}
	}
	return out
}

// extendItems extends what lists hold, and the values of maps.
func extendItems(n, by *schema.Node) {
	lists := (n.Basic == schema.List || n.Basic == schema.FixedSizeList) && (by.Basic == schema.List || by.Basic == schema.FixedSizeList)
	if !lists && (n.Basic != schema.Map || by.Basic != schema.Map) {
		return
	}
	last := len(n.Children) - 1
	item, other := n.Children[last], by.Children[last]
	if item.Basic == schema.Struct && other.Basic == schema.Struct {
		item.Children = extendedBy(item.Children, other.Children)
		return
	}
	extendItems(item, other)
}

// open opens the next input; io.EOF if there are no more.
func (s *batchSource) open(ctx context.Context) error {
	if len(s.inputs) == 0 {
		return io.EOF
	}
	in := s.inputs[0]
	s.inputs, s.name, s.row = s.inputs[1:], in.name, 0
	o := s.options
	o.coded = true
	f, err := openBatches(ctx, s.sp, in, o)
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	s.file = f
	return nil
}

// begin prepares the import of the open input.
func (s *batchSource) begin() error {
	o := arrowtype.ImportOptions{DropUnknown: s.options.UnknownFields == DropUnknown, Strict: s.options.Exact, Codes: true}
	var err error
	if s.importer, err = arrowtype.NewImporter(s.file.schema(), s.schema, o); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.types = arrowtype.Schema(s.schema)
	return nil
}

// end closes the open input and reports what its import changed.
func (s *batchSource) end() error {
	if s.importer != nil {
		s.tell(s.importer.Report())
	}
	if f, ok := s.file.(reporter); ok {
		s.tell(f.Report())
	}
	err := s.file.close()
	s.file, s.importer = nil, nil
	return err
}

func (s *batchSource) tell(r *arrowtype.Report) {
	s.report.Merge(r)
	for line := range strings.Lines(r.String()) {
		if !s.told[line] {
			s.told[line] = true
			s.options.Warn(s.name + ": " + strings.TrimSpace(line))
		}
	}
}

// Schema implements Source.
func (s *batchSource) Schema() *schema.Schema { return s.schema }

// Next implements Source: batches of a file that are larger than requested are cut.
func (s *batchSource) Next(ctx context.Context) (arrow.RecordBatch, error) {
	b, err := s.nextBatch(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return arrowtype.PlainBatch(b, s.types), nil
}

// NextCoded implements codedSource.
func (s *batchSource) NextCoded(ctx context.Context) (arrow.RecordBatch, error) {
	s.reuse = true
	return s.nextBatch(ctx)
}

func (s *batchSource) nextBatch(ctx context.Context) (arrow.RecordBatch, error) {
	for s.batch == nil || s.batch.NumRows() == 0 {
		if err := s.load(ctx); err != nil {
			return nil, err
		}
	}
	n := min(int64(s.options.BatchRows), s.batch.NumRows())
	out, rest := s.batch.NewSlice(0, n), s.batch.NewSlice(n, s.batch.NumRows())
	s.batch.Release()
	s.batch = rest
	return out, nil
}

// load imports the next rows of the inputs.
func (s *batchSource) load(ctx context.Context) error {
	for s.raw == nil || s.raw.NumRows() == 0 {
		if s.file == nil {
			if err := s.open(ctx); err != nil {
				return err
			}
			if err := s.begin(); err != nil {
				return err
			}
		}
		if f, ok := s.file.(reuser); ok {
			f.reuse(s.reuse)
		}
		raw, err := s.file.next(ctx)
		if err == io.EOF {
			s.raw = nil
			s.unpacking.end()
			if err := s.end(); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.raw = raw.NewSlice(0, raw.NumRows())
		if err := s.measure(); err != nil {
			return err
		}
	}
	rows, err := s.unpacking.next(int(s.raw.NumRows()))
	if err != nil {
		return fmt.Errorf("%s: row %d: %w", s.name, s.row+1, err)
	}
	n := int64(rows)
	part, rest := s.raw.NewSlice(0, n), s.raw.NewSlice(n, s.raw.NumRows())
	s.raw.Release()
	s.raw = rest
	defer part.Release()
	return s.take(part)
}

// measure finds out what the rows of a new batch take once they are plain.
func (s *batchSource) measure() (err error) {
	defer guard(&err, s.name)
	if err := s.unpacking.begin(s.raw); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func (s *batchSource) take(raw arrow.RecordBatch) (err error) {
	defer guard(&err, s.name)
	batch, err := s.importer.Import(raw)
	var row *arrowtype.RowError
	if errors.As(err, &row) {
		return &RecordError{Input: s.name, Row: s.row + row.Row + 1, Field: row.Field, Err: row.Err}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.row += raw.NumRows()
	s.note(s.name, raw.NumRows())
	s.batch = batch
	return nil
}

// guard turns a panic of a library on bytes that make no sense into an error.
func guard(err *error, name string) {
	if r := recover(); r != nil {
		if parquetcodec.Undecoded(fmt.Sprint(r)) {
			*err = corrupt.Locate(corrupt.Unsupported(-1, noEncoding), name, -1)
			return
		}
		*err = &corrupt.Error{Kind: corrupt.ErrCorrupt, Object: name, Offset: -1, What: "invalid file: " + panicked(r)}
	}
}

// Close implements Source.
func (s *batchSource) Close() error {
	s.inputs = nil
	s.unpacking.end()
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
	if s.file == nil {
		return nil
	}
	return s.end()
}

// openBatches opens an input of a format that holds batches.
func openBatches(ctx context.Context, sp *blobio.Client, in input, o SourceOptions) (f batchFile, err error) {
	defer guard(&err, in.name)
	switch file := o.Format.File(); {
	case file != nil:
		f, err = openColumnar(ctx, sp, file, in, o)
	case o.Format == Parquet:
		f, err = openParquet(ctx, sp, in, o)
	default:
		f, err = openArrow(ctx, sp, in, o)
	}
	if err != nil {
		return nil, err
	}
	if countFields(f.schema().Fields()) > maxFields {
		return nil, errors.Join(damaged(errTooManyFields), f.close())
	}
	return withNames(f), nil
}

// countFields counts fields, nested ones included.
func countFields(fields []arrow.Field) int {
	n := len(fields)
	for _, f := range fields {
		if nested, ok := f.Type.(arrow.NestedType); ok {
			n += countFields(nested.Fields())
		}
	}
	return n
}
