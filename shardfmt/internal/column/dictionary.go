package column

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/simd"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Coded is a column whose positions name entries of a dictionary.
type Coded interface {
	Column
	// ReadCoded is Read into an array of Arrow's dictionary encoding, whose indexes are uint32.
	ReadCoded(r colstream.Range) (arrow.ArrayData, error)
	// Expand gives an array that ReadCoded made, or Select of one, as Read would have given it.
	Expand(d arrow.ArrayData) (arrow.ArrayData, error)
}

// dictionaryColumn is a field whose DATA holds ids of the entries of a value dictionary, or of several: then each block
// has the choice. Numbers may be stored so, too: their entries are little-endian bytes.
type dictionaryColumn struct {
	typ      arrow.DataType
	basic    schema.Basic
	fixed    int
	all      []*valueDictionary
	of       map[int]*valueDictionary // by block, for those seen; of several dictionaries only
	used     []usedDictionary         // of the range available
	codes    *numbers[uint32]
	presence *bitReader
}

// usedDictionary is a dictionary that blocks of a range name, and what is added to its codes.
type usedDictionary struct {
	*valueDictionary
	base uint32
}

// valueDictionary is one of a field's value dictionaries.
type valueDictionary struct {
	opaque
	id     uint32
	dict   *colstream.Dictionary // nil before it was fetched
	values *array.Data           // those of dict, as an array
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
	all, err := f.valueDictionaries()
	if err != nil {
		return nil, err
	}
	s, err := f.stream(metapb.BufferKind_DATA, f.count)
	if err != nil {
		return nil, err
	}
	s.Named = len(all) > 1
	p, err := f.presence()
	return &dictionaryColumn{
		typ: f.typ, basic: f.node.Basic, fixed: fixed, all: all, of: make(map[int]*valueDictionary),
		codes: openNumbers[uint32](s, f), presence: p,
	}, err
}

// valueDictionaries are those of the encoding. Of several each has an id, by which blocks name it.
func (f *stored) valueDictionaries() (all []*valueDictionary, err error) {
	named := true
	for _, b := range f.encoding.GetBuffers() {
		if b.Kind != metapb.BufferKind_VALUE_DICTIONARY {
			continue
		}
		url, start, end, err := f.locate(b.Buffer)
		if err != nil {
			return nil, err
		}
		named = named && b.GetBufferId() != 0
		all = append(all, &valueDictionary{id: b.GetBufferId(), opaque: opaque{url: url, start: uint64(start), end: uint64(end)}})
	}
	if len(all) > 1 && !named {
		return nil, f.corrupt("several value dictionaries, one of them without the id that blocks refer to")
	}
	return all, nil
}

