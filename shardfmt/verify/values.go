package verify

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/scan"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// costs finds what a scan would refuse to make: values reads one of many records of which nothing is stored.
func (v *verifier) costs() error {
	if v.top == nil || len(v.report.Errors) > 0 {
		return nil
	}
	c, err := costsOf(v.ctx, v.top, v.o.MaxMemory)
	if err == nil {
		err = c.check()
	}
	return v.judge(err, v.top.URL(), 0)
}

// values reads the values of a shard in which nothing else was found, as a scan does, and holds its statistics to them.
func (v *verifier) values() error {
	if v.top == nil || len(v.report.Errors) > 0 {
		return nil
	}
	s, err := v.top.Schema(v.ctx)
	if err != nil {
		return v.judge(err, v.top.URL(), 0)
	}
	if n := v.top.Directory().GetDeletedRecordCount(); n > 0 && !slices.ContainsFunc(s.Fields, func(f *schema.Node) bool { return f.Internal == schema.InternalDeletedRecord }) {
		v.found(v.top.URL(), -1, "%d records are deleted, the schema has no field that marks them", n)
	}
	q, err := audited(v.ctx, v.top, s, budget.New(v.o.MaxMemory))
	if err != nil {
		return v.judge(err, v.top.URL(), 0)
	}
	return scan.Audit(v.ctx, v.st, q, func(err error) error {
		var restored *scan.Restored
		if errors.As(err, &restored) {
			var damage *corrupt.Error
			if errors.As(restored.Err, &damage) {
				v.report.Warnings = append(v.report.Warnings, fmt.Sprintf("stripe %d, %s", restored.Stripe, damage.What))
			}
			return nil
		}
		return v.judge(err, v.top.URL(), 0)
	})
}

// audited requests all records of some fields.
func audited(ctx context.Context, root *meta.Root, fields *schema.Schema, b *budget.Budget) (*scan.Request, error) {
	stripes, err := root.Stripes(ctx)
	if err != nil {
		return nil, err
	}
	q := &scan.Request{Root: root, Project: fields, End: root.Directory().TotalRecordCount, Workers: runtime.GOMAXPROCS(0), Budget: b}
	for _, d := range stripes {
		q.Stripes = append(q.Stripes, scan.Stripe{Position: d.ShardPosition, Records: d.TotalRecordCount, Deleted: d.DeletedRecordCount})
	}
	return q, nil
}
