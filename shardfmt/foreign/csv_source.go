package foreign

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// csvSource reads CSV.
type csvSource struct {
	options SourceOptions
	reader  *csvReader
	sample  []csvRecord // read for inference, not yet yielded
	schema  *schema.Schema
	builder *array.RecordBuilder
	columns []column
	cells   []func(text []byte) error
	// header is the names of the fields of the input at hand; empty where names don't matter.
	header []string
	// index is the schema's field for each field of a record, −1 for those that are dropped.
	index   []int
	current string // the input that index is for
}

// newCSV opens CSV inputs; without a schema it reads the sample for inference.
func newCSV(ctx context.Context, open func() *texts, o SourceOptions) (*csvSource, error) {
	lines := open()
	s := &csvSource{options: o, schema: o.Schema, reader: &csvReader{lines: lines, comma: commaFor(o, lines.inputs[0])}}
	err := s.findSchema(ctx, open)
	if err == nil {
		err = arrowtype.Check(s.schema)
	}
	if err != nil {
		lines.Close()
		return nil, err
	}
	s.current = ""
	s.builder = array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s.schema))
	state := &readState{guidOrder: o.GuidOrder, unknown: o.UnknownFields, warn: o.Warn, exactTimes: o.Exact}
	for i, f := range s.schema.Fields {
		s.columns = append(s.columns, newColumn(f, f.Name, s.builder.Field(i), state))
		s.cells = append(s.cells, cellReader(s.columns[i]))
	}
	return s, nil
}

func (s *csvSource) findSchema(ctx context.Context, open func() *texts) error {
	extend := s.options.UnknownFields == ExtendByUnknown
	if s.schema != nil && !extend {
		return nil
	}
	in := newInference()
	if !extend {
		err := s.readSample(ctx, in)
		s.schema = in.schema()
		return err
	}
	if err := rereadable(s.reader.lines.inputs); err != nil {
		return err
	}
	all := &csvSource{options: s.options, reader: &csvReader{lines: open(), comma: s.reader.comma}}
	defer all.reader.lines.Close()
	for {
		rec, err := all.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		all.guess(in, rec)
	}
	s.schema = in.extend(s.schema)
	return nil
}

func (s *csvSource) readSample(ctx context.Context, in *inference) error {
	size := 0
	for len(s.sample) < s.options.InferRows && size < maxSample {
		rec, err := s.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		s.guess(in, rec)
		kept := rec.clone()
		s.sample = append(s.sample, kept)
		size += len(kept.text)
	}
	if len(s.sample) == 0 { // a header without rows
		s.known(in)
	}
	return nil
}

// known makes sure that every field of the header has a guess.
func (s *csvSource) known(in *inference) {
	for _, name := range s.header {
		in.root.member([]byte(name))
	}
}

// guess looks at the fields of a record.
func (s *csvSource) guess(in *inference, rec *csvRecord) {
	in.input, in.line = rec.input, rec.line
	for i, cell := range rec.cells {
		g := in.root.member([]byte(s.header[i]))
		if !cell.null() {
			in.cell(g, rec.cell(i))
		}
	}
}

// next reads the next record that is no header and no blank line.
func (s *csvSource) next(ctx context.Context) (*csvRecord, error) {
	for {
		rec, err := s.reader.next(ctx)
		if err != nil {
			return nil, err
		}
		if rec.line == 1 {
			if err := s.begin(rec); err != nil {
				return nil, err
			}
			if !s.options.NoHeader {
				continue
			}
		}
		blank := len(rec.cells) == 1 && rec.cells[0].null()
		if blank && len(s.header) > 1 {
			continue
		}
		if len(rec.cells) != len(s.header) {
			err := fmt.Errorf("%d fields where %d are wanted", len(rec.cells), len(s.header))
			return nil, located(err, rec.input, rec.line)
		}
		rec.names = s.header
		return rec, nil
	}
}

// begin takes the first record of an input: its header, or the number of its fields.
func (s *csvSource) begin(rec *csvRecord) error {
	s.header = make([]string, len(rec.cells))
	seen := map[string]bool{}
	for i := range s.header {
		s.header[i] = fmt.Sprintf("column%d", i+1)
		if s.options.NoHeader {
			continue
		}
		if name := string(rec.cell(i)); name != "" {
			s.header[i] = name
		}
		if seen[s.header[i]] {
			return located(fmt.Errorf("the header names %q twice", s.header[i]), rec.input, rec.line)
		}
		seen[s.header[i]] = true
	}
	return nil
}

