package catalog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestOrderOffsetAndSample(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	for _, first := range []int{200, 0, 100} {
		ingest(t, tbl, IngestOptions{ShardRows: 30}, rows(first, 100))
	}
	committed := append(append(between(200, 300), between(0, 100)...), between(100, 200)...)
	descending := between(0, 300)
	slices.Reverse(descending)
	order := func(text string) []OrderKey {
		keys, err := ParseOrder(text)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	for name, tc := range map[string]struct {
		o    ScanOptions
		want []int64
	}{
		"commits":          {ScanOptions{Ordered: true}, committed},
		"offset":           {ScanOptions{Ordered: true, Offset: 95, Limit: 10}, committed[95:105]},
		"offset to end":    {ScanOptions{Ordered: true, Offset: 290}, committed[290:]},
		"beyond":           {ScanOptions{Ordered: true, Offset: 400}, nil},
		"by id":            {ScanOptions{OrderBy: order("id")}, between(0, 300)},
		"descending":       {ScanOptions{OrderBy: order("id desc"), Select: []string{"id"}}, descending},
		"key not selected": {ScanOptions{OrderBy: order("ts desc"), Select: []string{"id"}}, descending},
		"first rows":       {ScanOptions{OrderBy: order("id"), Limit: 7, Offset: 3}, between(3, 10)},
		"with a filter":    {ScanOptions{OrderBy: order("id desc"), Where: where(t, "id < 5")}, []int64{4, 3, 2, 1, 0}},
		"spilled":          {ScanOptions{OrderBy: order("id"), SortMemory: 1000, SortDir: t.TempDir()}, between(0, 300)},
	} {
		if got, _ := scanIDs(t, tbl, tc.o); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
		if n, err := planCount(tbl, tc.o); n != int64(len(tc.want)) || err != nil {
			t.Errorf("%s: counted %d, %v", name, n, err)
		}
	}
	for name, o := range map[string]ScanOptions{
		"a list has no order": {OrderBy: order("tags")}, "no such column": {OrderBy: order("nothere")},
	} {
		for _, err := range tbl.Scan(context.Background(), o, nil) {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, text := range []string{"", "a,,b", "a up", "a desc first"} {
		if _, err := ParseOrder(text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
	one, _ := scanIDs(t, tbl, ScanOptions{Sample: 20, Seed: 7})
	again, _ := scanIDs(t, tbl, ScanOptions{Sample: 20, Seed: 7})
	if len(one) != 20 || !slices.Equal(one, again) {
		t.Errorf("samples %v and %v", one, again)
	}
	// Each row has the same chance: over 60 draws of 50 of 300 rows the mean of the ids is 149.5 with a deviation of 1.5.
	sum, n := 0.0, 0.0
	for seed := range uint64(60) {
		ids, _ := scanIDs(t, tbl, ScanOptions{Sample: 50, Seed: seed + 1})
		slices.Sort(ids)
		if len(slices.Compact(ids)) != 50 {
			t.Fatalf("a row was drawn twice: %v", ids)
		}
		for _, id := range ids {
			sum, n = sum+float64(id), n+1
		}
	}
	if mean := sum / n; math.Abs(mean-149.5) > 8 {
		t.Errorf("the mean of the samples is %v", mean)
	}
}

func TestShardsAndStatistics(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{ShardRows: 30}, rows(0, 100))
	ingest(t, tbl, IngestOptions{}, rows(100, 50))
	var rowsSeen, n int64
	for s, err := range tbl.Shards(ctx, At{}) {
		if err != nil {
			t.Fatal(err)
		}
		rowsSeen, n = rowsSeen+s.Records, n+1
		b := s.Bounds["id"]
		if s.Bytes <= s.RootBytes || s.RootBytes == 0 || s.Stripes != 1 || s.CreatedFirst == "" || b.Lower == "" || b.Nulls != 0 {
			t.Errorf("%+v", s)
		}
	}
	if n != 5 || rowsSeen != 150 {
		t.Errorf("%d shards with %d rows", n, rowsSeen)
	}
	stat := func() map[string]ColumnStatistics {
		t.Helper()
		s, err := tbl.Statistics(ctx, At{})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]ColumnStatistics{}
		for _, c := range s.Columns {
			out[c.Name] = c
		}
		return out
	}
	s := stat()
	id, tags := s["id"], s["tags"]
	if id.Rows != 150 || id.Nulls != 0 || string(id.Min) != "0" || string(id.Max) != "149" || id.Bytes == 0 || id.Scanned != 0 ||
		id.Distinct == nil || *id.Distinct < 120 || *id.Distinct > 180 {
		t.Errorf("id: %+v, %d distinct", id, *id.Distinct)
	}
	if tags.Nulls != 50 || string(tags.Min) != "null" || tags.Bytes == 0 {
		t.Errorf("tags: %+v", tags)
	}
	// Statistics of a shard with deleted records are not those of its rows: the column is read.
	if _, err := tbl.Delete(ctx, where(t, "id >= 140 OR id = 0"), DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	id = stat()["id"]
	if id.Rows != 139 || string(id.Min) != "1" || string(id.Max) != "139" || id.Scanned == 0 {
		t.Errorf("id after a delete: %+v, %s … %s", id, id.Min, id.Max)
	}
}

func planCount(tbl *Table, o ScanOptions) (int64, error) {
	p, err := tbl.Plan(context.Background(), o)
	if err != nil {
		return 0, err
	}
	return p.Count(context.Background(), nil)
}

// Rows are counted by the columns of the filter, whatever else they have.
func TestCountReadsTheFilterOnly(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	random := rand.New(rand.NewPCG(1, 2))
	var wide []string
	for i := range 4000 {
		wide = append(wide, fmt.Sprintf(`{"id":%d,"tags":["%x%x%x%x"]}`, i, random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()))
	}
	ingest(t, tbl, IngestOptions{}, "["+strings.Join(wide, ",")+"]")
	client := tbl.cat.client
	before := client.Counters().GetBytes
	if n, err := planCount(tbl, ScanOptions{Where: where(t, "id >= 1000 AND id < 3000")}); n != 2000 || err != nil {
		t.Fatal(n, err)
	}
	if read := client.Counters().GetBytes - before; read > 64<<10 {
		t.Errorf("read %d bytes to count by numbers beside %d of text", read, 4000*64)
	}
}
