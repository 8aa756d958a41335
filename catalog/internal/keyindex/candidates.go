package keyindex

import (
	"context"
	"sort"

	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

const (
	// MostLookedUp is up to how many keys of a batch are looked up one by one: of more, most shards that they are looked for in have some.
	MostLookedUp = 4096
	// mostScanned is up to how many records a filter may ask a key index for: of more, most shards have some.
	mostScanned = 16 << 10
	// scanAhead is how many bytes of a level are read at a time for a filter: about so many records.
	scanAhead = 512 << 10
)

// MayMatch gives the stripes with rows that may match a filter, by their numbers; known is false if the index can't tell. The records of all stripes that it
// covers are numbered one behind the other, so that the AND and OR of its answers is computed once for all shards.
func (x *Index) MayMatch(ctx context.Context, bound *filter.Bound) (units map[uint32]bool, known bool, err error) {
	first := make(map[uint32]uint64, len(x.State.Units))
	ends, at := make([]uint64, 0, len(x.State.Units)), uint64(0)
	for i := range x.State.Units {
		u := &x.State.Units[i]
		first[u.Number] = at
		at += uint64(u.Rows)
		ends = append(ends, at)
	}
	rows, known, err := bound.Candidates(func(q filter.Question) ([]filter.Range, bool, error) {
		return x.candidates(ctx, q, first)
	})
	if err != nil || !known {
		return nil, false, err
	}
	units = make(map[uint32]bool, len(rows))
	for _, r := range rows {
		for i := sort.Search(len(ends), func(i int) bool { return ends[i] > r.Start }); i < len(ends) && first[x.State.Units[i].Number] < r.End; i++ {
			units[x.State.Units[i].Number] = true
		}
	}
	return units, true, nil
}

// candidates gives the records that may answer a question about the first column of the key, by their numbers; known is false if those are many, or the
// question is about something else.
func (x *Index) candidates(ctx context.Context, q filter.Question, first map[uint32]uint64) (rows []filter.Range, known bool, err error) {
	n := x.Key.Columns[0]
	if len(q.Path) != 1 || q.Path[0].ID != n.ID {
		return nil, false, nil
	}
	var spans []Span
	switch q.Kind {
	case filter.Equal:
		if len(q.Values) > MostLookedUp {
			return nil, false, nil
		}
		for i := range q.Values {
			part := x.Key.Part(n, &q.Values[i])
			if len(x.Key.Columns) > 1 {
				spans = append(spans, SpanBetween(part, part))
			} else {
				spans = append(spans, SpanOf(part))
			}
		}
		spans = Ascending(spans)
	case filter.Within:
		var low, high []byte
		if q.Low != nil {
			low = x.Key.Part(n, q.Low)
		}
		if q.High != nil {
			high = x.Key.Part(n, q.High)
		}
		spans = append(spans, SpanBetween(low, high))
	default:
		return nil, false, nil
	}
	enough, err := x.find(ctx, spans, mostScanned, scanAhead, func(_ int, r Row) {
		at, known := first[r.Unit]
		if known {
			at += uint64(r.Row)
			rows = append(rows, filter.Range{Start: at, End: at + 1})
		}
	})
	if enough || err != nil {
		return nil, false, err
	}
	return ranges.Union(rows), true, nil
}
