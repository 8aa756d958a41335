package arrowtype

import (
	"fmt"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
)

// Names of the extension types of this package, as they stand in Arrow field metadata.
const (
	NameDateTime = "shardcat.datetime"
	NameTimeSpan = "shardcat.timespan"
	NameDecimal  = "shardcat.decimal"
	NameDynamic  = "shardcat.dynamic"
)

// The canonical extension types. They are registered with Arrow, so that IPC restores them.
var (
	DateTime = &DateTimeType{arrow.ExtensionBase{Storage: arrow.PrimitiveTypes.Int64}}
	TimeSpan = &TimeSpanType{arrow.ExtensionBase{Storage: arrow.PrimitiveTypes.Int64}}
	Decimal  = &DecimalType{arrow.ExtensionBase{Storage: &arrow.FixedSizeBinaryType{ByteWidth: 16}}}
	Dynamic  = &DynamicType{arrow.ExtensionBase{Storage: arrow.BinaryTypes.LargeBinary}}
)

func init() {
	for _, t := range []arrow.ExtensionType{DateTime, TimeSpan, Decimal, Dynamic} {
		// The names are ours: a second registration can only be a second copy of this package.
		_ = arrow.RegisterExtensionType(t)
	}
}

// DateTimeType is a point in time: int64 ticks of 100 ns since 0001-01-01T00:00:00Z.
type DateTimeType struct{ arrow.ExtensionBase }

// TimeSpanType is a signed duration: int64 ticks of 100 ns.
type TimeSpanType struct{ arrow.ExtensionBase }

// DecimalType is an IEEE 754 decimal128 in densely packed decimal, least significant byte first.
type DecimalType struct{ arrow.ExtensionBase }

// DynamicType is a value of Kusto's dynamic type: JSON text, or Kusto's binary form carried as it is.
type DynamicType struct{ arrow.ExtensionBase }

// DateTimeArray holds ticks; its storage is an *array.Int64.
type DateTimeArray struct{ array.ExtensionArrayBase }

// TimeSpanArray holds ticks; its storage is an *array.Int64.
type TimeSpanArray struct{ array.ExtensionArrayBase }

// DecimalArray holds decimals; its storage is an *array.FixedSizeBinary.
type DecimalArray struct{ array.ExtensionArrayBase }

// DynamicArray holds dynamic values; its storage is an *array.LargeBinary.
type DynamicArray struct{ array.ExtensionArrayBase }

// Ticks are the values; those of null slots have no meaning.
func (a *DateTimeArray) Ticks() []int64 { return a.Storage().(*array.Int64).Int64Values() }

// Ticks are the values; those of null slots have no meaning.
func (a *TimeSpanArray) Ticks() []int64 { return a.Storage().(*array.Int64).Int64Values() }

// Value is the 16 bytes of decimal i.
func (a *DecimalArray) Value(i int) []byte { return a.Storage().(*array.FixedSizeBinary).Value(i) }

// Value is the bytes of dynamic value i.
func (a *DynamicArray) Value(i int) []byte { return a.Storage().(*array.LargeBinary).Value(i) }

// ValueStr is time i in ISO 8601.
func (a *DateTimeArray) ValueStr(i int) string {
	return valueText(a, i, func() []byte { return literal.AppendDateTime(nil, a.Ticks()[i]) })
}

// ValueStr is duration i as [-][days.]hh:mm:ss[.fffffff].
func (a *TimeSpanArray) ValueStr(i int) string {
	return valueText(a, i, func() []byte { return literal.AppendTimeSpan(nil, a.Ticks()[i]) })
}

// ValueStr is decimal i in digits.
func (a *DecimalArray) ValueStr(i int) string {
	return valueText(a, i, func() []byte { return decimal.From(a.Value(i)).Append(nil) })
}

// ValueStr is the text of dynamic value i, as it is stored.
func (a *DynamicArray) ValueStr(i int) string {
	return valueText(a, i, func() []byte { return a.Value(i) })
}

