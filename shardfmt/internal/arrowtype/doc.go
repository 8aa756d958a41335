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
