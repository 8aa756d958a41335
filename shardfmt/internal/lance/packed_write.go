package lance

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// packedRows gathers structs row by row: their fields are of fixed width and never null.
type packedRows struct {
	of     *arrow.StructType
	widths []int
	bytes  []byte
}

func (d *packedRows) add(a arrow.Array, from, to int) (int, error) {
	rows := a.(*array.Struct)
	for i := from; i < to; i++ {
		if rows.IsNull(i) {
			return i - from, errNullStruct
		}
		for f := range d.widths {
			if err := d.value(rows.Field(f), i, d.widths[f]); err != nil {
				return i - from, err
			}
		}
	}
	return to - from, nil
}

var errPackedNull = errors.New("null in a packed struct, which does not support nulls")

// value appends value i of a field.
func (d *packedRows) value(a arrow.Array, i, width int) error {
	if a.IsNull(i) {
		return errPackedNull
	}
	if list, ok := a.(*array.FixedSizeList); ok {
		from, to := list.ValueOffsets(i)
		for k := from; k < to; k++ {
			if err := d.value(list.ListValues(), int(k), width/int(to-from)); err != nil {
				return err
			}
		}
		return nil
	}
	at := (a.Data().Offset() + i) * width
	d.bytes = append(d.bytes, a.Data().Buffers()[1].Bytes()[at:at+width]...)
	return nil
}

func (d *packedRows) size() int { return len(d.bytes) }

func (d *packedRows) encode(p *pageEncoder) ([]byte, error) {
	var out []byte
	for i := range d.of.NumFields() {
		out = appendMessage(out, 1, packedInner(d.of.Field(i).Type))
	}
	out = appendMessage(out, 2, appendNumber(nil, 1, uint64(len(p.buffers))))
	p.buffers = append(p.buffers, d.bytes)
	d.bytes = nil
	return arrayEncoding(packedKind, out), nil
}

// packedInner reports how wide a field is: its encoding, with a buffer that is not there.
func packedInner(t arrow.DataType) []byte {
	if list, ok := t.(*arrow.FixedSizeListType); ok {
		return arrayEncoding(fixedListKind, appendMessage(appendNumber(nil, 1, uint64(list.Len())), 2, packedInner(list.Elem())))
	}
	bits := t.(arrow.FixedWidthDataType).BitWidth()
	return arrayEncoding(flatKind, appendMessage(appendNumber(nil, 1, uint64(bits)), 2, nil))
}

// blobRows writes large values at once, and gathers where they are.
type blobRows struct {
	out   *output
	bytes []byte
}

func (d *blobRows) add(a arrow.Array, from, to int) (int, error) {
	value, err := bytesOf(a)
	if err != nil {
		return 0, err
	}
	for i := from; i < to; i++ {
		x := extent{}
		if a.IsNull(i) {
			x.at = 1
		} else if b := value(i); len(b) > 0 {
			if x, err = d.out.put(b); err != nil {
				return i - from, err
			}
		}
		d.bytes = appendExtent(d.bytes, x)
	}
	return to - from, nil
}

func (d *blobRows) size() int { return len(d.bytes) }

func (d *blobRows) encode(p *pageEncoder) ([]byte, error) {
	pair := &packedRows{of: blobType, bytes: d.bytes}
	d.bytes = nil
	return pair.encode(p)
}

// blobType is what a page of blobs holds.
var blobType = arrow.StructOf(arrow.Field{Name: "position", Type: arrow.PrimitiveTypes.Uint64}, arrow.Field{Name: "size", Type: arrow.PrimitiveTypes.Uint64})
