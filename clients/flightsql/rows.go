package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/util"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/parallel"
)

// messageBytes keeps messages below the 4 MiB that gRPC clients take unless told otherwise.
const messageBytes = 2 << 20

// rows reads a plan into a channel, as fast as the client takes them. It ends with the call.
func (s *server) rows(ctx context.Context, p *catalog.Plan) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	release, err := s.take(ctx, s.slots)
	if err != nil {
		return nil, nil, err
	}
	p.LimitMemory(s.o.MaxMemory / int64(s.o.Answers))
	r, err := p.Reader(ctx, catalog.ReadOptions{TimeUnit: s.o.TimeUnit})
	if err != nil {
		release()
		return nil, nil, err
	}
	out := make(chan flight.StreamChunk)
	go func() {
		defer release()
		defer close(out)
		defer r.Release()
		if err := parallel.Guarded(func() error { return pour(ctx, r, out) }); err != nil {
			send(ctx, out, flight.StreamChunk{Err: told(err)})
		}
	}()
	return r.Schema(), out, nil
}

// pour sends the batches of a reader until there are no more, or nobody listens.
func pour(ctx context.Context, r array.RecordReader, out chan<- flight.StreamChunk) error {
	for r.Next() {
		for _, part := range parts(r.RecordBatch()) {
			if !send(ctx, out, flight.StreamChunk{Data: part}) {
				return ctx.Err()
			}
		}
	}
	return r.Err()
}

// send reports whether the client still listens.
func send(ctx context.Context, out chan<- flight.StreamChunk, c flight.StreamChunk) bool {
	select {
	case out <- c:
		return true
	case <-ctx.Done():
		return false
	}
}

// parts cuts a batch into messages of about messageBytes. A row that is larger is a message of its own.
func parts(b arrow.RecordBatch) (out []arrow.RecordBatch) {
	n := (util.TotalRecordSize(b) + messageBytes - 1) / messageBytes
	step := max(1, b.NumRows()/max(1, n))
	for from := int64(0); from < b.NumRows(); from += step {
		out = append(out, b.NewSlice(from, min(b.NumRows(), from+step)))
	}
	return out
}
