package shardsql

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// rebase returns the batch with structs and sparse unions that begin at offset 0, at any depth. The C data interface
// adds the offset of such an array to those of its children, and arrow-go exports children that are sliced already:
// a reader applies the offset twice, and reads memory beyond the children. The caller releases the result.
func rebase(b arrow.RecordBatch) arrow.RecordBatch {
	columns := make([]arrow.Array, b.NumCols())
	for i, c := range b.Columns() {
		data := rebaseData(c.Data())
		columns[i] = array.MakeFromData(data)
		data.Release()
	}
	out := array.NewRecordBatch(b.Schema(), columns, b.NumRows())
	for _, c := range columns {
		c.Release()
	}
	return out
}

// rebaseData is rebase for the data of one array. It shares all buffers but the bitmaps of structs, which are copied.
func rebaseData(d arrow.ArrayData) arrow.ArrayData {
	buffers, offset, children := d.Buffers(), d.Offset(), make([]arrow.ArrayData, len(d.Children()))
	isStruct, isSparse := isAligned(d.DataType())
	aligned := isStruct || isSparse
	for i, child := range d.Children() {
		if aligned {
			child = array.NewSliceData(child, int64(offset), int64(offset+d.Len()))
			defer child.Release()
		}
		children[i] = rebaseData(child)
		defer children[i].Release()
	}
	if aligned && offset > 0 {
		buffers = append([]*memory.Buffer(nil), buffers...)
		if isStruct && buffers[0] != nil {
			bits := memory.NewBufferBytes(make([]byte, bitutil.BytesForBits(int64(d.Len()))))
			bitutil.CopyBitmap(buffers[0].Bytes(), offset, d.Len(), bits.Bytes(), 0)
			buffers[0] = bits
		}
		if isSparse {
			ids := len(buffers) - 1 // the first buffer, if there are two, is the unused bitmap
			buffers[ids] = memory.NewBufferBytes(buffers[ids].Bytes()[offset : offset+d.Len()])
		}
		offset = 0
	}
	if dictionary, ok := d.Dictionary().(*array.Data); ok && dictionary != nil {
		return array.NewDataWithDictionary(d.DataType(), d.Len(), buffers, d.NullN(), offset, dictionary)
	}
	return array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), offset)
}

// isAligned reports whether arrays of a type have children with a value for each of their own: structs and sparse unions.
func isAligned(t arrow.DataType) (isStruct, isSparse bool) {
	if extension, ok := t.(arrow.ExtensionType); ok {
		t = extension.StorageType()
	}
	return t.ID() == arrow.STRUCT, t.ID() == arrow.SPARSE_UNION
}
