package compaction

import (
	"testing"

	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/merge"
)

// TestPacksAtOnce: what a concatenation would leave in many stripes of a middling size is packed, where data may be moved.
func TestPacksAtOnce(t *testing.T) {
	of := func(stripes, objects, size int64) run {
		return run{stripes: stripes, columnGets: stripes, objects: objects, bytes: stripes*size + 5000, metadata: 5000}
	}
	for name, c := range map[string]struct {
		run    run
		policy Policy
		want   bool
	}{
		"many":                          {of(manyAtOnce, manyAtOnce, leastAtOnce), Policy{}, true},
		"few stripes":                   {of(manyAtOnce-1, manyAtOnce, leastAtOnce), Policy{}, false},
		"packed before":                 {run{stripes: manyAtOnce, columnGets: 2, objects: manyAtOnce, bytes: manyAtOnce * leastAtOnce}, Policy{}, false},
		"few objects":                   {of(manyAtOnce, manyAtOnce-1, leastAtOnce), Policy{}, false},
		"small stripes":                 {of(manyAtOnce, manyAtOnce, leastAtOnce-1), Policy{}, false},
		"as large as they may be":       {of(manyAtOnce, manyAtOnce, merge.PackBelow-1), Policy{}, true},
		"as many as stay packed":        {of(64+63*32-1, manyAtOnce, leastAtOnce), Policy{RebuildStripes: 65}, true},
		"more":                          {of(64+63*32+1, manyAtOnce, leastAtOnce), Policy{RebuildStripes: 65}, false},
		"more, no rebuild":              {of(64+63*32+1, manyAtOnce, leastAtOnce), Policy{RebuildStripes: 65, NoRebuild: true}, true},
		"large stripes":                 {of(manyAtOnce, manyAtOnce, merge.PackBelow), Policy{}, false},
		"not allowed":                   {of(manyAtOnce, manyAtOnce, leastAtOnce), Policy{NoPack: true}, false},
		"within the bytes of a run":     {of(manyAtOnce, manyAtOnce, leastAtOnce), Policy{MaxBytesPerRun: manyAtOnce*leastAtOnce + 5000}, true},
		"more than the bytes a run has": {of(manyAtOnce, manyAtOnce, leastAtOnce), Policy{MaxBytesPerRun: manyAtOnce*leastAtOnce + 4999}, false},
	} {
		p := &planner{policy: c.policy.withDefaults()}
		if got := p.packsAtOnce(&c.run); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestRebuildsAtOnce: what the next run would rewrite is rewritten, where data may be moved and the records have a creation time.
func TestRebuildsAtOnce(t *testing.T) {
	policy := Policy{}.withDefaults()
	many := policy.RebuildStripes
	of := func(columnGets, records int64) run {
		return run{columnGets: columnGets, records: records, bytes: 1000, created: manifest.CreationRange{First: 1, Last: 2}}
	}
	later := of(many, 1)
	later.created = manifest.CreationRange{}
	for name, c := range map[string]struct {
		run    run
		change func(*Policy)
		want   bool
	}{
		"many":                   {of(many, 1), nil, true},
		"few":                    {of(many-1, 1), nil, false},
		"an eighth":              {of(many, many/stripeGrowth*shardfmt.DefaultStripeRows), nil, true},
		"more than an eighth":    {of(many, many/stripeGrowth*shardfmt.DefaultStripeRows+1), nil, false},
		"not allowed":            {of(many, 1), func(p *Policy) { p.NoRebuild = true }, false},
		"of unknown time":        {later, nil, false},
		"as much as a run moves": {of(many, 1), func(p *Policy) { p.MaxBytesPerRun = 1000 }, true},
		"more than a run moves":  {of(many, 1), func(p *Policy) { p.MaxBytesPerRun = 999 }, false},
	} {
		p := &planner{policy: policy}
		if c.change != nil {
			c.change(&p.policy)
		}
		if got := p.rebuildsAtOnce(&c.run); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestCostOfColumns: how many requests a column of a shard takes, and how many objects hold its values, by what its entry states.
func TestCostOfColumns(t *testing.T) {
	for name, c := range map[string]struct {
		is            manifest.Private
		gets, objects int64
	}{
		"of an older version":         {manifest.Private{Stripes: 200, Objects: 601}, 200, 600},
		"one object, older":           {manifest.Private{Stripes: 3, Objects: 1}, 3, 0},
		"concatenated":                {manifest.Private{Stripes: 200, Objects: 601, DataObjects: 200, ColumnRanges: 200}, 200, 200},
		"packed":                      {manifest.Private{Stripes: 60, Objects: 601, DataObjects: 1, ColumnRanges: 1}, 1, 1},
		"more than are read together": {manifest.Private{Stripes: 200, Objects: 601, DataObjects: 1, ColumnRanges: 3}, 6, 1},
		"many":                        {manifest.Private{Stripes: 10_000, Objects: 2, DataObjects: 1, ColumnRanges: 3}, 312, 1},
		"fewer stripes":               {manifest.Private{Stripes: 1, Objects: 2, DataObjects: 1, ColumnRanges: 3}, 1, 1},
	} {
		e := &manifest.Entry{Private: c.is}
		if gets, objects := columnGets(e), dataObjects(e); gets != c.gets || objects != c.objects {
			t.Errorf("%s: %d requests and %d objects, want %d and %d", name, gets, objects, c.gets, c.objects)
		}
	}
}
