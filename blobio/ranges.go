package blobio

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// Range is the bytes [Start, End) of an object.
type Range struct{ Start, End int64 }

// Len is the number of bytes.
func (r Range) Len() int64 { return r.End - r.Start }

// probeFrom is the number of bytes from which ReadRanges proves, by its last request, that the object is as
// long as the ranges claim, before it allocates for the others.
const probeFrom = 64 << 20

// ReadRanges reads many ranges of one object, in any order, also overlapping ones. Ranges that lie close
// together are read by one request, long ones by several; the requests run concurrently. The slices it returns
// may share memory with their neighbours.
func (s *Space) ReadRanges(ctx context.Context, url string, ranges []Range) ([][]byte, error) {
	for _, r := range ranges {
		if r.Start < 0 || r.End < r.Start {
			return nil, NewError("read", url, ErrRange, errors.New("malformed range"))
		}
	}
	spans := coalesce(ranges, s.opts.gap, s.opts.request)
	if err := s.fill(ctx, url, spans); err != nil {
		return nil, err
	}
	out := make([][]byte, len(ranges))
	for _, sp := range spans {
		for _, i := range sp.ranges {
			from, to := ranges[i].Start-sp.Start, ranges[i].End-sp.Start
			out[i] = sp.data[from:to:to]
		}
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

// piece is one request.
type piece struct {
	off int64
	dst []byte
}

func (s *Space) fill(ctx context.Context, url string, spans []*span) error {
	if total(spans) >= probeFrom {
		last := spans[len(spans)-1]
		probe := make([]byte, min(last.Len(), 1))
		if _, err := s.ReadRange(ctx, url, last.End-1, probe); err != nil {
			return err
		}
	}
	var pieces []piece
	for _, sp := range spans {
		sp.data = make([]byte, sp.Len())
		for at := int64(0); at < sp.Len(); at += s.opts.request {
			to := min(at+s.opts.request, sp.Len())
			pieces = append(pieces, piece{sp.Start + at, sp.data[at:to]})
		}
	}
	return s.Each(ctx, len(pieces), func(ctx context.Context, i int) error {
		_, err := s.ReadRange(ctx, url, pieces[i].off, pieces[i].dst)
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
