package field

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Coded is a column whose positions name entries of a dictionary.
type Coded interface {
	Column
	// ReadCoded is Read into an array of Arrow's dictionary encoding, whose indexes are uint32.
	ReadCoded(r buffer.Range) (arrow.ArrayData, error)
	// Expand gives an array that ReadCoded made, or Select of one, as Read would have given it.
	Expand(d arrow.ArrayData) (arrow.ArrayData, error)
}

// dictionaryColumn is a field whose DATA holds ids of the entries of a value dictionary. Numbers may be stored
// so, too: their entries are little-endian bytes.
type dictionaryColumn struct {
	typ      arrow.DataType
	basic    schema.Basic
	fixed    int
	where    opaque
	dict     *buffer.Dictionary
	values   *array.Data // those of dict, as an array
	codes    *numbers[uint32]
	presence *bitReader
}

func (f *stored) dictionaryColumn() (Column, error) {
	if nested(f.node.Basic) || f.node.Basic == schema.Boolean || f.node.Basic == schema.Unit {
		return nil, f.corrupt("value dictionary for type %d", f.node.Basic)
	}
	fixed, err := f.fixedSize()
	if err != nil {
		return nil, err
	}
	if fixed == 0 {
		fixed = numberWidth(f.node.Basic)
	}
	url, start, end, err := f.locate(f.buffer(metapb.BufferKind_VALUE_DICTIONARY).Buffer)
	if err != nil {
		return nil, err
	}
	s, err := f.stream(metapb.BufferKind_DATA, f.count)
	if err != nil {
		return nil, err
	}
	p, err := f.presence()
	return &dictionaryColumn{
		typ: f.typ, basic: f.node.Basic, fixed: fixed,
		where: opaque{url: url, start: uint64(start), end: uint64(end)},
		codes: openNumbers[uint32](s, f), presence: p,
	}, err
}

func (c *dictionaryColumn) Need(ranges []buffer.Range, whole bool) ([]buffer.Request, error) {
	out, err := needAll(ranges, whole, c.codes, c.presence)
	return append(out, c.where.need(c.parse)...), err
}

func (c *dictionaryColumn) parse(b []byte) (err error) {
	if c.dict, err = buffer.ParseDictionary(b, c.basic, c.fixed, false); err != nil {
		return err
	}
	data := memory.NewBufferBytes(c.dict.Data)
	if numberWidth(c.basic) > 0 {
		data = memory.NewBufferBytes(append([]byte(nil), c.dict.Data...)) // which begins where a number may
	}
	buffers := []*memory.Buffer{nil, data}
	if c.fixed == 0 {
		buffers = []*memory.Buffer{nil, bufferOf(c.dict.Offsets), data}
	}
	c.values = array.NewData(c.typ, c.dict.Count, buffers, nil, 0, 0)
	return nil
}

func (c *dictionaryColumn) Read(r buffer.Range) (arrow.ArrayData, error) {
	d, err := c.ReadCoded(r)
	if err != nil {
		return nil, err
	}
	return c.Expand(d)
}

func (c *dictionaryColumn) ReadCoded(r buffer.Range) (arrow.ArrayData, error) {
	if err := c.codes.mem.Take(4 * r.Len()); err != nil {
		return nil, err
	}
	codes := make([]uint32, r.Len())
	v := &validity{n: len(codes)}
	if err := c.codes.read(codes, r.Start, v, 0); err != nil {
		return nil, err
	}
	for i, id := range codes {
		if int64(id) >= int64(c.dict.Count) {
			return nil, corrupt.Locate(corrupt.At(-1, "id %d at position %d, the dictionary has %d entries",
				id, r.Start+uint64(i), c.dict.Count), c.codes.URL, 0)
		}
		if int64(id) == c.dict.Null {
			v.clear(i)
		}
	}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	bitmap, nulls := v.buffer()
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: c.typ}
	return array.NewDataWithDictionary(typ, len(codes), []*memory.Buffer{bitmap, bufferOf(codes)}, nulls, 0, c.values), nil
}

func (c *dictionaryColumn) Expand(d arrow.ArrayData) (arrow.ArrayData, error) {
	codes, v := codesOf(d), &validity{n: d.Len()}
	if b := d.Buffers()[0]; b != nil {
		v.bits = b.Bytes()
	}
	if c.fixed > 0 {
		if err := c.codes.mem.Take(uint64(len(codes)) * uint64(c.fixed)); err != nil {
			return nil, err
		}
		return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(c.gather(codes))}), nil
	}
	size := 0
	for _, id := range codes {
		size += c.length(id)
	}
	if err := c.codes.mem.Take(8*uint64(len(codes)) + uint64(size)); err != nil {
		return nil, err
	}
	offsets, data := c.gatherText(codes, size)
	return newData(c.typ, v, []*memory.Buffer{bufferOf(offsets), memory.NewBufferBytes(data)}), nil
}

// codesOf gives the ids of an array that ReadCoded made, or of a selection of one.
func codesOf(d arrow.ArrayData) []uint32 {
	return arrow.Uint32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset():][:d.Len()]
}

// length is how many bytes an entry has, none the null one.
func (c *dictionaryColumn) length(id uint32) int {
	if int64(id) == c.dict.Null {
		return 0
	}
	return int(c.dict.Offsets[id+1] - c.dict.Offsets[id])
}

// gather copies the values of one size that codes name.
func (c *dictionaryColumn) gather(codes []uint32) []byte {
	data := make([]byte, len(codes)*c.fixed)
	for i, id := range codes {
		copy(data[i*c.fixed:], c.dict.Value(id))
	}
	return data
}

// gatherText copies the values that codes name, which have size bytes in all.
func (c *dictionaryColumn) gatherText(codes []uint32, size int) (offsets []int64, data []byte) {
	data, offsets = make([]byte, 0, size), make([]int64, len(codes)+1)
	for i, id := range codes {
		if int64(id) != c.dict.Null {
			data = append(data, c.dict.Value(id)...)
		}
		offsets[i+1] = int64(len(data))
	}
	return offsets, data
}

func (c *dictionaryColumn) Release(pos uint64) {
	c.codes.Release(pos)
	c.presence.Release(pos)
}

func (c *dictionaryColumn) Size() uint64 {
	return c.codes.Size() + c.presence.Size() + c.where.end - c.where.start
}
