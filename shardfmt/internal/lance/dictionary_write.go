package lance

import (
	"encoding/binary"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// dictionaries gathers values that are a dictionary in Arrow: those that occur, each once, null among them.
type dictionaries struct {
	width  int    // of an index, in bytes
	most   uint64 // index
	of     arrow.DataType
	items  pageBuilder
	known  map[string]uint64
	null   bool
	nullAt uint64
	bytes  []byte
	shared *sharedItems // that pages have in common, or nil
	before int          // bytes of the items of the pages before
	limit  int          // of the items that pages have in common, in bytes
}

// begin forgets all items.
func (d *dictionaries) begin() {
	d.items = &texts{}
	if fixed, ok := d.of.(arrow.FixedWidthDataType); ok {
		d.items = &fixedValues{bits: fixed.BitWidth()}
	}
	d.known, d.null, d.before = map[string]uint64{}, false, 0
	if d.shared != nil {
		d.shared = &sharedItems{values: d.items}
	}
}

// errFull is the reason to end a page before its time.
var errFull = errors.New("the dictionary of a page is full")

func (d *dictionaries) add(a arrow.Array, from, to int) (int, error) {
	dict := a.(*array.Dictionary)
	values := dict.Dictionary()
	found := map[int]uint64{}
	for i := from; i < to; i++ {
		var index uint64
		var err error
		if dict.IsNull(i) || values.IsNull(dict.GetValueIndex(i)) {
			index, err = d.nullIndex(values)
		} else {
			at := dict.GetValueIndex(i)
			var seen bool
			if index, seen = found[at]; !seen {
				index, err = d.index(values, at)
				found[at] = index
			}
		}
		if errors.Is(err, errFull) && d.shared != nil && len(d.bytes) == 0 { // of items of the pages before
			d.begin()
			clear(found)
			i--
			continue
		}
		if errors.Is(err, errFull) {
			return i - from, nil
		}
		if err != nil {
			return i - from, err
		}
		var wide [8]byte
		binary.LittleEndian.PutUint64(wide[:], index)
		d.bytes = append(d.bytes, wide[:d.width]...)
	}
	return to - from, nil
}

func (d *dictionaries) count() uint64 {
	n := uint64(len(d.known))
	if d.null {
		n++
	}
	return n
}

// index finds a value among those gathered, or adds it.
func (d *dictionaries) index(values arrow.Array, at int) (uint64, error) {
	key := keyOf(values, at)
	if index, ok := d.known[key]; ok {
		return index, nil
	}
	index := d.count()
	if index > d.most {
		return 0, errFull
	}
	d.known[key] = index
	_, err := d.items.add(values, at, at+1)
	return index, err
}

// nullIndex is the item that is null.
func (d *dictionaries) nullIndex(values arrow.Array) (uint64, error) {
	if d.null {
		return d.nullAt, nil
	}
	index := d.count()
	if index > d.most {
		return 0, errFull
	}
	d.null, d.nullAt = true, index
	_, err := d.items.add(array.MakeArrayOfNull(memory.DefaultAllocator, values.DataType(), 1), 0, 1)
	return index, err
}

// keyOf distinguishes values of one type, to the bit.
func keyOf(a arrow.Array, i int) string {
	if value, err := bytesOf(a); err == nil {
		return string(value(i))
	}
	data := a.Data()
	if fixed, ok := a.DataType().(arrow.FixedWidthDataType); ok && fixed.BitWidth()%8 == 0 {
		width := fixed.BitWidth() / 8
		at := (data.Offset() + i) * width
		return string(data.Buffers()[1].Bytes()[at : at+width])
	}
	return a.ValueStr(i)
}

func (d *dictionaries) size() int { return len(d.bytes) + d.items.size() - d.before }

func (d *dictionaries) encode(p *pageEncoder) ([]byte, error) {
	indices := noNulls(p.flat(uint64(8*d.width), d.bytes))
	count := d.count()
	d.bytes = d.bytes[:0]
	if d.shared == nil {
		items, err := d.items.encode(p)
		d.begin()
		return dictionaryOf(indices, items, count), err
	}
	p.items, d.shared.count = d.shared, count
	if d.before = d.items.size(); d.before >= d.limit {
		d.begin()
	}
	return indices, nil
}
