package catalog

import (
	"context"
	"strings"
	"testing"
)

// TestIndexBytes: whatever writes shards reports the bytes of the objects of their indexes, those that lie in the vault folder.
func TestIndexBytes(t *testing.T) {
	ctx := context.Background()
	for name, do := range map[string]func(tbl *Table) (int64, error){
		"ingest": func(tbl *Table) (int64, error) {
			out, err := tbl.Ingest(ctx, source(rows(0, 500)), IngestOptions{})
			return out.IndexBytes, err
		},
		"overwrite": func(tbl *Table) (int64, error) {
			out, err := tbl.Overwrite(ctx, where(t, "id >= 0"), source(rows(0, 500)), IngestOptions{})
			return out.IndexBytes, err
		},
		"upsert": func(tbl *Table) (int64, error) {
			out, err := tbl.Ingest(ctx, source(rows(0, 500)), IngestOptions{UpsertBy: []string{"id"}})
			return out.IndexBytes, err
		},
		"write shards": func(tbl *Table) (int64, error) {
			out, err := tbl.WriteShards(ctx, source(rows(0, 500)), "", IngestOptions{JobID: "load"})
			return out.IndexBytes, err
		},
		"commit of two runs": func(tbl *Table) (int64, error) {
			var runs []string
			for _, text := range []string{rows(0, 300), rows(300, 200)} {
				out, err := tbl.WriteShards(ctx, source(text), "", IngestOptions{JobID: "load"})
				if err != nil {
					return 0, err
				}
				runs = append(runs, out.Run)
			}
			out, err := tbl.CommitShards(ctx, "", "load", runs)
			return out.IndexBytes, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			c := g.open(nil, nil)
			tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true, Properties: map[string]string{IndexesProperty: "hash:id"}})
			if err != nil {
				t.Fatal(err)
			}
			got, err := do(tbl)
			if err != nil {
				t.Fatal(err)
			}
			want := int64(0)
			for info, err := range c.client.List(ctx, tbl.VaultFolder()+"data/") {
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(info.URL, ".amudai.stripe") && !strings.Contains(info.URL, "-terms") {
					want += info.Size
				}
			}
			if got != want || want == 0 {
				t.Errorf("%d bytes of indexes, want %d", got, want)
			}
		})
	}
}
