package rowsplit

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestSplit: rows of equal values go into one part, in their order, null apart, and the key of a part gives its tuple back.
func TestSplit(t *testing.T) {
	of, err := schema.Parse("id: Int64, kind: String, at: Struct<day: Int32>")
	if err != nil {
		t.Fatal(err)
	}
	ice, notes, err := manifest.ToIceberg(of, 0)
	if err != nil {
		t.Fatal(err)
	}
	ts := manifest.NewTableSchema(ice, notes)
	source := func(path string) int {
		n, err := ts.Shard.Lookup(path)
		if err != nil {
			t.Fatal(err)
		}
		return ts.IDs[n.ID]
	}
	spec := iceberg.NewPartitionSpec(
		iceberg.PartitionField{SourceIDs: []int{source("kind")}, FieldID: 1000, Name: "kind", Transform: iceberg.IdentityTransform{}},
		iceberg.PartitionField{SourceIDs: []int{source("at.day")}, FieldID: 1001, Name: "day", Transform: iceberg.IdentityTransform{}})
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(of), strings.NewReader(`[{"id":1,"kind":"a","at":{"day":1}},
		{"id":2,"kind":null,"at":{"day":1}},{"id":3,"kind":"a","at":{"day":1}},{"id":4,"kind":"a","at":null},{"id":5,"kind":"a","at":{"day":2}}]`))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := (&Splitter{Schema: ts, Spec: spec}).Split(b)
	if err != nil || len(parts) != 4 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	meta, err := table.NewMetadata(ice, &spec, table.UnsortedSortOrder, "mem://b/t", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int64{{1, 3}, {2}, {4}, {5}} {
		if got := parts[i].Batch.Column(0).(*array.Int64).Int64Values(); !reflect.DeepEqual(got, want) {
			t.Errorf("part %d: %v, want %v", i, got, want)
		}
		tuple, err := OfKey(meta, meta.DefaultPartitionSpec(), parts[i].Key)
		if err != nil || !reflect.DeepEqual(tuple, parts[i].Tuple) {
			t.Errorf("key %q: %v, want %v: %v", parts[i].Key, tuple, parts[i].Tuple, err)
		}
	}
	for _, key := range []string{"", "=61/", parts[0].Key + "-/", "=6/=01000000/"} {
		if tuple, err := OfKey(meta, meta.DefaultPartitionSpec(), key); err == nil {
			t.Errorf("key %q: %v", key, tuple)
		}
	}
	if _, err := OfKey(meta, 17, "-/-/"); !errors.Is(err, caterr.ErrConflict) {
		t.Errorf("an unknown spec: %v", err)
	}
}
