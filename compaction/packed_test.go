package compaction

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestPacked: what is kept of an entry comes back, whatever its numbers and however long its name.
func TestPacked(t *testing.T) {
	id := &schema.Node{Name: "id", Basic: schema.Int64, Signed: true}
	s := &candidates{vault: "file:///vault/", columns: []watch{{id, 1}, {id, 2}}}
	bound := func(n int64) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), 0, 0, 0, 0, 0} }
	entries := []*manifest.Entry{
		{Path: "file:///vault/a.amudai.shard"},
		{Path: "file:///elsewhere/b.amudai.shard", RootBytes: math.MaxInt64, Records: 1 << 40, Sequence: -1, Private: manifest.Private{
			Created: manifest.CreationRange{First: 5, Last: math.MaxInt64}, Stripes: math.MaxInt64, Deleted: 3, MetadataBytes: math.MinInt64, StoredBytes: 7, Objects: 1 << 33,
			Shape: -2, Flags: manifest.Foreign | 1<<60,
		}},
		{Path: "file:///vault/" + strings.Repeat("long", chunkSize)},
		{Path: "", Columns: map[int]manifest.Column{
			1: {Values: 3, Nulls: 0, Lower: bound(70_000), Upper: bound(1_000_000)},
			2: {Values: 3, Nulls: 3},
		}},
		{Path: "file:///vault/c", Columns: map[int]manifest.Column{2: {Values: 3, Lower: bound(9), Upper: bound(9)}}},
	}
	in := Inputs{kept: s}
	for range 3 {
		for _, e := range entries {
			in.places = append(in.places, s.add(e))
		}
	}
	ranges := map[int][lossColumns]valueRange{
		3: {{70_000, 1_000_000, knownRange}, {state: noValues}},
		4: {{}, {9, 9, knownRange}},
	}
	for i, c := range in.all() {
		want := entries[i%len(entries)]
		got := &manifest.Entry{Path: s.path(c), RootBytes: c.root, Records: c.records, Sequence: c.sequence, Columns: want.Columns, Private: manifest.Private{
			Created: c.created, Stripes: c.stripes, Deleted: c.deleted, MetadataBytes: c.metadata, StoredBytes: c.stored, Objects: c.objects, Shape: c.shape, Flags: c.flags,
		}}
		if !reflect.DeepEqual(got, want) || c.ranges != ranges[i%len(entries)] {
			t.Errorf("%d: %.200v, %v", i, got, c.ranges)
		}
	}
	var read []string
	if text, err := json.Marshal(in); err != nil || json.Unmarshal(text, &read) != nil || !slices.Equal(read, in.Paths()) || read[0] != entries[0].Path {
		t.Errorf("as JSON: %v", err)
	}
}

// TestPlansOfManyEntries: beyond what reading an entry takes, a plan allocates nothing for it, and of a compaction's candidates it keeps a
// tenth of a kilobyte: so a million of them fit.
func TestPlansOfManyEntries(t *testing.T) {
	const shards, most = 4000, 128
	tbl := newGround(t).create()
	benchAppend(t, tbl, 0, shards)
	where, err := filter.Parse("id >= 5 AND id < 7 AND name != 'b'")
	if err != nil {
		t.Fatal(err)
	}
	var plan *Plan
	allocations := map[string]float64{}
	for label, op := range map[string]func() error{
		"read": func() error {
			for _, err := range tbl.BriefEntries(ctx, catalog.At{}, []int{1, 2}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"scan": func() error {
			p, err := tbl.Plan(ctx, catalog.ScanOptions{Where: where})
			if err == nil && (p.Total != shards || len(p.Shards) != 2) {
				t.Errorf("%d of %d shards", len(p.Shards), p.Total)
			}
			return err
		},
		"drop": func() error {
			d, err := tbl.DropOlder(ctx, 1, catalog.DeleteOptions{DryRun: true})
			if err == nil && d.ShardsRemoved != shards {
				t.Errorf("%d shards would go", d.ShardsRemoved)
			}
			return err
		},
		"compact": func() (err error) {
			plan, err = NewPlan(ctx, tbl, Policy{})
			return err
		},
	} {
		var err error
		allocations[label] = testing.AllocsPerRun(1, func() { err = op() })
		if err != nil {
			t.Fatal(err)
		}
	}
	for label, n := range allocations {
		if beyond := n - allocations["read"]; beyond > shards/10 {
			t.Errorf("%s: %.0f allocations beyond those of reading %d entries", label, beyond, shards)
		}
	}
	inputs, bytes := 0, 0
	for i := range plan.Groups {
		inputs += plan.Groups[i].Inputs.Len()
	}
	for _, chunk := range plan.Groups[0].Inputs.kept.chunks {
		bytes += cap(chunk)
	}
	if bytes += shards * int(reflect.TypeFor[place]().Size()); inputs != shards || bytes > shards*most {
		t.Errorf("%d inputs of %d shards, for which %d bytes are kept", inputs, shards, bytes)
	}
}
