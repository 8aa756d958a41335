package blobio

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/internal/parallel"
)

// Range is the bytes [Start, End) of an object.
type Range struct{ Start, End int64 }

// Len is the number of bytes.
func (r Range) Len() int64 { return r.End - r.Start }

// probeFrom is the number of bytes from which ReadRanges makes its last request first: its answer proves that
// the object is as long as the ranges claim, before memory is taken for the others.
const probeFrom = 64 << 20

// ReadRanges reads many ranges of one object, in any order, also overlapping ones. Ranges that lie close
// together are read by one request, long ones by several; the requests run concurrently. The slices it returns
// may share memory with adjacent ranges.
func (c *Client) ReadRanges(ctx context.Context, url string, ranges []Range) ([][]byte, error) {
	return c.ReadRangesInto(ctx, url, ranges, bufpool.Bytes)
}

// ReadRangesInto is ReadRanges into memory of the caller's: take gives n bytes, which may hold anything, and is called by several
// requests at the same time. After an error nothing is reported of what they hold, but nobody writes to them any more.
func (c *Client) ReadRangesInto(ctx context.Context, url string, ranges []Range, take func(n int) []byte) ([][]byte, error) {
	if err := wellFormed(url, ranges); err != nil {
		return nil, err
	}
	if len(ranges) == 1 && 0 < ranges[0].Len() && ranges[0].Len() <= c.opts.Request && ranges[0].Len() < probeFrom { // as mostly
		return c.readOne(ctx, url, ranges[0], take)
	}
	spans := coalesce(ranges, c.opts.Gap, c.opts.Request)
	if err := c.fill(ctx, url, spans, take); err != nil {
		return nil, err
	}
	return cut(ranges, spans), nil
}

// wellFormed refuses ranges that can be of no object.
func wellFormed(url string, ranges []Range) error {
	for _, r := range ranges {
		if r.Start < 0 || r.End < r.Start {
			return malformedRange(url)
		}
	}
	return nil
}

func malformedRange(url string) error {
	return NewError("read", url, ErrRange, errors.New("malformed range"))
}

// cut gives the ranges out of the spans that were read for them.
func cut(ranges []Range, spans []*span) [][]byte {
	out := make([][]byte, len(ranges))
	for _, sp := range spans {
		for _, i := range sp.ranges {
			from, to := ranges[i].Start-sp.Start, ranges[i].End-sp.Start
			out[i] = sp.data[from:to:to]
		}
	}
	return out
}

// readOne reads what one request answers: as ReadRangesInto does, with less to set up for it.
func (c *Client) readOne(ctx context.Context, url string, r Range, take func(n int) []byte) (out [][]byte, err error) {
	err = parallel.Guarded(func() error {
		held, err := c.hold(ctx, url, r.Len())
		if err != nil {
			return err
		}
		defer c.opts.memory.Release(held)
		out = [][]byte{take(int(r.Len()))[:r.Len():r.Len()]}
		_, err = c.readRange(ctx, url, r.Start, out[0])
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// span is a stretch of an object that is read as a whole.
type span struct {
	Range
	ranges []int // that lie in it
	data   []byte
}

// coalesce joins ranges that overlap, and those whose gap and sum are within the limits. Empty ranges need
// no bytes.
func coalesce(ranges []Range, gap, request int64) []*span {
	order := make([]int, 0, len(ranges))
	for i, r := range ranges {
		if r.Len() > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ranges[a].Start, ranges[b].Start) })
	var spans []*span
	for _, i := range order {
		r := ranges[i]
		if n := len(spans); n > 0 {
			last := spans[n-1]
			near := r.Start-last.End <= gap && max(r.End, last.End)-last.Start <= request
			if r.Start < last.End || near {
				last.End = max(last.End, r.End)
				last.ranges = append(last.ranges, i)
				continue
			}
		}
		spans = append(spans, &span{Range: r, ranges: []int{i}})
	}
	return spans
}

// fill reads the spans, each within the memory budget.
func (c *Client) fill(ctx context.Context, url string, spans []*span, take func(int) []byte) error {
	var tail []byte
	if total(spans) >= probeFrom {
		last := spans[len(spans)-1]
		tail = make([]byte, (last.Len()-1)%c.opts.Request+1)
		if _, err := c.ReadRange(ctx, url, last.End-int64(len(tail)), tail); err != nil {
			return err
		}
	}
	return c.Each(ctx, len(spans), func(ctx context.Context, c *Client, i int) error {
		held, err := c.hold(ctx, url, spans[i].Len())
		if err != nil {
			return err
		}
		defer c.opts.memory.Release(held)
		have := tail
		if i != len(spans)-1 {
			have = nil
		}
		return c.fillSpan(ctx, url, spans[i], have, take)
	})
}

// fillSpan reads one span, of which the last bytes may be there, in requests of the largest size.
func (c *Client) fillSpan(ctx context.Context, url string, sp *span, tail []byte, take func(int) []byte) error {
	sp.data = take(int(sp.Len()))
	missing := sp.data[:len(sp.data)-copy(sp.data[len(sp.data)-len(tail):], tail)]
	size := int(c.opts.Request)
	if 0 < len(missing) && len(missing) <= size { // as mostly
		_, err := c.readRange(ctx, url, sp.Start, missing)
		return err
	}
	return c.Each(ctx, (len(missing)+size-1)/size, func(ctx context.Context, c *Client, i int) error {
		piece := missing[i*size : min((i+1)*size, len(missing))]
		_, err := c.readRange(ctx, url, sp.Start+int64(i*size), piece)
		return err
	})
}

// total is the sum of the spans' lengths, or the most that can be if it overflows.
func total(spans []*span) int64 {
	var sum int64
	for _, sp := range spans {
		if sum += sp.Len(); sum < 0 {
			return 1<<63 - 1
		}
	}
	return sum
}
