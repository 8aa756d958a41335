package layer

import (
	"encoding/binary"
	"math"
)

// parameters of blocks.
type parameters struct {
	minData, minIndex int // bytes
	minBranch         int // items or children of a block
}

// dataBuilder fills one data block.
type dataBuilder struct {
	p       *parameters
	pair    Pair
	b       []byte
	offsets []uint32
	strided bool     // all offsets have one distance
	groups  []uint64 // boundaries in the next column; nil in the last one
	target  int      // bytes that the block may have, 0 until it has enough items
	low     Value
	high    Value
}

// begin starts a block; start is where the first row's group begins, or negative in the last column.
func (d *dataBuilder) begin(start int64) {
	d.b = append(d.b[:0], make([]byte, blockHeader)...)
	d.offsets, d.groups, d.target, d.strided = d.offsets[:0], d.groups[:0], 0, true
	if start >= 0 {
		d.groups = append(d.groups, uint64(start))
	}
}

// add appends an item whose group ends at row end of the next column. It reports false, and leaves the block as it
// was, if the item does not fit.
func (d *dataBuilder) add(key, aux Value, end uint64) bool {
	size, strided := len(d.b), d.strided
	at := d.archive(key, aux)
	d.offsets = append(d.offsets, uint32(at))
	if n := len(d.offsets); n > 2 {
		d.strided = d.strided && d.offsets[n-1]-d.offsets[n-2] == d.offsets[1]-d.offsets[0]
	}
	if len(d.groups) > 0 {
		d.groups = append(d.groups, end)
	}
	whole := d.size()
	if d.target > 0 && whole > d.target {
		d.b, d.strided = d.b[:size], strided
		d.offsets = d.offsets[:len(d.offsets)-1]
		if len(d.groups) > 0 {
			d.groups = d.groups[:len(d.groups)-1]
		}
		return false
	}
	if d.target == 0 && len(d.offsets) >= d.p.minBranch {
		d.target = max(roundUp(whole, blockUnit), d.p.minData)
	}
	if len(d.offsets) == 1 {
		d.low = key.clone()
	}
	d.high = key.clone()
	return true
}

// archive appends what lies outside the records, then the records, and gives the offset of those.
func (d *dataBuilder) archive(key, aux Value) int {
	var outside [2]int
	for i, x := range []struct {
		t Type
		v Value
	}{{d.pair.Key, key}, {d.pair.Aux, aux}} {
		outside[i] = len(d.b)
		d.b = append(d.b, x.t.outside(x.v)...)
	}
	before := len(d.b)
	d.b = append(d.b, make([]byte, roundUp(before, d.pair.align)-before+d.pair.size)...)
	at := len(d.b) - d.pair.size
	d.pair.Key.put(d.b, at+d.pair.keyAt, key, outside[0])
	d.pair.Aux.put(d.b, at+d.pair.auxAt, aux, outside[1])
	if d.pair.size == 0 {
		d.b = append(d.b, 0) // an item that takes no bytes is given one
	}
	return at
}

// size of the block with its arrays.
func (d *dataBuilder) size() int {
	n := len(d.offsets)
	end := 0
	if n > 1 && d.strided {
		end = roundUp(len(d.b), 4) + 8
	} else {
		end = arrayEnd(len(d.b), widthOf(uint64(len(d.b)-1)), n)
	}
	if len(d.groups) > 0 {
		end = arrayEnd(end, widthOf(d.groups[n]), n+1)
	}
	return end
}

// finish gives the block but for its seal.
func (d *dataBuilder) finish() []byte {
	n := len(d.offsets)
	le := binary.LittleEndian
	width, at := 0, 0
	if n > 1 && d.strided {
		stride := []uint64{uint64(d.offsets[0]), uint64(d.offsets[1] - d.offsets[0])}
		d.b, at = appendArray(d.b, 4, 2, func(i int) uint64 { return stride[i] })
	} else {
		width = widthOf(uint64(len(d.b) - 1))
		d.b, at = appendArray(d.b, width, n, func(i int) uint64 { return uint64(d.offsets[i]) })
	}
	le.PutUint32(d.b[8:], uint32(n))
	le.PutUint32(d.b[12:], uint32(at))
	d.b[20] = byte(width)
	if len(d.groups) > 0 {
		width = widthOf(d.groups[n])
		d.b, at = appendArray(d.b, width, n+1, func(i int) uint64 { return d.groups[i] })
		le.PutUint32(d.b[16:], uint32(at))
		d.b[21] = byte(width)
	}
	return d.b
}

