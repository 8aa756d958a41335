package fileio

import (
	"context"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// textSchema is the schema of a source of text: the given one, or what its records have.
type textSchema struct {
	options SourceOptions
	schema  *schema.Schema
	// found is what inference found, nil if the schema was given.
	found *Inference
}

func (s *textSchema) inferred() *Inference { return s.found }

// inferrer reads records for inference, in one of three ways.
type inferrer interface {
	// readAll reads every record, by a pass of its own over the inputs.
	readAll(ctx context.Context, in *inference, open func() *texts) error
	// readAhead reads what has come of a stream, at least one record.
	readAhead(ctx context.Context, ahead *sampled) (*inference, error)
	// readSample reads and keeps the first records.
	readSample(ctx context.Context, in *inference) error
}

// infer infers what is not given: from a sample, or, where the schema may be extended or all rows count, from everything.
func (s *textSchema) infer(ctx context.Context, from inferrer, open func() *texts, ahead *sampled) error {
	extend := s.options.UnknownFields == ExtendByUnknown
	if s.schema != nil && !extend {
		return nil
	}
	in := newInference(s.options)
	var err error
	switch {
	case extend || s.options.InferRows == AllRows:
		err = from.readAll(ctx, in, open)
	case ahead != nil:
		in, err = from.readAhead(ctx, ahead)
	default:
		err = from.readSample(ctx, in)
	}
	if err != nil {
		return err
	}
	if s.schema != nil {
		s.schema, err = overrideNew(in.extend(s.schema), s.options)
		return err
	}
	if s.schema, err = override(in.schema(), s.options.Types); err == nil {
		s.found = in.summary(s.options, s.schema)
	}
	return err
}
