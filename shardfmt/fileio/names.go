package fileio

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// renamed is a file of which columns without a name, and those that share one, get names of their own, as those of CSV do.
type renamed struct {
	batchFile
	types  *arrow.Schema
	report *arrowtype.Report
	last   arrow.RecordBatch
}

// withNames gives a file whose fields all have names of their own, at any depth.
func withNames(f batchFile) batchFile {
	s := f.schema()
	r := &renamed{batchFile: f, report: &arrowtype.Report{}}
	fields, changed := uniqueNames(s.Fields(), "", r.report)
	if !changed {
		return f
	}
	metadata := s.Metadata()
	r.types = arrow.NewSchema(fields, &metadata)
	return r
}

// uniqueNames renames fields: one without a name by its place, one of a name that is taken by a number behind it.
func uniqueNames(fields []arrow.Field, path string, report *arrowtype.Report) (out []arrow.Field, changed bool) {
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
			what := fmt.Sprintf("field %d is called %q, for it has no name", i+1, name)
			if f.Name != "" {
				what = fmt.Sprintf("field %d is called %q, for another is called %q", i+1, name, f.Name)
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
func namedType(t arrow.DataType, path string, report *arrowtype.Report) (arrow.DataType, bool) {
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
	case arrow.ListLikeType:
		if f, changed := item(t.ElemField()); changed {
			return listLike(t, f), t.ID() == arrow.LIST || t.ID() == arrow.LARGE_LIST || t.ID() == arrow.FIXED_SIZE_LIST
		}
	}
	return t, false
}

func (r *renamed) schema() *arrow.Schema { return r.types }

func (r *renamed) next(ctx context.Context) (arrow.RecordBatch, error) {
	r.drop()
	b, err := r.batchFile.next(ctx)
	if err != nil {
		return nil, err
	}
	fields, metadata := r.types.Fields(), r.types.Metadata()
	columns := make([]arrow.Array, b.NumCols())
	for i := range columns {
		if columns[i], err = r.column(b.Column(i), fields[i].Type); err != nil {
			return nil, damaged(err)
		}
		defer columns[i].Release()
		fields[i].Type = columns[i].DataType() // which may be of codes
	}
	r.last = array.NewRecordBatch(arrow.NewSchema(fields, &metadata), columns, b.NumRows())
	return r.last, nil
}

func (r *renamed) column(a arrow.Array, t arrow.DataType) (arrow.Array, error) {
	if _, nested := t.(arrow.NestedType); !nested || a.DataType().ID() != t.ID() {
		a.Retain()
		return a, nil
	}
	return reshape(a, t)
}

func (r *renamed) drop() {
	if r.last != nil {
		r.last.Release()
		r.last = nil
	}
}

// reuse implements reuser.
func (r *renamed) reuse(may bool) {
	if f, ok := r.batchFile.(reuser); ok {
		f.reuse(may)
	}
}

func (r *renamed) close() error {
	r.drop()
	return r.batchFile.close()
}

// Report tells which names were given, and what the file tells.
func (r *renamed) Report() *arrowtype.Report {
	all := &arrowtype.Report{}
	all.Merge(r.report)
	if f, ok := r.batchFile.(reporter); ok {
		all.Merge(f.Report())
	}
	return all
}

// reporter is a batchFile that tells what is not read of it as it is.
type reporter interface{ Report() *arrowtype.Report }
