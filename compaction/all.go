package compaction

import (
	"context"
	"iter"

	"github.com/shardcat/shardcat/catalog"
)

// Outcome is what compaction did to one table of several, or the error that kept it from doing so.
type Outcome struct {
	Table  catalog.Name
	Report *Report
	Err    error
}

// CompactAll compacts the tables of a catalog one after the other, in the order of their names, each by the policy that is chosen for it. A table that fails is
// an outcome with an error, and the next one follows. The error beside an outcome ends the sequence: the tables can't be
// listed, or the context has ended.
func CompactAll(ctx context.Context, c *catalog.Catalog, policy func(context.Context, *catalog.Table) (Policy, error), o Options) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		names, err := c.Tables(ctx, "")
		if err != nil {
			yield(Outcome{}, err)
			return
		}
		for _, name := range names {
			report, err := compactNamed(ctx, c, name, policy, o)
			if ctx.Err() != nil {
				yield(Outcome{Table: name}, context.Cause(ctx))
				return
			}
			if !yield(Outcome{Table: name, Report: report, Err: err}, nil) {
				return
			}
		}
	}
}

func compactNamed(ctx context.Context, c *catalog.Catalog, name catalog.Name, policy func(context.Context, *catalog.Table) (Policy, error), o Options) (*Report, error) {
	t, err := c.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	p, err := policy(ctx, t)
	if err != nil {
		return nil, err
	}
	return Compact(ctx, t, p, o)
}
