package catalog

import (
	"context"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/urlresolve"
)

// maxSifted is about how many matrices of term filters planning asks, a short read each for a word. The shards whose filters lie elsewhere
// are called when they are read.
const maxSifted = 256

// place is where a matrix lies.
type place struct {
	object string
	start  int64
}

// sift rules out the shards, and stripes of them, whose term filters report that no row matches. A filter that is gone, damaged or
// another's rules nothing out.
func (p *Plan) sift(ctx context.Context) error {
	if err := p.siftKeys(ctx); err != nil {
		return err
	}
	if p.bound == nil || p.options.IgnoreIndexes || !p.bound.Asks() || !slices.ContainsFunc(p.Shards, func(e *manifest.Entry) bool { return e.Terms != "" }) {
		return nil
	}
	allow, err := p.table.Allowed()
	if err != nil {
		return err
	}
	var units [][]*index.TermFilter
	stripes := make([]int, len(p.Shards)) // of each shard, among units
	places := map[place]bool{}
	for i, e := range p.Shards {
		if len(places) > maxSifted {
			break
		}
		of := p.schema.TermFilters(e, urlresolve.Policy{Allow: allow})
		stripes[i] = len(of)
		units = append(units, of...)
		for _, filters := range of {
			for _, f := range filters {
				places[place{f.Object, f.Start}] = true
			}
		}
	}
	var may []bool
	err = p.withOpened(ctx, func(client *blobio.Client) (err error) {
		may, err = index.Prune(ctx, client, p.bound, units)
		return err
	})
	if err != nil {
		return err
	}
	if p.ruledOut == nil {
		p.ruledOut = map[string][]bool{}
	}
	p.Shards = slices.DeleteFunc(p.Shards, func(e *manifest.Entry) bool {
		n := stripes[0]
		of := may[:n]
		stripes, may = stripes[1:], may[n:]
		if n == 0 {
			return false
		}
		if !slices.Contains(of, true) {
			p.PrunedTerms++
			return true
		}
		out, before := make([]bool, n), p.ruledOut[e.Path]
		for i, m := range of {
			out[i] = !m || len(before) == n && before[i]
		}
		p.ruledOut[e.Path] = out
		return false
	})
	return nil
}
