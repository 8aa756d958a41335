package compaction

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// All tests of this package scan with memory that is spoiled when scans or batches give it back.
func init() { bufpool.Spoil(0xA5) }

var ctx = context.Background()

var name = catalog.Name{Namespace: "default", Table: "t"}

// ground is a catalog file and a bucket in memory.
type ground struct {
	t           *testing.T
	dir, bucket string
}

var grounds struct {
	sync.Mutex
	n int
}

func newGround(t *testing.T) *ground {
	grounds.Lock()
	defer grounds.Unlock()
	grounds.n++
	return &ground{t: t, dir: t.TempDir(), bucket: fmt.Sprintf("compaction-%d", grounds.n)}
}

func (g *ground) options() catalog.Options {
	return catalog.Options{
		URI: "sqlite:" + filepath.Join(g.dir, "catalog.db"), Warehouse: "mem://" + g.bucket + "/wh",
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}),
	}
}

// open reopens the catalog, behind a killer if there is one.
func (g *ground) open(killer *crashtest.Killer) *catalog.Catalog {
	g.t.Helper()
	o := g.options()
	if killer == nil {
		return g.over(nil, o)
	}
	icebergaccess.Wrap(&o, func(c icecatalog.Catalog) icecatalog.Catalog { return &crashtest.Catalog{Catalog: c, Killer: killer} })
	return g.over(&crashtest.Bucket{Bucket: memblob.Open(g.bucket), Killer: killer}, o)
}

// over opens a catalog over a bucket in place of the ground's own, if there is one.
func (g *ground) over(bucket blobio.Bucket, o catalog.Options) *catalog.Catalog {
	g.t.Helper()
	for _, s := range []*blobio.Client{o.Client, o.Metadata} {
		if bucket == nil {
			break
		}
		if err := s.MountBucket("mem://"+g.bucket+"/", bucket); err != nil {
			g.t.Fatal(err)
		}
	}
	c, err := catalog.Open(ctx, o)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	return c
}

// openFaulty opens the catalog over a store whose requests go wrong by a script.
func (g *ground) openFaulty() (*catalog.Catalog, *blobfake.Faulty) {
	g.t.Helper()
	bucket := blobfake.NewFaulty(g.t, memblob.Open(g.bucket), "")
	return g.over(bucket, g.options()), bucket
}

func (g *ground) load(killer *crashtest.Killer) *catalog.Table {
	g.t.Helper()
	t, err := g.open(killer).Load(ctx, name)
	if err != nil {
		g.t.Fatal(err)
	}
	return t
}

func fields() *schema.Schema {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "id", Basic: schema.Int64, Signed: true, Nullable: true},
		{Name: "name", Basic: schema.String, Nullable: true},
		{Name: "tags", Basic: schema.List, Nullable: true, Children: []*schema.Node{{Name: "item", Basic: schema.String, Nullable: true}}},
	}}
	s.Number()
	return s
}

func (g *ground) create(partition ...string) *catalog.Table {
	g.t.Helper()
	t, err := g.open(nil).Create(ctx, name, catalog.CreateOptions{Schema: fields(), Partition: partition, CreateNamespace: true})
	if err != nil {
		g.t.Fatal(err)
	}
	return t
}

// source yields one batch of rows.
type source struct {
	schema *schema.Schema
	json   string
}

func (s *source) Schema() *schema.Schema { return s.schema }

func (s *source) Next(context.Context) (arrow.RecordBatch, error) {
	if s.json == "" {
		return nil, io.EOF
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s.schema), strings.NewReader(s.json))
	s.json = ""
	return b, err
}

func rows(first, n int) *source {
	var out []string
	for i := first; i < first+n; i++ {
		tags := fmt.Sprintf(`["t%d"]`, i)
		if i%4 == 0 {
			tags = "null"
		}
		out = append(out, fmt.Sprintf(`{"id":%d,"name":"n%d","tags":%s}`, i, i%7, tags))
	}
	return &source{fields(), "[" + strings.Join(out, ",") + "]"}
}

