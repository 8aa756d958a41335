package tablescan

import (
	"context"
	"slices"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
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

// TermFilters are the term filters of shards but those that skip (nil for none) reports, and how many of them, those of its stripes, each shard has.
func TermFilters(s *manifest.TableSchema, shards []*manifest.Entry, allow []urlresolve.Prefix, skip func(i int) bool) (units [][]*index.TermFilter, stripes []int) {
	stripes = make([]int, len(shards))
	places := map[place]bool{}
	for i, e := range shards {
		if len(places) > maxSifted {
			break
		}
		if e.Terms == "" || skip != nil && skip(i) {
			continue
		}
		of := s.TermFilters(e, urlresolve.Policy{Allow: allow})
		stripes[i] = len(of)
		units = append(units, of...)
		for _, filters := range of {
			for _, f := range filters {
				places[place{f.Object, f.Start}] = true
			}
		}
	}
	return units, stripes
}

// Asks is the plan's filter if indexes may rule shards out by it, else nil.
func Asks(p *Plan) *filter.Bound {
	if p.bound == nil || p.options.IgnoreIndexes || !p.bound.Asks() {
		return nil
	}
	return p.bound
}

// RuleOutKeys takes out the shards, and stripes of them, that a key index covers and of which it reports that no row matches.
func RuleOutKeys(ctx context.Context, p *Plan, x *keyindex.Index) error {
	if !x.CoversAny(p.Shards) {
		return nil
	}
	may, known, err := x.MayMatch(ctx, p.bound)
	if err != nil || !known {
		return err
	}
	p.Shards = slices.DeleteFunc(p.Shards, func(e *manifest.Entry) bool {
		units, ok := x.Covers(e)
		if !ok {
			return false
		}
		if !slices.ContainsFunc(units, func(u uint32) bool { return may[u] }) {
			p.PrunedKeys++
			return true
		}
		out := p.ruledOut[e.Path]
		if out == nil {
			out = make([]bool, len(units))
			p.ruledOut[e.Path] = out
		}
		for i, u := range units {
			out[i] = out[i] || !may[u]
		}
		return false
	})
	return nil
}

// Sift rules out the shards, and stripes of them, whose term filters report that no row matches. A filter that is gone, damaged or
// another's rules nothing out.
func Sift(ctx context.Context, p *Plan) error {
	if Asks(p) == nil || !slices.ContainsFunc(p.Shards, func(e *manifest.Entry) bool { return e.Terms != "" }) {
		return nil
	}
	allow, err := p.state.Allowed()
	if err != nil {
		return err
	}
	units, stripes := TermFilters(p.state.Schema, p.Shards, allow, nil)
	var may []bool
	err = p.withOpened(ctx, func(client *blobio.Client) (err error) {
		may, err = index.Prune(ctx, client, p.bound, units)
		return err
	})
	if err != nil {
		return err
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
