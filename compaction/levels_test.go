package compaction

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/manifest"
)

// The nearest level wins, and in each of them the file over the properties.
func TestLevels(t *testing.T) {
	g := newGround(t)
	c := g.open(nil)
	name := catalog.Name{Namespace: "web.eu", Table: "t"}
	for _, ns := range []string{"web", "web.eu"} {
		if err := c.CreateNamespace(ctx, ns); err != nil {
			t.Fatal(err)
		}
	}
	tbl, err := c.Create(ctx, name, catalog.CreateOptions{Schema: fields(), Properties: map[string]string{PropertyPrefix + "max-inputs": "7", PropertyPrefix + "min-inputs": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := SetNamespacePolicy(ctx, c, "web", map[string]string{"max-inputs": "5", "max-rows": "100", "order": "id"}); err != nil {
		t.Fatal(err)
	}
	if err := SetNamespacePolicy(ctx, c, "web.eu", map[string]string{"order": "name desc"}); err != nil {
		t.Fatal(err)
	}
	o := Overrides{"*": {"max-objects": "10", "max-rows": "1"}, "web.*": {"max-stripes": "11"}, "web.eu.t": {"min-inputs": "4"}, "web.us.*": {"max-rows": "2"}}
	in, err := o.Effective(ctx, tbl)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range in.Values {
		got[v.Name] = v.Value + " by " + v.Source
	}
	for name, want := range map[string]string{
		"max-inputs": "7 by table", "min-inputs": "4 by table (file)", "max-rows": "100 by namespace web", "order": "name desc by namespace web.eu",
		"max-objects": "10 by catalog (file)", "max-stripes": "11 by namespace web (file)", "max-creation-range": "auto by default", "collect": "24h by default",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
	if p := in.Policy; p.MaxInputs != 7 || p.MinInputs != 4 || p.MaxRows != 100 || p.Order != "name desc" || p.MaxObjects != 10 || p.MaxStripes != 11 {
		t.Errorf("%+v", p)
	}
	// Contradictory levels are refused by an error that names them.
	if _, err := (Overrides{"web.eu.t": {"max-inputs": "2"}}).Effective(ctx, tbl); !errors.Is(err, ErrPolicy) || !strings.Contains(err.Error(), "web.eu.t") {
		t.Errorf("%v", err)
	}
	if err := SetNamespacePolicy(ctx, c, "nowhere", map[string]string{"max-rows": "1"}); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// Every setting is read, refused with a reason where it can't be meant, and printed as it is read.
func TestEverySetting(t *testing.T) {
	bad := map[string][]string{
		"min-size-ratio": {"0", "1.5", "x"}, "max-size-ratio": {"0.5", "NaN"}, "lookback": {"-1h"}, "where": {"a ="}, "order": {"a sideways", ","},
		"max-bytes-per-run": {"much"}, "concurrency": {"0", "65"}, "max-creation-range": {"0s", "often"}, "retention": {"0s"}, "retention-schedule": {"x"},
		"expire-schedule": {"61 * * * *"}, "collect": {"10ms"}, "jitter": {"2"}, "max-overlap-depth": {"0", "-1", "deep"}, "pause": {"perhaps"}, "schedule": {"0"},
	}
	for _, s := range allSettings {
		if s.means == "" {
			t.Errorf("%s means nothing", s.name)
		}
	}
	for name, values := range bad {
		for _, value := range values {
			if err := (Level{"test", map[string]string{name: value}}).Check(); !errors.Is(err, ErrPolicy) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
	in, err := Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range in.Values {
		if v.Value == "" && v.Name != "where" && v.Name != "order" {
			t.Errorf("%s has no default", v.Name)
		}
		if err := (Level{"test", map[string]string{v.Name: v.Value}}).Check(); err != nil {
			t.Errorf("the default of %s is refused: %v", v.Name, err)
		}
	}
	tbl := newGround(t).create()
	for name, value := range map[string]string{"where": "nobody = 1", "order": "nobody"} {
		if err := SetPolicy(ctx, tbl, map[string]string{name: value}); !errors.Is(err, ErrPolicy) {
			t.Errorf("%s %q was set: %v", name, value, err)
		}
	}
}

// The creation range follows from the retention: whole shards go no later than 3 % after their oldest record may.
func TestCreationRangeOfRetention(t *testing.T) {
	tbl := newGround(t).create()
	for i := range 4 {
		when := time.Date(2024, 1, 1, 10*i, 0, 0, 0, time.UTC)
		if _, err := tbl.Ingest(ctx, rows(10*i, 10), catalog.IngestOptions{CreationTime: when}); err != nil {
			t.Fatal(err)
		}
	}
	for retention, want := range map[string]int{"": 3, "20d": 2, "30d": 3, "400d": 4, "10d": 0} {
		if err := tbl.SetProperties(ctx, map[string]string{catalog.RetentionProperty: retention}, nil); err != nil {
			t.Fatal(err)
		}
		plan, err := NewPlan(ctx, tbl, Policy{})
		if err != nil {
			t.Fatal(err)
		}
		first := 0
		if len(plan.Groups) > 0 {
			first = plan.Groups[0].Inputs.Len()
		}
		if first != want {
			t.Errorf("retention %q: a first group of %d, want %d", retention, first, want)
		}
	}
	for _, retention := range []string{"a while", "0d"} {
		if err := tbl.SetProperties(ctx, map[string]string{catalog.RetentionProperty: retention}, nil); !errors.Is(err, catalog.ErrInvalid) {
			t.Errorf("retention %q: %v", retention, err)
		}
	}
}

// where keeps shards that may hold other rows out of the plan.
func TestWhere(t *testing.T) {
	tbl := newGround(t).create()
	fill(t, tbl, 6)
	plan, err := NewPlan(ctx, tbl, Policy{Where: "id >= 25"})
	if err != nil || len(plan.Groups) != 1 || plan.Groups[0].Inputs.Len() != 3 || plan.Left["not proven to match where"] != 3 {
		t.Errorf("%+v, %v", plan, err)
	}
	if plan.Manifests != 6 || plan.ManifestsPruned != 0 {
		t.Errorf("%d manifests read, %d pruned", plan.Manifests, plan.ManifestsPruned)
	}
	parted := newGround(t).create("id")
	fill(t, parted, 4)
	plan, err = NewPlan(ctx, parted, Policy{Where: "id >= 25"})
	if err != nil || plan.Shards != 40 || plan.Left["not proven to match where"] != 25 || plan.Manifests != 2 || plan.ManifestsPruned != 2 {
		t.Errorf("by partition: %+v, %v", plan, err)
	}
	if _, err := NewPlan(ctx, tbl, Policy{Where: "nobody = 1"}); !errors.Is(err, ErrPolicy) {
		t.Errorf("a filter on what the table lacks: %v", err)
	}
}

// order sorts what a rebuild writes.
func TestOrder(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 3)
	before := contents(t, tbl)
	if _, err := Compact(ctx, tbl, Policy{RebuildAll: true, Order: "name desc, id"}, Options{Check: true}); err != nil {
		t.Fatal(err)
	}
	tbl = g.load(nil)
	sameContents(t, tbl, before)
	plan, err := tbl.Plan(ctx, catalog.ScanOptions{Ordered: true, Select: []string{"name"}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for b, err := range plan.Run(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			names = append(names, b.Column(0).ValueStr(i))
		}
	}
	if len(names) != 30 || !slices.IsSortedFunc(names, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("not sorted: %v", names)
	}
}

// What a policy requires and can't have is reported.
func TestUnmet(t *testing.T) {
	tbl := newGround(t).create()
	var entries []*manifest.Entry
	for i := range 6 {
		e := fake(10, 100, int64(i))
		e.Deleted = 5
		entries = append(entries, e)
	}
	fakes(t, tbl, entries...)
	for want, p := range map[string]Policy{
		"max-creation-range":         {NoRebuild: true},
		"max-objects":                {MaxObjects: 3, MaxCreationRange: -1, NoRebuild: true},
		"1 group is never compacted": {MaxBytesPerRun: 99, MaxCreationRange: -1},
		"nothing is ever compacted":  {NoConcat: true, NoPack: true, NoRebuild: true},
		"target-records 10 is never": {TargetRecords: 10, MaxRows: 9},
		"shards leave lookback":      {Lookback: time.Hour},
	} {
		plan, err := NewPlan(ctx, tbl, p)
		if err != nil || !strings.Contains(strings.Join(plan.Unmet, "\n"), want) {
			t.Errorf("want %q: %v, %v", want, plan, err)
		}
	}
	plan, err := NewPlan(ctx, tbl, Policy{MaxBytesPerRun: 200, MaxInputs: 2, MaxCreationRange: -1})
	if err != nil || len(plan.Groups) != 1 || plan.Left["max-bytes-per-run is reached"] != 4 || len(plan.Unmet) != 0 {
		t.Errorf("%+v, %v", plan, err)
	}
}

// Several groups of a table are done at the same time, with all rows there at the end.
func TestConcurrency(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 12)
	before := contents(t, tbl)
	report, err := Compact(ctx, tbl, Policy{MaxInputs: 3, Concurrency: 4}, Options{Check: true})
	if err != nil || len(report.Results) != 4 || report.ShardsAfter != 4 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := contents(t, g.load(nil)); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("%d rows became %d", len(before), len(got))
	}
}
