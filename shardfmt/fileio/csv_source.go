package fileio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// csvSource reads CSV.
type csvSource struct {
	origins
	textSchema
	reader *csvReader
	sample []csvRecord // read for inference, not yet yielded
	csvColumns
	// trial takes each record first, if those that don't fit are rejected.
	trial csvColumns
	// tried is how many records it holds.
	tried int
	// nulls are the texts that stand for null; inText, for each column, whether only some count, as in text.
	nulls  map[string]bool
	inText []bool
	noted  []bool
	state  *readState
	// sniff reports headers.
	sniff *inference
	// header is the names of the fields of the input available.
	header []string
	// withHeader: inputs begin with a header, or not; nil until the first one was looked at.
	withHeader *bool
	// index is the schema's field for each field of a record, −1 for those that are dropped.
	index   []int
	has     []bool
	current string // the input that index is for
}

// csvColumns are the builders of a batch, and what fills them.
type csvColumns struct {
	builder *batchBuilder
	columns []column
	cells   []func(text []byte) error
	// usual are, for each column, what takes the text of most fields (scalar.usual and plain), or nil.
	usual []func(text []byte) bool
}

func (s *csvSource) newColumns() (c csvColumns) {
	c.builder = newBatchBuilder(s.schema)
	for i, f := range s.schema.Fields {
		c.columns = append(c.columns, newColumn(f, f.Name, c.builder.field(i), s.state))
		c.cells = append(c.cells, cellReader(c.columns[i], s.sniff.numbers))
		c.usual = append(c.usual, s.usualReader(c.columns[i]))
	}
	return c
}

// newCSV opens CSV inputs; without a schema it reads the sample for inference.
func newCSV(ctx context.Context, open func() *texts, ahead *sampled, o SourceOptions) (*csvSource, error) {
	lines := open()
	s := &csvSource{textSchema: textSchema{options: o, schema: o.Schema}, reader: newCSVReader(lines, o.dialect()), sniff: newInference(o)}
	err := s.infer(ctx, s, open, ahead)
	if s.found != nil {
		s.found.Comma, s.found.Header = nameComma(s.reader.comma), s.withHeader
	}
	if err == nil {
		err = arrowtype.Check(s.schema)
	}
	if err == nil {
		s.state, err = newReadState(o)
	}
	if err != nil {
		lines.Close()
		return nil, err
	}
	s.current = ""
	s.nulls = s.sniff.nulls
	s.noted = make([]bool, len(s.schema.Fields))
	s.state.texts = nil // every field of CSV is text
	s.state.knowing(s.found)
	s.csvColumns = s.newColumns()
	if o.Reject != nil {
		s.trial = s.newColumns()
	}
	for _, f := range s.schema.Fields {
		s.inText = append(s.inText, holdsText(f))
	}
	return s, nil
}

// holdsText reports whether a column holds text or bytes, so that what stands in it may be meant, and nothing in quotes
// is not null.
func holdsText(n *schema.Node) bool {
	switch n.Basic {
	case schema.String, schema.Binary:
		return true
	case schema.FixedSizeBinary:
		return !n.IsDecimal()
	}
	return false
}

// readAll looks at every record, by a pass of its own over the inputs.
func (s *csvSource) readAll(ctx context.Context, in *inference, open func() *texts) error {
	if err := rereadable(s.reader.lines.inputs); err != nil {
		return err
	}
	all := s.again(open())
	defer all.reader.lines.Close()
	guesses := &cellGuesses{in: in, schema: s.schema}
	for {
		rec, err := all.next(ctx)
		if err == io.EOF {
			s.reader.comma, s.withHeader = all.reader.comma, all.withHeader
			return guesses.known(all.header)
		}
		if err != nil {
			return err
		}
		if err := guesses.record(rec); err != nil {
			return err
		}
	}
}

// again returns a source of the same records for inference; it reports no rejected records, as they are read again.
func (s *csvSource) again(lines *texts) *csvSource {
	c := &csvSource{textSchema: textSchema{options: s.options, schema: s.schema}, sniff: s.sniff, reader: newCSVReader(lines, s.options.dialect())}
	if c.options.Reject != nil {
		c.options.Reject = func(Rejected) error { return nil }
	}
	return c
}

