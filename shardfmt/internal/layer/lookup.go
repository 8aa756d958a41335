package layer

import (
	"context"
	"errors"
	"sort"
)

// ErrNoValueIndex is a search by value in a column that was written without the keys in its index.
var ErrNoValueIndex = errors.New("this column has no value index: rows are found by their number only")

// keyless reports whether a column's index has no keys.
func (f *File) keyless(column int) bool { return f.x.keyless>>column&1 != 0 }

// leafOf finds the leaf of the first column in which a key lies if it lies anywhere. It reads index blocks only; ok is
// false if their bounds rule the key out.
func (f *File) leafOf(ctx context.Context, key Value) (n node, ok bool, err error) {
	t := f.pair(0).Key
	n = f.top(0)
	if n.end == 0 {
		return n, false, nil
	}
	for n.index {
		x, err := n.open(ctx, f)
		if err != nil {
			return n, false, err
		}
		var failed error
		compare := func(bound int) int {
			v, err := f.bound(0, x, n, bound)
			failed = errors.Join(failed, err)
			return t.compare(v, key)
		}
		i := sort.Search(x.n, func(i int) bool { return compare(2*i+1) >= 0 })
		if failed != nil || i == x.n {
			return n, false, failed
		}
		if compare(2*i) > 0 || failed != nil {
			return n, false, failed
		}
		n = n.child(x, i)
	}
	return n, true, nil
}

// MayContain is false only if a key is certainly not in the first column: by the bounds of the index, or by a filter.
// A file that is one data block has none read: the block itself would cost no more.
func (f *File) MayContain(ctx context.Context, key Value) (bool, error) {
	if f.keyless(0) {
		return true, nil
	}
	n, ok, err := f.leafOf(ctx, key)
	if !ok || err != nil {
		return false, err
	}
	return f.admits(ctx, n, key)
}

// admits asks the filter about a key that would lie in a leaf, unless the leaf is the whole file or available already.
func (f *File) admits(ctx context.Context, leaf node, key Value) (bool, error) {
	f.mu.Lock()
	_, atHand := f.blocks[leaf.offset]
	f.mu.Unlock()
	if leaf.depth == 1 || atHand || f.pair(0).Key.Kind == Opaque {
		return true, nil
	}
	if f.x.table.size > 0 {
		return f.probe(ctx, key, leaf.start)
	}
	whole, err := f.wholeFilter(ctx)
	if err != nil || whole == nil {
		return err == nil, err
	}
	f.mu.Lock()
	f.stats.Probes++
	f.mu.Unlock()
	return whole.MayContain(key), nil
}

// wholeFilter reads the filter of the whole file, once.
func (f *File) wholeFilter(ctx context.Context) (Filter, error) {
	f.mu.Lock()
	known := f.filter
	f.mu.Unlock()
	if known != nil {
		return known, nil
	}
	read, err := f.Filter(ctx)
	if err == nil && read != nil {
		f.mu.Lock()
		f.filter = read
		f.mu.Unlock()
	}
	return read, err
}

// Lookup finds a key of the first column: a cursor on its row, or nil. A key that is not there costs the index and, where
// there is a filter, one probe; data is read only for keys that may be there.
func (f *File) Lookup(ctx context.Context, key Value) (*Cursor, error) {
	if f.keyless(0) {
		return nil, ErrNoValueIndex
	}
	n, ok, err := f.leafOf(ctx, key)
	if !ok || err != nil {
		return nil, err
	}
	if ok, err = f.admits(ctx, n, key); !ok || err != nil {
		return nil, err
	}
	c := f.Group().Cursor()
	if err := c.enter(ctx, n); err != nil {
		return nil, err
	}
	t := f.pair(0).Key
	row, err := c.findInLeaf(n.start, n.end, func(k Value) bool { return t.compare(k, key) >= 0 })
	if err != nil || row == n.end {
		return nil, err
	}
	c.at = row
	found, err := c.Key()
	if err != nil || t.compare(found, key) != 0 {
		return nil, err
	}
	return c, nil
}

// LookupAll finds many keys, which are best given in their order: blocks are then read once each. It calls found with the
// place of a key among keys and a cursor on its row, for those that are there.
func (f *File) LookupAll(ctx context.Context, keys []Value, found func(i int, c *Cursor) error) error {
	for i, key := range keys {
		c, err := f.Lookup(ctx, key)
		if err == nil && c != nil {
			err = found(i, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
