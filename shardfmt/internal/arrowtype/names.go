package arrowtype

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// UniqueNames renames fields at any depth: one without a name by its place, one of a name that is taken by a number behind
// it. The report gets a note of each.
func UniqueNames(fields []arrow.Field, report *Report) (out []arrow.Field, changed bool) {
	return uniqueNames(fields, "", report)
}

func uniqueNames(fields []arrow.Field, path string, report *Report) (out []arrow.Field, changed bool) {
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		seen[f.Name] = true
	}
	taken := make(map[string]bool, len(fields))
	for i, f := range fields {
		name := f.Name
		if name == "" {
			name = fmt.Sprintf("column%d", i+1)
		}
		base := name
		for n := 1; taken[name] || name != f.Name && seen[name]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		if taken[name] = true; name != f.Name {
			what := fmt.Sprintf("field %d has no name and is named %q", i+1, name)
			if f.Name != "" {
				what = fmt.Sprintf("field %d is named %q because another field is named %q", i+1, name, f.Name)
			}
			report.Add(path+name, what, 0)
			f.Name, changed = name, true
		}
		if t, inner := namedType(f.Type, path+name+".", report); inner {
			f.Type, changed = t, true
		}
		out = append(out, f)
	}
	return out, changed
}

// namedType is uniqueNames for what a type holds.
func namedType(t arrow.DataType, path string, report *Report) (arrow.DataType, bool) {
	item := func(f arrow.Field) (arrow.Field, bool) {
		inner, changed := namedType(f.Type, path, report)
		f.Type = inner
		return f, changed
	}
	switch t := t.(type) {
	case *arrow.StructType:
		if fields, changed := uniqueNames(t.Fields(), path, report); changed {
			return arrow.StructOf(fields...), true
		}
	case *arrow.SparseUnionType:
		if fields, changed := uniqueNames(t.Fields(), path, report); changed {
			return arrow.SparseUnionOf(fields, t.TypeCodes()), true
		}
	case *arrow.DenseUnionType:
		if fields, changed := uniqueNames(t.Fields(), path, report); changed {
			return arrow.DenseUnionOf(fields, t.TypeCodes()), true
		}
	case *arrow.MapType:
		key, one := item(t.KeyField())
		value, two := item(t.ItemField())
		if one || two {
			return arrow.MapOfFields(key, value), true
		}
	case *arrow.ListType:
		if f, changed := item(t.ElemField()); changed {
			return arrow.ListOfField(f), true
		}
	case *arrow.LargeListType:
		if f, changed := item(t.ElemField()); changed {
			return arrow.LargeListOfField(f), true
		}
	case *arrow.FixedSizeListType:
		if f, changed := item(t.ElemField()); changed {
			return arrow.FixedSizeListOfField(t.Len(), f), true
		}
	}
	return t, false
}

// Named is a schema whose fields all have names of their own: see UniqueNames.
func Named(s *arrow.Schema) *arrow.Schema {
	fields, changed := UniqueNames(s.Fields(), &Report{})
	if !changed {
		return s
	}
	metadata := s.Metadata()
	return arrow.NewSchema(fields, &metadata)
}