// fill writes n shards of ten rows, one snapshot each.
func fill(t *testing.T, tbl *catalog.Table, n int) {
	t.Helper()
	for i := range n {
		when := time.Date(2024, 1, 1, 0, i, 0, 0, time.UTC)
		if _, err := tbl.Ingest(ctx, rows(10*i, 10), catalog.IngestOptions{CreationTime: when}); err != nil {
			t.Fatal(err)
		}
	}
}

// sameContents compares the rows of a table with what contents gave before.
func sameContents(t testing.TB, tbl *catalog.Table, before []string) {
	t.Helper()
	if got := contents(t, tbl); !slices.Equal(got, before) {
		t.Errorf("%d rows became %d others", len(before), len(got))
	}
}

// contents reads all rows as text, sorted.
func contents(t testing.TB, tbl *catalog.Table) []string {
	t.Helper()
	var out []string
	for b, err := range tbl.Scan(ctx, catalog.ScanOptions{}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(b.NumRows()) {
			var row []string
			for _, c := range b.Columns() {
				row = append(row, c.ValueStr(i))
			}
			out = append(out, strings.Join(row, "|"))
		}
	}
	slices.Sort(out)
	return out
}

func TestCompactKeepsRows(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 12)
	before := contents(t, g.load(nil))
	c := g.open(nil)
	tbl, err := c.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	start := c.Client().Counters()
	report, err := Compact(ctx, tbl, Policy{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	io := c.Client().Counters().Sub(start)
	if report.ShardsBefore != 12 || report.ShardsAfter != 1 || report.BytesMoved != 0 || len(report.Results) != 1 {
		t.Errorf("report %+v", report)
	}
	group := report.Plan.Groups[0]
	// The table's owner is read, the record of a drop looked for and the job's record read back once per job; these are no
	// roots. Each of the twelve stripes is looked for once.
	const jobReads, jobHeads = 2, 1 + 12
	if io.Gets != group.Gets+jobReads || io.Puts != group.Puts || io.Heads != jobHeads || io.Lists != 0 {
		t.Errorf("plan says %d GETs and %d PUTs, the merge made %+v", group.Gets, group.Puts, io)
	}
	if group.Gets != 13 || group.Puts != 2 || group.BytesMoved != 0 || group.Records != 120 || group.Loss == nil || group.Loss.Column != "id" {
		t.Errorf("plan %+v, loss %+v", group, group.Loss)
	}
	after := g.load(nil)
	sameContents(t, after, before)
	h := after.History()
	if last := h[len(h)-1]; last.Operation != "replace" || last.Summary["total-records"] != "120" || last.Summary["deleted-data-files"] != "12" {
		t.Errorf("snapshot %+v", last)
	}
	for e, err := range after.Entries(ctx, catalog.At{}) {
		if err != nil || e.Stripes != 12 || e.Objects != 13 || e.Columns[1].Nulls != 0 || e.Columns[1].Lower == nil || !e.Created.Known() {
			t.Errorf("merged entry %+v, %v", e, err)
		}
	}
	again, err := Compact(ctx, after, Policy{}, Options{})
	if err != nil || len(again.Results) != 0 {
		t.Errorf("nothing to do, but %+v, %v", again, err)
	}
}

// TestCheck: with Check the rows are compared before the commit; what differs is not committed.
func TestCheck(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 4)
	plan, err := NewPlan(ctx, tbl, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	swapped := plan.Groups[0]
	other := swapped.entries()[1]
	one := swapped
	one.Inputs.places = swapped.Inputs.places[:1]
	if err := checkContent(ctx, tbl, &one, []*manifest.Entry{other}); !errors.Is(err, ErrContent) {
		t.Errorf("other rows pass for the same: %v", err)
	}
	report, err := Compact(ctx, tbl, Policy{}, Options{Check: true})
	if err != nil || report.ShardsAfter != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
}

// TestThousandShards holds the merge of 1,000 shards to one GET each, whatever their data.
func TestThousandShards(t *testing.T) {
	if testing.Short() {
		t.Skip("1,000 shards take some seconds")
	}
	const shards = 1000
	g := newGround(t)
	tbl := g.create()
	if _, err := tbl.Ingest(ctx, rows(0, shards), catalog.IngestOptions{ShardRows: 1}); err != nil {
		t.Fatal(err)
	}
	c := g.open(nil)
	tbl, err := c.Load(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	start, metadata := c.Client().Counters(), c.MetadataCounters()
	report, err := Compact(ctx, tbl, Policy{MaxObjects: 2 * shards, NoRebuild: true}, Options{})
	if err != nil || report.ShardsAfter != 1 {
		t.Fatalf("%d shards, %v", report.ShardsAfter, err)
	}
	io, iceberg := c.Client().Counters().Sub(start), c.MetadataCounters().Sub(metadata)
	const jobReads, jobHeads, readBack, jobPuts, jobDeletes, rootPuts = 2, 1, 1, 1, 1, 1
	if io.Gets != shards+readBack+jobReads || io.Puts != jobPuts+rootPuts || io.Heads != jobHeads || io.Lists != 1 || io.Deletes != jobDeletes {
		t.Errorf("requests: %+v", io)
	}
	if iceberg.Puts > 4 || iceberg.Gets > 4+iceberg.Puts { // what is put is read back
		t.Errorf("requests for Iceberg's metadata: %+v", iceberg)
	}
	if got := contents(t, g.load(nil)); len(got) != shards || len(slices.Compact(got)) != shards {
		t.Errorf("%d rows", len(got))
	}
	t.Logf("data: %+v, Iceberg: %+v", io, iceberg)
}

// TestAdoptedShards: adopted shards stay as they are unless requested; then the merged root names their objects by
// absolute URLs, and stays adopted itself.
func TestAdoptedShards(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 1)
	client := tbl.Catalog().Client()
	var urls []string
	for i := range 3 {
		url := fmt.Sprintf("mem://%s/elsewhere/s%d.amudai.shard", g.bucket, i)
		w, err := shardfmt.NewWriter(ctx, client, url, fields(), shardfmt.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := rows(100+10*i, 10).Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(ctx, b); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, url)
	}
	if _, err := tbl.Register(ctx, urls, catalog.RegisterOptions{}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, tbl)
	report, err := Compact(ctx, tbl, Policy{}, Options{})
	if err != nil || len(report.Results) != 0 || report.Plan.Left["adopted"] != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	report, err = Compact(ctx, tbl, Policy{External: true, MaxCreationRange: -1}, Options{Check: true})
	if err != nil || report.ShardsAfter != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	again := g.load(nil)
	sameContents(t, again, before)
	for e, err := range again.Entries(ctx, catalog.At{}) {
		if err != nil || !e.Flags.Has(manifest.Adopted) || !strings.HasPrefix(e.Path, again.VaultFolder()) {
			t.Errorf("%s: flags %b, %v", e.Path, e.Flags, err)
		}
	}
}

func TestMergesAreMergedAgain(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 6)
	if _, err := Compact(ctx, tbl, Policy{MaxInputs: 3}, Options{}); err != nil {
		t.Fatal(err)
	}
	if n := tbl.Describe().Shards; n != 2 {
		t.Fatalf("%d shards", n)
	}
	before := contents(t, g.load(nil))
	report, err := Compact(ctx, tbl, Policy{}, Options{})
	if err != nil || report.ShardsAfter != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := contents(t, g.load(nil)); !slices.Equal(got, before) || len(got) != 60 {
		t.Errorf("%d rows became %d", len(before), len(got))
	}
}