// Need requests all dictionaries if all positions are to be read, else for those that the blocks name, once these are there.
func (c *dictionaryColumn) Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error) {
	out, err := needAll(ranges, whole, c.codes, c.presence)
	if err != nil {
		return nil, err
	}
	if !c.codes.Named || whole {
		for _, d := range c.all {
			out = append(out, c.need(d)...)
		}
		return out, nil
	}
	if len(out) > 0 {
		return out, nil
	}
	var named []*valueDictionary
	for _, r := range ranges {
		err := c.eachBlock(r, func(d *valueDictionary, _ uint64) error {
			if !slices.Contains(named, d) {
				named = append(named, d)
				out = append(out, c.need(d)...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *dictionaryColumn) need(d *valueDictionary) []colstream.Request {
	return d.opaque.need(func(b []byte) error { return c.parse(d, b) })
}

// eachBlock calls f with the dictionary of every block of a range, and the number of positions of the range that lie in it.
func (c *dictionaryColumn) eachBlock(r colstream.Range, f func(d *valueDictionary, n uint64) error) error {
	if !c.codes.Named {
		return f(c.all[0], r.Len())
	}
	if r.Len() == 0 || r.End > c.codes.Map().Values() { // which reading the codes answers
		return nil
	}
	for i := c.codes.Map().Find(r.Start); r.Start < r.End; i++ {
		_, end := c.codes.Map().Span(i)
		end = min(end, r.End)
		d, err := c.dictionaryOf(i)
		if err == nil {
			err = f(d, end-r.Start)
		}
		if err != nil {
			return err
		}
		r.Start = end
	}
	return nil
}

// dictionaryOf gives the dictionary that a block names.
func (c *dictionaryColumn) dictionaryOf(i int) (*valueDictionary, error) {
	if d := c.of[i]; d != nil {
		return d, nil
	}
	id, err := c.codes.NameOf(i)
	if err != nil {
		return nil, err
	}
	for _, d := range c.all {
		if d.id == id {
			c.of[i] = d
			return d, nil
		}
	}
	return nil, c.codes.Locate(corrupt.At(0, "a block of codes of value dictionary %d, which the field does not have", id), i, 0)
}

func (c *dictionaryColumn) parse(d *valueDictionary, b []byte) (err error) {
	if d.dict, err = colstream.ParseDictionary(b, c.basic, c.fixed, false); err != nil {
		return err
	}
	data := memory.NewBufferBytes(d.dict.Data)
	if numberWidth(c.basic) > 0 {
		data = memory.NewBufferBytes(append([]byte(nil), d.dict.Data...)) // which begins where a number may
	}
	buffers := []*memory.Buffer{nil, data}
	if c.fixed == 0 {
		buffers = []*memory.Buffer{nil, bufferOf(d.dict.Offsets), data}
	}
	d.values = array.NewData(c.typ, d.dict.Count, buffers, nil, 0, 0)
	return nil
}

func (c *dictionaryColumn) Read(r colstream.Range) (arrow.ArrayData, error) {
	d, err := c.ReadCoded(r)
	if err != nil {
		return nil, err
	}
	return c.Expand(d)
}

func (c *dictionaryColumn) ReadCoded(r colstream.Range) (arrow.ArrayData, error) {
	if err := c.codes.mem.Take(4 * r.Len()); err != nil {
		return nil, err
	}
	codes := budget.LendOf[uint32](c.codes.mem, r.Len())
	v := &validity{n: len(codes)}
	if err := c.codes.read(codes, r.Start, v, 0); err != nil {
		return nil, err
	}
	values, err := c.entries(codes, r, v)
	if err != nil {
		return nil, err
	}
	if err := c.presence.and(v, r); err != nil {
		return nil, err
	}
	return c.coded(codes, v, values), nil
}

// entries gives the entries of the codes of a range: those of the one dictionary that its blocks name, or of all that they
// name, one after the other, to which the codes are shifted then. The codes are checked, and nulls noted.
func (c *dictionaryColumn) entries(codes []uint32, r colstream.Range, v *validity) (*array.Data, error) {
	c.used = c.used[:0]
	next, at := uint32(0), 0
	err := c.eachBlock(r, func(d *valueDictionary, n uint64) error {
		if d.dict == nil {
			return corrupt.Locate(corrupt.At(-1, "value dictionary %d was not fetched", d.id), d.url, int64(d.start))
		}
		k := slices.IndexFunc(c.used, func(u usedDictionary) bool { return u.valueDictionary == d })
		if k < 0 {
			k, c.used = len(c.used), append(c.used, usedDictionary{d, next})
			next += uint32(d.dict.Count)
		}
		err := c.shift(codes[at:at+int(n)], c.used[k], v, at, r.Start)
		at += int(n)
		return err
	})
	if err != nil || len(c.used) == 0 {
		return c.none(), err
	}
	if len(c.used) == 1 {
		return c.used[0].values, nil
	}
	return c.join(c.used)
}

// none is the dictionary of no codes at all.
func (c *dictionaryColumn) none() *array.Data {
	return nulls(c.typ, 0).(*array.Data)
}

// shift checks codes of one dictionary, which are those from slot at on, notes which are null, and adds its base to them.
func (c *dictionaryColumn) shift(codes []uint32, used usedDictionary, v *validity, at int, start uint64) error {
	dict, base := used.dict, used.base
	if dict.Null < 0 && base == 0 && dict.Count > 0 && simd.AllAtMost(codes, uint32(dict.Count-1)) {
		return nil // as most are
	}
	for i, id := range codes {
		if int64(id) >= int64(dict.Count) {
			return corrupt.Locate(corrupt.At(-1, "id %d at position %d, the dictionary has %d entries",
				id, start+uint64(at+i), dict.Count), c.codes.URL, 0)
		}
		if int64(id) == dict.Null {
			v.clear(at + i)
		}
		codes[i] = id + base
	}
	return nil
}

// join makes one array of the entries of several dictionaries.
func (c *dictionaryColumn) join(used []usedDictionary) (*array.Data, error) {
	size, parts := uint64(0), make([]arrow.Array, len(used))
	for i, d := range used {
		size += SizeOf(d.values)
		parts[i] = storage(array.MakeFromData(d.values))
	}
	if err := c.codes.mem.Take(size); err != nil {
		return nil, err
	}
	all, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return array.NewData(c.typ, all.Len(), all.Data().Buffers(), nil, 0, 0), nil
}

func (c *dictionaryColumn) Release(pos uint64) {
	c.codes.Release(pos)
	c.presence.Release(pos)
}

func (c *dictionaryColumn) Size() uint64 {
	n := c.codes.Size() + c.presence.Size()
	for _, d := range c.all {
		n += d.end - d.start
	}
	return n
}
