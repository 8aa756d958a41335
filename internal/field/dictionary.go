package field

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/buffer"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// dictionaryColumn is a field whose DATA holds ids of the entries of a value dictionary. Numbers may be stored
// so, too: their entries are little-endian bytes.
type dictionaryColumn struct {
	typ      arrow.DataType
	basic    schema.Basic
	fixed    int
	where    opaque
	dict     *buffer.Dictionary
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
	c.dict, err = buffer.ParseDictionary(b, c.basic, c.fixed, false)
	return err
}

func (c *dictionaryColumn) Read(r buffer.Range) (arrow.ArrayData, error) {
	if err := c.codes.mem.Take(12 * r.Len()); err != nil { // and the offsets
		return nil, err
	}
	codes := make([]uint32, r.Len())
	v := &validity{n: len(codes)}
	if err := c.codes.read(codes, r.Start, v, 0); err != nil {
		return nil, err
	}
	size := 0
	for i, id := range codes {
		if int64(id) >= int64(c.dict.Count) {
			return nil, corrupt.Locate(corrupt.At(-1, "id %d at position %d, the dictionary has %d entries",
				id, r.Start+uint64(i), c.dict.Count), c.codes.URL, 0)
		}
		if int64(id) == c.dict.Null {
			v.clear(i)
		} else if c.fixed == 0 {
			size += int(c.dict.Offsets[id+1] - c.dict.Offsets[id])
		}
	}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	if c.fixed > 0 {
		size = len(codes) * c.fixed
	}
	if err := c.codes.mem.Take(uint64(size)); err != nil {
		return nil, err
	}
	return c.gather(codes, v, size), nil
}

// gather copies the values that codes name; size is how many bytes they take if their lengths vary.
func (c *dictionaryColumn) gather(codes []uint32, v *validity, size int) arrow.ArrayData {
	if c.fixed > 0 {
		data := make([]byte, len(codes)*c.fixed)
		for i, id := range codes {
			copy(data[i*c.fixed:], c.dict.Value(id))
		}
		return newData(c.typ, v, []*memory.Buffer{memory.NewBufferBytes(data)})
	}
	data, offsets := make([]byte, 0, size), make([]int64, len(codes)+1)
	for i, id := range codes {
		if int64(id) != c.dict.Null {
			data = append(data, c.dict.Value(id)...)
		}
		offsets[i+1] = int64(len(data))
	}
	return newData(c.typ, v, []*memory.Buffer{bufferOf(offsets), memory.NewBufferBytes(data)})
}

func (c *dictionaryColumn) Release(pos uint64) {
	c.codes.Release(pos)
	c.presence.Release(pos)
}

func (c *dictionaryColumn) Size() uint64 {
	return c.codes.Size() + c.presence.Size() + c.where.end - c.where.start
}