// TestTwoCompactors: they plan on the same state and run at the same time; no row is lost or doubled, and who
// loses the race gets a typed conflict or plans again.
func TestTwoCompactors(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 8)
	before := contents(t, g.load(nil))

	one, two := g.load(nil), g.load(nil)
	planOne, err := NewPlan(ctx, one, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	planTwo, err := NewPlan(ctx, two, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Execute(ctx, one, &planOne.Groups[0], Policy{}, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Execute(ctx, two, &planTwo.Groups[0], Policy{}, Options{}); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("the slower compactor: %v", err)
	}
	sameContents(t, g.load(nil), before)
}

func TestCompactorsAndWritersRace(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 6)
	var wg sync.WaitGroup
	for range 2 {
		tbl := g.load(nil)
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := Compact(ctx, tbl, Policy{MaxInputs: 3}, Options{}); err != nil && !errors.Is(err, catalog.ErrConflict) {
				t.Error(err)
			}
		}()
	}
	writer := g.load(nil)
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i := range 5 {
			if _, err := writer.Ingest(ctx, rows(1000+10*i, 10), catalog.IngestOptions{}); err != nil {
				t.Error(err)
			}
		}
	}()
	wg.Wait()
	got := contents(t, g.load(nil))
	if len(got) != 110 || len(slices.Compact(got)) != 110 {
		t.Errorf("%d rows, %d different ones, of 110", len(got), len(slices.Compact(got)))
	}
}

