package fileio

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
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
	fields, changed := arrowtype.UniqueNames(s.Fields(), r.report)
	if !changed {
		return f
	}
	metadata := s.Metadata()
	r.types = arrow.NewSchema(fields, &metadata)
	return r
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

// Report reports which names were given, and what the file reports.
func (r *renamed) Report() *arrowtype.Report {
	all := &arrowtype.Report{}
	all.Merge(r.report)
	if f, ok := r.batchFile.(reporter); ok {
		all.Merge(f.Report())
	}
	return all
}

// reporter is a batchFile that reports what is not read of it as it is.
type reporter interface{ Report() *arrowtype.Report }
