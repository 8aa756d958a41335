package textindex

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/index/tokenizer"
	"github.com/shardcat/shardcat/shardfmt/internal/indexshard"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// Part is the index of one shard as it becomes a part of that of several: its stripes and records are FirstStripe and FirstRecord
// later there.
type Part struct {
	Descriptor *metapb.IndexDescriptor
	// Base is the object whose folder relative references start at, Store what they are read from.
	Base  string
	Store meta.Store
	// Stripes and Records of the shard.
	Stripes, FirstStripe int
	Records, FirstRecord uint64
	// Fields are the numbers of fields in the new index by those that they have here. They ascend as those do.
	Fields map[uint32]uint32
}

// JoinOptions of Join. The zero value is valid.
type JoinOptions struct {
	Policy urlresolve.Policy
	// Memory is about how many bytes of the parts are held at a time, and of what is written, DefaultMemory if 0.
	Memory int64
}

// Join writes the index of shards that are put one behind the other, of their indexes: their terms, which are sorted, are merged, and
// positions are shifted by the records before. Each part is read once, from its start to its end. The new descriptor d states all but where the
// artifacts are. A part that is not as it must be is a corrupt.ErrCorrupt.
func Join(ctx context.Context, to shardwriter.IndexTarget, d *metapb.IndexDescriptor, parts []Part, o JoinOptions) (*metapb.IndexDescriptor, []Object, error) {
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	j, err := newJoin(ctx, parts, o)
	if err != nil {
		return nil, nil, err
	}
	return writeAll(ctx, to, d, o.Memory, j.fill)
}

// join merges parts.
type join struct {
	cursors cursors
	// held is what the cursors hold in bytes, most the most of it so far.
	held, most int
}

const (
	// leastTail and mostTail bound what is kept of the end of each artifact: of most all of it.
	leastTail, mostTail = 16 << 10, 1 << 20
	// leastAhead and mostAhead bound the positions that are read ahead of each part.
	leastAhead, mostAhead = 1 << 10, 64 << 10
	// pageCost is about what a page of the tree takes in memory.
	pageCost = 48 << 10
)

// newJoin opens the parts. A quarter of the memory goes to the ends of artifacts, which are there twice a part, a quarter to positions and
// the rest to pages.
func newJoin(ctx context.Context, parts []Part, o JoinOptions) (*join, error) {
	each := o.Memory / int64(4*max(1, len(parts)))
	j := &join{}
	for i := range parts {
		p := &parts[i]
		desc, err := Parse(p.Descriptor)
		if err != nil {
			return nil, corrupt.Locate(err, p.Base, 0)
		}
		urls := make([]string, 2)
		for k := range urls {
			if urls[k], err = urlresolve.Resolve(p.Base, p.Descriptor.Artifacts[k].DataRef.GetUrl(), o.Policy); err != nil {
				return nil, err
			}
		}
		shards, err := indexshard.OpenOnce(ctx, p.Store, urls, o.Policy, min(mostTail, max(leastTail, each/2)))
		if err != nil {
			return nil, err
		}
		c := &cursor{
			part: p, order: i, exact: desc.Collation == CasePreserving, terms: shards[0], positions: shards[1], join: j,
			ahead: uint64(min(mostAhead, max(leastAhead, each/8))), pages: uint64(max(1, 2*each/pageCost)),
		}
		j.hold(shards[0].Held() + shards[1].Held())
		more, err := c.next(ctx)
		if err != nil {
			return nil, err
		}
		if more {
			j.cursors = append(j.cursors, c)
		}
	}
	heap.Init(&j.cursors)
	return j, nil
}

func (j *join) hold(bytes int) {
	j.held += bytes
	j.most = max(j.most, j.held)
}

// fill gives the lists of all parts to a writer, in the order of terms and stripes.
func (j *join) fill(ctx context.Context, w *writer) error {
	for len(j.cursors) > 0 {
		c := j.cursors[0]
		if err := c.copy(ctx, w); err != nil {
			return err
		}
		more, err := c.next(ctx)
		switch {
		case err != nil:
			return err
		case more:
			heap.Fix(&j.cursors, 0)
		default:
			heap.Pop(&j.cursors)
		}
	}
	return nil
}

// cursor is a part at one of its entries.
type cursor struct {
	part             *Part
	order            int  // among the parts
	exact            bool // the case of letters counts in the order of terms
	terms, positions *indexshard.Shard
	join             *join

	leaves []*page
	from   uint64 // the first page that was not read yet
	entry  int    // of the first leaf
	cost   int    // of the leaves
	upper  []byte // the upper-case form of the current term
	last   []byte // the current term
	begun  bool
	pages  uint64 // are read together

	// values are positions that were read, from number at on.
	values []uint64
	at     uint64
	ahead  uint64
}