func TestKilledAtEveryStep(t *testing.T) {
	kills, err := crashtest.Walk(func(n int, killer *crashtest.Killer) error {
		g := newGround(t)
		fill(t, g.create(), 3)
		before := contents(t, g.load(nil))
		_, runErr := Compact(ctx, g.load(killer), Policy{}, Options{JobID: "nightly"})
		tbl := g.load(nil)
		if got := contents(t, tbl); !slices.Equal(got, before) {
			return fmt.Errorf("%d rows became %d (run: %v)", len(before), len(got), runErr)
		}
		if n := tbl.Describe().Shards; n != 3 && n != 1 {
			return fmt.Errorf("%d shards: neither before nor after", n)
		}
		if _, err := Compact(ctx, tbl, Policy{}, Options{}); err != nil {
			return fmt.Errorf("the next run: %w", err)
		}
		if got := contents(t, tbl); !slices.Equal(got, before) || tbl.Describe().Shards != 1 {
			return fmt.Errorf("the next run left %d rows in %d shards", len(got), tbl.Describe().Shards)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kills survived", kills)
	if kills < 10 {
		t.Errorf("only %d steps were killed", kills)
	}
}

func TestPartitionsStayApart(t *testing.T) {
	g := newGround(t)
	tbl := g.create("name")
	fill(t, tbl, 3)
	before := contents(t, tbl)
	report, err := Compact(ctx, tbl, Policy{}, Options{})
	if err != nil || report.ShardsAfter != 7 {
		t.Fatalf("%d shards for seven names, %v", report.ShardsAfter, err)
	}
	sameContents(t, g.load(nil), before)
}

// TestEvolvedSchema: shards of before and after a new column are merged; the older ones have nulls there.
func TestEvolvedSchema(t *testing.T) {
	g := newGround(t)
	tbl := g.create()
	fill(t, tbl, 2)
	wide := fields()
	wide.Fields = append(wide.Fields, &schema.Node{Name: "extra", Basic: schema.Float64, Nullable: true})
	wide.Number()
	if err := tbl.AddColumns(ctx, wide); err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Ingest(ctx, &source{wide, `[{"id":99,"name":"x","tags":null,"extra":1.5}]`}, catalog.IngestOptions{CreationTime: time.Date(2024, 1, 1, 1, 0, 0, 0, time.UTC)}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, tbl)
	report, err := Compact(ctx, tbl, Policy{}, Options{})
	if err != nil || report.ShardsAfter != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := contents(t, g.load(nil)); !slices.Equal(got, before) {
		t.Errorf("%v became %v", before, got)
	}
}

// fakes commits entries that no object backs, for plans.
func fakes(t *testing.T, tbl *catalog.Table, entries ...*manifest.Entry) {
	t.Helper()
	j, _, err := tbl.BeginJob(ctx, catalog.JobAppend, "", nil, func(string) []string { return []string{tbl.VaultFolder() + "*"} })
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		e.Path = fmt.Sprintf("%sfake-%d.amudai.shard", tbl.VaultFolder(), i)
		e.Format = manifest.Format
	}
	if _, err := j.Append(ctx, entries); err != nil {
		t.Fatal(err)
	}
}

const day = 24 * 3600 * ticksPerSecond

func fake(records, stored int64, at int64) *manifest.Entry {
	return &manifest.Entry{Records: records, RootBytes: 1000, Private: manifest.Private{
		Created: manifest.CreationRange{First: at * day, Last: at*day + day/2}, Stripes: 1, MetadataBytes: 900, StoredBytes: stored, Objects: 2,
	}}
}

func TestPolicies(t *testing.T) {
	many := func(n int) []*manifest.Entry {
		var out []*manifest.Entry
		for i := range n {
			out = append(out, fake(10, 100, int64(n-i))) // newest first
		}
		return out
	}
	with := func(change func(i int, e *manifest.Entry)) []*manifest.Entry {
		out := many(6)
		for i, e := range out {
			change(i, e)
		}
		return out
	}
	for label, c := range map[string]struct {
		entries []*manifest.Entry
		policy  Policy
		sizes   []int // of the groups
		reason  string
		left    map[string]int
	}{
		"all":            {many(6), Policy{}, []int{6}, "no more adjacent shards", nil},
		"max-inputs":     {many(6), Policy{MaxInputs: 4}, []int{4, 2}, "max-inputs", nil},
		"min-inputs":     {many(6), Policy{MaxInputs: 4, MinInputs: 3}, []int{4}, "max-inputs", map[string]int{"fewer than 3 adjacent shards": 2}},
		"target-records": {many(6), Policy{TargetRecords: 30}, []int{3, 3}, "target-records", nil},
		"target-size":    {many(6), Policy{TargetSize: 250}, []int{2, 2, 2}, "target-size", nil},
		"max-rows":       {many(6), Policy{MaxRows: 25}, []int{2, 2, 2}, "max-rows", nil},
		"max-stripes":    {many(6), Policy{MaxStripes: 3}, []int{3, 3}, "max-stripes", nil},
		"max-objects":    {many(6), Policy{MaxObjects: 5}, []int{5}, "max-objects", map[string]int{"fewer than 2 adjacent shards": 1}},
		"metadata":       {many(6), Policy{MaxMetadataBytes: 2000}, []int{2, 2, 2}, "max-metadata-bytes", nil},
		"creation range": {many(6), Policy{MaxCreationRange: 36 * time.Hour}, []int{2, 2, 2}, "max-creation-range", nil},
		"unknown creation": {with(func(i int, e *manifest.Entry) {
			if i < 3 {
				e.Created = manifest.CreationRange{}
			}
		}), Policy{MaxCreationRange: 1000 * time.Hour}, []int{3, 3}, "no more adjacent shards", nil},
		"a day by default": {many(6), Policy{}, nil, "", map[string]int{"fewer than 2 adjacent shards": 6}},
		"min-size-ratio":   {with(func(i int, e *manifest.Entry) { e.Records = int64(100 * (i + 1)) }), Policy{TargetRecords: 1000, MinSizeRatio: 0.5, MaxCreationRange: -1}, []int{4}, "no more adjacent shards", map[string]int{"has the target records": 2}},
		"max-size-ratio":   {many(6), Policy{TargetSize: 250, MaxSizeRatio: 1.8, MaxCreationRange: -1}, []int{3, 3}, "target-size", nil},
		"lookback":         {many(6), Policy{Lookback: 48 * time.Hour, MaxCreationRange: -1}, nil, "", map[string]int{"older than lookback": 6}},
		"large enough": {with(func(i int, e *manifest.Entry) {
			if i == 2 {
				e.Records = 1000
			}
		}), Policy{TargetRecords: 1000}, []int{5}, "no more adjacent shards", map[string]int{"has the target records": 1}},
		"tagged": {with(func(i int, e *manifest.Entry) {
			if i < 2 {
				e.Flags = manifest.StandardProperties
			}
		}), Policy{}, []int{4}, "no more adjacent shards", map[string]int{"tagged": 2}},
		"tagged, allowed": {with(func(i int, e *manifest.Entry) { e.Flags = manifest.StandardProperties }), Policy{Tagged: true}, []int{6}, "no more adjacent shards", nil},
		"tags apart": {with(func(i int, e *manifest.Entry) {
			e.Flags, e.Tags = manifest.StandardProperties, int64(i%2+1)
		}), Policy{Tagged: true}, []int{3, 3}, "no more adjacent shards", nil},
		"adopted": {with(func(i int, e *manifest.Entry) { e.Flags = manifest.Adopted }), Policy{}, nil, "", map[string]int{"adopted": 6}},
		"deleted apart": {with(func(i int, e *manifest.Entry) {
			if i%2 == 0 {
				e.Deleted = 1
			}
		}), Policy{}, []int{3, 3}, "no more adjacent shards", nil},
	} {
		t.Run(label, func(t *testing.T) {
			tbl := newGround(t).create()
			fakes(t, tbl, c.entries...)
			if c.policy.MaxCreationRange == 0 && label != "a day by default" {
				c.policy.MaxCreationRange = -1
			}
			plan, err := NewPlan(ctx, tbl, c.policy)
			if err != nil {
				t.Fatal(err)
			}
			var sizes []int
			for _, g := range plan.Groups {
				sizes = append(sizes, g.Inputs.Len())
				if !slices.IsSortedFunc(g.Inputs.places, g.Inputs.kept.neighbours) {
					t.Error("inputs are not in the order of their time")
				}
			}
			if !slices.Equal(sizes, c.sizes) {
				t.Errorf("groups of %v, want %v", sizes, c.sizes)
			}
			if len(plan.Groups) > 0 && !strings.Contains(plan.Groups[0].Reason, c.reason) {
				t.Errorf("reason %q", plan.Groups[0].Reason)
			}
			if fmt.Sprint(plan.Left) != fmt.Sprint(c.left) && len(plan.Left)+len(c.left) > 0 {
				t.Errorf("left %v, want %v", plan.Left, c.left)
			}
		})
	}
}

// policyOf reads the policy that a table's own properties give.
func policyOf(properties map[string]string) (Policy, error) {
	e, err := Resolve([]Level{{"table", settingsOf(properties)}})
	if err != nil {
		return Policy{}, err
	}
	return e.Policy, nil
}

func TestPolicyOf(t *testing.T) {
	p, err := policyOf(map[string]string{
		"shardcat.compaction.target-size": "512MiB", "shardcat.compaction.max-rows": "5M", "shardcat.compaction.min-inputs": "4",
		"shardcat.compaction.max-inputs": "50", "shardcat.compaction.max-creation-range": "7d", "comment": "x",
	})
	want := Policy{TargetSize: 512 << 20, MaxRows: 5_000_000, MinInputs: 4, MaxInputs: 50, MaxCreationRange: 7 * 24 * time.Hour}
	if err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
	for key, value := range map[string]string{
		"target-size": "big", "max-rows": "-1", "min-inputs": "1", "max-inputs": "x", "max-creation-range": "1 week",
		"nope": "1", "max-stripes": "99999999999999999999", "target-records": "9223372036854775807k",
	} {
		if _, err := policyOf(map[string]string{PropertyPrefix + key: value}); !errors.Is(err, ErrPolicy) {
			t.Errorf("%s=%s: %v", key, value, err)
		}
	}
}
