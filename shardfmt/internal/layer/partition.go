package layer

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"sort"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/bloom"
)

// Filters of parts of the first column, each written behind the lowest index block at which enough keys have gathered, so
// that the writer never holds more hashes than one index block has keys beyond that.
//
//	LFPF filter  u32 units at @8 | from @32 on, units of 36 bytes: a block of a split-block Bloom filter (32 bytes) and its
//	             CRC-32C, so that one read of one unit answers, checked
//	LFPT table   u32 filters at @8 | from @32 on, 32 bytes each: u64 first row, u64 rows, u64 offset, u32 size, u32 units

const (
	magicPartition = "LFPF"
	magicTable     = "LFPT"
)

const (
	// partitionKeys is how many keys are enough for a filter.
	partitionKeys = 32 << 10
	unitSize      = bloom.BlockSize + 4
	tableEntry    = 32
	// DefaultFilterBits are the bits of a partitioned filter for each key: about 1 of 100 absent keys passes.
	DefaultFilterBits = 10
)

// keyHash is a key that a filter will hold.
type keyHash struct{ row, hash uint64 }

// partition is one filter: the rows it covers, where it lies.
type partition struct {
	first, rows uint64
	location
	units uint32
}

// partitioner gathers keys for the next filter.
type partitioner struct {
	bits, minKey int
	pending      []keyHash
	start        uint64 // the first row that no filter covers yet
	covered      uint64 // rows in index blocks that are written
	table        []partition
}

// filtered reports whether filters hold a key: those of fewer bytes may be left out.
func filtered(t Type, key Value, minKey uint64) bool {
	if t.Kind == String || t.Kind == Bytes {
		return uint64(len(key.Bytes)) >= minKey
	}
	return uint64(t.size()) >= minKey
}

// block makes the filter of rows [start, end) and forgets their keys.
func (p *partitioner) block(end uint64) (b []byte, units int) {
	n := sort.Search(len(p.pending), func(i int) bool { return p.pending[i].row >= end })
	units = max(1, (n*p.bits+8*bloom.BlockSize-1)/(8*bloom.BlockSize))
	b = make([]byte, blockHeader+units*unitSize)
	unit := func(i int) []byte { return b[blockHeader+i*unitSize:][:unitSize] }
	for _, k := range p.pending[:n] {
		bloom.Insert(unit(bloom.Block(k.hash, units)), k.hash)
	}
	for i := range units {
		u := unit(i)
		binary.LittleEndian.PutUint32(u[bloom.BlockSize:], crc32.Checksum(u[:bloom.BlockSize], castagnoli))
	}
	p.pending = append(p.pending[:0], p.pending[n:]...)
	binary.LittleEndian.PutUint32(b[8:], uint32(units))
	b = pad(b)
	seal(b, magicPartition)
	return b, units
}

// writePartition writes the filter of the rows up to end.
func (w *Writer) writePartition(end uint64) error {
	p := &w.parts
	if end == p.start {
		return nil
	}
	b, units := p.block(end)
	loc, err := w.put(b)
	p.table = append(p.table, partition{p.start, end - p.start, loc, uint32(units)})
	p.start = end
	return err
}

// writeTable writes the table of all filters.
func (w *Writer) writeTable() (location, error) {
	b := make([]byte, blockHeader, blockHeader+tableEntry*len(w.parts.table))
	le := binary.LittleEndian
	le.PutUint32(b[8:], uint32(len(w.parts.table)))
	for _, p := range w.parts.table {
		b = le.AppendUint64(le.AppendUint64(b, p.first), p.rows)
		b = le.AppendUint32(le.AppendUint32(le.AppendUint64(b, uint64(p.offset)), uint32(p.size)), p.units)
	}
	b = pad(b)
	seal(b, magicTable)
	return w.put(b)
}

