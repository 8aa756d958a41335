package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog/internal/keyindex"
)

// A key index that lacks rows of shards that it covers passes its own checksums; verify makes the rows again from the values and
// finds it. One that is right is whole, also after a merge and a deletion.
func TestVerifyFindsKeyIndexesThatLackRows(t *testing.T) {
	ctx := t.Context()
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	var ids []int64
	for i := range int64(400) {
		ids = append(ids, i*7919%1009)
	}
	ingest(t, tbl, IngestOptions{ShardRows: 100}, valued(1, ids...))
	addKeyIndex(t, tbl, "keys:id")
	check := func(want string) {
		t.Helper()
		r, err := tbl.Verify(ctx, VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found := fmt.Sprintf("%+v", r.Errors)
		if r.OK != (want == "") || !strings.Contains(found, want) {
			t.Errorf("%s, want %q", found, want)
		}
	}
	check("")
	if _, err := tbl.Delete(ctx, where(t, "id < 100"), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	check("")

	state := stateOf(t, tbl)
	folder, old := tbl.VaultFolder(), state.Levels[0]
	f, err := state.OpenLevel(ctx, tbl.cat.client, folder+old.Object, &old)
	if err != nil {
		t.Fatal(err)
	}
	lying := keyindex.Level{Object: "data/lying.amudai.layer", Name: old.Name}
	n := 0
	err = state.WriteLevel(ctx, tbl.cat.client, folder+lying.Object, &lying, func(yield func([]byte, error) bool) {
		for row, err := range f.All(ctx) {
			if n++; n%100 != 0 && !yield(row, err) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	state.Levels[0] = lying
	text, err := state.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.cat.client.Put(ctx, folder+"data/lying.amudai.keys", text); err != nil {
		t.Fatal(err)
	}
	err = tbl.changeKeyIndexes(ctx, func(all []keyindex.Def) ([]keyindex.Def, error) {
		return []keyindex.Def{{IDs: all[0].IDs, Object: "data/lying.amudai.keys"}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check("the index lacks 4 rows that it covers")
}
