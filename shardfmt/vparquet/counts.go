package vparquet

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// pageCount is what the layout must know of a page whose size depends on its values.
type pageCount struct{ rows, entries, size uint32 }

// counts are the pages of a chunk.
type counts struct {
	pages   []pageCount
	entries int64
	bytes   int64
}

const pageCountBytes = 12

func (c *counts) add(p pageCount) {
	c.pages = append(c.pages, p)
	c.entries += int64(p.entries)
	c.bytes += int64(p.size)
}

// marshal gives the form in which counts are kept elsewhere: 12 bytes a page.
func (c *counts) marshal() []byte {
	b := make([]byte, 0, pageCountBytes*len(c.pages))
	for _, p := range c.pages {
		b = binary.LittleEndian.AppendUint32(b, p.rows)
		b = binary.LittleEndian.AppendUint32(b, p.entries)
		b = binary.LittleEndian.AppendUint32(b, p.size)
	}
	return b
}

// unmarshalCounts reads counts of a chunk of rows; nil if they are not of it.
func unmarshalCounts(b []byte, rows int64) *counts {
	if len(b)%pageCountBytes != 0 {
		return nil
	}
	c := &counts{}
	for ; len(b) > 0; b = b[pageCountBytes:] {
		p := pageCount{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])}
		if p.rows == 0 || p.entries < p.rows || p.size < headerBytes || p.size > maxPage+headerBytes {
			return nil
		}
		rows -= int64(p.rows)
		c.add(p)
	}
	if rows != 0 {
		return nil
	}
	return c
}

// CountStore keeps counts of pages beyond the memory of a process. Both methods are called concurrently. Load returns nil for a key
// that it does not have; what Store can't keep it drops.
type CountStore interface {
	Load(ctx context.Context, key string, chunk int) []byte
	Store(ctx context.Context, key string, chunk int, counts []byte)
}

// flights are the counts that are being made, so that callers of one chunk at the same time share the work.
type flights struct {
	mu      sync.Mutex
	running map[int]chan struct{}
}

// begin reports whether the caller is to count; otherwise wait is closed when another one has.
func (f *flights) begin(chunk int) (wait chan struct{}, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if wait, ok := f.running[chunk]; ok {
		return wait, false
	}
	if f.running == nil {
		f.running = map[int]chan struct{}{}
	}
	wait = make(chan struct{})
	f.running[chunk] = wait
	return wait, true
}

func (f *flights) end(chunk int, done chan struct{}) {
	f.mu.Lock()
	delete(f.running, chunk)
	f.mu.Unlock()
	close(done)
}

// known are the counts of a chunk if they need not be made.
func (f *File) known(ctx context.Context, group, column int) *counts {
	key := cacheKey{f.key, f.number(group, column), -1}
	if v, ok := f.o.Cache.get(key); ok {
		return v.(*counts)
	}
	if f.o.Counts == nil {
		return nil
	}
	c := unmarshalCounts(f.o.Counts.Load(ctx, f.key, key.chunk), f.groups[group].rows)
	if c != nil {
		f.o.Cache.put(key, c, pageCountBytes*int64(len(c.pages)))
	}
	return c
}

// keep remembers the counts of a chunk.
func (f *File) keep(ctx context.Context, group, column int, c *counts) {
	number := f.number(group, column)
	f.o.Cache.put(cacheKey{f.key, number, -1}, c, pageCountBytes*int64(len(c.pages)))
	if f.o.Counts != nil {
		f.o.Counts.Store(ctx, f.key, number, c.marshal())
	}
}

// count gives the counts of a chunk, decoding it if they are not known.
func (f *File) count(ctx context.Context, group, column int) (*counts, error) {
	number := f.number(group, column)
	for {
		if c := f.known(ctx, group, column); c != nil {
			return c, nil
		}
		wait, mine := f.flights.begin(number)
		if !mine {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		c, err := f.known(ctx, group, column), error(nil) // by one that ended meanwhile
		if c == nil {
			c, err = f.countNow(ctx, group, column)
		}
		f.flights.end(number, wait)
		return c, err
	}
}

func (f *File) countNow(ctx context.Context, group, column int) (*counts, error) {
	c := &counts{}
	g := &f.groups[group]
	f.stats.chunksCounted.Add(1)
	err := f.shred(ctx, chunkRows{group, column, 0, g.rows}, func(p *page) error {
		c.add(pageCount{uint32(p.rows), uint32(p.entries), uint32(p.size())})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := f.fits(group, column, c); err != nil {
		return nil, err
	}
	f.keep(ctx, group, column, c)
	return c, nil
}

// fits compares counts with what the root states about the chunk. During planning nothing is reported yet.
func (f *File) fits(group, column int, c *counts) error {
	k := &f.groups[group].chunks[column]
	if k.exact && (c.bytes != k.size || c.entries != k.entries) || k.room > 0 && c.bytes > k.room {
		return f.contradicts(group, column)
	}
	return nil
}

func (f *File) contradicts(group, column int) error {
	return corrupt.At(-1, "stripe %d, column %q: the values contradict the counts and sizes of their descriptor; shardcat verify has details",
		f.groups[group].stripe, f.leaves[column].column)
}

// errEnough ends the scan of a chunk early.
var errEnough = errors.New("enough")

// chunkRows are rows of a chunk.
type chunkRows struct {
	group, column int
	from, to      int64
}

// shred cuts rows of a chunk into pages, the first of which begins at the first of them.
func (f *File) shred(ctx context.Context, of chunkRows, emit func(*page) error) error {
	group, column, from, to := of.group, of.column, of.from, of.to
	g, l := &f.groups[group], f.leaves[column]
	s := newShredder(l, int(f.pageBytes), int(f.pageLimit()), emit)
	var scanned shardfmt.ScanStats
	defer func() { f.stats.blocksRead.Add(scanned.BlocksRead) }()
	rows := int64(0)
	for b, err := range f.shard.Scan(ctx, shardfmt.ScanOptions{
		Columns: []string{l.column}, Start: uint64(g.first + from), End: uint64(g.first + to), IncludeDeleted: true, IgnoreIndexes: true,
		Workers: f.o.Workers, ReuseBatches: true, MaxMemory: f.o.MaxMemory, All: true, Stats: &scanned,
	}) {
		if err != nil {
			return err
		}
		rows += b.NumRows()
		f.stats.rowsDecoded.Add(b.NumRows())
		if err := s.add(b.Column(0)); err != nil {
			return err
		}
	}
	if rows != to-from {
		return corrupt.At(-1, "stripe %d, column %q: %d rows, expected %d", g.stripe, l.column, rows, to-from)
	}
	return s.finish()
}

// memory is the most memory of a call.
func (f *File) memory() int64 {
	if f.o.MaxMemory > 0 {
		return f.o.MaxMemory
	}
	return shardfmt.DefaultMaxMemory
}

// pageLimit is the most memory of a page of one row.
func (f *File) pageLimit() int64 { return f.memory() / 4 }
