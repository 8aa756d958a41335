package arrowtype

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ParquetField gives a field the type that Parquet holds its values as, where Parquet has none for its own, and notes what becomes of it:
// docs/reference/formats/parquet.md has the list. A field that Parquet holds comes back as it is.
func ParquetField(f arrow.Field, path string, r *Report) (_ arrow.Field, changed bool) {
	note := func(what string, t arrow.DataType) (arrow.Field, bool) {
		r.Add(path, what, 0)
		f.Type = t
		return f, true
	}
	switch t := f.Type.(type) {
	case *arrow.StringViewType:
		return note("a view of text becomes text", arrow.BinaryTypes.String)
	case *arrow.BinaryViewType:
		return note("a view of bytes becomes bytes", arrow.BinaryTypes.Binary)
	case *arrow.Decimal32Type:
		return note("a decimal of 32 bits becomes one of 128 bits", &arrow.Decimal128Type{Precision: t.Precision, Scale: t.Scale})
	case *arrow.Decimal64Type:
		return note("a decimal of 64 bits becomes one of 128 bits", &arrow.Decimal128Type{Precision: t.Precision, Scale: t.Scale})
	case *arrow.DurationType:
		f.Metadata = extensionMetadata(&schema.Extension{Label: schema.LabelTimeSpan})
		return note("a span becomes an integer of 100 ns ticks, labelled KustoTimeSpan", arrow.PrimitiveTypes.Int64)
	case *arrow.MonthIntervalType:
		return note("an interval of months becomes their number", arrow.PrimitiveTypes.Int32)
	case *arrow.DayTimeIntervalType:
		return note("an interval of days and milliseconds becomes a struct of both", intervalStruct("days", "milliseconds"))
	case *arrow.MonthDayNanoIntervalType:
		return note("an interval of months, days and nanoseconds becomes a struct of the three", intervalStruct("months", "days", "nanoseconds"))
	case *arrow.RunEndEncodedType:
		f.Type = t.Encoded()
		f, _ = ParquetField(f, path, r)
		return note("runs become single values", f.Type)
	case *arrow.DictionaryType:
		if _, nested := t.ValueType.(arrow.NestedType); nested {
			f.Type = t.ValueType
			f, _ = ParquetField(f, path, r)
			return note("codes of a dictionary become its values", f.Type)
		}
	case arrow.NestedType:
		return parquetNested(f, path, r)
	}
	return f, false
}

// intervalStruct is what an interval becomes in a shard.
func intervalStruct(parts ...string) arrow.DataType {
	fields := make([]arrow.Field, len(parts))
	for i, name := range parts {
		fields[i] = arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int32, Nullable: true}
		if name == "nanoseconds" {
			fields[i].Type = arrow.PrimitiveTypes.Int64
		}
	}
	return arrow.StructOf(fields...)
}

// parquetNested is ParquetField for what holds other fields.
func parquetNested(f arrow.Field, path string, r *Report) (arrow.Field, bool) {
	changed := false
	child := func(c arrow.Field, name string) arrow.Field {
		c, other := ParquetField(c, path+"."+name, r)
		changed = changed || other
		return c
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		fields := t.Fields()
		for i := range fields {
			fields[i] = child(fields[i], fields[i].Name)
		}
		f.Type = arrow.StructOf(fields...)
	case *arrow.MapType:
		f.Type = arrow.MapOfFields(child(t.KeyField(), "key"), child(t.ItemField(), "value"))
	case *arrow.ListType:
		f.Type = arrow.ListOfField(child(t.ElemField(), "item"))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(child(t.ElemField(), "item"))
	case *arrow.ListViewType:
		r.Add(path, "a view of a list becomes a list", 0)
		f.Type, changed = arrow.ListOfField(child(t.ElemField(), "item")), true
	case *arrow.LargeListViewType:
		r.Add(path, "a view of a list becomes a list", 0)
		f.Type, changed = arrow.LargeListOfField(child(t.ElemField(), "item")), true
	case *arrow.FixedSizeListType:
		item := child(t.ElemField(), "item")
		if f.Nullable { // the writer has no way to leave out the items of a null
			r.Add(path, "a fixed-size list that may be null becomes a list", 0)
			f.Type, changed = arrow.ListOfField(item), true
		} else {
			f.Type = arrow.FixedSizeListOfField(t.Len(), item)
		}
	}
	return f, changed
}
