package foreign

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ndjsonSource reads a JSON object a line.
type ndjsonSource struct {
	lines   *texts
	sample  []sampleLine // read for inference, not yet yielded
	schema  *schema.Schema
	builder *array.RecordBuilder
	members *members
	rows    int
	cursor  cursor
}

// sampleLine is a line that inference has read before.
type sampleLine struct {
	text  []byte
	input string
	line  int64
}

// newNDJSON opens NDJSON inputs; without a schema it reads the sample for inference.
func newNDJSON(ctx context.Context, open func() *texts, o SourceOptions) (*ndjsonSource, error) {
	s := &ndjsonSource{lines: open(), schema: o.Schema, rows: o.BatchRows}
	if err := s.findSchema(ctx, open, o); err != nil {
		s.lines.Close()
		return nil, err
	}
	if err := arrowtype.Check(s.schema); err != nil {
		s.lines.Close()
		return nil, err
	}
	s.builder = array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s.schema))
	state := &readState{guidOrder: o.GuidOrder, unknown: o.UnknownFields, warn: o.Warn, exactTimes: o.Exact}
	s.members = newMembers(s.schema.Fields, s.builder.Field, "", state)
	return s, nil
}

// findSchema infers what is not given: from a sample, or, where the schema may be extended, from everything.
func (s *ndjsonSource) findSchema(ctx context.Context, open func() *texts, o SourceOptions) error {
	extend := o.UnknownFields == ExtendByUnknown
	if s.schema != nil && !extend {
		return nil
	}
	in := newInference()
	if !extend {
		return s.readSample(ctx, in, o.InferRows)
	}
	if err := rereadable(s.lines.inputs); err != nil {
		return err
	}
	all := open()
	defer all.Close()
	for {
		line, err := all.next(ctx)
		if err == io.EOF {
			break
		}
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			err = in.record(line, all.name(), all.line)
		}
		if err != nil {
			return err
		}
	}
	s.schema = in.extend(s.schema)
	return nil
}

// rereadable: extending a schema takes a pass of its own over the inputs.
func rereadable(inputs []input) error {
	for _, in := range inputs {
		if in.url == "" {
			return errors.New("unknown fields can't be added while reading standard input, which is read only once: give a schema, or a file")
		}
	}
	return nil
}

func (s *ndjsonSource) readSample(ctx context.Context, in *inference, rows int) error {
	size := 0
	for len(s.sample) < rows && size < maxSample {
		line, err := s.lines.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		kept := sampleLine{bytes.Clone(line), s.lines.name(), s.lines.line}
		if err := in.record(kept.text, kept.input, kept.line); err != nil {
			return err
		}
		s.sample = append(s.sample, kept)
		size += len(line)
	}
	s.schema = in.schema()
	return nil
}

// Schema implements Source.
func (s *ndjsonSource) Schema() *schema.Schema { return s.schema }

// Next implements Source.
func (s *ndjsonSource) Next(ctx context.Context) (arrow.RecordBatch, error) {
	size, rows := 0, 0
	for rows < s.rows && size < maxBatch {
		line, err := s.line(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line.text)) == 0 {
			continue
		}
		if err := s.record(line.text); err != nil {
			return nil, located(err, line.input, line.line)
		}
		size += len(line.text)
		rows++
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return newBatch(s.builder, rows), nil
}

// newBatch takes what a builder holds; unlike the builder it also knows how many rows no columns have.
func newBatch(b *array.RecordBuilder, rows int) arrow.RecordBatch {
	columns := make([]arrow.Array, len(b.Fields()))
	for i, f := range b.Fields() {
		columns[i] = f.NewArray()
		defer columns[i].Release()
	}
	return array.NewRecordBatch(b.Schema(), columns, int64(rows))
}

// line gives the next line, first those of the sample.
func (s *ndjsonSource) line(ctx context.Context) (sampleLine, error) {
	if len(s.sample) > 0 {
		line := s.sample[0]
		s.sample[0] = sampleLine{}
		s.sample = s.sample[1:]
		return line, nil
	}
	text, err := s.lines.next(ctx)
	return sampleLine{text, s.lines.name(), s.lines.line}, err
}

// record appends one line to the builders.
func (s *ndjsonSource) record(line []byte) error {
	s.cursor.b, s.cursor.i = line, 0
	if s.cursor.peek() != '{' {
		return notARecord(&s.cursor)
	}
	if err := s.members.read(&s.cursor); err != nil {
		return err
	}
	return s.cursor.end()
}

// notARecord says what stands where a JSON object should.
func notARecord(c *cursor) error {
	if c.peek() == '[' {
		return errors.New("an array, where each line should be a JSON object")
	}
	if err := c.skip(0); err != nil {
		return err
	}
	c.i = 0
	return errors.New(c.what() + ", where each line should be a JSON object")
}

// Close implements Source.
func (s *ndjsonSource) Close() error {
	s.builder.Release()
	return s.lines.Close()
}
