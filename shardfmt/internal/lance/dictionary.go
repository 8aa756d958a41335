package lance

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// items are the values of a dictionary, decoded once, by whatever page comes first.
type items struct {
	decoder
	count uint64
	array arrow.Array
}

// all decodes the values.
func (d *items) all() (arrow.Array, error) {
	if d.array == nil {
		data, err := d.decode(0, d.count)
		if err != nil {
			return nil, err
		}
		d.array = array.MakeFromData(data)
	}
	return d.array, nil
}

// indexed is what both kinds of dictionaries have.
type indexed struct {
	indices numbers
	items   *items
}

func (d *indexed) request(low, end uint64, r *requests) error {
	err := d.indices.request(low, end, r)
	if err == nil && d.items.array == nil && d.items.count > 0 {
		err = d.items.request(0, d.items.count, r)
	}
	return err
}

// ready reports whether indices and items are available.
func (d *indexed) ready(low, end uint64) bool {
	var r requests
	return d.request(low, end, &r) == nil && len(r.missing) == 0
}

func (d *indexed) outside(i, index uint64) error {
	return corrupt.At(d.indices.buffer.at+int64(i*d.indices.bits/8), "value %d is item %d of a dictionary of %d", i, index, d.items.count)
}

// textDictionary decodes strings that a writer chose to store once: index 0 is null, k is item k-1.
type textDictionary struct {
	indexed
	t arrow.DataType
}

func (d *textDictionary) weigh(low, end uint64) uint64 {
	size := d.indices.weigh(low, end)
	if !d.ready(low, end) {
		return size
	}
	starts, _, err := d.contents()
	if err != nil {
		return size
	}
	stored, err := d.indices.load(low, end)
	if err != nil {
		return size
	}
	for _, v := range stored {
		if v > 0 && v < uint64(len(starts)) {
			size += starts[v] - starts[v-1]
		}
	}
	return size
}

// contents are the bytes of all items, and where each begins and ends in them.
func (d *textDictionary) contents() (starts []uint64, b []byte, err error) {
	if d.items.count == 0 {
		return []uint64{0}, nil, nil
	}
	a, err := d.items.all()
	if err != nil {
		return nil, nil, err
	}
	buffers, n := a.Data().Buffers(), a.Len()
	starts = make([]uint64, n+1)
	for i := range starts {
		if isLarge(d.t) {
			starts[i] = binary.NativeEndian.Uint64(buffers[1].Bytes()[8*i:])
		} else {
			starts[i] = uint64(binary.NativeEndian.Uint32(buffers[1].Bytes()[4*i:]))
		}
	}
	return starts, buffers[2].Bytes(), nil
}

func (d *textDictionary) decode(low, end uint64) (arrow.ArrayData, error) {
	starts, content, err := d.contents()
	if err != nil {
		return nil, err
	}
	stored, err := d.indices.load(low, end)
	if err != nil {
		return nil, err
	}
	var valid, b []byte
	missing := 0
	offsets := make([]uint64, len(stored)+1)
	for i, v := range stored {
		if v >= uint64(len(starts)) {
			return nil, d.outside(low+uint64(i), v)
		}
		if v == 0 || d.items.array.IsNull(int(v-1)) {
			if valid == nil {
				valid = allValid(len(stored))
			}
			valid[i/8] &^= 1 << (i % 8)
			missing++
		} else {
			b = append(b, content[starts[v-1]:starts[v]]...)
		}
		offsets[i+1] = uint64(len(b))
	}
	return textData(d.t, b, offsets, valid, missing)
}

// arrowDictionary decodes values that were a dictionary when they were written: index k is item k, which may be null.
type arrowDictionary struct {
	indexed
	t *arrow.DictionaryType
}

func (d *arrowDictionary) weigh(low, end uint64) uint64 { return d.indices.weigh(low, end) }

func (d *arrowDictionary) decode(low, end uint64) (arrow.ArrayData, error) {
	if d.items.count == 0 {
		return nil, d.outside(low, 0)
	}
	a, err := d.items.all()
	if err != nil {
		return nil, err
	}
	stored, err := d.indices.load(low, end)
	if err != nil {
		return nil, err
	}
	width := d.t.IndexType.(arrow.FixedWidthDataType).BitWidth() / 8
	most := uint64(1)<<(8*width-1) - 1
	if arrow.IsUnsignedInteger(d.t.IndexType.ID()) {
		most = 1<<(8*width-1)<<1 - 1
	}
	out := make([]byte, width*len(stored))
	var valid []byte
	missing := 0
	for i, v := range stored {
		if v >= d.items.count {
			return nil, d.outside(low+uint64(i), v)
		}
		if a.IsNull(int(v)) {
			if valid == nil {
				valid = allValid(len(stored))
			}
			valid[i/8] &^= 1 << (i % 8)
			missing++
			continue
		}
		if v > most {
			return nil, corrupt.Unsupported(d.indices.buffer.at, "item %d of a dictionary with indices of type %s", v, d.t.IndexType)
		}
		var wide [8]byte
		binary.LittleEndian.PutUint64(wide[:], v)
		copy(out[i*width:], wide[:width])
	}
	buffers := []*memory.Buffer{bitmapBuffer(valid), memory.NewBufferBytes(out)}
	return array.NewDataWithDictionary(d.t, len(stored), buffers, missing, 0, a.Data().(*array.Data)), nil
}
