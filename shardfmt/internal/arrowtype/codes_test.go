package arrowtype_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// dictionaryOf makes an array of codes, a null where one is negative.
func dictionaryOf(t *testing.T, index arrow.DataType, entries arrow.Array, codes []int) *array.Dictionary {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, index)
	defer b.Release()
	for _, c := range codes {
		if c < 0 {
			b.AppendNull()
		} else if err := b.AppendValueFromString(fmt.Sprint(c)); err != nil {
			t.Fatal(err)
		}
	}
	return array.NewDictionaryArray(&arrow.DictionaryType{IndexType: index, ValueType: entries.DataType()}, b.NewArray(), entries)
}

// someEntries are entries of a type, some of them twice.
func someEntries(t *testing.T, kind arrow.DataType, n int) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, kind)
	defer b.Release()
	for i := range n {
		switch b := b.(type) {
		case *array.Decimal128Builder:
			b.Append(decimal128.FromI64(int64(i*i%31 - 4)))
		case *array.FixedSizeBinaryBuilder:
			b.Append([]byte{byte(i), 1, byte(i % 3)})
		case *array.BinaryBuilder:
			b.Append([]byte(fmt.Sprint(100 + i%20))[:i%3])
		default:
			if err := b.AppendValueFromString(fmt.Sprint("é", i%20)[:2*(i%3%2)]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.NewArray()
}

func importedColumn(t *testing.T, a arrow.Array, nullable, codes bool) (arrow.Array, error) {
	t.Helper()
	from := arrow.NewSchema([]arrow.Field{{Name: "a", Type: a.DataType(), Nullable: true}}, nil)
	to, _, err := arrowtype.FromArrow(from)
	if err != nil {
		t.Fatal(err)
	}
	to.Fields[0].Nullable = nullable
	im, err := arrowtype.NewImporter(from, to, arrowtype.ImportOptions{Codes: codes})
	if err != nil {
		t.Fatal(err)
	}
	b, err := im.Import(array.NewRecordBatch(from, []arrow.Array{a}, int64(a.Len())))
	if err != nil {
		return nil, err
	}
	if plain := arrowtype.PlainBatch(b, arrowtype.Schema(to)); !arrow.TypeEqual(plain.Column(0).DataType(), arrowtype.Type(to.Fields[0])) {
		t.Errorf("%v of a plain batch", plain.Column(0).DataType())
	}
	return b.Column(0), nil
}

// Columns that stay coded have the values that they have if they are imported plain, in slices too.
func TestCodedAsPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, kind := range []arrow.DataType{
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, &arrow.Decimal128Type{Precision: 15, Scale: 2},
		&arrow.FixedSizeBinaryType{ByteWidth: 3},
	} {
		for _, index := range []arrow.DataType{arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int16} {
			for _, nulls := range []int{0, 1} {
				codes := make([]int, 300)
				for i := range codes {
					codes[i] = r.IntN(40+nulls) - nulls
				}
				whole := dictionaryOf(t, index, someEntries(t, kind, 40), codes)
				for _, a := range []arrow.Array{whole, array.NewSlice(whole, 3, 200), array.NewSlice(whole, 5, 5)} {
					want, err := importedColumn(t, a, true, false)
					if err != nil {
						t.Fatal(err)
					}
					got, err := importedColumn(t, a, true, true)
					if err != nil {
						t.Fatal(err)
					}
					if _, coded := got.(*array.Dictionary); coded != (index.ID() != arrow.INT16) {
						t.Errorf("%v in %v: %v", kind, index, got.DataType())
					}
					if plain := arrowtype.Plain(got); !array.Equal(plain, want) {
						t.Errorf("%v in %v: %v where %v is right", kind, index, plain, want)
					}
				}
			}
		}
	}
}

// What no row has is no reason to refuse a dictionary; what a row has is refused with the row, and nulls are where none may be.
func TestCodedRefusals(t *testing.T) {
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String)
	for _, s := range []string{"a", "\xff", "b"} {
		b.AppendString(s)
	}
	data := b.NewArray().Data()
	entries := array.MakeFromData(array.NewData(arrow.BinaryTypes.String, 3, data.Buffers(), nil, 0, 0))
	for _, c := range []struct {
		codes    []int
		nullable bool
		row      int64 // that is refused, −1 for none
	}{
		{[]int{0, 2, 2, -1, 0}, true, -1}, {[]int{0, 2, 1, 2}, true, 2}, {[]int{-1, 1}, true, 1}, {[]int{0, 2}, false, -1}, {[]int{2, 0, -1}, false, 2},
	} {
		for _, coded := range []bool{false, true} {
			a := dictionaryOf(t, arrow.PrimitiveTypes.Uint16, entries, c.codes)
			got, err := importedColumn(t, a, c.nullable, coded)
			var refused *arrowtype.RowError
			switch {
			case c.row >= 0 && (!errors.As(err, &refused) || refused.Row != c.row):
				t.Errorf("%v: %v, not row %d", c.codes, err, c.row)
			case c.row < 0 && err != nil:
				t.Errorf("%v: %v", c.codes, err)
			case c.row < 0 && got.NullN() != a.NullN():
				t.Errorf("%v: %v", c.codes, got)
			}
		}
	}
}

// TestCodable: nothing but byte strings may be coded.
func TestCodable(t *testing.T) {
	for _, basic := range []schema.Basic{schema.Int32, schema.DateTime, schema.Boolean, schema.List, schema.Unit} {
		if arrowtype.Codable(&schema.Node{Basic: basic}) {
			t.Error(basic)
		}
	}
	codes := dictionaryOf(t, arrow.PrimitiveTypes.Uint8, array.NewInt64Builder(memory.DefaultAllocator).NewArray(), nil)
	if got, err := importedColumn(t, codes, true, true); err != nil || got.DataType().ID() != arrow.INT64 {
		t.Error(got, err)
	}
}
