package arrowtype

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// ErrArray is an Arrow array whose parts contradict each other.
var ErrArray = errors.New("the parts of an Arrow array contradict each other")

// Validate reports whether every value of a batch of unknown origin can be read: whether buffers are as long as the arrays
// need, offsets and views stay within what they point into, dictionary codes within the dictionary, children are as
// long as their parents say, and nulls are as many as claimed; in nested arrays too, whatever types are among them.
func Validate(batch arrow.RecordBatch) error {
	for i, c := range batch.Columns() {
		if int64(c.Len()) != batch.NumRows() {
			return fmt.Errorf("field %q: %w: %d values in a batch of %d rows", batch.ColumnName(i), ErrArray, c.Len(), batch.NumRows())
		}
		if err := validate(c.Data(), c.DataType(), 1); err != nil {
			return fmt.Errorf("field %q: %w", batch.ColumnName(i), err)
		}
	}
	return nil
}

func unsound(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrArray, fmt.Sprintf(format, args...))
}

// validate checks the data of an array of type t, which is that of data, or its storage type.
func validate(data arrow.ArrayData, t arrow.DataType, depth int) error {
	if depth > 2*MaxDepth {
		return unsound("it nests deeper than %d levels", 2*MaxDepth)
	}
	n, offset := data.Len(), data.Offset()
	if n < 0 || offset < 0 || offset > math.MaxInt-n {
		return unsound("%d values from %d", n, offset)
	}
	if err := validateNulls(data, t); err != nil {
		return err
	}
	end := offset + n
	switch t := t.(type) {
	case *arrow.NullType:
		return nil
	case arrow.ExtensionType:
		return validate(data, t.StorageType(), depth+1)
	case *arrow.DictionaryType:
		return validateDictionary(data, t, depth)
	case *arrow.RunEndEncodedType:
		return validateRuns(data, t, depth)
	case arrow.UnionType:
		return validateUnion(data, t, depth)
	case *arrow.StructType:
		return validateChildren(data, t.Fields(), end, depth)
	case *arrow.FixedSizeListType:
		size := int(t.Len())
		if high, low := bits.Mul64(uint64(max(size, 0)), uint64(end)); size < 0 || high != 0 || low > math.MaxInt {
			return unsound("%d lists of %d elements", end, size)
		}
		return validateChildren(data, []arrow.Field{t.ElemField()}, end*size, depth)
	case *arrow.ListViewType, *arrow.LargeListViewType:
		return validateListViews(data, t.(arrow.ListLikeType), depth)
	case arrow.ListLikeType: // lists, large lists and maps
		last, err := validateOffsets(data, t.ID() == arrow.LARGE_LIST)
		if err != nil {
			return err
		}
		return validateChildren(data, []arrow.Field{t.ElemField()}, last, depth)
	case arrow.BinaryViewDataType:
		return validateViews(data)
	case arrow.BinaryDataType:
		last, err := validateOffsets(data, t.ID() == arrow.LARGE_STRING || t.ID() == arrow.LARGE_BINARY)
		if err == nil && last > len(bufferOf(data, 2)) {
			err = unsound("offsets up to %d in %d bytes", last, len(bufferOf(data, 2)))
		}
		return err
	case arrow.FixedWidthDataType:
		return validateWidth(data, t.BitWidth())
	}
	return unsound("type %s", t)
}

// bufferOf is buffer i of an array, empty if there is none.
func bufferOf(data arrow.ArrayData, i int) []byte {
	if b := data.Buffers(); i < len(b) && b[i] != nil {
		return b[i].Bytes()
	}
	return nil
}

// validateNulls checks the validity bitmap and the number of nulls that is claimed.
func validateNulls(data arrow.ArrayData, t arrow.DataType) error {
	switch t.ID() {
	case arrow.NULL, arrow.DENSE_UNION, arrow.SPARSE_UNION, arrow.RUN_END_ENCODED, arrow.EXTENSION:
		return nil // they have no bitmap of their own
	}
	n, offset, claimed := data.Len(), data.Offset(), data.NullN()
	bitmap := bufferOf(data, 0)
	if bitmap == nil {
		if claimed > 0 {
			return unsound("%d nulls without a bitmap", claimed)
		}
		return nil
	}
	if (offset+n+7)/8 > len(bitmap) {
		return unsound("a bitmap of %d bytes for %d values", len(bitmap), offset+n)
	}
	if nulls := n - bitutil.CountSetBits(bitmap, offset, n); claimed >= 0 && nulls != claimed {
		return unsound("%d nulls, but the header says %d", nulls, claimed)
	}
	return nil
}

