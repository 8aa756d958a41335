package merge

import (
	"cmp"
	"math"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
)

// layout is what the new object consists of: the magic, the groups, the spans behind them, the magic.
type layout struct {
	groups []*group
	// spans are of one origin each, all of it.
	spans []*span
	// size of the object.
	size int64
}

// group is some origins that are held in memory together, and their spans in the order in which they are written.
type group struct {
	origins []*origin
	spans   []*span
}

// PackGroup is the most bytes of source objects in which Pack puts a column of all stripes side by side.
const PackGroup = piecesAhead * pieceSize

// groupSize is PackGroup. A variable for tests.
var groupSize int64 = PackGroup

// leastSpan is how many bytes there must be for each checksum of a span, which takes about 100 in the root.
var leastSpan int64 = 2 << 10

// layColumns lays out origins, in the order of their sizes. Those below copyLeast are put in groups, in the order of their stripes; in a group
// one column of all stripes comes after the other. It is nil where that does not pay.
func (p *places) layColumns(moving []*origin) *layout {
	small := slices.IndexFunc(moving, func(o *origin) bool { return o.size() >= copyLeast })
	if small < 0 {
		small = len(moving)
	}
	origins, bytes := slices.Clone(moving[:small]), int64(0)
	for _, o := range origins {
		o.disjoin()
		o.byColumns = true
		for i := range o.spans {
			o.spans[i].sum = math.MaxUint64 // which takes as many bytes as any
			bytes += o.spans[i].size()
		}
	}
	if most := bytes / leastSpan; bytes == 0 || p.assignSums(origins, most) > most {
		return nil
	}
	slices.SortStableFunc(origins, func(a, b *origin) int { return cmp.Compare(a.firstStripe(), b.firstStripe()) })
	l := &layout{groups: groupsOf(origins), size: int64(len(meta.Magic))}
	for _, g := range l.groups {
		for _, s := range g.spans {
			l.place(s)
		}
	}
	return l.end(moving[small:])
}

// layWhole lays out origins in their order, all of one after the other.
func (p *places) layWhole(moving []*origin) *layout {
	p.sums = nil
	l := &layout{size: int64(len(meta.Magic))}
	return l.end(moving)
}

// end lays out origins as they are behind everything else.
func (l *layout) end(moving []*origin) *layout {
	for _, o := range moving {
		o.byColumns, o.spans = false, []span{{of: o, start: o.start, end: o.end}}
		l.spans = append(l.spans, &o.spans[0])
		l.place(&o.spans[0])
	}
	l.size += int64(len(meta.Magic))
	return l
}

// place puts a span behind the others, where the buffers in it keep their alignment.
func (l *layout) place(s *span) {
	const mask = colstream.Alignment - 1
	s.to = l.size + (s.start-l.size)&mask
	l.size = s.to + s.size()
}

// groupsOf are groups of origins in their order, each with its spans column by column, and of a column stripe by stripe.
func groupsOf(origins []*origin) (groups []*group) {
	var g *group
	held := int64(0)
	for _, o := range origins {
		if len(o.spans) == 0 {
			continue
		}
		if g == nil || held+o.size() > groupSize {
			g, held = new(group), 0
			groups = append(groups, g)
		}
		held += o.size()
		g.origins = append(g.origins, o)
		for i := range o.spans {
			g.spans = append(g.spans, &o.spans[i])
		}
	}
	for _, g := range groups {
		slices.SortStableFunc(g.spans, func(a, b *span) int {
			return cmp.Or(cmp.Compare(a.column, b.column), cmp.Compare(a.stripe, b.stripe))
		})
	}
	return groups
}

// firstStripe is the first stripe that has data in the origin.
func (o *origin) firstStripe() int32 {
	first := int32(math.MaxInt32)
	for i := range o.spans {
		if s := o.spans[i].stripe; s >= 0 {
			first = min(first, s)
		}
	}
	return first
}

// assignSums gives each stripe the checksums of the spans that its checksums cover, if only in part. It returns their number, and gives up
// beyond most.
func (p *places) assignSums(origins []*origin, most int64) (count int64) {
	p.sums = map[int32][]*span{}
	for _, o := range origins {
		for _, sum := range o.sums {
			i, _ := slices.BinarySearchFunc(o.spans, sum.start, func(s span, start int64) int { return cmp.Or(cmp.Compare(s.end, start), -1) })
			for ; i < len(o.spans) && o.spans[i].start < sum.end; i++ {
				s, of := &o.spans[i], p.sums[sum.stripe]
				if len(of) > 0 && of[len(of)-1] == s {
					continue // two checksums meet in it
				}
				if count++; count > most {
					return count
				}
				p.sums[sum.stripe] = append(of, s)
			}
		}
	}
	return count
}
