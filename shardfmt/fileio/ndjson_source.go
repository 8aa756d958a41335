package fileio

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ndjsonSource reads JSON objects, one a line or as documents has them.
type ndjsonSource struct {
	origins
	textSchema
	docs    *documents
	sample  []document // read for inference, not yet yielded
	builder *batchBuilder
	members *members
	cursor  cursor
}

// newNDJSON opens NDJSON inputs; without a schema it reads the sample for inference.
func newNDJSON(ctx context.Context, open func() *texts, ahead *sampled, o SourceOptions) (*ndjsonSource, error) {
	s := &ndjsonSource{textSchema: textSchema{options: o, schema: o.Schema}, docs: &documents{lines: open()}}
	if err := s.infer(ctx, s, open, ahead); err != nil {
		s.docs.lines.Close()
		return nil, err
	}
	if err := arrowtype.Check(s.schema); err != nil {
		s.docs.lines.Close()
		return nil, err
	}
	s.builder = newBatchBuilder(s.schema)
	state, err := newReadState(o)
	if err != nil {
		return nil, err
	}
	s.members = newMembers(s.schema.Fields, s.builder.field, "", state.knowing(s.found))
	return s, nil
}

// readAll looks at every record, by a pass of its own over the inputs.
func (s *ndjsonSource) readAll(ctx context.Context, in *inference, open func() *texts) error {
	if err := rereadable(s.docs.lines.inputs); err != nil {
		return err
	}
	all := &documents{lines: open()}
	defer all.lines.Close()
	for {
		doc, err := all.next(ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			_, err = in.record(doc, all)
		}
		if err != nil {
			return err
		}
	}
}

// rereadable: extending a schema, and looking at all rows, take a pass of their own over the inputs.
func rereadable(inputs []input) error {
	for _, in := range inputs {
		if in.stream != nil {
			return fmt.Errorf("%s can be read only once (standard input or a pipe), but --infer-rows 0 reads all rows first: use a file, or set --schema", in.name)
		}
	}
	return nil
}

// readAhead infers from what has come of a stream, at least one record.
func (s *ndjsonSource) readAhead(ctx context.Context, ahead *sampled) (*inference, error) {
	for {
		in, size := newInference(s.options), 0
		docs := &documents{lines: ahead.sample(false)}
		for int(in.rows) < s.options.InferRows && size < maxSample {
			doc, err := docs.next(ctx)
			if err == io.EOF || err != nil && !ahead.ended() {
				break // the head may end in the middle of a record
			}
			if err == nil && !ahead.ended() && !docs.whole(doc) {
				break
			}
			if err == nil {
				_, err = in.record(doc, docs)
				size += len(doc.text)
			}
			if err != nil {
				docs.lines.Close()
				return nil, err
			}
		}
		docs.lines.Close()
		if in.rows > 0 || ahead.ended() {
			return in, nil
		}
		if err := ahead.more(ctx); err != nil {
			return nil, err
		}
	}
}

// whole reports whether nothing can follow that belongs to a document: its line has ended, or its object has.
func (d *documents) whole(doc document) bool {
	if d.form == byLine && d.lines.ending != nil {
		return true
	}
	scan := jsonScan{}
	_, ended := scan.end(doc.text)
	return ended
}

func (s *ndjsonSource) readSample(ctx context.Context, in *inference) error {
	size, room := 0, []byte(nil)
	for len(s.sample) < s.options.InferRows && size < maxSample {
		doc, err := s.docs.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		doc.text, room = kept(doc.text, room)
		n, err := in.record(doc, s.docs)
		if err != nil {
			return err
		}
		doc.text = doc.text[:n]
		s.sample = append(s.sample, doc)
		size += len(doc.text)
	}
	return nil
}

// Schema implements Source.
func (s *ndjsonSource) Schema() *schema.Schema { return s.schema }

// Next implements Source.
func (s *ndjsonSource) Next(ctx context.Context) (arrow.RecordBatch, error) {
	size, rows := 0, 0
	for most := batchRows(s.options.BatchRows, len(s.schema.Fields)); rows < most && size < maxBatch; {
		doc, err := s.document(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if rows == 0 {
			s.builder.reserve()
		}
		if err := s.record(doc.text); err != nil {
			return nil, doc.located(advised(err, s.found, s.options))
		}
		s.note(doc.input, 1)
		size += len(doc.text)
		rows++
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return s.builder.batch(rows), nil
}

// document gives the next document, first those of the sample.
func (s *ndjsonSource) document(ctx context.Context) (document, error) {
	if len(s.sample) > 0 {
		doc := s.sample[0]
		s.sample[0] = document{}
		s.sample = s.sample[1:]
		return doc, nil
	}
	return s.docs.next(ctx)
}

// record appends one document to the builders.
func (s *ndjsonSource) record(text []byte) error {
	s.cursor.b, s.cursor.i = text, 0
	if s.cursor.peek() != '{' {
		return notARecord(&s.cursor)
	}
	if err := s.members.read(&s.cursor); err != nil {
		return err
	}
	if s.cursor.peek() == '{' && s.docs.cut(text, s.cursor.i) {
		return nil
	}
	return s.cursor.end()
}

// notARecord reports what stands where a JSON object should.
func notARecord(c *cursor) error {
	if c.peek() == '[' {
		return errors.New("an array where a JSON object was expected as a record")
	}
	if err := c.skip(0); err != nil {
		return err
	}
	c.i = 0
	return errors.New(c.what() + " where a JSON object was expected as a record")
}

// Close implements Source.
func (s *ndjsonSource) Close() error {
	s.builder.record.Release()
	return s.docs.lines.Close()
}
