package column

import (
	"bytes"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// dictionaryTrial is the number of positions up to which only the size of the dictionary decides
// (docs/format/fields.md), and dictionaryLimit that size in bytes.
const (
	dictionaryTrial = 10240
	dictionaryLimit = 10 << 20
)

// decimalBytes is about what LZ4 and Zstd need for a decimal that is one of many: of its 16 bytes those of exponent and
// leading zeros repeat, three or four others don't. dictionaryFrame is about what a dictionary takes besides its entries.
const (
	decimalBytes    = 3
	dictionaryFrame = 512
)

// noEntry is the id of nulls before the null entry has one.
const noEntry = ^uint32(0)

// dictionaryBuilder gives every distinct value of a field an id, in the order in which they come.
type dictionaryBuilder struct {
	fixed   int
	ids     map[string]uint32
	data    []byte
	offsets []int64
	counts  []uint32
	null    uint32 // id of the null entry, noEntry if there is none
	codes   []uint32
	length  uint64 // of all values
	looks   int    // into ids
	// decimals means that the values are decimals.
	decimals bool
	// recent are the values that came lately; nil as long as there are few.
	recent recentValues
	// room is how many codes there would be space for if none of them had come from memory, which is where they go in the end.
	room   int
	memory *Memory
	// byValue: entries go by value, not by frequency.
	byValue bool
}

func newDictionaryBuilder(fixed int) *dictionaryBuilder {
	return &dictionaryBuilder{fixed: fixed, ids: make(map[string]uint32), data: []byte{}, offsets: []int64{0}, null: noEntry}
}

// add takes one value, nil for a null.
func (d *dictionaryBuilder) add(v []byte) {
	var id uint32
	if v == nil {
		id = d.nullID()
	} else {
		id = d.look(v)
		d.length += uint64(len(v))
	}
	d.counts[id]++
	d.grow(1)
	d.codes = append(d.codes, id)
}

// nullID is the id of the null entry.
func (d *dictionaryBuilder) nullID() uint32 {
	if d.null == noEntry {
		d.null = d.entry(make([]byte, d.fixed))
	}
	return d.null
}

// grow makes space for n codes.
func (d *dictionaryBuilder) grow(n int) {
	if d.room == 0 {
		d.codes = d.memory.take()
	}
	if len(d.codes)+n <= d.room {
		return
	}
	d.room = len(d.codes) + max(n, len(d.codes), dictionaryTrial) // twice as many, so that each is copied about once
	if d.room > cap(d.codes) {
		more := bufpool.Of[uint32](d.room)
		d.codes = more[:copy(more, d.codes)]
	}
}

// release gives up the codes.
func (d *dictionaryBuilder) release() {
	d.memory.give(d.codes)
	d.codes, d.room = nil, 0
}

// addAll takes values from one on up to another.
func (d *dictionaryBuilder) addAll(values *byteViews, from, to int) {
	if d.recent == nil {
		if len(d.codes) < recentAfter && to-from < recentAfter {
			for i := from; i < to; i++ {
				d.add(values.at(i))
			}
			return
		}
		d.recent = make(recentValues, recentPlaces)
	}
	d.recent = d.recent.widen(len(d.ids), d.looks)
	d.grow(to - from)
	codes, length := d.codes, 0
	for i := from; i < to; i++ {
		if values.nulls && values.null(i) {
			id := d.nullID()
			d.counts[id]++
			codes = append(codes, id)
			continue
		}
		start, end := values.span(i)
		head, tail := simd.Ends(values.data, start, end)
		pair := d.recent.at(head, tail, end-start)
		id := pair[0].id
		if !pair[0].is(head, tail, end-start) || end-start > simd.EndsTell {
			id = d.idOf(pair, head, tail, values.data[start:end])
		}
		d.counts[id]++
		length += end - start
		codes = append(codes, id)
	}
	d.codes, d.length = codes, d.length+uint64(length)
}

// idOf gives the id of a value, which is a new one at first, and puts it first in its place of the recent ones.
func (d *dictionaryBuilder) idOf(pair *[2]recentValue, head, tail uint64, v []byte) uint32 {
	for i := range pair {
		if r := &pair[i]; r.is(head, tail, len(v)) && (len(v) <= simd.EndsTell || string(d.value(r.id)) == string(v)) {
			pair[0], pair[i] = pair[i], pair[0]
			return pair[0].id
		}
	}
	pair[0], pair[1] = recentValue{head, tail, uint32(len(v) + 1), d.look(v)}, pair[0]
	return pair[0].id
}

// look looks for a value in the map.
func (d *dictionaryBuilder) look(v []byte) uint32 {
	d.looks++
	id, known := d.ids[string(v)]
	if !known {
		id = d.entry(v)
		d.ids[string(v)] = id
	}
	return id
}

// entry appends a value to the dictionary.
func (d *dictionaryBuilder) entry(v []byte) uint32 {
	d.data = append(d.data, v...)
	d.offsets = append(d.offsets, int64(len(d.data)))
	d.counts = append(d.counts, 0)
	return uint32(len(d.counts) - 1)
}

// value gives the value of an id, nil for the null entry.
func (d *dictionaryBuilder) value(id uint32) []byte {
	if id == d.null {
		return nil
	}
	return d.data[d.offsets[id]:d.offsets[id+1]:d.offsets[id+1]]
}

// pays reports whether dictionary and codes are smaller than the values would be, by the rule of the reference; for decimals,
// which the reference gives none, by what a general compressor makes of them. Before the end a short field gets the benefit
// of the doubt.
func (d *dictionaryBuilder) pays(end bool) bool {
	distinct, positions := uint64(len(d.ids)), uint64(len(d.codes))
	dict := uint64(len(d.data)) + uint64(bits.Len64(distinct))*positions/8 + 4*distinct
	if d.fixed == 0 {
		dict += 8 * distinct
	}
	if !end && positions < dictionaryTrial {
		return dict < dictionaryLimit
	}
	if d.decimals {
		return dict+dictionaryFrame < decimalBytes*positions
	}
	return dict < d.length/10+8*positions
}

// full reports whether a value would be one distinct value more than limit.
func (d *dictionaryBuilder) full(v []byte, limit int) bool {
	if v == nil || len(d.ids) < limit {
		return false
	}
	_, known := d.ids[string(v)]
	return !known
}

// order gives the ids in the order of the entries: by frequency, so that most codes are small, or by value.
func (d *dictionaryBuilder) order(byValue bool) []uint32 {
	order := make([]uint32, len(d.counts))
	for i := range order {
		order[i] = uint32(i)
	}
	if byValue {
		slices.SortFunc(order, func(a, b uint32) int { return bytes.Compare(d.value(a), d.value(b)) }) // no two are the same
	} else {
		slices.SortStableFunc(order, func(a, b uint32) int { return int(int64(d.counts[b]) - int64(d.counts[a])) })
	}
	return order
}

// build gives the dictionary, and the codes their ids in it.
func (d *dictionaryBuilder) build(typ schema.Basic) *colstream.Dictionary {
	order := d.order(d.byValue)
	rank := ranksOf(order)
	dict := &colstream.Dictionary{Type: typ, Fixed: d.fixed, Count: len(order), Null: -1}
	if d.fixed == 0 {
		dict.Offsets = []int64{0}
	}
	for to, from := range order {
		if from == d.null {
			dict.Null = int64(to)
		}
		dict.Data = append(dict.Data, d.data[d.offsets[from]:d.offsets[from+1]]...)
		if d.fixed == 0 {
			dict.Offsets = append(dict.Offsets, int64(len(dict.Data)))
		}
	}
	for i, id := range d.codes {
		d.codes[i] = rank[id]
	}
	return dict
}

// finish adds the codes and the dictionary to the buffers.
func (d *dictionaryBuilder) finish(out *Encoded, enc *encode.Encoder) error {
	dict := d.build(out.Node.Basic)
	var w colstream.StreamWriter
	if _, err := encode.CutNumbers(enc, d.codes, nil, true, w.Add); err != nil {
		return err
	}
	d.release()
	out.add(&metapb.EncodedBuffer{Kind: metapb.BufferKind_DATA}, w.Finish())
	m := &metapb.EncodedBuffer{Kind: metapb.BufferKind_VALUE_DICTIONARY}
	out.Buffers = append(out.Buffers, Buffer{Meta: m, Bytes: dict.Append(nil)})
	size := uint64(dict.Count)
	out.Descriptor.DictionarySize = &size
	// Each value is one entry, also where they were too many to be counted; but of decimals 1.0 and 1.00 are two entries.
	if c := out.Descriptor.Cardinality; c != nil && !d.decimals {
		values := size
		if dict.Null >= 0 {
			values--
		}
		c.Count, c.IsEstimate = &values, false
	}
	return nil
}

// size is about how many bytes the builder holds.
func (d *dictionaryBuilder) size() int {
	const perEntry = 48 // of the map
	return len(d.recent)*int(unsafe.Sizeof([2]recentValue{})) + 2*cap(d.data) + 8*cap(d.offsets) + 4*cap(d.counts) + 4*d.room + perEntry*len(d.ids)
}
