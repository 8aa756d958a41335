package layerindex

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"iter"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/layer"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/urlresolve"
)

// Part is the index of one shard as it becomes a part of that of several: its records are FirstRecord later there.
type Part struct {
	Descriptor *metapb.IndexDescriptor
	// Base is the object whose folder relative references start at, Store what they are read from.
	Base  string
	Store meta.Store
	// Records of the shard.
	Records, FirstRecord uint64
}

// Of each part that is joined leastAhead to mostAhead bytes are read together.
const (
	leastAhead, mostAhead = 64 << 10, 4 << 20
	// DefaultJoinMemory is how many bytes a Join reads ahead of all parts together.
	DefaultJoinMemory = 32 << 20
)

// Join writes the index of shards that are put one behind the other, of their indexes, whose keys are of one kind: keys, which are sorted, are
// merged, and positions shifted by the records before. Each part is read once, from its start to its end, so many bytes at a time that all fit into
// memory, DefaultJoinMemory if 0; half as many again are kept of blocks. A part that is not as it must be is a corrupt.ErrCorrupt.
func Join(ctx context.Context, to shardwriter.IndexTarget, parts []Part, p urlresolve.Policy, memory int64) (*metapb.IndexDescriptor, []Object, error) {
	if memory <= 0 {
		memory = DefaultJoinMemory
	}
	window := min(mostAhead, max(leastAhead, memory/int64(2*max(1, len(parts)))))
	var all cursors
	for i := range parts {
		c, err := openCursor(ctx, &parts[i], p, window)
		if err != nil {
			return nil, nil, err
		}
		c.order = i
		if first := parts[0]; i > 0 && (c.x.form != all.form || c.x.encoded != all.encoded || c.x.keyBytes != all.keyBytes) {
			return nil, nil, corrupt.Locate(corrupt.Unsupported(-1, "keys are of another type than those of %s", first.Base), c.x.url, 0)
		}
		all.form, all.encoded, all.keyBytes = c.x.form, c.x.encoded, c.x.keyBytes
		more, err := c.next(ctx)
		if err != nil {
			return nil, nil, err
		}
		if more {
			all.heap = append(all.heap, c)
		}
	}
	if all.keyBytes != MaxKey {
		return nil, nil, corrupt.Unsupported(-1, "keys that are cut to %d bytes", all.keyBytes)
	}
	if len(all.heap) == 0 {
		return nil, nil, nil
	}
	heap.Init(&all)
	return writeIndex(ctx, to, all.form, all.encoded, all.merged(ctx))
}

// cursor is a part at one of its keys.
type cursor struct {
	x         *Index
	part      *Part
	order     int
	keys      *layer.Cursor
	positions *layer.Cursor
	left      uint64 // positions of the key available
	key       []byte
	begun     bool
}

func openCursor(ctx context.Context, p *Part, policy urlresolve.Policy, window int64) (*cursor, error) {
	x, err := Open(ctx, &ahead{Store: p.Store, window: window}, p.Base, p.Descriptor, policy)
	if err != nil {
		return nil, err
	}
	x.file.KeepBlocks(window)
	positions, err := x.file.Group().Owned(ctx)
	if err != nil {
		return nil, err
	}
	return &cursor{x: x, part: p, keys: x.file.Group().Cursor(), positions: positions.Cursor()}, nil
}

// next goes to the next key, whose positions are the next ones.
func (c *cursor) next(ctx context.Context) (more bool, err error) {
	if !c.begun {
		if err := c.positions.First(ctx); err != nil {
			return false, err
		}
		err = c.keys.First(ctx)
	} else {
		err = c.keys.Next(ctx)
	}
	if err != nil || !c.keys.Valid() {
		return false, err
	}
	v, err := c.keys.Key()
	if err != nil {
		return false, err
	}
	key := c.x.form.bytesOf(nil, v)
	if c.begun && bytes.Compare(key, c.key) <= 0 {
		return false, c.corrupt("the key %x follows %x", key, c.key)
	}
	g, err := c.keys.Group()
	if err != nil {
		return false, err
	}
	if c.left = g.Len(); c.left == 0 {
		return false, c.corrupt("the key %x has no position", key)
	}
	c.key, c.begun = key, true
	return true, nil
}