// validateWidth checks values of a fixed number of bits.
func validateWidth(data arrow.ArrayData, width int) error {
	end := data.Offset() + data.Len()
	high, low := bits.Mul64(uint64(max(width, 0)), uint64(end))
	if data.Len() > 0 && (width < 0 || high != 0 || low/8+min(low%8, 1) > uint64(len(bufferOf(data, 1)))) {
		return unsound("%d bytes for %d values of %d bits", len(bufferOf(data, 1)), end, width)
	}
	return nil
}

// numbers reads the little-endian numbers of a buffer.
func numbers(b []byte, size int) func(i int) int64 {
	switch size {
	case 1:
		return func(i int) int64 { return int64(int8(b[i])) }
	case 2:
		return func(i int) int64 { return int64(int16(binary.LittleEndian.Uint16(b[2*i:]))) }
	case 4:
		return func(i int) int64 { return int64(int32(binary.LittleEndian.Uint32(b[4*i:]))) }
	}
	return func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
}

// validateOffsets checks that offsets ascend, and gives the last.
func validateOffsets(data arrow.ArrayData, large bool) (last int, err error) {
	size := 4
	if large {
		size = 8
	}
	b := bufferOf(data, 1)
	if data.Len() == 0 {
		return 0, nil
	}
	from, to := data.Offset(), data.Offset()+data.Len()
	if to >= len(b)/size {
		return 0, unsound("%d bytes of offsets for %d values", len(b), to)
	}
	at := numbers(b, size)
	before := int64(0)
	for i := from; i <= to; i++ {
		v := at(i)
		if v < before {
			return 0, unsound("offset %d after %d", v, before)
		}
		before = v
	}
	return int(before), nil
}

// validateChildren checks the children of an array, which must have so many values.
func validateChildren(data arrow.ArrayData, fields []arrow.Field, want, depth int) error {
	if len(data.Children()) != len(fields) {
		return unsound("%d children where the type has %d", len(data.Children()), len(fields))
	}
	for i, c := range data.Children() {
		if c == nil || c.Len() < want {
			return unsound("child %q has fewer than %d values", fields[i].Name, want)
		}
		if err := validate(c, fields[i].Type, depth+1); err != nil {
			return fmt.Errorf("%q: %w", fields[i].Name, err)
		}
	}
	return nil
}

// isNull reports whether value i of an array with a bitmap is null.
func isNull(data arrow.ArrayData, i int) bool {
	bitmap := bufferOf(data, 0)
	return bitmap != nil && !bitutil.BitIsSet(bitmap, data.Offset()+i)
}

func validateListViews(data arrow.ArrayData, t arrow.ListLikeType, depth int) error {
	size := 4
	if t.ID() == arrow.LARGE_LIST_VIEW {
		size = 8
	}
	if err := validateChildren(data, []arrow.Field{t.ElemField()}, 0, depth); err != nil {
		return err
	}
	end, items := data.Offset()+data.Len(), int64(data.Children()[0].Len())
	if data.Len() > 0 && (end > len(bufferOf(data, 1))/size || end > len(bufferOf(data, 2))/size) {
		return unsound("too few offsets or sizes for %d lists", end)
	}
	offsets, sizes := numbers(bufferOf(data, 1), size), numbers(bufferOf(data, 2), size)
	for i := range data.Len() {
		at, n := offsets(data.Offset()+i), sizes(data.Offset()+i)
		if !isNull(data, i) && (at < 0 || n < 0 || at > items || n > items-at) {
			return unsound("a list of %d from %d among %d elements", n, at, items)
		}
	}
	return nil
}

// Views are 16 bytes: a length, and up to 12 bytes of text, or the first four, the number of a buffer and an offset.
const (
	viewSize   = 16
	viewInline = 12
)

func validateViews(data arrow.ArrayData) error {
	b := bufferOf(data, 1)
	if data.Len() > 0 && data.Offset()+data.Len() > len(b)/viewSize {
		return unsound("%d bytes of views for %d values", len(b), data.Offset()+data.Len())
	}
	for i := range data.Len() {
		if isNull(data, i) {
			continue
		}
		v := b[viewSize*(data.Offset()+i):]
		n := int64(int32(binary.LittleEndian.Uint32(v)))
		if n >= 0 && n <= viewInline {
			continue
		}
		buffer, at := int64(int32(binary.LittleEndian.Uint32(v[8:]))), int64(int32(binary.LittleEndian.Uint32(v[12:])))
		if n < 0 || at < 0 || buffer < 0 || buffer >= int64(len(data.Buffers())-2) || at+n > int64(len(bufferOf(data, int(buffer)+2))) {
			return unsound("a view of %d bytes from %d of buffer %d", n, at, buffer)
		}
	}
	return nil
}

