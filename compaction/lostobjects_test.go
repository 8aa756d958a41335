package compaction

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// TestLostStripesAreNotMerged: a merge looks for each object that its root will refer to. One that is gone or cut short fails the
// group, names the object and leaves the shards as they are: merged, the loss would spread to the rows of all inputs.
func TestLostStripesAreNotMerged(t *testing.T) {
	for name, cut := range map[string]bool{"missing": false, "cut short": true} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			g := newGround(t)
			tbl := g.create()
			fill(t, tbl, 3)
			client := tbl.Catalog().Client()
			lost := ""
			for info, err := range client.List(ctx, tbl.VaultFolder()+"data/") {
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(info.URL, ".amudai.stripe") {
					lost = info.URL
				}
			}
			data, _, err := client.ReadAll(ctx, lost, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if err = client.Delete(ctx, lost, ""); err == nil && cut {
				err = client.Put(ctx, lost, data[:len(data)/2])
			}
			if err != nil {
				t.Fatal(err)
			}
			before := tbl.Head()
			_, err = Compact(ctx, tbl, Policy{}, Options{})
			if !errors.Is(err, ErrGroups) || !errors.Is(err, corrupt.ErrCorrupt) || !strings.Contains(err.Error(), lost) {
				t.Errorf("compact: %v", err)
			}
			if tbl = g.load(nil); tbl.Head() != before || tbl.Describe().Shards != 3 {
				t.Errorf("%d shards, head %d (before %d)", tbl.Describe().Shards, tbl.Head(), before)
			}
		})
	}
}