// readAhead infers from what has come of a stream, at least one record.
func (s *csvSource) readAhead(ctx context.Context, ahead *sampled) (*inference, error) {
	for {
		in, size := newInference(s.options), 0
		guesses, c := &cellGuesses{in: in}, s.again(ahead.sample(true))
		var err error
		for err == nil && int(in.rows) < s.options.InferRows && size < maxSample {
			var rec *csvRecord
			if rec, err = c.next(ctx); err == nil {
				err = guesses.record(rec)
				size += len(rec.text) + 8*len(rec.cells)
			}
		}
		if err == io.EOF || err != nil && !ahead.ended() { // a record may be cut where the head ends
			err = guesses.known(c.header)
		}
		s.reader.comma, s.withHeader = c.reader.comma, c.withHeader
		c.reader.lines.Close()
		if err != nil || in.rows > 0 || ahead.ended() {
			return in, err
		}
		if err := ahead.more(ctx); err != nil {
			return nil, err
		}
	}
}

func (s *csvSource) readSample(ctx context.Context, in *inference) error {
	size := 0
	guesses, copies := &cellGuesses{in: in}, csvCopies{}
	for len(s.sample) < s.options.InferRows && size < maxSample {
		rec, err := s.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := guesses.record(rec); err != nil {
			return err
		}
		s.sample = append(s.sample, copies.keep(rec))
		size += len(rec.text) + 8*len(rec.cells)
	}
	return guesses.known(s.header) // a header without rows
}

// cellGuesses looks at the fields of records. Where a schema is given that may be extended, those of its structs, lists and maps
// are JSON, whose members are looked at too.
type cellGuesses struct {
	in     *inference
	schema *schema.Schema
	names  []string
	cells  []*guess
	nested []bool
}

// known makes sure that every field of a header has a guess.
func (g *cellGuesses) known(names []string) error {
	if len(names) == 0 || len(g.names) == len(names) && &g.names[0] == &names[0] {
		return nil
	}
	g.names, g.cells, g.nested = names, g.cells[:0], g.nested[:0]
	for _, name := range names {
		m, err := g.in.member(g.in.root, []byte(name))
		if err != nil {
			return err
		}
		g.cells = append(g.cells, m)
		g.nested = append(g.nested, g.holdsNested(name))
	}
	return nil
}

// holdsNested reports whether a field of the schema has fields below it.
func (g *cellGuesses) holdsNested(name string) bool {
	if g.schema == nil {
		return false
	}
	for _, f := range g.schema.Fields {
		if f.Name == name || slices.Contains(f.Aliases, name) {
			return len(f.Children) > 0
		}
	}
	return false
}

func (g *cellGuesses) record(rec *csvRecord) error {
	if err := g.known(rec.names); err != nil {
		return located(err, rec.input, rec.line)
	}
	g.in.input, g.in.line = rec.input, rec.line
	for i, m := range g.cells {
		switch {
		case rec.null(i):
		case g.nested[i]:
			// What is not JSON is refused with its place when the records are read.
			_ = g.in.value(m, &cursor{b: rec.cell(i)}, 1)
		default:
			g.in.cell(m, rec.cell(i), rec.quoted(i))
		}
	}
	g.in.rows++
	return nil
}

// next reads the next record that is not a header and no blank line.
func (s *csvSource) next(ctx context.Context) (*csvRecord, error) {
	for {
		if s.withHeader == nil {
			if err := s.findHeader(ctx); err != nil {
				return nil, err
			}
		}
		rec, first, err := s.reader.next(ctx)
		if err != nil {
			if first || !s.isRecord(err) {
				return nil, err
			}
			if err := s.reject(&s.reader.record, err); err != nil {
				return nil, err
			}
			continue
		}
		if first {
			if err := s.begin(rec); err != nil {
				return nil, err
			}
			if *s.withHeader {
				continue
			}
		}
		if len(rec.cells) != len(s.header) {
			if len(rec.cells) == 1 && rec.null(0) {
				continue // a blank line
			}
			if !s.options.Pad || !rec.pad(len(s.header)) {
				if err := s.reject(rec, s.raggedError(rec)); err != nil {
					return nil, err
				}
				continue
			}
		}
		rec.names = s.header
		return rec, nil
	}
}

// raggedError is the error of a record with more or fewer fields than there are columns.
func (s *csvSource) raggedError(rec *csvRecord) error {
	what := "quote fields that contain the separator %q, or set another separator with --comma"
	if len(rec.cells) < len(s.header) {
		what = "--pad reads missing fields as null; --comma sets another separator than %q"
	}
	return located(fmt.Errorf("%s, expected %d: "+what, plural.Count(len(rec.cells), "field"), len(s.header), s.reader.comma), rec.input, rec.line)
}

