package cole

import (
	"slices"
	"sort"

	"github.com/shardcat/shardcat/shardfmt/filter"
)

// keep gives the rows of a row group that may match by the statistics of the pages. Where no chunk has more than one
// page that is all of them or none.
func (f *File) keep(g *rowGroup, mayMatch func(func(int) *filter.Stats) bool) []span {
	if g.rows == 0 {
		return nil
	}
	if mayMatch == nil {
		return []span{{0, g.rows}}
	}
	if !mayMatch(func(column int) *filter.Stats { return f.groupStats(g, column) }) {
		return nil
	}
	var kept []span
	cuts := pageCuts(g)
	for i, end := range cuts[1:] {
		start := cuts[i]
		if len(cuts) > 2 && !mayMatch(func(column int) *filter.Stats { return f.pageStats(g, column, start) }) {
			continue
		}
		if n := len(kept); n > 0 && kept[n-1].end == start {
			kept[n-1].end = end
		} else {
			kept = append(kept, span{start, end})
		}
	}
	return kept
}

// pageCuts are the rows at which a page of any column begins, and the number of rows.
func pageCuts(g *rowGroup) []uint64 {
	cuts := []uint64{0, g.rows}
	for _, c := range g.chunks {
		for _, p := range c.pages {
			if p.first > 0 && p.first < g.rows {
				cuts = append(cuts, p.first)
			}
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts)
}

// groupStats are the statistics of all pages of a column together.
func (f *File) groupStats(g *rowGroup, column int) *filter.Stats {
	if f.meta.columns[column].typ == String {
		return &filter.Stats{Positions: g.rows, NullsKnown: true, NoNaNs: true}
	}
	all := statistics{hasMin: true, hasMax: true}
	begun := false
	for _, p := range g.chunks[column].pages {
		if p.values == 0 {
			continue
		}
		if p.stats == nil {
			all.hasMin, all.hasMax = false, false
			break
		}
		if !begun || p.stats.min < all.min {
			all.min = p.stats.min
		}
		if !begun || p.stats.max > all.max {
			all.max = p.stats.max
		}
		all.hasMin, all.hasMax, begun = all.hasMin && p.stats.hasMin, all.hasMax && p.stats.hasMax, true
	}
	return all.filter(g.rows)
}

// pageStats are the statistics of the page that holds a row.
func (f *File) pageStats(g *rowGroup, column int, row uint64) *filter.Stats {
	pages := g.chunks[column].pages
	i := sort.Search(len(pages), func(i int) bool { return pages[i].first+uint64(pages[i].values) > row })
	if i == len(pages) || f.meta.columns[column].typ == String || pages[i].stats == nil {
		return &filter.Stats{Positions: g.rows, NullsKnown: true, NoNaNs: true}
	}
	return pages[i].stats.filter(uint64(pages[i].values))
}

// filter puts statistics into the terms of the filter. The format has no nulls, whatever their number states.
func (s *statistics) filter(rows uint64) *filter.Stats {
	out := &filter.Stats{Positions: rows, NullsKnown: true, NoNaNs: true}
	if s.hasMin {
		out.Min = &filter.Value{Int: s.min}
	}
	if s.hasMax {
		out.Max = &filter.Value{Int: s.max}
	}
	return out
}
