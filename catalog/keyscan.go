package catalog

import (
	"context"
	"slices"

	"github.com/shardcat/shardcat/catalog/internal/keyindex"
	"github.com/shardcat/shardcat/catalog/internal/rowkey"
	"github.com/shardcat/shardcat/manifest"
)

// siftKeys rules out the shards, and stripes of them, of which a key index of the table reports that no row matches.
func (p *Plan) siftKeys(ctx context.Context) error {
	if p.bound == nil || p.options.IgnoreIndexes || !p.bound.Asks() || len(p.Shards) <= fewShards {
		return nil
	}
	for _, def := range p.table.keyIndexDefs() {
		key, ok := rowkey.OfIDs(p.schema, def.IDs)
		if !ok || def.Object == "" || !slices.Contains(p.bound.Nodes(), key.Columns[0].ID) {
			continue
		}
		x, err := p.table.keyIndexFolder(p.table.cat.client).Open(ctx, p.schema, def)
		if err == nil {
			err = p.askKeys(ctx, x)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			p.table.cat.opts.Log.Warn("a key index is not used", "table", p.table.name.String(), "index", p.table.keyIndexName(&def), "error", err)
		}
	}
	return nil
}

// askKeys rules out what one index covers and no row of which matches.
func (p *Plan) askKeys(ctx context.Context, x *keyindex.Index) error {
	if !x.CoversAny(p.Shards) {
		return nil
	}
	may, known, err := x.MayMatch(ctx, p.bound)
	if err == nil && known {
		p.ruleOut(x, may)
	}
	return err
}

// ruleOut takes out the covered shards that have none of some stripes.
func (p *Plan) ruleOut(x *keyindex.Index, may map[uint32]bool) {
	if p.ruledOut == nil {
		p.ruledOut = map[string][]bool{}
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
}
