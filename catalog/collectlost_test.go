package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// TestCollectNamesLostRoots: a collection that a lost or damaged root stops names the root, the snapshot that needs it and what to do, and
// nothing is deleted. A root that only older snapshots name does not make the table a damaged one, and the advice is followed to the end.
func TestCollectNamesLostRoots(t *testing.T) {
	for _, c := range []struct {
		name            string
		old, cut, isTag bool
	}{
		{"lost, current", false, false, false},
		{"damaged, current", false, true, false},
		{"lost, old", true, false, false},
		{"damaged, old", true, true, false},
		{"lost, of a tag", true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := context.Background()
			g := newGround(t)
			tbl := g.create(g.open(nil, nil))
			ingest(t, tbl, IngestOptions{}, rows(0, 10))
			first := tbl.Head()
			var root string
			for e, err := range tbl.Entries(ctx, At{}) {
				if err != nil {
					t.Fatal(err)
				}
				root = e.Path
			}
			if c.isTag {
				if _, err := tbl.CreateTag(ctx, "keep", first); err != nil {
					t.Fatal(err)
				}
			}
			if c.old {
				if _, err := tbl.Truncate(ctx, DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			ingest(t, tbl, IngestOptions{}, rows(10, 10))
			data, _, err := tbl.cat.client.ReadAll(ctx, root, 1<<20)
			if err == nil {
				err = tbl.cat.client.Delete(ctx, root, "")
			}
			if err == nil && c.cut {
				err = tbl.cat.client.Put(ctx, root, data[:len(data)/2])
			}
			if err != nil {
				t.Fatal(err)
			}
			before := objectsOf(t, tbl)
			_, err = tbl.Collect(ctx, CollectOptions{Execute: true, MinAge: time.Nanosecond, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1})
			if err == nil {
				t.Fatal("no error")
			}
			want := []string{root, "the current state needs", "shardcat repair " + tbl.name.String()}
			if c.old {
				want = []string{root, fmt.Sprintf("snapshot %d", first), "shardcat expire " + tbl.name.String() + " --older-than 0s"}
			}
			if c.isTag {
				want = append(want, "after dropping or moving the branches and tags that retain them: keep")
			}
			for _, w := range want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("without %q: %v", w, err)
				}
			}
			if errors.Is(err, ErrUnsafe) != c.old || errors.Is(err, blobio.ErrNotFound) == c.cut || errors.Is(err, corrupt.ErrCorrupt) != c.cut {
				t.Errorf("class: %v", err)
			}
			if after := objectsOf(t, tbl); !slices.Equal(before, after) {
				t.Errorf("%v\nbecame\n%v", before, after)
			}
			if !c.old {
				return
			}
			if c.isTag {
				if err := tbl.DropRef(ctx, "keep"); err != nil {
					t.Fatal(err)
				}
			}
			p, err := tbl.PlanExpire(ExpireOptions{OlderThan: time.Now().Add(time.Minute)})
			if err == nil {
				err = p.Execute(ctx)
			}
			if err == nil {
				err = collectTwice(ctx, tbl)
			}
			if err != nil {
				t.Errorf("after the advice: %v", err)
			}
		})
	}
}
