package compaction

import (
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestCheckOfEveryType: rows are compared whatever their types, extension types and nested ones included.
func TestCheckOfEveryType(t *testing.T) {
	g := newGround(t)
	s, err := schema.Parse(`t: DateTime, d: TimeSpan, n: Decimal, o: Dynamic, g: Guid, b: Boolean, f: Float32,
		l: List<DateTime>, m: Map<String, TimeSpan>, s: Struct<x: DateTime, y: List<Decimal>>`)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := g.open(nil).Create(ctx, name, catalog.CreateOptions{Schema: s, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		json := `[{"t":5,"d":6,"n":"AAAAAAAAAAAAAAAAAABBMA==","o":"e30=","b":true,"f":1.5,"l":[1,null],"m":[{"key":"k","value":3}],"s":{"x":1,"y":[]}},{}]`
		if _, err := tbl.Ingest(ctx, &source{s, json}, catalog.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	report, err := Compact(ctx, tbl, Policy{}, Options{Check: true})
	if err != nil || report.ShardsBefore != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
}
