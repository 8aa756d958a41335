package sysfield

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Source is src with the fields added, or src itself where the options add none.
func Source(src fileio.Source, o Options) fileio.Source {
	if !o.IngestionTime && !o.RecordID {
		return src
	}
	return &source{src, New(src.Schema(), o)}
}

type source struct {
	fileio.Source
	adder *Adder
}

func (s *source) Schema() *schema.Schema { return s.adder.Schema() }

func (s *source) Next(ctx context.Context) (arrow.RecordBatch, error) {
	batch, err := s.Source.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer batch.Release()
	return s.adder.Add(batch), nil
}