// parseTable reads the table of a column of so many rows.
func parseTable(b []byte, rows uint64, size int64) ([]partition, error) {
	if err := checkSeal(b, magicTable); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := le.Uint32(b[8:])
	if uint64(n) > uint64(len(b)-blockHeader)/tableEntry {
		return nil, corrupt.At(8, "%d filters in a table of %d bytes", n, len(b))
	}
	out := make([]partition, n)
	next := uint64(0)
	for i := range out {
		at := blockHeader + i*tableEntry
		p := partition{first: le.Uint64(b[at:]), rows: le.Uint64(b[at+8:]), units: le.Uint32(b[at+28:])}
		var err error
		if p.location, err = place(le.Uint64(b[at+16:]), uint64(le.Uint32(b[at+24:])), size, int64(at)); err != nil {
			return nil, err
		}
		if p.first != next || p.rows == 0 || p.rows > rows-next || p.units == 0 || blockHeader+int64(p.units)*unitSize > p.size {
			return nil, corrupt.At(int64(at), "filter %d of %d rows from %d on, in %d units", i, p.rows, p.first, p.units)
		}
		next += p.rows
		out[i] = p
	}
	if next != rows {
		return nil, corrupt.At(8, "filters of %d rows of %d", next, rows)
	}
	return out, nil
}

// partitions reads the table of filters, once.
func (f *File) partitions(ctx context.Context) ([]partition, error) {
	f.mu.Lock()
	known := f.table
	f.mu.Unlock()
	if known != nil || f.x.table.size == 0 {
		return known, nil
	}
	if f.x.table.size > maxBlock {
		return nil, corrupt.Unsupported(f.x.table.offset, "a table of filters of %d bytes", f.x.table.size)
	}
	b, err := f.stored(ctx, f.x.table)
	if err != nil {
		return nil, err
	}
	table, err := parseTable(b, f.Rows(0), f.size)
	if err != nil {
		return nil, corrupt.Locate(err, f.url, f.x.table.offset)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.table = table
	return table, nil
}

// partOf is the filter of a row.
func partOf(table []partition, row uint64) (partition, bool) {
	i := sort.Search(len(table), func(i int) bool { return row < table[i].first+table[i].rows })
	if i == len(table) {
		return partition{}, false
	}
	return table[i], true
}

// probe asks the filter of the rows around row for a key: one read of one unit.
func (f *File) probe(ctx context.Context, key Value, row uint64) (bool, error) {
	t := f.pair(0).Key
	if t.Kind == Opaque || !filtered(t, key, f.x.minKey) {
		return true, nil
	}
	table, err := f.partitions(ctx)
	if err != nil {
		return false, err
	}
	p, ok := partOf(table, row)
	if !ok {
		return true, nil
	}
	h := hashKey(t, key)
	at := p.offset + blockHeader + int64(bloom.Block(h, int(p.units)))*unitSize
	unit, err := f.stored(ctx, location{at, unitSize})
	if err != nil {
		return false, err
	}
	f.mu.Lock()
	f.stats.Probes++
	f.mu.Unlock()
	if err := checkUnit(unit); err != nil {
		return false, corrupt.Locate(err, f.url, at)
	}
	return bloom.Has(unit, h), nil
}

func checkUnit(unit []byte) error {
	want := binary.LittleEndian.Uint32(unit[bloom.BlockSize:])
	if got := crc32.Checksum(unit[:bloom.BlockSize], castagnoli); got != want {
		return corrupt.At(0, "the checksum of a unit of a filter is %08x, expected %08x", got, want)
	}
	return nil
}

// checkPartition checks a filter as a whole and gives a function that asks it.
func (f *File) checkPartition(ctx context.Context, p partition) (func(key Value) bool, error) {
	if p.size > maxBlock {
		return nil, corrupt.Unsupported(p.offset, "a filter of %d bytes", p.size)
	}
	b, err := f.stored(ctx, p.location)
	if err == nil {
		err = checkSeal(b, magicPartition)
	}
	if err != nil {
		return nil, corrupt.Locate(err, f.url, p.offset)
	}
	for i := range int(p.units) {
		if err := checkUnit(b[blockHeader+i*unitSize:][:unitSize]); err != nil {
			return nil, corrupt.Locate(err, f.url, p.offset+blockHeader+int64(i)*unitSize)
		}
	}
	t := f.pair(0).Key
	return func(key Value) bool {
		h := hashKey(t, key)
		return !filtered(t, key, f.x.minKey) || bloom.Has(b[blockHeader+bloom.Block(h, int(p.units))*unitSize:], h)
	}, nil
}
