package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// rowSource yields rows given as JSON in Arrow's way of reading it.
type rowSource struct {
	schema *schema.Schema
	left   []string
	// fail ends the source with an error instead of io.EOF.
	fail error
}

func (s *rowSource) Schema() *schema.Schema { return s.schema }

func (s *rowSource) Next(context.Context) (arrow.RecordBatch, error) {
	if len(s.left) == 0 {
		if s.fail != nil {
			return nil, s.fail
		}
		return nil, io.EOF
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s.schema), strings.NewReader(s.left[0]))
	s.left = s.left[1:]
	return b, err
}

const year2024 = 638396640000000000 // ticks of 2024-01-01

// rows makes a batch of n rows with ids from first on, one hour apart; every third tag list is null.
func rows(first, n int) string {
	var out []string
	for i := first; i < first+n; i++ {
		tags := fmt.Sprintf(`["t%d","x"]`, i)
		if i%3 == 0 {
			tags = "null"
		}
		out = append(out, fmt.Sprintf(`{"id":%d,"ts":%d,"small":%d,"tags":%s}`, i, int64(year2024)+int64(i)*36_000_000_000, i%250, tags))
	}
	return "[" + strings.Join(out, ",") + "]"
}

func source(batches ...string) *rowSource { return &rowSource{schema: people(), left: batches} }

func ingest(t *testing.T, tbl *Table, o IngestOptions, batches ...string) *IngestResult {
	t.Helper()
	out, err := tbl.Ingest(context.Background(), source(batches...), o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// scanIDs reads the ids that a scan gives, in order, with the statistics.
func scanIDs(t *testing.T, tbl *Table, o ScanOptions) ([]int64, ScanStats) {
	t.Helper()
	var stats ScanStats
	var ids []int64
	for b, err := range tbl.Scan(context.Background(), o, &stats) {
		if err != nil {
			t.Fatal(err)
		}
		at := projection.ColumnIndex(b, "id")
		for i := range int(b.NumRows()) {
			ids = append(ids, b.Column(at).(*array.Int64).Value(i))
		}
	}
	return ids, stats
}

func where(t *testing.T, s string) filter.Expr {
	t.Helper()
	e, err := filter.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func between(first, end int) (out []int64) {
	for i := first; i < end; i++ {
		out = append(out, int64(i))
	}
	return out
}

func TestIngestAndScan(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	out := ingest(t, tbl, IngestOptions{ShardRows: 100, StripeRows: 40}, rows(0, 130), rows(130, 120))
	if out.Rows != 250 || len(out.Shards) != 3 || out.Bytes == 0 {
		t.Errorf("ingested %+v", out)
	}
	ingest(t, tbl, IngestOptions{}, rows(1000, 10))
	tbl = g.load(g.open(nil, nil))
	all := append(between(0, 250), between(1000, 1010)...)
	if ids, stats := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, all) || stats.ShardsTotal != 4 || stats.RowsMatched != 260 {
		t.Errorf("scan gave %d rows, %+v", len(ids), stats)
	}
	unordered, _ := scanIDs(t, tbl, ScanOptions{})
	slices.Sort(unordered)
	if !slices.Equal(unordered, all) {
		t.Errorf("an unordered scan gave %v", unordered)
	}
	ids, stats := scanIDs(t, tbl, ScanOptions{Ordered: true, Where: where(t, "id >= 95 AND id < 105")})
	if !slices.Equal(ids, between(95, 105)) || stats.ShardsPrunedBounds != 2 {
		t.Errorf("%v, %+v", ids, stats)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true, Limit: 105}); !slices.Equal(ids, between(0, 105)) {
		t.Errorf("limit: %v", ids)
	}
	ids, stats = scanIDs(t, tbl, ScanOptions{Where: where(t, "ts >= '2024-02-11T16:00:00Z'")})
	if !slices.Equal(ids, between(1000, 1010)) || stats.ShardsPrunedBounds != 3 {
		t.Errorf("by time: %v, %+v", ids, stats)
	}
	if _, stats := scanIDs(t, tbl, ScanOptions{Where: where(t, "small > 249")}); stats.ShardsPrunedBounds != 4 {
		t.Errorf("what no shard holds: %+v", stats)
	}
}

func TestSelect(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 9))
	for b, err := range tbl.Scan(ctx, ScanOptions{Select: []string{"tags", "small"}, Where: where(t, "id = 4")}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := b.MarshalJSON()
		if err != nil || string(text) != `[{"small":4,"tags":["t4","x"]}`+"\n]" && !strings.Contains(string(text), `"small":4`) {
			t.Errorf("%s, %v", text, err)
		}
		if b.NumCols() != 2 || b.ColumnName(0) != "tags" || b.NumRows() != 1 {
			t.Errorf("columns of %v", b.Schema())
		}
	}
	n := int64(0)
	for b, err := range tbl.Scan(ctx, ScanOptions{Select: []string{}}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		n += b.NumRows()
	}
	if n != 9 {
		t.Errorf("counted %d rows", n)
	}
	n = 0
	for b, err := range tbl.Scan(ctx, ScanOptions{Select: []string{}, Where: where(t, "id > 2")}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		n += b.NumRows()
	}
	if n != 6 {
		t.Errorf("counted %d filtered rows", n)
	}
	for _, err := range tbl.Scan(ctx, ScanOptions{Select: []string{"nope"}}, nil) {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("unknown column: %v", err)
		}
	}
}