// valueText is what a value looks like, or what Arrow shows for null.
func valueText(a arrow.Array, i int, text func() []byte) string {
	if a.IsNull(i) {
		return array.NullValueStr
	}
	return string(text())
}

// ArrayType implements arrow.ExtensionType.
func (*DateTimeType) ArrayType() reflect.Type { return reflect.TypeFor[DateTimeArray]() }

// ArrayType implements arrow.ExtensionType.
func (*TimeSpanType) ArrayType() reflect.Type { return reflect.TypeFor[TimeSpanArray]() }

// ArrayType implements arrow.ExtensionType.
func (*DecimalType) ArrayType() reflect.Type { return reflect.TypeFor[DecimalArray]() }

// ArrayType implements arrow.ExtensionType.
func (*DynamicType) ArrayType() reflect.Type { return reflect.TypeFor[DynamicArray]() }

// ExtensionName implements arrow.ExtensionType.
func (*DateTimeType) ExtensionName() string { return NameDateTime }

// ExtensionName implements arrow.ExtensionType.
func (*TimeSpanType) ExtensionName() string { return NameTimeSpan }

// ExtensionName implements arrow.ExtensionType.
func (*DecimalType) ExtensionName() string { return NameDecimal }

// ExtensionName implements arrow.ExtensionType.
func (*DynamicType) ExtensionName() string { return NameDynamic }

// ExtensionEquals implements arrow.ExtensionType.
func (*DateTimeType) ExtensionEquals(o arrow.ExtensionType) bool { return named(o, NameDateTime) }

// ExtensionEquals implements arrow.ExtensionType.
func (*TimeSpanType) ExtensionEquals(o arrow.ExtensionType) bool { return named(o, NameTimeSpan) }

// ExtensionEquals implements arrow.ExtensionType.
func (*DecimalType) ExtensionEquals(o arrow.ExtensionType) bool { return named(o, NameDecimal) }

// ExtensionEquals implements arrow.ExtensionType.
func (*DynamicType) ExtensionEquals(o arrow.ExtensionType) bool { return named(o, NameDynamic) }

// Serialize implements arrow.ExtensionType: there are no parameters.
func (*DateTimeType) Serialize() string { return "" }

// Serialize implements arrow.ExtensionType: there are no parameters.
func (*TimeSpanType) Serialize() string { return "" }

// Serialize implements arrow.ExtensionType: there are no parameters.
func (*DecimalType) Serialize() string { return "" }

// Serialize implements arrow.ExtensionType: there are no parameters.
func (*DynamicType) Serialize() string { return "" }

// Deserialize implements arrow.ExtensionType.
func (t *DateTimeType) Deserialize(s arrow.DataType, _ string) (arrow.ExtensionType, error) {
	return restored(t, s)
}

// Deserialize implements arrow.ExtensionType.
func (t *TimeSpanType) Deserialize(s arrow.DataType, _ string) (arrow.ExtensionType, error) {
	return restored(t, s)
}

// Deserialize implements arrow.ExtensionType.
func (t *DecimalType) Deserialize(s arrow.DataType, _ string) (arrow.ExtensionType, error) {
	return restored(t, s)
}

// Deserialize implements arrow.ExtensionType.
func (t *DynamicType) Deserialize(s arrow.DataType, _ string) (arrow.ExtensionType, error) {
	return restored(t, s)
}

func named(t arrow.ExtensionType, name string) bool { return t.ExtensionName() == name }

// restored is t, if storage is what t is stored as.
func restored(t arrow.ExtensionType, storage arrow.DataType) (arrow.ExtensionType, error) {
	if !arrow.TypeEqual(t.StorageType(), storage) {
		return nil, fmt.Errorf("arrow extension %s over %s: it is stored as %s", t.ExtensionName(), storage, t.StorageType())
	}
	return t, nil
}