// Schema implements Source.
func (s *csvSource) Schema() *schema.Schema { return s.schema }

// Next implements Source.
func (s *csvSource) Next(ctx context.Context) (arrow.RecordBatch, error) {
	size, rows := 0, 0
	for rows < s.options.BatchRows && size < maxBatch {
		rec, err := s.take(ctx)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = s.append(rec)
		}
		if err != nil {
			return nil, err
		}
		size += len(rec.text)
		rows++
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return newBatch(s.builder, rows), nil
}

// take gives the next record, first those of the sample.
func (s *csvSource) take(ctx context.Context) (*csvRecord, error) {
	if len(s.sample) == 0 {
		return s.next(ctx)
	}
	rec := s.sample[0]
	s.sample[0] = csvRecord{}
	s.sample = s.sample[1:]
	return &rec, nil
}

// append adds one record to the builders.
func (s *csvSource) append(rec *csvRecord) error {
	if s.current != rec.input {
		if err := s.match(rec); err != nil {
			return located(err, rec.input, 1)
		}
		s.current = rec.input
	}
	filled := 0
	for i := range rec.cells {
		f := s.index[i]
		if f < 0 {
			continue
		}
		if err := s.put(f, rec, i); err != nil {
			return located(err, rec.input, rec.line)
		}
		filled++
	}
	if filled == len(s.columns) {
		return nil
	}
	return s.fill(rec)
}

// put appends field i of a record to a column.
func (s *csvSource) put(column int, rec *csvRecord, i int) error {
	if rec.cells[i].null() {
		return s.columns[column].null()
	}
	return s.cells[column](rec.cell(i))
}

// fill appends null to the fields that the input doesn't have.
func (s *csvSource) fill(rec *csvRecord) error {
	has := make([]bool, len(s.columns))
	for _, f := range s.index {
		if f >= 0 {
			has[f] = true
		}
	}
	for i, col := range s.columns {
		if has[i] {
			continue
		}
		if err := col.null(); err != nil {
			return located(err, rec.input, rec.line)
		}
	}
	return nil
}

// match finds the schema's field for each field of an input: by name, or by position without a header.
func (s *csvSource) match(rec *csvRecord) error {
	s.index = make([]int, len(rec.cells))
	if s.options.NoHeader {
		if len(rec.cells) != len(s.columns) {
			return fmt.Errorf("%d fields, where the schema has %d", len(rec.cells), len(s.columns))
		}
		for i := range s.index {
			s.index[i] = i
		}
		return nil
	}
	m := map[string]int{}
	for i, f := range s.schema.Fields {
		for _, alias := range f.Aliases {
			m[alias] = i
		}
	}
	for i, f := range s.schema.Fields {
		m[f.Name] = i
	}
	for i, name := range rec.names {
		f, ok := m[name]
		if !ok {
			f = -1
			if s.options.UnknownFields != DropUnknown {
				return inField(name, "the schema has no such field")
			}
		}
		s.index[i] = f
	}
	return nil
}

// cellReader appends the text of a CSV field to a column: scalars as they are, nested values as JSON.
func cellReader(col column) func(text []byte) error {
	c, ok := col.(*scalarColumn)
	if !ok {
		return func(text []byte) error {
			cur := &cursor{b: text}
			if err := element(col, cur); err != nil {
				return err
			}
			return cur.end()
		}
	}
	switch sc := c.scalar; {
	case sc.boolean != nil:
		return func(text []byte) error { return c.boolean(text) }
	case sc.number != nil && !c.n.IsDecimal():
		return c.number
	default:
		return sc.text
	}
}

// boolean reads true and false, in the spellings that programs write.
func (c *scalarColumn) boolean(text []byte) error {
	switch string(text) {
	case "true", "True", "TRUE":
		c.scalar.boolean(true)
	case "false", "False", "FALSE":
		c.scalar.boolean(false)
	default:
		return inField(c.path, "%.40q where true or false is wanted", text)
	}
	return nil
}

// number reads what JSON would call a number, or text such as NaN.
func (c *scalarColumn) number(text []byte) error {
	cur := cursor{b: text}
	if token, err := cur.number(); err == nil && len(token) == len(text) {
		return c.scalar.number(token)
	}
	if c.scalar.text != nil {
		return c.scalar.text(text)
	}
	return inField(c.path, "%.40q where %s is wanted", text, c.n.TypeName())
}

// Close implements Source.
func (s *csvSource) Close() error {
	s.builder.Release()
	return s.reader.lines.Close()
}