// TestCanceledScan: a scan that is cancelled ends with an error, not early.
func TestCanceledScan(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{ShardRows: 10}, rows(0, 100))
	for _, ordered := range []bool{true, false} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		plan, err := tbl.Plan(ctx, ScanOptions{Ordered: ordered})
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range plan.Run(ctx, nil) {
			cancel()
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("ordered %v: the scan ended with %v", ordered, last)
		}
	}
}

func TestPlanningOpensNoShard(t *testing.T) {
	g := newGround(t)
	ingest(t, g.create(g.open(nil, nil)), IngestOptions{ShardRows: 10}, rows(0, 100))
	c := g.open(nil, nil)
	tbl := g.load(c)
	plan, err := tbl.Plan(context.Background(), ScanOptions{Where: where(t, "id = 42")})
	if err != nil || len(plan.Shards) != 1 || plan.Total != 10 || plan.PrunedBounds != 9 {
		t.Fatalf("%+v, %v", plan, err)
	}
	if n := c.Client().Counters().Gets + c.Client().Counters().Heads; n != 0 {
		t.Errorf("planning made %d requests for shards", n)
	}
	if e := plan.Shards[0]; e.Stripes != 1 || !e.Created.Known() || e.Objects != 2 || e.StoredBytes <= e.RootBytes || e.MetadataBytes == 0 || e.Flags != 0 {
		t.Errorf("private values %+v", e.Private)
	}
	if m := c.MetadataCounters(); m.Gets == 0 || m.Gets > 3 {
		t.Errorf("planning made %d requests for metadata: want table metadata, list and one manifest", m.Gets)
	}
}

func TestPartitionedIngest(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true, Partition: []string{"day(ts)"}})
	if err != nil {
		t.Fatal(err)
	}
	out := ingest(t, tbl, IngestOptions{}, rows(0, 50), rows(50, 22))
	if len(out.Shards) != 3 {
		t.Fatalf("%d shards for three days", len(out.Shards))
	}
	ids, stats := scanIDs(t, tbl, ScanOptions{Where: where(t, "ts >= '2024-01-02T00:00:00Z' AND ts < '2024-01-03T00:00:00Z'")})
	slices.Sort(ids)
	if !slices.Equal(ids, between(24, 48)) || stats.ShardsPrunedPartition < 1 || stats.ShardsPrunedPartition+stats.ShardsPrunedBounds != 2 {
		t.Errorf("%d rows, %+v", len(ids), stats)
	}
	if ids, stats := scanIDs(t, tbl, ScanOptions{Where: where(t, "ts < '2023-01-01T00:00:00Z'")}); len(ids) != 0 || stats.ShardsPrunedPartition != 3 || stats.ShardsTotal != 3 {
		t.Errorf("%d rows, %+v", len(ids), stats)
	}
}

