package lance

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// blobPage is a page of large values that lie anywhere in the file: an inner page reports where. An entry of size 0 at a
// position other than 0 has the levels in its position.
type blobPage struct {
	levelReader
	t       arrow.DataType
	inner   structuralPage
	file    int64 // where blobs end
	first   uint64
	where   []extent // of the values of rows from first on
	rows    entries  // those rows, without values
	content []buffer
}

// blobPlaces is the type of the values of the inner page.
var blobPlaces = arrow.StructOf(arrow.Field{Name: "position", Type: arrow.PrimitiveTypes.Uint64}, arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Uint64})

func (f *File) newBlobPage(p *pageLayout, stored *page, t arrow.DataType, levels levelReader) (*blobPage, error) {
	if !arrow.IsBaseBinary(t.ID()) {
		return nil, corrupt.At(-1, "blob page of values of type %s", t)
	}
	if levels.path.lists(len(levels.path)) > 0 {
		return nil, corrupt.Unsupported(-1, "blobs in lists")
	}
	inner, err := f.structuralPage(p.inner, stored, blobPlaces, nesting{false})
	return &blobPage{levelReader: levels, t: t, inner: inner, file: f.c.dataEnd}, err
}

// known reports whether the places of rows are known.
func (d *blobPage) known(low, end uint64) bool {
	return d.where != nil && low >= d.first && end <= d.first+uint64(len(d.where))
}

func (d *blobPage) weigh(low, end uint64) uint64 {
	if !d.known(low, end) {
		return d.inner.weigh(low, end)
	}
	total := uint64(0)
	for _, x := range d.where[low-d.first : end-d.first] {
		total += uint64(x.size)
	}
	return total
}

func (d *blobPage) request(low, end uint64, r *requests) error {
	if !d.known(low, end) {
		before := len(r.missing)
		if err := d.inner.request(low, end, r); err != nil || len(r.missing) > before {
			return err
		}
		if err := d.find(low, end); err != nil {
			return err
		}
	}
	for i := low - d.first; i < end-d.first; i++ {
		d.content[i].want(0, d.content[i].size, r)
	}
	return nil
}

// find reads where the blobs of rows lie.
func (d *blobPage) find(low, end uint64) error {
	e, err := d.inner.decode(low, end)
	if err == nil {
		err = e.check(nesting{false}, int(end-low))
	}
	if err != nil {
		return err
	}
	a := array.MakeFromData(e.values).(*array.Struct)
	positions, sizes := a.Field(0).(*array.Uint64), a.Field(1).(*array.Uint64)
	d.first, d.where, d.content = low, make([]extent, end-low), make([]buffer, end-low)
	d.rows = entries{n: int(end - low), def: make([]uint16, end-low)}
	for i := range d.where {
		at, size := positions.Value(i), sizes.Value(i)
		switch {
		case size == 0 && at == 0:
		case size == 0:
			level := at >> 16 & 0xFFFF
			if level >= uint64(len(d.codes)) || at&0xFFFF != 0 {
				return corrupt.At(-1, "blob %d: level %d", i, level)
			}
			d.rows.def[i] = d.codes[level]
		case size > uint64(d.file) || at > uint64(d.file)-size:
			return corrupt.At(-1, "a blob of %d bytes at %d, outside the %d bytes of data", size, at, d.file)
		default:
			d.where[i] = extent{int64(at), int64(size)}
			d.content[i].extent = d.where[i]
		}
	}
	return nil
}

func (d *blobPage) decode(low, end uint64) (entries, error) {
	e := entries{n: int(end - low), def: d.rows.def[low-d.first : end-d.first]}
	var b []byte
	offsets := make([]uint64, 1, e.n+1)
	for i := low - d.first; i < end-d.first; i++ {
		part, err := d.content[i].bytes(0, d.content[i].size)
		if err != nil {
			return e, err
		}
		b = append(b, part...)
		offsets = append(offsets, uint64(len(b)))
	}
	var err error
	e.values, err = (&values{n: e.n, data: b, offsets: offsets}).arrow(d.t)
	return e, err
}
