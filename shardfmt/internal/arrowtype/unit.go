package arrowtype

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// timeUnit reads the name of a unit; ns if empty.
func timeUnit(name string) (arrow.TimeUnit, error) {
	unit, ok := map[string]arrow.TimeUnit{
		"": arrow.Nanosecond, "ns": arrow.Nanosecond, "us": arrow.Microsecond, "ms": arrow.Millisecond, "s": arrow.Second,
	}[name]
	if !ok {
		return 0, fmt.Errorf("time unit %q is not one of ns, us, ms, s", name)
	}
	return unit, nil
}

// InUnit is a schema whose timestamps and durations have another unit: ns (also if empty), us, ms or s. Everything else of it
// stays. A nil schema is nil.
func InUnit(s *arrow.Schema, unit string) (*arrow.Schema, error) {
	to, err := timeUnit(unit)
	if s == nil || err != nil {
		return nil, err
	}
	fields := s.Fields()
	for i := range fields {
		fields[i] = fieldInUnit(fields[i], to)
	}
	m := s.Metadata()
	return arrow.NewSchema(fields, &m), nil
}

func fieldInUnit(f arrow.Field, unit arrow.TimeUnit) arrow.Field {
	switch t := f.Type.(type) {
	case *arrow.TimestampType:
		f.Type = &arrow.TimestampType{Unit: unit, TimeZone: t.TimeZone}
	case *arrow.DurationType:
		f.Type = &arrow.DurationType{Unit: unit}
	case *arrow.ListType:
		f.Type = arrow.ListOfField(fieldInUnit(t.ElemField(), unit))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(fieldInUnit(t.ElemField(), unit))
	case *arrow.FixedSizeListType:
		f.Type = arrow.FixedSizeListOfField(t.Len(), fieldInUnit(t.ElemField(), unit))
	case *arrow.StructType:
		members := t.Fields()
		for i := range members {
			members[i] = fieldInUnit(members[i], unit)
		}
		f.Type = arrow.StructOf(members...)
	case *arrow.MapType:
		m := arrow.MapOfFields(fieldInUnit(t.KeyField(), unit), fieldInUnit(t.ItemField(), unit))
		m.KeysSorted = t.KeysSorted
		f.Type = m
	}
	return f
}