// TestBadInputLeavesNothing: a source that fails half-way registers nothing and leaves no shard behind.
func TestBadInputLeavesNothing(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	broken := source(rows(0, 30), rows(30, 30))
	broken.fail = errors.New("line 61: no JSON")
	if _, err := tbl.Ingest(ctx, broken, IngestOptions{ShardRows: 25}); !errors.Is(err, broken.fail) {
		t.Fatalf("%v", err)
	}
	if tbl := g.load(c); tbl.Head() != 0 {
		t.Error("a snapshot was made")
	}
	for info, err := range c.Client().List(ctx, tbl.VaultFolder()) {
		if err != nil || strings.Contains(info.Key, ".amudai.") {
			t.Errorf("left behind: %s, %v", info.Key, err)
		}
	}
	more := &rowSource{schema: &schema.Schema{Fields: []*schema.Node{{Name: "idd", Basic: schema.Int64, Signed: true}}}}
	more.schema.Number()
	if _, err := tbl.Ingest(ctx, more, IngestOptions{}); !errors.Is(err, manifest.ErrSchema) || !strings.Contains(err.Error(), "columns: id") {
		t.Errorf("unknown field: %v", err)
	}
}

func TestIngestKilledAtEveryStep(t *testing.T) {
	ctx := context.Background()
	kills, err := crashtest.Walk(func(n int, killer *crashtest.Killer) error {
		g := newGround(t)
		ingest(t, g.create(g.open(nil, nil)), IngestOptions{}, rows(0, 5))
		o := IngestOptions{JobID: "load", ShardRows: 10}
		_, runErr := g.load(g.open(killer, nil)).Ingest(ctx, source(rows(5, 20)), o)
		tbl := g.load(g.open(nil, nil))
		got, _ := scanIDs(t, tbl, ScanOptions{Ordered: true})
		if !slices.Equal(got, between(0, 25)) && (runErr == nil || !slices.Equal(got, between(0, 5))) {
			return fmt.Errorf("neither before nor after: %d rows (run: %v)", len(got), runErr)
		}
		if _, err := tbl.Ingest(ctx, source(rows(5, 20)), o); err != nil {
			return fmt.Errorf("second delivery: %w", err)
		}
		if got, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(got, between(0, 25)) {
			return fmt.Errorf("second delivery left %d rows", len(got))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kills survived", kills)
	if kills < 15 {
		t.Errorf("only %d steps were killed", kills)
	}
}

// writeShard writes a shard outside any vault.
func writeShard(t *testing.T, c *Catalog, url string, s *schema.Schema, o shardfmt.WriterOptions, batch string) {
	t.Helper()
	w, err := shardfmt.NewWriter(context.Background(), c.Client(), url, s, o)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s), strings.NewReader(batch))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestRegister(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	outside := "mem://" + g.bucket + "/elsewhere/"
	writeShard(t, c, outside+"a.amudai.shard", people(), shardfmt.WriterOptions{}, rows(0, 20))
	narrow := &schema.Schema{Fields: []*schema.Node{
		{Name: "extra", Basic: schema.String}, {Name: "id", Basic: schema.Int16, Signed: true},
	}}
	writeShard(t, c, outside+"b.amudai.shard", narrow, shardfmt.WriterOptions{}, `[{"extra":"x","id":20},{"extra":"y","id":21}]`)
	puts := c.Client().Counters().Puts
	out, err := tbl.Register(ctx, []string{outside + "a.amudai.shard", outside + "b.amudai.shard"}, RegisterOptions{})
	if err != nil || out.Records != 22 {
		t.Fatalf("%+v, %v", out, err)
	}
	if n := c.Client().Counters().Puts - puts; n != 1 {
		t.Errorf("%d PUTs: want the job's record alone", n)
	}
	tbl = g.load(c)
	if folders, err := tbl.Adopted(); err != nil || !slices.Equal(folders, []string{outside}) {
		t.Errorf("adopted %v, %v", folders, err)
	}
	ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true})
	slices.Sort(ids)
	if !slices.Equal(ids, between(0, 22)) {
		t.Errorf("rows %v", ids)
	}
	// A filter on a column that one of the shards lacks, and one on a widened column.
	if ids, _ := scanIDs(t, tbl, ScanOptions{Where: where(t, "small IS NULL")}); !slices.Equal(ids, []int64{20, 21}) {
		t.Errorf("missing column: %v", ids)
	}
	if ids, stats := scanIDs(t, tbl, ScanOptions{Where: where(t, "id = 21")}); !slices.Equal(ids, []int64{21}) || stats.ShardsPrunedBounds != 1 {
		t.Errorf("widened column: %v, %+v", ids, stats)
	}
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil || !e.Flags.Has(manifest.Adopted|manifest.Foreign) {
			t.Errorf("flags of %s: %b, %v", e.Path, e.Flags, err)
		}
	}
	if _, err := tbl.Register(ctx, []string{outside + "a.amudai.shard"}, RegisterOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("registered twice: %v", err)
	}
	wrong := &schema.Schema{Fields: []*schema.Node{{Name: "id", Basic: schema.String}}}
	writeShard(t, c, outside+"c.amudai.shard", wrong, shardfmt.WriterOptions{}, `[{"id":"x"}]`)
	if _, err := tbl.Register(ctx, []string{outside + "c.amudai.shard"}, RegisterOptions{}); !errors.Is(err, manifest.ErrSchema) {
		t.Errorf("wrong type: %v", err)
	}
	if _, err := tbl.Register(ctx, []string{c.Vault() + "/not-mine/x.amudai.shard"}, RegisterOptions{}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("another table's shard: %v", err)
	}
}

