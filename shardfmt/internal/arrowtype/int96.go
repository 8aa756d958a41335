package arrowtype

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/literal"
)

// nameInt96 is the extension type of batches between the reader of Parquet and the import alone: no file has it.
const nameInt96 = "shardcat.int96"

// Int96 is Parquet's old type of points in time, as the file has it: nanoseconds of the day, i64, then the Julian day number, u32. Arrow's
// nanoseconds end in 2262, which Hive and Spark do not.
var Int96 = &Int96Type{arrow.ExtensionBase{Storage: &arrow.FixedSizeBinaryType{ByteWidth: 12}}}

// JulianYear1 is the Julian day number of 0001-01-01.
const JulianYear1 = 1721426

func init() { _ = arrow.RegisterExtensionType(Int96) }

// Int96Type is the type of Int96.
type Int96Type struct{ arrow.ExtensionBase }

// Int96Array holds such points in time; its storage is an *array.FixedSizeBinary.
type Int96Array struct{ array.ExtensionArrayBase }

// ValueStr names point i by its parts.
func (a *Int96Array) ValueStr(i int) string {
	return valueText(a, i, func() []byte {
		nanos, day := a.parts(i)
		return fmt.Appendf(nil, "an INT96 of day %d and %d ns", day, nanos)
	})
}

// parts are those of point i: nanoseconds and the Julian day number.
func (a *Int96Array) parts(i int) (nanos, day int64) {
	v := a.Storage().(*array.FixedSizeBinary).Value(i)
	return int64(binary.LittleEndian.Uint64(v)), int64(binary.LittleEndian.Uint32(v[8:]))
}

// ArrayType implements arrow.ExtensionType.
func (*Int96Type) ArrayType() reflect.Type { return reflect.TypeFor[Int96Array]() }

// ExtensionName implements arrow.ExtensionType.
func (*Int96Type) ExtensionName() string { return nameInt96 }

// ExtensionEquals implements arrow.ExtensionType.
func (*Int96Type) ExtensionEquals(o arrow.ExtensionType) bool { return named(o, nameInt96) }

// Serialize implements arrow.ExtensionType: there are no parameters.
func (*Int96Type) Serialize() string { return "" }

// Deserialize implements arrow.ExtensionType.
func (t *Int96Type) Deserialize(s arrow.DataType, _ string) (arrow.ExtensionType, error) {
	return restored(t, s)
}

// int96 converts such points in time; what lies outside the years 1 to 9999 is refused with its row.
func (im *importing) int96(a *Int96Array, p place) (arrow.Array, error) {
	return im.ticks(DateTime, a, p, func(i int) (int64, bool, error) {
		nanos, day := a.parts(i)
		ticks := nanos / 100
		if nanos%100 < 0 {
			ticks--
		}
		ticks += (day - JulianYear1) * literal.TicksPerDay // at most 2^32 days have 3.8e21 ticks: too many for 64 bits
		if days := day - JulianYear1; days < -1<<22 || days > 1<<22 || ticks < 0 || ticks > literal.MaxDateTime {
			return 0, false, p.refuse(i, "%s is outside the years 1 to 9999", a.ValueStr(i))
		}
		return ticks, nanos%100 != 0, nil
	})
}

// WithoutInt96 is a type with timestamps, as other readers have them, in place of Int96.
func WithoutInt96(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *Int96Type:
		return arrow.FixedWidthTypes.Timestamp_ns
	case *arrow.MapType:
		return arrow.MapOfFields(fieldWithoutInt96(t.KeyField()), fieldWithoutInt96(t.ItemField()))
	case *arrow.ListType:
		return arrow.ListOfField(fieldWithoutInt96(t.ElemField()))
	case *arrow.StructType:
		fields := t.Fields()
		for i := range fields {
			fields[i] = fieldWithoutInt96(fields[i])
		}
		return arrow.StructOf(fields...)
	}
	return t
}

func fieldWithoutInt96(f arrow.Field) arrow.Field {
	f.Type = WithoutInt96(f.Type)
	return f
}
