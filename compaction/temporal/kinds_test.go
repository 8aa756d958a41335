package temporal

import (
	"fmt"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// kind is a table whose next compaction is one group of a mode, with the policy that plans it so.
type kind struct {
	mode     compaction.Mode
	settings map[string]string
	// concat concatenates the shards before, deleted deletes all but five rows at each end.
	concat, deleted bool
}

var kinds = []kind{
	{mode: compaction.Concat, settings: map[string]string{"allow-rebuild": "false"}},
	{mode: compaction.Pack, settings: map[string]string{"allow-rebuild": "false", "pack-objects": "3"}, concat: true},
	{mode: compaction.Rebuild, deleted: true},
}

// table makes it, of so many shards, and asserts the plan.
func (k kind) table(t testing.TB, shards int) (dir string) {
	t.Helper()
	dir = tableOf(t, shards, k.settings)
	if k.concat {
		if _, err := compaction.Compact(ctx, load(t, dir), compaction.Policy{NoRebuild: true, NoPack: true}, compaction.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if k.deleted {
		where, err := filter.Parse(fmt.Sprintf("id >= 5 AND id < %d", 10*shards-5))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := load(t, dir).Delete(ctx, where, catalog.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	tbl := load(t, dir)
	in, err := compaction.Overrides(nil).Effective(ctx, tbl)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := compaction.NewPlan(ctx, tbl, in.Policy)
	if err != nil || len(plan.Groups) != 1 || plan.Groups[0].Mode != k.mode {
		t.Fatalf("planned for %s: %+v, %v", k.mode, plan, err)
	}
	return dir
}