// TestRegisterDamaged: a shard that is cut, flipped, or lacks an object is not registered.
// TestIngestBy: tags stand on the shards, and what has the same ones is committed once.
func TestIngestBy(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	tagged := func(tags ...string) (o IngestOptions) {
		for _, tag := range tags {
			o.StandardProperties = append(o.StandardProperties, shardfmt.TextProperty(IngestBy, tag))
		}
		return o
	}
	first := ingest(t, tbl, tagged("monday", "b"), rows(0, 5))
	if again := ingest(t, tbl, tagged("b", "monday"), rows(0, 5)); !again.Before || again.SnapshotID != first.SnapshotID {
		t.Errorf("the same tags: %+v", again)
	}
	ingest(t, tbl, tagged("monday"), rows(5, 5))
	ids, _ := scanIDs(t, tbl, ScanOptions{})
	if slices.Sort(ids); !slices.Equal(ids, between(0, 10)) {
		t.Errorf("rows %v", ids)
	}
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil || !e.Flags.Has(manifest.StandardProperties) {
			t.Errorf("flags %b, %v", e.Flags, err)
		}
	}
	if _, err := tbl.NewWriter(ctx, people(), WriterOptions{Ingest: tagged("monday")}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a stream of one tag: %v", err)
	}
}

// TestRegisterCopy: copies live on without the originals, another table's shards may be copied, and a failure leaves nothing.
func TestRegisterCopy(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	outside := "mem://" + g.bucket + "/elsewhere/"
	writeShard(t, c, outside+"a.amudai.shard", people(), shardfmt.WriterOptions{Layout: shardfmt.TwoLevel}, rows(0, 20))
	writeShard(t, c, outside+"b.amudai.shard", people(), shardfmt.WriterOptions{Layout: shardfmt.Single}, rows(20, 20))
	writeShard(t, c, outside+"none.amudai.shard", people(), shardfmt.WriterOptions{}, "[]")
	other, err := c.Create(ctx, Name{"default", "other"}, CreateOptions{Schema: people()})
	if err != nil {
		t.Fatal(err)
	}
	theirs := ingest(t, other, IngestOptions{}, rows(40, 5)).Shards[0]
	urls := []string{outside + "a.amudai.shard", outside + "b.amudai.shard", outside + "none.amudai.shard", theirs}
	if _, err := tbl.Register(ctx, append(urls, outside+"gone.amudai.shard"), RegisterOptions{Copy: true}); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
	for _, object := range objectsOf(t, tbl) {
		if strings.Contains(object, ".amudai.") {
			t.Errorf("%s is left of a failure", object)
		}
	}
	out, err := tbl.Register(ctx, urls, RegisterOptions{Copy: true})
	if err != nil || out.Records != 45 {
		t.Fatalf("%+v, %v", out, err)
	}
	for info, err := range c.Client().List(ctx, outside) {
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Client().Delete(ctx, info.URL, ""); err != nil {
			t.Fatal(err)
		}
	}
	tbl = g.load(c)
	if folders, err := tbl.Adopted(); err != nil || len(folders) > 0 {
		t.Errorf("adopted %v, %v", folders, err)
	}
	ids, _ := scanIDs(t, tbl, ScanOptions{})
	if slices.Sort(ids); !slices.Equal(ids, between(0, 45)) {
		t.Errorf("rows %v", ids)
	}
	verifyAll(t, tbl)
}

