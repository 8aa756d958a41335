package catalog

import (
	"context"
	"errors"
	"testing"
)

// TestCherryPickOfKeys: what was delivered by a key is picked by it.
func TestCherryPickOfKeys(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name       string
		side, main IngestOptions
		mainIDs    []int64
		want       map[int64]int
		err        error
	}{
		{"upsert, key on main", IngestOptions{UpsertBy: []string{"id"}}, IngestOptions{UpsertBy: []string{"id"}}, []int64{1, 5}, map[int64]int{1: 2, 2: 2, 5: 3}, nil},
		{"upsert, whole shard on main", IngestOptions{UpsertBy: []string{"id"}}, IngestOptions{}, []int64{1, 2}, map[int64]int{1: 2, 2: 2}, nil},
		{"upsert, other keys on main", IngestOptions{UpsertBy: []string{"id"}}, IngestOptions{}, []int64{5, 6}, map[int64]int{1: 2, 2: 2, 5: 3, 6: 3}, nil},
		{"unique, key on main", IngestOptions{Unique: []string{"id"}}, IngestOptions{}, []int64{2}, map[int64]int{2: 3}, ErrExists},
		{"unique, other keys on main", IngestOptions{Unique: []string{"id"}}, IngestOptions{}, []int64{5}, map[int64]int{1: 2, 2: 2, 5: 3}, nil},
		{"unique by two columns", IngestOptions{Unique: []string{"id", "small"}}, IngestOptions{}, []int64{5}, map[int64]int{1: 2, 2: 2, 5: 3}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGround(t)
			tbl := g.create(g.open(nil, nil))
			ingest(t, tbl, IngestOptions{}, valued(1, 100))
			if _, err := tbl.CreateBranch(ctx, "side", 0); err != nil {
				t.Fatal(err)
			}
			c.side.Ref = "side"
			picked := ingest(t, tbl, c.side, valued(2, 1, 2)).SnapshotID
			ingest(t, tbl, c.main, valued(3, c.mainIDs...))
			if err := tbl.RenameColumn(ctx, "ts", "time"); err != nil {
				t.Fatal(err)
			}
			c.want[100] = 1
			_, err := tbl.CherryPick(ctx, picked)
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Fatalf("%v, want %v", err, c.err)
			}
			got := smallByID(t, tbl, At{})
			if len(got) != len(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			for id, v := range c.want {
				if got[id] != v {
					t.Errorf("id %d is %d, want %d", id, got[id], v)
				}
			}
			if c.err != nil {
				return
			}
			if _, err := tbl.CherryPick(ctx, picked); err != nil && !errors.Is(err, ErrExists) {
				t.Errorf("picked again: %v", err)
			}
			if counted(t, tbl) != int64(len(c.want)) {
				t.Errorf("%d rows after picking twice", counted(t, tbl))
			}
			verifyAll(t, tbl)
		})
	}
}
