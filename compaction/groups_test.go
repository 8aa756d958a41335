package compaction

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// placesSchema has a struct of two fields.
func placesSchema() *schema.Schema {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "id", Basic: schema.Int64, Signed: true, Nullable: true},
		{Name: "pos", Basic: schema.Struct, Nullable: true, Children: []*schema.Node{
			{Name: "x", Basic: schema.Float64, Nullable: true}, {Name: "name", Basic: schema.String, Nullable: true}}},
	}}
	s.Number()
	return s
}

func places(first, n int) *source {
	var out []string
	for i := first; i < first+n; i++ {
		pos := fmt.Sprintf(`{"x":%d.5,"name":"place %d"}`, i, i%3)
		if i%5 == 2 {
			pos = "null"
		}
		out = append(out, fmt.Sprintf(`{"id":%d,"pos":%s}`, i, pos))
	}
	return &source{placesSchema(), "[" + strings.Join(out, ",") + "]"}
}

// packedMembers are the places of the members of pos in each stripe of a table's only shard.
func packedMembers(t *testing.T, tbl *catalog.Table) (out [][]uint32) {
	t.Helper()
	entries := entriesOf(t, tbl)
	if len(entries) != 1 {
		t.Fatalf("%d shards", len(entries))
	}
	allow, err := tbl.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	shard, err := shardfmt.Open(ctx, client, entries[0].Path, shardfmt.OpenOptions{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	for i := range shard.Stripes() {
		var members []uint32
		for _, node := range []uint32{2, 3} {
			form, err := shard.FieldForm(ctx, i, node)
			if err != nil {
				t.Fatal(err)
			}
			if form.Packed {
				members = append(members, form.Member)
			}
		}
		out = append(out, members)
	}
	return out
}

// A rebuild writes the groups that its inputs had, with their members in the same order; a merge keeps them as they are.
func TestCompactionKeepsPackedGroups(t *testing.T) {
	for mode, stripes := range map[Mode]int{Concat: 3, Rebuild: 1} {
		g := newGround(t)
		tbl, err := g.open(nil).Create(ctx, name, catalog.CreateOptions{Schema: placesSchema(), CreateNamespace: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			_, err := tbl.Ingest(ctx, places(10*i, 10), catalog.IngestOptions{
				CreationTime: time.Date(2024, 1, 1, 0, i, 0, 0, time.UTC), Pack: map[string][]string{"pos": {"name", "x"}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		before := contents(t, tbl)
		report, err := Compact(ctx, tbl, Policy{RebuildAll: mode == Rebuild}, Options{Check: true})
		if err != nil || len(report.Results) != 1 || report.Results[0].Mode != mode {
			t.Fatalf("%s: %+v, %v", mode, report, err)
		}
		again := g.load(nil)
		if got := contents(t, again); !slices.Equal(got, before) {
			t.Errorf("%s: %d rows became %d others", mode, len(before), len(got))
		}
		members := packedMembers(t, again)
		if len(members) != stripes {
			t.Errorf("%s: %d stripes", mode, len(members))
		}
		for i, m := range members {
			if !slices.Equal(m, []uint32{1, 0}) { // of x and name
				t.Errorf("%s: members %v in stripe %d", mode, m, i)
			}
		}
	}
}