// clone copies a value that shares memory with others.
func (v Value) clone() Value {
	v.Bytes = append([]byte(nil), v.Bytes...)
	return v
}

// entry is a finished block for the index block above it.
type entry struct {
	location
	index     bool
	low, high Value
	rows      uint64
}

// indexBuilder fills one index block of a level.
type indexBuilder struct {
	p   *parameters
	key Type
	// keyless leaves the keys out: rows are found by their number only.
	keyless bool
	b       []byte
	bounds  []uint32
	totals  []uint64
	places  []location
	index   bool // the children are index blocks
	target  int
	low     Value
	high    Value
}

func (x *indexBuilder) begin() {
	x.b = append(x.b[:0], make([]byte, blockHeader)...)
	x.bounds, x.totals, x.places, x.target = x.bounds[:0], x.totals[:0], x.places[:0], 0
}

// add appends a child. It reports false, and leaves the block as it was, if the child does not fit.
func (x *indexBuilder) add(e entry) bool {
	size, n := len(x.b), len(x.places)
	if n == math.MaxUint16 {
		return false
	}
	if !x.keyless {
		x.archive(e.low)
		x.archive(e.high)
	}
	before := uint64(0)
	if n > 0 {
		before = x.totals[n-1]
	}
	x.totals, x.places = append(x.totals, before+e.rows), append(x.places, e.location)
	whole := x.size()
	if x.target > 0 && whole > x.target {
		x.b, x.bounds, x.totals, x.places = x.b[:size], x.bounds[:min(2*n, len(x.bounds))], x.totals[:n], x.places[:n]
		return false
	}
	if x.target == 0 && n+1 >= x.p.minBranch {
		x.target = max(roundUp(whole, blockUnit), x.p.minIndex)
	}
	if n == 0 {
		x.low, x.index = e.low, e.index
	}
	x.high = e.high
	return true
}

// archive appends a key alone.
func (x *indexBuilder) archive(key Value) {
	outside := len(x.b)
	x.b = append(x.b, x.key.outside(key)...)
	before, size := len(x.b), x.key.size()
	x.b = append(x.b, make([]byte, roundUp(before, x.key.align())-before+size)...)
	at := len(x.b) - size
	x.key.put(x.b, at, key, outside)
	if size == 0 {
		x.b = append(x.b, 0)
	}
	x.bounds = append(x.bounds, uint32(at))
}

// widths of the four arrays: that of the child offsets is chosen by the offset in bytes.
func (x *indexBuilder) widths() [4]int {
	n := len(x.places)
	largest := int64(0)
	for _, p := range x.places {
		largest = max(largest, p.size)
	}
	bounds := widthOf(uint64(len(x.b) - 1))
	if x.keyless {
		bounds = 0
	}
	return [4]int{
		bounds, widthOf(x.totals[n-1]), widthOf(uint64(x.places[n-1].offset)), widthOf(uint64(largest / blockUnit))}
}

func (x *indexBuilder) size() int {
	end, n := len(x.b), len(x.places)
	for i, w := range x.widths() {
		count := n
		if i == 0 {
			count = len(x.bounds)
		}
		if count > 0 {
			end = arrayEnd(end, w, count)
		}
	}
	return end
}

// finish gives the block but for its seal.
func (x *indexBuilder) finish() []byte {
	n, w := len(x.places), x.widths()
	var at [4]int
	if !x.keyless {
		x.b, at[0] = appendArray(x.b, w[0], 2*n, func(i int) uint64 { return uint64(x.bounds[i]) })
	}
	x.b, at[1] = appendArray(x.b, w[1], n, func(i int) uint64 { return x.totals[i] })
	x.b, at[2] = appendArray(x.b, w[2], n, func(i int) uint64 { return uint64(x.places[i].offset / blockUnit) })
	x.b, at[3] = appendArray(x.b, w[3], n, func(i int) uint64 { return uint64(x.places[i].size / blockUnit) })
	for i := range at {
		binary.LittleEndian.PutUint32(x.b[8+4*i:], uint32(at[i]))
		x.b[27+i] = byte(w[i])
	}
	binary.LittleEndian.PutUint16(x.b[24:], uint16(n))
	if x.index {
		x.b[26] = 1
	}
	return x.b
}
