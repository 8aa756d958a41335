package catalog

import (
	"context"
	"slices"
	"sort"

	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/internal/ranges"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

const (
	// mostScanned is up to how many records a filter may ask a key index for: of more, most shards have some.
	mostScanned = 16 << 10
	// scanAhead is how many bytes of a level are read at a time for a filter: about so many records.
	scanAhead = 512 << 10
)

// siftKeys rules out the shards, and stripes of them, of which a key index of the table reports that no row matches.
func (p *Plan) siftKeys(ctx context.Context) error {
	if p.bound == nil || p.options.IgnoreIndexes || !p.bound.Asks() || len(p.Shards) <= fewShards {
		return nil
	}
	for _, def := range p.table.keyIndexDefs() {
		key, ok := rowkey.OfIDs(p.schema, def.ids)
		if !ok || def.object == "" || !slices.Contains(p.bound.Nodes(), key.Columns[0].ID) {
			continue
		}
		x, err := p.table.openKeyIndex(ctx, p.table.cat.client, p.schema, def)
		if err == nil {
			err = p.askKeys(ctx, x)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.table.cat.opts.Log.Warn("a key index is not used", "table", p.table.name.String(), "index", p.table.keyIndexName(&def), "error", err)
		}
	}
	return nil
}

// askKeys asks one index. The records of all stripes that it covers are numbered one behind the other, so that what its answers come to, by AND
// and OR, is found once for all shards.
func (p *Plan) askKeys(ctx context.Context, x *keyIndex) error {
	if !x.coversAny(p.Shards) {
		return nil
	}
	first := make(map[uint32]uint64, len(x.state.Units))
	ends, at := make([]uint64, 0, len(x.state.Units)), uint64(0)
	for i := range x.state.Units {
		u := &x.state.Units[i]
		first[u.Number] = at
		at += uint64(u.Rows)
		ends = append(ends, at)
	}
	rows, known, err := p.bound.Candidates(func(q filter.Question) ([]filter.Range, bool, error) {
		return x.answer(ctx, q, first)
	})
	if err != nil || !known {
		return err
	}
	may := make(map[uint32]bool, len(rows))
	for _, r := range rows {
		for i := sort.Search(len(ends), func(i int) bool { return ends[i] > r.Start }); i < len(ends) && first[x.state.Units[i].Number] < r.End; i++ {
			may[x.state.Units[i].Number] = true
		}
	}
	p.ruleOut(x, may)
	return nil
}

// ruleOut takes out the covered shards that have none of some stripes.
func (p *Plan) ruleOut(x *keyIndex, may map[uint32]bool) {
	if p.ruledOut == nil {
		p.ruledOut = map[string][]bool{}
	}
	p.Shards = slices.DeleteFunc(p.Shards, func(e *manifest.Entry) bool {
		units, ok := x.covers(e)
		if !ok {
			return false
		}
		if !slices.ContainsFunc(units, func(u uint32) bool { return may[u] }) {
			p.PrunedKeys++
			return true
		}
		out := p.ruledOut[e.Path]
		if out == nil {
			out = make([]bool, len(units))
			p.ruledOut[e.Path] = out
		}
		for i, u := range units {
			out[i] = out[i] || !may[u]
		}
		return false
	})
}

// answer gives the records that may answer a question about the first column of the key, by their numbers; known is false if those are many, or the
// question is about something else.
func (x *keyIndex) answer(ctx context.Context, q filter.Question, first map[uint32]uint64) (rows []filter.Range, known bool, err error) {
	n := x.key.Columns[0]
	if len(q.Path) != 1 || q.Path[0].ID != n.ID {
		return nil, false, nil
	}
	var spans []keyindex.Span
	switch q.Kind {
	case filter.Equal:
		if len(q.Values) > mostSiftedKeys {
			return nil, false, nil
		}
		for i := range q.Values {
			part := x.key.Part(n, &q.Values[i])
			if len(x.key.Columns) > 1 {
				spans = append(spans, keyindex.SpanBetween(part, part))
			} else {
				spans = append(spans, keyindex.SpanOf(part))
			}
		}
		spans = keyindex.Ascending(spans)
	case filter.Within:
		var low, high []byte
		if q.Low != nil {
			low = x.key.Part(n, q.Low)
		}
		if q.High != nil {
			high = x.key.Part(n, q.High)
		}
		spans = append(spans, keyindex.SpanBetween(low, high))
	default:
		return nil, false, nil
	}
	enough, err := x.find(ctx, spans, mostScanned, scanAhead, func(_ int, r keyindex.Row) {
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
