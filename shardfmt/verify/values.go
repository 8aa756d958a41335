package verify

import (
	"runtime"

	"github.com/shardcat/shardcat/internal/budget"
	"github.com/shardcat/shardcat/internal/scan"
)

// values reads the values of a shard in which nothing else was found, as a scan does, and holds its statistics to them.
func (v *verifier) values() error {
	if v.top == nil || len(v.report.Errors) > 0 {
		return nil
	}
	s, err := v.top.Schema(v.ctx)
	if err != nil {
		return v.judge(err, v.top.URL(), 0)
	}
	stripes, err := v.top.Stripes(v.ctx)
	if err != nil {
		return v.judge(err, v.top.URL(), 0)
	}
	q := &scan.Request{
		Root: v.top, Project: s, End: v.top.Directory().TotalRecordCount,
		Workers: runtime.GOMAXPROCS(0), Budget: budget.New(v.o.MaxMemory),
	}
	for _, d := range stripes {
		q.Stripes = append(q.Stripes, scan.Stripe{Position: d.ShardPosition, Records: d.TotalRecordCount, Deleted: d.DeletedRecordCount})
	}
	return scan.Audit(v.ctx, v.st, q, func(err error) error { return v.judge(err, v.top.URL(), 0) })
}