// next goes to the next entry.
func (c *cursor) next(ctx context.Context) (more bool, err error) {
	if c.begun {
		c.entry++
	}
	for len(c.leaves) == 0 || c.entry == len(c.leaves[0].entries) {
		if len(c.leaves) > 0 {
			c.leaves, c.entry = c.leaves[1:], 0
		}
		if len(c.leaves) > 0 {
			continue
		}
		if c.from == c.terms.Records() {
			c.hold(0)
			return false, nil
		}
		if err := c.read(ctx); err != nil {
			return false, err
		}
	}
	t := c.leaves[0].entries[c.entry].term
	upper := tokenizer.AppendUpper(nil, t)
	if order := cmp.Or(slices.Compare(upper, c.upper), c.compareExact(t)); c.begun && order < 0 {
		return false, c.terms.Corrupt("the term %q follows %q", t, c.last)
	}
	c.upper, c.last, c.begun = upper, t, true
	return true, nil
}

// compareExact compares a term with the one before it where the case of letters counts.
func (c *cursor) compareExact(t []byte) int {
	if !c.exact {
		return 0
	}
	return slices.Compare(t, c.last)
}

// read reads the next pages, and keeps the leaves.
func (c *cursor) read(ctx context.Context) error {
	to := min(c.from+c.pages, c.terms.Records())
	pages, err := readPages(ctx, c.terms, c.from, to, c.positions.Records())
	if err != nil {
		return err
	}
	cost := 0
	for _, p := range pages {
		if p.level > 0 {
			continue
		}
		c.leaves = append(c.leaves, p)
		for i := range p.entries {
			cost += len(p.entries[i].term) + 48 + 32*len(p.entries[i].lists)
		}
	}
	c.hold(cost)
	c.from, c.entry = to, 0
	return nil
}

// hold notes what the leaves take.
func (c *cursor) hold(cost int) {
	c.join.hold(cost - c.cost)
	c.cost = cost
}

// copy gives the lists of the current entry to a writer.
func (c *cursor) copy(ctx context.Context, w *writer) error {
	e := &c.leaves[0].entries[c.entry]
	for i := range e.lists {
		l := &e.lists[i]
		stripe := int(l.stripe) + c.part.FirstStripe
		field, known := c.part.Fields[l.field]
		if int(l.stripe) >= c.part.Stripes || !known {
			return c.terms.Corrupt("a list of field %d in stripe %d, of %d", l.field, l.stripe, c.part.Stripes)
		}
		if stripe > math.MaxUint16 {
			return corrupt.Unsupported(-1, "a text index of more than %d stripes", math.MaxUint16+1)
		}
		start := w.written
		if err := c.copyValues(ctx, w, l); err != nil {
			return err
		}
		if err := w.tree.add(ctx, string(e.term), listAt{stripe: uint16(stripe), field: field, kind: l.kind, start: start, end: w.written}); err != nil {
			return err
		}
	}
	return nil
}

// copyValues gives the values of a list to a writer, shifted, some at a time.
func (c *cursor) copyValues(ctx context.Context, w *writer, l *listAt) error {
	end := l.end
	if l.kind != Positions {
		end -= (end - l.start) % 2 // half a range means nothing
	}
	check := ascending{kind: l.kind, limit: c.part.Records}
	for at := l.start; at < end; {
		values, err := c.valuesFrom(ctx, at, end)
		if err != nil {
			return err
		}
		shifted := make([]uint64, len(values))
		for i, v := range values {
			if !check.next(v) {
				return c.positions.Corrupt("positions [%d, %d) do not ascend up to the %d records there are", l.start, l.end, c.part.Records)
			}
			shifted[i] = v + c.part.FirstRecord
		}
		if err := w.append(ctx, shifted); err != nil {
			return err
		}
		at += uint64(len(values))
	}
	return nil
}

// valuesFrom are some values of the positions shard from number at on, at least one and up to end.
func (c *cursor) valuesFrom(ctx context.Context, at, end uint64) ([]uint64, error) {
	if at < c.at || at >= c.at+uint64(len(c.values)) {
		to := min(at+c.ahead, c.positions.Records())
		values, err := readPositions(ctx, c.positions, at, to)
		if err != nil {
			return nil, err
		}
		c.join.hold(8 * (len(values) - len(c.values)))
		c.values, c.at = values, at
	}
	from := at - c.at
	return c.values[from:min(uint64(len(c.values)), from+end-at)], nil
}

// ascending checks the values of a list one by one: they ascend, but that a range may begin where the one before it ends, and are
// records of which there are limit, or the end of a range of such.
type ascending struct {
	kind  Kind
	limit uint64
	count int
	last  uint64
}

func (a *ascending) next(v uint64) bool {
	first, end := a.count == 0, a.kind != Positions && a.count%2 == 1
	touches := a.kind != Positions && a.count%2 == 0 && v == a.last
	ok := (first || v > a.last || touches) && (v < a.limit || end && v == a.limit)
	a.count, a.last = a.count+1, v
	return ok
}

// cursors is a heap by the current term: those of an earlier part come first, so that stripes ascend.
type cursors []*cursor

func (h cursors) Len() int { return len(h) }

func (h cursors) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(slices.Compare(a.upper, b.upper), slices.Compare(a.last, b.last), cmp.Compare(a.order, b.order)) < 0
}

func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *cursors) Push(x any) { *h = append(*h, x.(*cursor)) }

// Pop implements heap.Interface.
func (h *cursors) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