// findHeader looks whether the inputs begin with headers.
func (s *csvSource) findHeader(ctx context.Context) error {
	with := s.options.Header == WithHeader
	if s.options.Header == AutoHeader {
		if err := s.reader.begin(ctx); err != nil {
			return err
		}
		names := map[string]int{}
		if s.schema != nil {
			names = s.fieldIndex()
		}
		with = s.sniff.sniffHeader(s.reader.lines, s.reader.csvDialect, names)
	}
	s.withHeader = &with
	return nil
}

// begin takes the first record of an input: its header, or the number of its fields. A name that occurs again gets a
// number, so that every field has a name of its own.
func (s *csvSource) begin(rec *csvRecord) error {
	if len(rec.cells) > maxFields {
		return located(errTooManyFields, rec.input, rec.line)
	}
	s.header = make([]string, len(rec.cells))
	seen := make(map[string]bool, len(rec.cells))
	for i := range s.header {
		name := fmt.Sprintf("column%d", i+1)
		if *s.withHeader {
			if text := bytes.TrimSpace(rec.cell(i)); len(text) > 0 {
				name = string(text)
			}
		}
		s.header[i] = name
		for n := 1; seen[s.header[i]]; n++ {
			s.header[i] = fmt.Sprintf("%s_%d", name, n)
		}
		if s.header[i] != name {
			s.options.Warn(fmt.Sprintf("%s:%d: the header names %q more than once: field %d is called %q", rec.input, rec.line, name, i+1, s.header[i]))
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
	for most := batchRows(s.options.BatchRows, len(s.schema.Fields)); rows < most && size < maxBatch; {
		rec, err := s.take(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := s.enter(rec); err != nil {
			return nil, err
		}
		if s.options.Reject != nil {
			if err := s.try(rec); err != nil {
				if err := s.reject(rec, err); err != nil {
					return nil, err
				}
				continue
			}
		}
		if rows == 0 {
			s.builder.reserve()
		}
		if err := s.append(rec); err != nil {
			return nil, err
		}
		s.note(rec.input, 1)
		size += len(rec.text) + 8*len(rec.cells)
		rows++
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return s.builder.batch(rows), nil
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

// enter finds the columns of a record's input, unless it is that of the one before.
func (s *csvSource) enter(rec *csvRecord) error {
	if s.current != rec.input {
		if err := s.match(rec); err != nil {
			return located(advised(err, s.found, s.options), rec.input, 1)
		}
		s.current = rec.input
	}
	return nil
}

// append adds one record to the builders.
func (s *csvSource) append(rec *csvRecord) error {
	filled := 0
	for i, f := range s.index {
		if f < 0 {
			continue
		}
		filled++
		if take := s.usual[f]; take != nil {
			if text := rec.cell(i); len(text) > 0 && take(text) {
				continue
			}
		}
		if err := s.put(f, rec, i); err != nil {
			return located(advised(err, s.found, s.options), rec.input, rec.line)
		}
	}
	if filled == len(s.columns) {
		return nil
	}
	return s.fill(rec)
}

// fill appends null to the fields that the input doesn't have.
func (s *csvSource) fill(rec *csvRecord) error {
	for i, col := range s.columns {
		if s.has[i] {
			continue
		}
		if err := col.null(); err != nil {
			return located(err, rec.input, rec.line)
		}
	}
	return nil
}

// fieldIndex finds the schema's field by name or alias.
func (s *csvSource) fieldIndex() map[string]int {
	m := map[string]int{}
	for i, f := range s.schema.Fields {
		for _, alias := range f.Aliases {
			m[alias] = i
		}
	}
	for i, f := range s.schema.Fields {
		m[f.Name] = i
	}
	return m
}

// match finds the schema's field for each field of an input: by name, or by position without a header.
func (s *csvSource) match(rec *csvRecord) error {
	s.index = make([]int, len(rec.cells))
	s.has = make([]bool, len(s.columns))
	if !*s.withHeader {
		if len(rec.cells) != len(s.columns) {
			return fmt.Errorf("%s, but the schema has %d and there is no header line to match them by name (use --header yes if the first line is one)", plural.Count(len(rec.cells), "field"), len(s.columns))
		}
		for i := range s.index {
			s.index[i], s.has[i] = i, true
		}
		return nil
	}
	m := s.fieldIndex()
	for i, name := range rec.names {
		f, ok := m[name]
		if !ok {
			f = -1
			if s.options.UnknownFields != DropUnknown {
				return &fieldError{path: name, err: errUnknownField, unknown: true}
			}
		} else {
			s.has[f] = true
		}
		s.index[i] = f
	}
	return nil
}

// Close implements Source.
func (s *csvSource) Close() error {
	s.builder.record.Release()
	if s.trial.builder != nil {
		s.trial.builder.record.Release()
	}
	return s.reader.lines.Close()
}
