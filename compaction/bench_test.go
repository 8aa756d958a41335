package compaction

import (
	"fmt"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
)

// BenchmarkPlan plans a table of 20,000 shards with three columns each; ns/shard is the figure of goal P8,
// reading the manifests included.
func BenchmarkPlan(b *testing.B) {
	const shards = 20_000
	g := &ground{t: nil, dir: b.TempDir(), bucket: "compaction-bench"}
	tbl := g.benchTable(b)
	j, _, err := tbl.BeginJob(ctx, catalog.JobAppend, "", nil, func(string) []string { return []string{tbl.VaultFolder() + "*"} })
	if err != nil {
		b.Fatal(err)
	}
	var entries []*manifest.Entry
	for i := range shards {
		e := fake(10, 100, int64(i))
		e.Path, e.Format = fmt.Sprintf("%sfake-%032d.amudai.shard", tbl.VaultFolder(), i), manifest.Format
		low := []byte{byte(i), byte(i >> 8), byte(i >> 16), 0, 0, 0, 0, 0}
		e.Columns = map[int]manifest.Column{
			1: {Bytes: 80, Values: 10, Nulls: 0, NaNs: manifest.Unknown, Lower: low, Upper: low},
			2: {Bytes: 90, Values: 10, Nulls: 1, NaNs: manifest.Unknown, Lower: []byte("aaaaaaaaaaaaaaaa"), Upper: []byte("aaaaaaaaaaaaaaab")},
			3: {Bytes: 70, Values: 10, Nulls: 0, NaNs: manifest.Unknown},
		}
		entries = append(entries, e)
	}
	if _, err := j.Append(ctx, entries); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		plan, err := NewPlan(ctx, tbl, Policy{})
		if err != nil || plan.Shards != shards {
			b.Fatal(plan.Shards, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/shards, "ns/shard")
}

func (g *ground) benchTable(b *testing.B) *catalog.Table {
	b.Helper()
	c, err := catalog.Open(ctx, catalog.Options{URI: "sqlite:" + g.dir + "/catalog.db", Warehouse: "mem://" + g.bucket + "/wh"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	t, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), CreateNamespace: true})
	if err != nil {
		b.Fatal(err)
	}
	return t
}
