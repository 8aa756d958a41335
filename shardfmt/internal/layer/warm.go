package layer

import (
	"context"
	"sort"

	"github.com/shardcat/shardcat/blobio"
)

// Span is the keys from Low to High, both included.
type Span struct{ Low, High Value }

// Warm reads the blocks of the first column in which keys of some spans may lie, level after level, each in as few requests as makes sense. Spans
// must ascend and be disjoint. It reads about most bytes of blocks, and gives how many of the spans can now be searched without another
// request: at least one, unless there is none.
func (f *File) Warm(ctx context.Context, spans []Span, most int64) (n int, err error) {
	f.mu.Lock()
	f.ahead = map[int64][]byte{} // what was read and not requested is let go
	f.mu.Unlock()
	if f.keyless(0) {
		return 0, ErrNoValueIndex
	}
	top := f.top(0)
	if len(spans) == 0 || top.end == 0 {
		return len(spans), nil
	}
	n = len(spans)
	level := []wanted{{top, 0, n}}
	for {
		var done int
		if level, done = within(level, most); done < n {
			n = max(done, 1)
		}
		if err := f.readAhead(ctx, level); err != nil || len(level) == 0 || !level[0].index {
			return n, err
		}
		var below []wanted
		for _, w := range level {
			if below, err = f.below(ctx, w, spans, below); err != nil {
				return 0, err
			}
		}
		level = below
	}
}

// wanted is a node in which keys of spans from one to before another may lie.
type wanted struct {
	node
	from, to int
}

// within are the nodes up to some bytes; done is before which span all nodes are among them.
func within(level []wanted, most int64) (fit []wanted, done int) {
	var bytes int64
	for i, w := range level {
		if bytes += w.size; i > 0 && bytes > most {
			return level[:i], w.from
		}
		done = w.to
	}
	return level, done
}

// below appends the children of an index node in which keys of its spans may lie.
func (f *File) below(ctx context.Context, w wanted, spans []Span, to []wanted) ([]wanted, error) {
	x, err := w.open(ctx, f)
	if err != nil {
		return nil, err
	}
	t := f.pair(0).Key
	var failed error
	compare := func(bound int, key Value) int {
		v, err := f.bound(0, x, w.node, bound)
		if err != nil && failed == nil {
			failed = err
		}
		return t.compare(v, key)
	}
	first := len(to)
	child := -1 // of the last one that was appended
	for s := w.from; s < w.to; s++ {
		from := max(child, 0)
		i := from + sort.Search(x.n-from, func(i int) bool { return compare(2*(from+i)+1, spans[s].Low) >= 0 })
		for ; i < x.n && failed == nil && compare(2*i, spans[s].High) <= 0; i++ {
			if i == child && len(to) > first {
				to[len(to)-1].to = s + 1
				continue
			}
			to, child = append(to, wanted{w.child(x, i), s, s + 1}), i
		}
		if failed != nil {
			return nil, failed
		}
	}
	return to, nil
}

// readAhead reads the blocks of nodes that are not available.
func (f *File) readAhead(ctx context.Context, level []wanted) error {
	var ranges []blobio.Range
	f.mu.Lock()
	for _, w := range level {
		if _, known := f.blocks[w.offset]; !known && w.offset < f.size-int64(len(f.tail)) && w.size <= maxBlock {
			ranges = append(ranges, blobio.Range{Start: w.offset, End: w.offset + w.size})
		}
	}
	f.mu.Unlock()
	if len(ranges) == 0 {
		return nil
	}
	data, err := f.st.ReadRanges(ctx, f.url, ranges)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, r := range ranges {
		f.ahead[r.Start] = data[i]
	}
	return nil
}

// InSpan gives the keys of the first column that lie in a span, in order, with their rows. Blocks are read one by one, but for those that Warm has
// read. A key is valid until do returns.
func (f *File) InSpan(ctx context.Context, s Span, do func(key Value, row uint64) error) error {
	if f.keyless(0) {
		return ErrNoValueIndex
	}
	if top := f.top(0); top.end > 0 {
		return f.inSpan(ctx, top, []Span{s}, do)
	}
	return nil
}

func (f *File) inSpan(ctx context.Context, n node, s []Span, do func(Value, uint64) error) error {
	if n.index {
		children, err := f.below(ctx, wanted{n, 0, 1}, s, nil)
		for i := 0; i < len(children) && err == nil; i++ {
			err = f.inSpan(ctx, children[i].node, s, do)
		}
		return err
	}
	c := f.Group().Cursor()
	if err := c.enter(ctx, n); err != nil {
		return err
	}
	t := f.pair(0).Key
	row, err := c.findInLeaf(n.start, n.end, func(k Value) bool { return t.compare(k, s[0].Low) >= 0 })
	for ; err == nil && row < n.end; row++ {
		c.at = row
		key, err := c.Key()
		if err != nil {
			return err
		}
		if t.compare(key, s[0].High) > 0 {
			return nil
		}
		if err := do(key, row); err != nil {
			return err
		}
	}
	return err
}