func TestRegisterDamaged(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	folder := "mem://" + g.bucket + "/damaged/"
	writeShard(t, c, folder+"good.amudai.shard", people(), shardfmt.WriterOptions{}, rows(0, 20))
	root, _, err := c.Client().ReadAll(ctx, folder+"good.amudai.shard", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) string {
		if err := c.Client().Put(ctx, folder+name, data); err != nil {
			t.Fatal(err)
		}
		return folder + name
	}
	flipped := bytes.Clone(root)
	flipped[len(flipped)-20] ^= 1
	for name, url := range map[string]string{
		"cut":         put("cut.amudai.shard", root[:len(root)-9]),
		"empty":       put("empty.amudai.shard", nil),
		"wrong magic": put("magic.amudai.shard", append([]byte("PAR1"), root[4:]...)),
		"flipped":     put("flipped.amudai.shard", flipped),
	} {
		if _, err := tbl.Register(ctx, []string{url}, RegisterOptions{}); !errors.Is(err, corrupt.ErrCorrupt) || !strings.Contains(err.Error(), url) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for info, err := range c.Client().List(ctx, folder+"good") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(info.URL, ".amudai.stripe") {
			if err := c.Client().Delete(ctx, info.URL, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := tbl.Register(ctx, []string{folder + "good.amudai.shard"}, RegisterOptions{}); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Errorf("a missing stripe object: %v", err)
	}
	if _, err := tbl.Register(ctx, []string{folder + "none.amudai.shard"}, RegisterOptions{}); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("a missing root: %v", err)
	}
	if tbl := g.load(c); tbl.Head() != 0 || tbl.Properties()[AdoptedProperty] != "" {
		t.Error("something was registered")
	}
}

func TestAddedColumns(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
	before := tbl.Head()
	wide := people()
	wide.Fields = append(wide.Fields, &schema.Node{Name: "place", Basic: schema.Struct, Nullable: true, Children: []*schema.Node{
		{Name: "x", Basic: schema.Float32, Nullable: true}, {Name: "u", Basic: schema.Int64, Nullable: true}}})
	wide.Number()
	if err := tbl.AddColumns(ctx, wide); err != nil {
		t.Fatal(err)
	}
	u, err := tbl.Schema().Lookup("place.u")
	if err != nil || u.Signed {
		t.Fatalf("the new column's type is lost: %+v, %v", u, err)
	}
	src := &rowSource{schema: wide, left: []string{`[{"id":5,"ts":1,"small":1,"tags":null,"place":{"x":1.5,"u":7}}]`}}
	if _, err := tbl.Ingest(ctx, src, IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	tbl = g.load(g.open(nil, nil))
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 6)) {
		t.Errorf("rows %v", ids)
	}
	if ids, stats := scanIDs(t, tbl, ScanOptions{Where: where(t, "place.u = 7")}); !slices.Equal(ids, []int64{5}) {
		t.Errorf("by the new column: %v, %+v", ids, stats)
	}
	if ids, stats := scanIDs(t, tbl, ScanOptions{Where: where(t, "place IS NOT NULL")}); !slices.Equal(ids, []int64{5}) || stats.ShardsPrunedBounds != 1 {
		t.Errorf("shards without the column are not pruned: %v, %+v", ids, stats)
	}
	// The old snapshot is read by its own schema.
	if ids, _ := scanIDs(t, tbl, ScanOptions{At: At{SnapshotID: before}, Where: where(t, "id < 3")}); !slices.Equal(ids, between(0, 3)) {
		t.Errorf("old snapshot: %v", ids)
	}
}

