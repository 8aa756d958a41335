package textindex

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
)

// pending is a posting whose values are still to be read.
type pending struct {
	*Posting
	at listAt
}

// load reads the lists of entries.
func (x *Index) load(ctx context.Context, entries []pageEntry) ([]Entry, error) {
	out := make([]Entry, len(entries))
	var wait []pending
	for i, e := range entries {
		out[i] = Entry{Term: string(e.term), Postings: make([]Posting, len(e.lists))}
		for k, l := range e.lists {
			p := &out[i].Postings[k]
			*p = Posting{Stripe: l.stripe, Field: l.field, Kind: l.kind}
			wait = append(wait, pending{p, l})
		}
	}
	for len(wait) > 0 {
		n := 1
		for n < len(wait) && wait[n].at.start == wait[n-1].at.end {
			n++
		}
		if err := x.loadRun(ctx, wait[:n]); err != nil {
			return nil, err
		}
		wait = wait[n:]
	}
	return out, nil
}

// loadRun reads lists that lie one behind the other.
func (x *Index) loadRun(ctx context.Context, run []pending) error {
	values, err := readPositions(ctx, x.positions, run[0].at.start, run[len(run)-1].at.end)
	if err != nil {
		return err
	}
	for _, p := range run {
		n := p.at.end - p.at.start
		p.Values, values = values[:n:n], values[n:]
		if p.Kind != Positions {
			p.Values = p.Values[:n&^1] // half a range means nothing
		}
		for i := 1; i < len(p.Values); i++ {
			if p.Values[i] <= p.Values[i-1] && !(p.Kind != Positions && i%2 == 0 && p.Values[i] == p.Values[i-1]) {
				return x.positions.Corrupt("positions [%d, %d) do not ascend", p.at.start, p.at.end)
			}
		}
	}
	return nil
}

// readPositions reads records [start, end) of a positions shard.
func readPositions(ctx context.Context, s *indexshard.Shard, start, end uint64) ([]uint64, error) {
	batches, err := s.Read(ctx, start, end)
	if err != nil {
		return nil, err
	}
	var out []uint64
	for _, b := range batches {
		at := b.Schema().FieldIndices("position")
		if len(at) != 1 {
			return nil, s.Corrupt("the schema is not that of the positions of a text index: %v", s.Schema())
		}
		c, ok := b.Column(at[0]).(*array.Uint64)
		if !ok || c.NullN() > 0 {
			return nil, s.Corrupt("positions are %v, with %d nulls", b.Column(at[0]).DataType(), b.Column(at[0]).NullN())
		}
		out = append(out, c.Uint64Values()...)
	}
	return out, nil
}
