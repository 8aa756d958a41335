package lance

import (
	"encoding/binary"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// fieldWriter takes the values of one field and those below it.
type fieldWriter interface {
	// add takes values [from, to) of an array. The row of an error counts from the start of the array.
	add(a arrow.Array, from, to int) error
	// flush writes the last pages.
	flush() error
}

// addRows is how many values go into a page before its size is looked at.
const addRows = 1024

// leafField writes a field of one column.
type leafField struct {
	w       *Writer
	name    string
	column  int
	rows    uint64 // in the page
	builder pageBuilder
	zones   *zoneBuilder // or nil
}

func (f *leafField) add(a arrow.Array, from, to int) error {
	a = storageOf(a)
	for from < to {
		n, err := f.builder.add(a, from, min(to, from+addRows))
		if err != nil {
			return located(err, f.name, from+n)
		}
		if f.zones != nil {
			f.zones.add(a, from, from+n)
		}
		f.rows += uint64(n)
		if from += n; n == 0 || f.builder.size() >= f.w.o.PageBytes {
			if err := f.page(); err != nil {
				return err
			}
		}
	}
	return nil
}

// page writes what was gathered.
func (f *leafField) page() error {
	var p pageEncoder
	encoding, err := f.builder.encode(&p)
	if err != nil {
		return err
	}
	n := f.rows
	f.rows = 0
	return f.w.out.page(f.column, n, encoding, &p)
}

func (f *leafField) flush() error {
	if f.rows > 0 {
		if err := f.page(); err != nil {
			return err
		}
	}
	if err := f.w.out.share(f.w.out.columns[f.column]); err != nil || f.zones == nil {
		return err
	}
	return f.zones.finish(f.w, f.column)
}

// storageOf is an array without its extension.
func storageOf(a arrow.Array) arrow.Array {
	if ext, ok := a.(array.ExtensionArray); ok {
		return ext.Storage()
	}
	return a
}

// structField writes a struct: a column without data, and its fields.
type structField struct {
	w      *Writer
	name   string
	column int
	rows   uint64
	fields []fieldWriter
}

var errNullStruct = errors.New("a null struct, which version 2.0 does not support: --" + optionNullStructs + " " + pushDown + " or --allow-lossy makes its fields null instead and counts them")

func (f *structField) add(a arrow.Array, from, to int) error {
	a = storageOf(a)
	rows := a.(*array.Struct)
	missing := firstNull(a, from, to)
	if missing >= 0 && !f.w.o.pushesDown() {
		return located(errNullStruct, f.name, missing)
	}
	for i, field := range f.fields {
		values := rows.Field(i)
		if missing >= 0 {
			values = maskedBy(values, a)
		}
		if err := field.add(values, from, to); err != nil {
			return err
		}
	}
	if missing >= 0 {
		count := 0
		if !f.w.o.PushDownNulls {
			count = countNulls(a, from, to)
		}
		f.w.report.Add(f.name, "null structs become structs of nulls", int64(count))
	}
	f.rows += uint64(to - from)
	return nil
}

// firstNull is the first null of values [from, to), or -1.
func firstNull(a arrow.Array, from, to int) int {
	if a.NullN() == 0 {
		return -1
	}
	for i := from; i < to; i++ {
		if a.IsNull(i) {
			return i
		}
	}
	return -1
}

func countNulls(a arrow.Array, from, to int) int {
	return to - from - bitutil.CountSetBits(a.NullBitmapBytes(), a.Data().Offset()+from, to-from)
}

// maskedBy makes null what is null in another array of the same length.
func maskedBy(a, by arrow.Array) arrow.Array {
	if ext, ok := a.(array.ExtensionArray); ok {
		a = ext.Storage()
	}
	if a.DataType().ID() == arrow.NULL {
		return a
	}
	d := a.Data()
	valid := make([]byte, bitutil.BytesForBits(int64(d.Offset()+a.Len())))
	for i := range a.Len() {
		if a.IsValid(i) && by.IsValid(i) {
			bitutil.SetBit(valid, d.Offset()+i)
		}
	}
	buffers := append([]*memory.Buffer(nil), d.Buffers()...)
	buffers[0] = memory.NewBufferBytes(valid)
	if a.DataType().ID() == arrow.DICTIONARY {
		return array.MakeFromData(array.NewDataWithDictionary(d.DataType(), d.Len(), buffers, array.UnknownNullCount, d.Offset(), d.Dictionary().(*array.Data)))
	}
	return array.MakeFromData(array.NewData(d.DataType(), d.Len(), buffers, d.Children(), array.UnknownNullCount, d.Offset()))
}

// flush writes the one page of the struct itself, which has no buffers.
func (f *structField) flush() error {
	for _, field := range f.fields {
		if err := field.flush(); err != nil {
			return err
		}
	}
	return f.w.out.page(f.column, f.rows, arrayEncoding(structKind, nil), &pageEncoder{})
}

// listField writes lists: a column of where they end, and their items. Items of null lists are left out.
type listField struct {
	w      *Writer
	name   string
	column int
	items  fieldWriter
	ends   []uint64 // in the page; a null as its complement
	count  uint64   // items of the page
}

func (f *listField) add(a arrow.Array, from, to int) error {
	a = storageOf(a)
	lists := a.(array.ListLike)
	values := lists.ListValues()
	// Lists whose items follow one another are handed on together.
	first, start, end := from, int64(0), int64(0)
	flush := func(next int) error {
		if start == end {
			return nil
		}
		return f.owner(f.items.add(values, int(start), int(end)), lists, first, next)
	}
	for i := from; i < to; i++ {
		if a.IsNull(i) {
			f.ends = append(f.ends, ^f.count)
		} else {
			low, high := lists.ValueOffsets(i)
			if low != end || start == end {
				if err := flush(i); err != nil {
					return err
				}
				first, start = i, low
			}
			end = high
			f.count += uint64(high - low)
			f.ends = append(f.ends, f.count)
		}
		if 8*len(f.ends) >= f.w.o.PageBytes {
			if err := f.page(); err != nil {
				return err
			}
		}
	}
	return flush(to)
}

// owner gives an error of an item the row of its list.
func (f *listField) owner(err error, lists array.ListLike, from, to int) error {
	var row *arrowtype.RowError
	if !errors.As(err, &row) {
		return err
	}
	for i := from; i < to; i++ {
		low, high := lists.ValueOffsets(i)
		if lists.IsValid(i) && low <= row.Row && row.Row < high {
			return &arrowtype.RowError{Field: row.Field, Row: int64(i), Err: row.Err}
		}
	}
	return err
}

// page writes the offsets that were gathered.
func (f *listField) page() error {
	adjustment := f.count + 1
	stored := make([]byte, 0, 8*len(f.ends))
	for _, end := range f.ends {
		if end > ^end {
			end = ^end + adjustment
		}
		stored = binary.LittleEndian.AppendUint64(stored, end)
	}
	var p pageEncoder
	offsets := noNulls(p.flat(64, stored))
	encoding := appendNumber(appendNumber(appendMessage(nil, 1, offsets), 2, adjustment), 3, f.count)
	n := uint64(len(f.ends))
	f.ends, f.count = f.ends[:0], 0
	return f.w.out.page(f.column, n, arrayEncoding(listKind, encoding), &p)
}

func (f *listField) flush() error {
	if len(f.ends) > 0 {
		if err := f.page(); err != nil {
			return err
		}
	}
	return f.items.flush()
}

// located gives an error the row of its value.
func located(err error, field string, row int) error {
	var inner *arrowtype.RowError
	if err == nil || errors.As(err, &inner) {
		return err
	}
	return &arrowtype.RowError{Field: field, Row: int64(row), Err: err}
}
