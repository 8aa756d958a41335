// Package arrowtype is the bridge between the types of a shard and those of Arrow.
//
// Inside shardfmt every batch has canonical types, one Arrow type for each shard type, chosen so that
// nothing is lost and nothing has to be converted between decoding and encoding:
//
//	Unit                   null
//	Boolean                bool
//	Int8 … Int64           int8 … int64, uint8 … uint64
//	Float32, Float64       float32, float64
//	String, Binary         large_utf8, large_binary
//	FixedSizeBinary(n)     fixed_size_binary[n]
//	Guid                   extension arrow.uuid (16 bytes in stored order)
//	DateTime               extension shardcat.datetime over int64: 100 ns ticks since 0001-01-01T00:00:00Z
//	List<T>                large_list<item: T>
//	FixedSizeList(n)<T>    fixed_size_list<item: T>[n]
//	Struct                 struct
//	Map<K, V>              map<K, V> (32-bit offsets; no key is null, for Arrow holds none)
//	Union                  sparse_union, type codes 0, 1, 2 … in the order of the variants
//	Int64 + KustoTimeSpan  extension shardcat.timespan over int64: 100 ns ticks
//	FSB(16) + KustoDecimal extension shardcat.decimal over fixed_size_binary[16]: decimal128, DPD, little-endian
//	Binary + KustoDynamic  extension shardcat.dynamic over large_binary
//
// A null union is a slot whose chosen variant is null, for Arrow's unions carry no validity of their own. A union of more than 128
// variants is a union of two unions, of the first 128 variants and of the rest.
// Any other extension label leaves the type of its basic type.
//
// What comes from elsewhere becomes canonical by FromArrow and Import; what goes elsewhere leaves by
// Export. Both report what would be lost, and name the row of a value that can't be held.
package arrowtype

import (
	"github.com/apache/arrow-go/v18/arrow"

	impl "github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// PropertySchema is the custom property of a shard that holds the Arrow schema its records came with, as the
// bytes of an Arrow IPC stream without batches.
const PropertySchema = impl.PropertySchema

// ErrUnit is a time that a unit has no space for.
var ErrUnit = impl.ErrUnit

// The canonical extension types. They are registered with Arrow, so that IPC restores them.
var (
	DateTime = impl.DateTime
	TimeSpan = impl.TimeSpan
	Decimal  = impl.Decimal
	Dynamic  = impl.Dynamic
)

// ErrColumn is a column that doesn't fit the schema.
var ErrColumn = impl.ErrColumn

// DateTimeArray holds ticks; its storage is an *array.Int64.
type DateTimeArray = impl.DateTimeArray

// DecimalArray holds decimals; its storage is an *array.FixedSizeBinary.
type DecimalArray = impl.DecimalArray

// DynamicArray holds dynamic values; its storage is an *array.LargeBinary.
type DynamicArray = impl.DynamicArray

// ExportOptions define what the types of a shard become. The zero value is the default mapping.
type ExportOptions = impl.ExportOptions

// Exporter turns canonical batches of one shard schema into batches of a schema for others. Not for
// concurrent use.
type Exporter = impl.Exporter

// ImportOptions define what an Importer may change.
type ImportOptions = impl.ImportOptions

// Importer turns the batches of one Arrow schema into canonical batches of one shard schema. Not for
// concurrent use.
type Importer = impl.Importer

// Report is what a mapping between Arrow and a shard changes, field by field. Values are kept unless a
// note states otherwise.
type Report = impl.Report

// RowError is a value that the other side can't hold.
type RowError = impl.RowError

// TimeSpanArray holds ticks; its storage is an *array.Int64.
type TimeSpanArray = impl.TimeSpanArray

// BatchOf makes a batch of columns of a schema's fields, some of which may be coded: dictionaries of byte strings. It keeps the columns.
func BatchOf(s *arrow.Schema, columns []arrow.Array, rows int64) arrow.RecordBatch {
	return impl.BatchOf(s, columns, rows)
}

// CheckNulls refuses a null of a batch where a field of its schema, or one below it, is not nullable.
func CheckNulls(b arrow.RecordBatch) error {
	return impl.CheckNulls(b, impl.Demanding(b.Schema().Fields()))
}

// FindNull finds a null of n, or of a node below it, that is not nullable, in an array of the canonical type of n. A null struct or list
// excuses all that is below it; below unions nothing is looked at. It gives the dotted path and the row of the array.
func FindNull(a arrow.Array, n *schema.Node) (path string, row int, found bool) {
	return impl.FindNull(a, n)
}

// FromArrow gives the shard schema that holds what an Arrow schema describes (docs/reference/arrow.md has the table).
// The report reports where the type is another one; no type is refused but by name: a field that has no
// name, a name that occurs twice, types that nest too deep.
func FromArrow(s *arrow.Schema) (*schema.Schema, *Report, error) {
	return impl.FromArrow(s)
}

// InUnit is a schema whose timestamps and durations have another unit: ns (also if empty), us, ms or s. Everything else of it
// stays. A nil schema is nil.
func InUnit(s *arrow.Schema, unit string) (*arrow.Schema, error) {
	return impl.InUnit(s, unit)
}

// IsNull reports whether value i is null. Arrow's unions have no nulls of their own: a null one chooses a variant whose value is null.
func IsNull(a arrow.Array, i int) bool {
	return impl.IsNull(a, i)
}

// MarshalSchema gives the bytes of the property PropertySchema.
func MarshalSchema(s *arrow.Schema) ([]byte, error) {
	return impl.MarshalSchema(s)
}

// NewExporter chooses the types.
func NewExporter(s *schema.Schema, o ExportOptions) (*Exporter, error) {
	return impl.NewExporter(s, o)
}

// NewImporter matches columns to fields by name, then by alias, or, where a column has no name, all of them by
// position. Fields without a column are null in every row. The types need not be those of FromArrow: whole
// numbers are widened and narrowed, text is parsed into guids and decimals, as long as each value is held
// exactly.
func NewImporter(from *arrow.Schema, to *schema.Schema, o ImportOptions) (*Importer, error) {
	return impl.NewImporter(from, to, o)
}

// Plain gives a column of a coded one, and any other as it is. The caller releases it.
func Plain(a arrow.Array) arrow.Array {
	return impl.Plain(a)
}

// Restores reports whether a shard schema exported by the default mapping is the Arrow schema it came from; if
// not, the shard should carry the property PropertySchema.
func Restores(original *arrow.Schema) bool {
	return impl.Restores(original)
}

// Schema gives the canonical Arrow schema of s, field names and nullability kept. The names of list items
// and of map keys and values are Arrow's (item, key, value).
//
// s must satisfy Check; a node that does not is given Arrow's null type.
func Schema(s *schema.Schema) *arrow.Schema {
	return impl.Schema(s)
}

// Type gives the canonical Arrow type of a node.
func Type(n *schema.Node) arrow.DataType {
	return impl.Type(n)
}

// UnmarshalSchema reads the property PropertySchema, which may be anything.
func UnmarshalSchema(b []byte) (s *arrow.Schema, err error) {
	return impl.UnmarshalSchema(b)
}