func (c *cursor) corrupt(format string, args ...any) error {
	return corrupt.Locate(corrupt.At(-1, format, args...), c.x.url, 0)
}

// each gives the positions of the key available, shifted.
func (c *cursor) each(ctx context.Context, yield func(extsort.Record, error) bool) (more bool) {
	var value [8]byte
	last := uint64(0)
	for first := true; c.left > 0; c.left-- {
		var v layer.Value
		err := error(nil)
		if !c.positions.Valid() {
			err = c.corrupt("the key %x has more positions than there are", c.key)
		} else {
			v, err = c.positions.Key()
		}
		if err == nil && (v.Uint >= c.part.Records || !first && v.Uint < last) {
			err = c.corrupt("position %d after %d, of %d records", v.Uint, last, c.part.Records)
		}
		if err == nil {
			err = c.positions.Next(ctx)
		}
		last, first = v.Uint, false
		binary.BigEndian.PutUint64(value[:], v.Uint+c.part.FirstRecord)
		if !yield(extsort.Record{Key: c.key, Value: value[:]}, err) || err != nil {
			return false
		}
	}
	return true
}

// cursors is a heap by the key available: those of an earlier part come first, so that positions ascend.
type cursors struct {
	heap     []*cursor
	form     Form
	encoded  bool
	keyBytes int
}

// merged gives the keys of all parts in order, each with a position.
func (h *cursors) merged(ctx context.Context) iter.Seq2[extsort.Record, error] {
	return func(yield func(extsort.Record, error) bool) {
		for len(h.heap) > 0 {
			c := h.heap[0]
			if !c.each(ctx, yield) {
				return
			}
			more, err := c.next(ctx)
			switch {
			case err != nil:
				yield(extsort.Record{}, err)
				return
			case more:
				heap.Fix(h, 0)
			default:
				heap.Pop(h)
			}
		}
	}
}

func (h *cursors) Len() int { return len(h.heap) }

func (h *cursors) Less(i, j int) bool {
	a, b := h.heap[i], h.heap[j]
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c < 0
	}
	return a.order < b.order
}

func (h *cursors) Swap(i, j int) { h.heap[i], h.heap[j] = h.heap[j], h.heap[i] }

// Push implements heap.Interface.
func (h *cursors) Push(x any) { h.heap = append(h.heap, x.(*cursor)) }

// Pop implements heap.Interface.
func (h *cursors) Pop() any {
	last := h.heap[len(h.heap)-1]
	h.heap = h.heap[:len(h.heap)-1]
	return last
}

// ahead is a store that reads one object from its start to its end: what is requested, and as much behind it as the window is long. Columns
// that lie apart have a window each. Not for concurrent use.
type ahead struct {
	meta.Store
	window int64
	size   int64
	held   [2]struct {
		start int64
		data  []byte
	}
	turn int // the window that is used again next
}

// ReadSuffix implements meta.Store.
func (a *ahead) ReadSuffix(ctx context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	data, info, err := a.Store.ReadSuffix(ctx, url, n)
	a.size = info.Size
	return data, info, err
}

// ReadRange implements meta.Store.
func (a *ahead) ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	end := off + int64(len(dst))
	for i, h := range a.held {
		if off >= h.start && end <= h.start+int64(len(h.data)) {
			copy(dst, h.data[off-h.start:])
			a.turn = 1 - i
			return blobio.Info{URL: url, Size: a.size}, nil
		}
	}
	n := min(a.window, a.size-off)
	if int64(len(dst)) >= n {
		return a.Store.ReadRange(ctx, url, off, dst)
	}
	data := make([]byte, n)
	info, err := a.Store.ReadRange(ctx, url, off, data)
	if err != nil {
		return info, err
	}
	copy(dst, data)
	a.held[a.turn].start, a.held[a.turn].data = off, data
	a.turn = 1 - a.turn
	return info, nil
}
