package layer

import (
	"context"
	"errors"
	"sort"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Group is a range of rows of a column, in order of their keys: the whole first column, or what a row of the column
// before owns.
type Group struct {
	f          *File
	column     int
	start, end uint64
}

// Group is the whole first column.
func (f *File) Group() Group { return Group{f, 0, 0, f.t.columns[0].rows} }

// Len is the number of rows.
func (g Group) Len() uint64 { return g.end - g.start }

// Subset is rows [start, end) of the group, as far as there are such.
func (g Group) Subset(start, end uint64) Group {
	end = g.start + min(end, g.Len())
	return Group{g.f, g.column, min(g.start+start, end), end}
}

// Owned is the rows of the next column that the rows of the group own: they lie side by side. It reads the data of the first and of
// the last row.
func (g Group) Owned(ctx context.Context) (Group, error) {
	if g.Len() == 0 {
		return Group{}, nil
	}
	c := g.Cursor()
	if err := c.First(ctx); err != nil {
		return Group{}, err
	}
	out, err := c.Group()
	if err != nil {
		return Group{}, err
	}
	if err := c.Last(ctx); err != nil {
		return Group{}, err
	}
	last, err := c.Group()
	if err == nil && last.end < out.start {
		err = corrupt.Locate(corrupt.At(-1, "a group of rows from %d after one to %d", out.start, last.end), g.f.url, 0)
	}
	out.end = last.end
	return out, err
}

// Cursor moves over the rows of a group. It stands on a row, before the first, or behind the last one. It remembers the
// block of its row, so that moving to a row nearby reads nothing. Not for concurrent use.
type Cursor struct {
	g    Group
	at   uint64 // the row, start−1 (wrapping) before the first and end behind the last one
	leaf node
	data *dataBlock
}

// Cursor makes a cursor before the first row.
func (g Group) Cursor() *Cursor { return &Cursor{g: g, at: g.start - 1} }

// Valid reports whether the cursor stands on a row.
func (c *Cursor) Valid() bool { return c.at >= c.g.start && c.at < c.g.end }

// Row is the number of the row in its column.
func (c *Cursor) Row() uint64 { return c.at }

// Before moves in front of the first row.
func (c *Cursor) Before() { c.at = c.g.start - 1 }

// After moves behind the last row.
func (c *Cursor) After() { c.at = c.g.end }

// First moves to the first row.
func (c *Cursor) First(ctx context.Context) error { return c.Nth(ctx, 0) }

// Last moves to the last row.
func (c *Cursor) Last(ctx context.Context) error {
	if c.g.Len() == 0 {
		c.Before()
		return nil
	}
	return c.Nth(ctx, c.g.Len()-1)
}

// Nth moves to row n of the group, from 0, or behind the last one.
func (c *Cursor) Nth(ctx context.Context, n uint64) error {
	c.at = c.g.start + min(n, c.g.Len())
	return c.settle(ctx)
}

// MoveTo moves to a row by its number in the column.
func (c *Cursor) MoveTo(ctx context.Context, row uint64) error {
	if row < c.g.start {
		c.Before()
		return nil
	}
	return c.Nth(ctx, row-c.g.start)
}

// Next moves to the next row.
func (c *Cursor) Next(ctx context.Context) error {
	if c.at != c.g.end {
		c.at++
	}
	return c.settle(ctx)
}

// Prev moves to the row before.
func (c *Cursor) Prev(ctx context.Context) error {
	if c.at != c.g.start-1 {
		c.at--
	}
	return c.settle(ctx)
}

// settle loads the leaf of the row, if there is one.
func (c *Cursor) settle(ctx context.Context) error {
	if !c.Valid() || c.data != nil && c.at >= c.leaf.start && c.at < c.leaf.end {
		return nil
	}
	n := c.g.f.top(c.g.column)
	for n.index {
		x, err := n.open(ctx, c.g.f)
		if err != nil {
			return err
		}
		row := c.at - n.start
		n = n.child(x, sort.Search(x.n, func(i int) bool { return x.totals.at(i) > row }))
	}
	return c.enter(ctx, n)
}

// enter makes a leaf the current one.
func (c *Cursor) enter(ctx context.Context, n node) (err error) {
	c.leaf = n
	c.data, err = c.g.f.data(ctx, c.g.column, n.location, n.end-n.start)
	return err
}

// ErrNoRow is a cursor that stands on no row.
var ErrNoRow = errors.New("the cursor is not on a row")

// Key of the row. Byte strings are parts of a block, which others use too.
func (c *Cursor) Key() (Value, error) {
	p := c.g.f.pair(c.g.column)
	return c.value(p.Key, p.keyAt)
}

// Aux is the auxiliary value of the row.
func (c *Cursor) Aux() (Value, error) {
	p := c.g.f.pair(c.g.column)
	return c.value(p.Aux, p.auxAt)
}

func (c *Cursor) value(t Type, at int) (Value, error) {
	if !c.Valid() || c.data == nil {
		return Value{}, ErrNoRow
	}
	return c.g.f.item(c.data, c.leaf, int(c.at-c.leaf.start), t, at)
}

// item reads a value of item i of a leaf.
func (f *File) item(d *dataBlock, n node, i int, t Type, at int) (Value, error) {
	v, err := t.get(d.b, int(d.items.at(i))+at)
	return v, corrupt.Locate(err, f.url, n.offset)
}

// Group is the rows of the next column that the row owns.
func (c *Cursor) Group() (Group, error) {
	if !c.Valid() || c.data == nil {
		return Group{}, ErrNoRow
	}
	if c.g.column == len(c.g.f.t.columns)-1 {
		return Group{}, errors.New("the last column has no groups")
	}
	return c.g.f.groupOf(c.g.column, c.leaf, c.data, int(c.at-c.leaf.start))
}

// groupOf gives the rows of the next column that item i of a leaf owns.
func (f *File) groupOf(column int, n node, d *dataBlock, i int) (Group, error) {
	g := Group{f, column + 1, d.groups.at(i), d.groups.at(i + 1)}
	if rows := f.t.columns[g.column].rows; g.end > rows {
		return g, corrupt.Locate(corrupt.At(n.offset, "a group of rows to %d, where column %d has %d", g.end, g.column, rows), f.url, 0)
	}
	return g, nil
}

// SeekGE moves to the first row at or behind the cursor whose key is not less than key. It reads as many blocks as the
// tree has levels, at most.
func (c *Cursor) SeekGE(ctx context.Context, key Value) error {
	t := c.g.f.pair(c.g.column).Key
	return c.SeekForwardUntil(ctx, func(k Value) bool { return t.compare(k, key) >= 0 })
}

// SeekLE moves to the last row at or before the cursor whose key is not greater than key. A cursor behind the last row
// searches all of the group.
func (c *Cursor) SeekLE(ctx context.Context, key Value) error {
	t := c.g.f.pair(c.g.column).Key
	return c.SeekBackwardUntil(ctx, func(k Value) bool { return t.compare(k, key) <= 0 })
}

// SeekForwardUntil moves to the first row at or behind the cursor for which is is true, or behind the last one. Once
// true for a key, it must be true for all greater ones.
func (c *Cursor) SeekForwardUntil(ctx context.Context, is func(Value) bool) error {
	low := c.at
	if low == c.g.start-1 {
		low = c.g.start
	}
	row, err := c.find(ctx, low, c.g.end, is, true)
	c.at = row
	return errors.Join(err, c.settleAfter(ctx, err))
}

// SeekBackwardUntil moves to the last row at or before the cursor for which is is true, or before the first one. Once
// true for a key, it must be true for all smaller ones.
func (c *Cursor) SeekBackwardUntil(ctx context.Context, is func(Value) bool) error {
	high := c.at
	if high == c.g.start-1 {
		return nil
	}
	if high < c.g.end {
		high++
	}
	row, err := c.find(ctx, c.g.start, high, func(v Value) bool { return !is(v) }, false)
	c.at = row - 1
	return errors.Join(err, c.settleAfter(ctx, err))
}

func (c *Cursor) settleAfter(ctx context.Context, err error) error {
	if err != nil {
		return nil
	}
	return c.settle(ctx)
}

// find gives the first row of [low, high) for which is is true, or high. It descends by the last keys of children,
// where the row that is wanted is that one, and by the first keys, where it is the one before; bounds whose row lies
// outside are decided by the row alone.
func (c *Cursor) find(ctx context.Context, low, high uint64, is func(Value) bool, byLast bool) (uint64, error) {
	if low >= high {
		return high, nil
	}
	f, n := c.g.f, c.g.f.top(c.g.column)
	if f.keyless(c.g.column) {
		return high, ErrNoValueIndex
	}
	for n.index {
		x, err := n.open(ctx, f)
		if err != nil {
			return high, err
		}
		var failed error
		i := sort.Search(x.n, func(i int) bool {
			_, start, end := x.child(i)
			row, bound := n.start+end-1, 2*i+1
			if !byLast {
				row, bound = n.start+start, 2*i
			}
			if row < low {
				return false
			}
			if row >= high {
				return true
			}
			key, err := f.bound(c.g.column, x, n, bound)
			if err != nil && failed == nil {
				failed = err
			}
			return err == nil && is(key)
		})
		if failed != nil {
			return high, failed
		}
		if !byLast {
			i = max(i-1, 0)
		}
		if i == x.n {
			return high, nil
		}
		n = n.child(x, i)
	}
	if err := c.enter(ctx, n); err != nil {
		return high, err
	}
	return c.findInLeaf(max(low, n.start), min(high, n.end), is)
}

func (c *Cursor) findInLeaf(low, high uint64, is func(Value) bool) (uint64, error) {
	p := c.g.f.pair(c.g.column)
	var failed error
	if low >= high {
		return high, nil
	}
	i := sort.Search(int(high-low), func(i int) bool {
		key, err := c.g.f.item(c.data, c.leaf, int(low+uint64(i)-c.leaf.start), p.Key, p.keyAt)
		if err != nil && failed == nil {
			failed = err
		}
		return err == nil && is(key)
	})
	return low + uint64(i), failed
}

// bound reads a key of an index block.
func (f *File) bound(column int, x *indexBlock, n node, i int) (Value, error) {
	v, err := f.pair(column).Key.get(x.b, int(x.bounds.at(i)))
	return v, corrupt.Locate(err, f.url, n.offset)
}

// ends reads the first and the last key from the data.
func (f *File) ends(ctx context.Context) (low, high Value, ok bool, err error) {
	c := f.Group().Cursor()
	if err = c.First(ctx); err == nil {
		low, err = c.Key()
	}
	if err == nil {
		err = c.Last(ctx)
	}
	if err == nil {
		high, err = c.Key()
	}
	return low, high, err == nil, err
}

// KeyRange gives the smallest and the greatest key of the first column, from its root alone if that has keys; ok is false if it has no
// rows.
func (f *File) KeyRange(ctx context.Context) (low, high Value, ok bool, err error) {
	n := f.top(0)
	if n.end == 0 {
		return low, high, false, nil
	}
	if n.index && f.keyless(0) {
		return f.ends(ctx)
	}
	if n.index {
		x, err := n.open(ctx, f)
		if err != nil {
			return low, high, false, err
		}
		if low, err = f.bound(0, x, n, 0); err == nil {
			high, err = f.bound(0, x, n, 2*x.n-1)
		}
		return low, high, err == nil, err
	}
	d, err := f.data(ctx, 0, n.location, n.end)
	if err != nil {
		return low, high, false, err
	}
	p := f.pair(0)
	if low, err = f.item(d, n, 0, p.Key, p.keyAt); err == nil {
		high, err = f.item(d, n, d.n-1, p.Key, p.keyAt)
	}
	return low, high, err == nil, err
}
