package check

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/manifest"
)

// TestSummaryFaults: each total of a snapshot that is not that of its entries, or no number, is a fault.
func TestSummaryFaults(t *testing.T) {
	var live Counts
	live.Add(&manifest.Entry{Records: 3, RootBytes: 100})
	live = live.Plus(live)
	good := map[string]string{"total-data-files": "2", "total-records": "6", "total-files-size": "200"}
	summary := func(change, to string) *table.Snapshot {
		properties := iceberg.Properties{}
		for key, value := range good {
			properties[key] = value
		}
		if change != "" {
			properties[change] = to
		}
		return &table.Snapshot{SnapshotID: 7, Summary: &table.Summary{Properties: properties}}
	}
	if faults := SummaryFaults(summary("", ""), live); len(faults) != 0 {
		t.Errorf("%v", faults)
	}
	for key := range good {
		for _, wrong := range []string{"", "x", "1", "-6", "7"} {
			if faults := SummaryFaults(summary(key, wrong), live); len(faults) != 1 || !strings.Contains(faults[0], key) {
				t.Errorf("%s = %q: %v", key, wrong, faults)
			}
		}
	}
	if faults := SummaryFaults(&table.Snapshot{SnapshotID: 7}, live); len(faults) != 1 {
		t.Errorf("a snapshot without a summary: %v", faults)
	}
}

// TestEntryFaults: an entry that states other counts or bounds than its shard. Unknown counts are not faults, nor are columns that were dropped.
func TestEntryFaults(t *testing.T) {
	column := manifest.Column{Values: 5, Nulls: 1, NaNs: 0, Lower: []byte{1}, Upper: []byte{9}}
	shard := func() *manifest.Entry {
		return &manifest.Entry{Records: 5, Private: manifest.Private{Deleted: 1, Stripes: 2}, Columns: map[int]manifest.Column{1: column}}
	}
	with := func(change func(c *manifest.Column)) func(e *manifest.Entry) {
		return func(e *manifest.Entry) {
			c := column
			change(&c)
			e.Columns[1] = c
		}
	}
	for name, c := range map[string]struct {
		change func(e *manifest.Entry)
		faults int
	}{
		"the same":        {func(*manifest.Entry) {}, 0},
		"records":         {func(e *manifest.Entry) { e.Records-- }, 1},
		"deleted records": {func(e *manifest.Entry) { e.Deleted++ }, 1},
		"stripes":         {func(e *manifest.Entry) { e.Stripes++ }, 1},
		"two of them":     {func(e *manifest.Entry) { e.Stripes++; e.Deleted++ }, 2},
		"values":          {with(func(c *manifest.Column) { c.Values++ }), 1},
		"nulls":           {with(func(c *manifest.Column) { c.Nulls-- }), 1},
		"NaNs":            {with(func(c *manifest.Column) { c.NaNs++ }), 1},
		"lower bound":     {with(func(c *manifest.Column) { c.Lower = []byte{2} }), 1},
		"upper bound":     {with(func(c *manifest.Column) { c.Upper = []byte{8} }), 1},
		"unknown counts": {with(func(c *manifest.Column) {
			c.Values, c.Nulls, c.NaNs = manifest.Unknown, manifest.Unknown, manifest.Unknown
		}), 0},
		"unknown bounds":   {with(func(c *manifest.Column) { c.Lower, c.Upper = nil, nil }), 0},
		"a dropped column": {func(e *manifest.Entry) { e.Columns[2] = manifest.Column{Values: 1} }, 0},
		"no columns":       {func(e *manifest.Entry) { e.Columns = nil }, 0},
	} {
		entry := shard()
		c.change(entry)
		if got := EntryFaults(entry, shard()); len(got) != c.faults {
			t.Errorf("%s: %v, want %d", name, got, c.faults)
		}
	}
}

// TestSizes: a size is requested once, also of an object that is missing.
func TestSizes(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	if err := client.MountBucket("mem://sizes/", memblob.New()); err != nil {
		t.Fatal(err)
	}
	if err := client.Put(ctx, "mem://sizes/a", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	s := NewSizes()
	for url, want := range map[string]int64{"mem://sizes/a": 5, "mem://sizes/b": -1} {
		if got, err := s.Of(ctx, client, url); got != want || err != nil {
			t.Errorf("%s: %d, %v", url, got, err)
		}
	}
	if err := client.Put(ctx, "mem://sizes/b", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Of(ctx, client, "mem://sizes/b"); got != -1 || err != nil {
		t.Errorf("the size was requested again: %d, %v", got, err)
	}
}