func TestCreationTime(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	when := time.Date(2023, 5, 6, 7, 8, 9, 123456700, time.UTC)
	ingest(t, tbl, IngestOptions{CreationTime: when}, rows(0, 3))
	for e, err := range tbl.Entries(context.Background(), At{}) {
		want := literal.Ticks(when)
		if err != nil || e.Created != (manifest.CreationRange{First: want, Last: want}) {
			t.Errorf("creation %+v, %v", e.Created, err)
		}
	}
	if literal.Ticks(time.Unix(0, 0)) != 621355968000000000 {
		t.Error("the epoch of ticks is wrong")
	}
}

// TestForeignPathsAreNotOpened: an entry that points outside the table's folders is refused, not read.
func TestForeignPathsAreNotOpened(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	tbl := g.create(g.open(nil, nil))
	if _, err := appendFake(tbl, "", 1); err != nil {
		t.Fatal(err)
	}
	evil := fake(tbl, 2)
	evil.Path = "file:///etc/passwd"
	j, _, err := tbl.BeginJob(ctx, JobAppend, "", nil, func(string) []string { return []string{evil.Path} })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(ctx, []*manifest.Entry{evil}); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range tbl.Scan(ctx, ScanOptions{Ordered: true, Where: where(t, "id > 0")}, nil) {
		last = err
	}
	if last == nil {
		t.Error("the scan went through")
	}
	if _, err := tbl.openShard(ctx, tbl.cat.client, evil.Path, 0); !errors.Is(err, ErrUnsafe) {
		t.Errorf("%v", err)
	}
}

// TestIngestTellsOfIndexes: IndexBytes are those of the objects that are neither roots nor stripes.
func TestIngestTellsOfIndexes(t *testing.T) {
	g := newGround(t)
	c := g.open(nil, nil)
	tbl := g.create(c)
	indexed := []shardfmt.IndexSpec{{Kind: shardfmt.HashIndex, Columns: []string{"id"}}}
	for _, o := range []IngestOptions{{}, {ShardRows: 100, Indexes: indexed}, {UpsertBy: []string{"id"}, Indexes: indexed}} {
		sum := func() (bytes int64) {
			for info, err := range c.Client().List(t.Context(), tbl.VaultFolder()+"data/") {
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(info.URL, ".amudai.stripe") && !strings.Contains(info.URL, "-terms") {
					bytes += info.Size
				}
			}
			return bytes
		}
		before := sum()
		out := ingest(t, tbl, o, rows(0, 250))
		if want := sum() - before; out.IndexBytes != want || (want > 0) != (len(o.Indexes) > 0) {
			t.Errorf("%+v: %d bytes of indexes, want %d", o, out.IndexBytes, want)
		}
	}
}