func validateDictionary(data arrow.ArrayData, t *arrow.DictionaryType, depth int) error {
	codes, ok := t.IndexType.(arrow.FixedWidthDataType)
	if !ok || data.Dictionary() == nil {
		return unsound("a dictionary without codes or values")
	}
	if err := validateWidth(data, codes.BitWidth()); err != nil {
		return err
	}
	dictionary := data.Dictionary()
	if err := validate(dictionary, t.ValueType, depth+1); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	mask := int64(-1)
	if bits := codes.BitWidth(); t.IndexType.ID() != arrow.UINT64 && arrow.IsUnsignedInteger(t.IndexType.ID()) {
		mask = 1<<bits - 1
	}
	if codesBelow(bufferOf(data, 1), codes.BitWidth()/8, data.Offset(), data.Len(), dictionary.Len()) {
		return nil
	}
	at, size := numbers(bufferOf(data, 1), codes.BitWidth()/8), int64(dictionary.Len())
	for i := range data.Len() {
		if code := at(data.Offset()+i) & mask; (code < 0 || code >= size) && !isNull(data, i) {
			return unsound("code %d in a dictionary of %d values", code, size)
		}
	}
	return nil
}

// codesBelow reports whether n codes of some bytes each are below size, those of nulls too, and none is negative.
func codesBelow(b []byte, width, from, n, size int) bool {
	most := uint64(0)
	switch b = b[from*width : (from+n)*width]; width {
	case 1:
		for _, c := range b {
			most = max(most, uint64(c))
		}
	case 2:
		for i := 0; i+2 <= len(b); i += 2 {
			most = max(most, uint64(binary.LittleEndian.Uint16(b[i:])))
		}
	case 4:
		for i := 0; i+4 <= len(b); i += 4 {
			most = max(most, uint64(binary.LittleEndian.Uint32(b[i:])))
		}
	default:
		return false
	}
	return most < uint64(size) && most < 1<<(8*width-1) || n == 0 // the upper half of signed ones is negative
}

func validateRuns(data arrow.ArrayData, t *arrow.RunEndEncodedType, depth int) error {
	width, ok := t.RunEnds().(arrow.FixedWidthDataType)
	if !ok || len(data.Children()) != 2 {
		return unsound("runs without ends or values")
	}
	ends, values := data.Children()[0], data.Children()[1]
	for i, child := range []arrow.DataType{t.RunEnds(), t.Encoded()} {
		if err := validate(data.Children()[i], child, depth+1); err != nil {
			return fmt.Errorf("runs: %w", err)
		}
	}
	if ends.NullN() > 0 || values.Len() < ends.Len() {
		return unsound("%d values of %d runs", values.Len(), ends.Len())
	}
	at, before := numbers(bufferOf(ends, 1), width.BitWidth()/8), int64(0)
	for i := range ends.Len() {
		end := at(ends.Offset() + i)
		if end <= before {
			return unsound("a run that ends at %d after %d", end, before)
		}
		before = end
	}
	if want := int64(data.Offset() + data.Len()); data.Len() > 0 && before < want {
		return unsound("runs up to %d of %d values", before, want)
	}
	return nil
}

func validateUnion(data arrow.ArrayData, t arrow.UnionType, depth int) error {
	codes, end := bufferOf(data, 1), data.Offset()+data.Len()
	if data.Len() > 0 && end > len(codes) {
		return unsound("%d codes for %d values", len(codes), end)
	}
	dense := t.Mode() == arrow.DenseMode
	want := end
	if dense {
		want = 0
		if data.Len() > 0 && end > len(bufferOf(data, 2))/4 {
			return unsound("too few offsets for %d values", end)
		}
	}
	if err := validateChildren(data, t.Fields(), want, depth); err != nil {
		return err
	}
	children, offsets := t.ChildIDs(), numbers(bufferOf(data, 2), 4)
	for i := data.Offset(); i < end; i++ {
		code := int8(codes[i])
		if code < 0 || int(code) >= len(children) || children[code] < 0 || children[code] >= len(data.Children()) {
			return unsound("variant %d of a union", code)
		}
		if at := int64(0); dense {
			if at = offsets(i); at < 0 || at >= int64(data.Children()[children[code]].Len()) {
				return unsound("value %d of variant %d", at, code)
			}
		}
	}
	return nil
}
