package webui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// sickCatalog fails, or hangs, where a test sets it.
type sickCatalog struct {
	icecatalog.Catalog
	loads, lists atomic.Bool
	// hang, if not nil, holds loads until it is closed.
	hang atomic.Pointer[chan struct{}]
}

var errSick = errors.New("the catalog is sick")

func (c *sickCatalog) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	if hang := c.hang.Load(); hang != nil {
		select {
		case <-*hang:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if c.loads.Load() {
		return nil, errSick
	}
	return c.Catalog.LoadTable(ctx, ident)
}

func (c *sickCatalog) ListNamespaces(ctx context.Context, parent table.Identifier) ([]table.Identifier, error) {
	if c.lists.Load() {
		return nil, errSick
	}
	return c.Catalog.ListNamespaces(ctx, parent)
}

// sickBucket is the store of the shards, which refuses reads and lets them fail where a test sets it.
type sickBucket struct {
	blobio.Bucket
	// denied is the key of an object that can't be read.
	denied atomic.Pointer[string]
	// busy: every second read fails, as reads counts them; storm: every one.
	busy, storm atomic.Bool
	reads       atomic.Int64
	// merging, if not nil, is called once, before a root is created.
	merging atomic.Pointer[func()]
}

func (b *sickBucket) fault(key string) error {
	if denied := b.denied.Load(); denied != nil && *denied == key {
		return blobio.NewError("read", key, blobio.ErrDenied, nil)
	}
	if b.storm.Load() || b.busy.Load() && b.reads.Add(1)%2 == 1 {
		return blobio.NewError("read", key, blobio.ErrTransient, nil)
	}
	return nil
}

func (b *sickBucket) ReadRange(ctx context.Context, key string, off int64, dst []byte, o blobio.ReadOptions) (int, blobio.Info, error) {
	if err := b.fault(key); err != nil {
		return 0, blobio.Info{}, err
	}
	return b.Bucket.ReadRange(ctx, key, off, dst, o)
}

func (b *sickBucket) ReadSuffix(ctx context.Context, key string, n int64, o blobio.ReadOptions) ([]byte, blobio.Info, error) {
	if err := b.fault(key); err != nil {
		return nil, blobio.Info{}, err
	}
	return b.Bucket.ReadSuffix(ctx, key, n, o)
}

func (b *sickBucket) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	if strings.HasSuffix(key, ".amudai.shard") {
		if merging := b.merging.Swap(nil); merging != nil {
			(*merging)()
		}
	}
	return b.Bucket.Create(ctx, key, o)
}

// alertGround is a service over a catalog that can be made sick, with one table of three shards that are to be merged.
type alertGround struct {
	*ground
	sick    *sickCatalog
	store   *sickBucket
	options catalog.Options // of the catalog, without faults
	runs    chan compaction.Run
	name    catalog.Name
}

func newAlertGround(t *testing.T, properties map[string]string) *alertGround {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	g := &alertGround{sick: &sickCatalog{}, runs: make(chan compaction.Run, 100), name: catalog.Name{Namespace: "default", Table: "t"}}
	bucket := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	g.store = &sickBucket{Bucket: memblob.Open(bucket)}
	client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: 5, First: time.Millisecond, Most: 4 * time.Millisecond, Budget: time.Minute, Stall: time.Minute}})
	if err := client.MountBucket("mem://"+bucket+"/", g.store); err != nil {
		t.Fatal(err)
	}
	g.options = catalog.Options{URI: "sqlite:" + filepath.Join(t.TempDir(), "catalog.db"), Warehouse: "mem://" + bucket + "/wh", Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{})}
	o := g.options
	o.Client = client
	icebergaccess.Wrap(&o, func(c icecatalog.Catalog) icecatalog.Catalog { g.sick.Catalog = c; return g.sick })
	c, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	s := numbers()
	tbl, err := c.Create(ctx, g.name, catalog.CreateOptions{Schema: s, CreateNamespace: true, Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		src := &source{s, fmt.Sprintf(`[{"id":%d,"<b>":"x"}]`, i)}
		if _, err := tbl.Ingest(ctx, src, catalog.IngestOptions{CreationTime: time.Date(2024, 1, 1, i, 0, 0, 0, time.UTC)}); err != nil {
			t.Fatal(err)
		}
	}
	metrics := NewMetrics()
	service := compaction.NewService(c, compaction.ServiceOptions{Discover: 10 * time.Millisecond, Finished: func(r compaction.Run) { metrics.Finished(r); g.runs <- r }})
	g.ground = newServer(c, service, metrics, tbl)
	done := make(chan error)
	go func() { done <- service.Run(ctx) }()
	t.Cleanup(func() {
		g.Close()
		cancel()
		<-done
		c.Close()
	})
	return g
}

// metric reads a sample, by its name and labels; ok is false if it is not served.
func (g *alertGround) metric(t *testing.T, sample string) (value float64, ok bool) {
	t.Helper()
	_, text, _ := g.ask(t, "GET", "/metrics", nil, nil)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(sample) + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value, true
}

// becomes waits until a sample has a value that is wanted.
func (g *alertGround) becomes(t *testing.T, sample string, wanted func(float64) bool) {
	t.Helper()
	var last float64
	var ok bool
	for range 6000 {
		if last, ok = g.metric(t, sample); ok && wanted(last) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s is %v (served: %v)", sample, last, ok)
}

func is(want float64) func(float64) bool { return func(got float64) bool { return got == want } }

// rerun requests a run, which the end of the one before may still keep waiting.
func (g *alertGround) rerun(t *testing.T) {
	t.Helper()
	for range 6000 {
		if err := g.service.RunNow(g.name); !errors.Is(err, compaction.ErrBusy) {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the table is busy for a minute")
}

// TestFailingUntilARunSucceeds: ShardcatTableFailing, ShardcatTableNotRun, ShardcatNothingRuns. The gauge is 1 from the first failure on, also while the next run hangs,
// and sizes keep their last known values; after a success it is 0.
func TestFailingUntilARunSucceeds(t *testing.T) {
	g := newAlertGround(t, nil)
	g.becomes(t, `shardcat_table_shards{table="default.t"}`, is(1))
	g.becomes(t, `shardcat_failing{table="default.t"}`, is(0))
	succeeded, _ := g.metric(t, `shardcat_last_success_timestamp_seconds{table="default.t"}`)
	rounds, _ := g.metric(t, `shardcat_rounds_total{table="default.t"}`)
	if interval, _ := g.metric(t, `shardcat_schedule_interval_seconds{table="default.t"}`); interval != 600 {
		t.Errorf("interval %v", interval)
	}
	g.sick.loads.Store(true)
	// A table at rest is not loaded again; a run by hand loads it.
	g.rerun(t)
	g.becomes(t, `shardcat_failing{table="default.t"}`, is(1))
	g.becomes(t, `shardcat_table_shards{table="default.t"}`, is(1))
	hang := make(chan struct{})
	g.sick.hang.Store(&hang)
	g.rerun(t)
	for range 6000 {
		if st, _ := g.service.StatusOf(g.name); st.State == compaction.Running {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if failing, _ := g.metric(t, `shardcat_failing{table="default.t"}`); failing != 1 {
		t.Error("not failing while the next run hangs")
	}
	if shards, ok := g.metric(t, `shardcat_table_shards{table="default.t"}`); !ok || shards != 1 {
		t.Errorf("%v shards", shards)
	}
	if last, _ := g.metric(t, `shardcat_last_success_timestamp_seconds{table="default.t"}`); last != succeeded {
		t.Errorf("last success at %v, was %v", last, succeeded)
	}
	g.sick.loads.Store(false)
	g.sick.hang.Store(nil)
	close(hang)
	g.rerun(t)
	g.becomes(t, `shardcat_failing{table="default.t"}`, is(0))
	g.becomes(t, `shardcat_rounds_total{table="default.t"}`, func(n float64) bool { return n > rounds+1 })
	g.becomes(t, `shardcat_last_success_timestamp_seconds{table="default.t"}`, func(at float64) bool { return at > succeeded })
}

// TestHangFromTheStart: ShardcatNothingRuns. A table that was never looked at has the time at which the service found it, so that the
// alert's condition is met an hour and three schedules later; it has no sizes, which 0 would be.
func TestHangFromTheStart(t *testing.T) {
	g := newAlertGround(t, map[string]string{compaction.PropertyPrefix + "pause": "true"})
	g.becomes(t, `shardcat_paused{table="default.t"}`, is(1))
	g.becomes(t, `shardcat_table_shards{table="default.t"}`, is(3))
	g.becomes(t, `shardcat_backlog_shards{table="default.t"}`, is(3)) // ShardcatBacklogGrows
	hang := make(chan struct{})
	g.sick.hang.Store(&hang)
	defer close(hang)
	other := compaction.NewService(g.table.Catalog(), compaction.ServiceOptions{})
	metrics := NewMetrics()
	second := &alertGround{ground: newServer(g.table.Catalog(), other, metrics, g.table)}
	defer second.Close()
	if up, ok := second.metric(t, "shardcat_catalog_up"); !ok || up != 0 {
		t.Errorf("catalog up before anybody asked: %v", up)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- other.Run(ctx) }()
	defer func() { cancel(); <-done }()
	second.becomes(t, `shardcat_last_success_timestamp_seconds{table="default.t"}`, func(at float64) bool { return time.Since(time.Unix(int64(at), 0)) < time.Hour })
	second.becomes(t, "shardcat_catalog_up", is(1))
	if shards, ok := second.metric(t, `shardcat_table_shards{table="default.t"}`); ok {
		t.Errorf("%v shards of a table that was not looked at", shards)
	}
}

// TestCatalogAwayAndReady: ShardcatCatalogAway. An outage of the catalog leaves the process ready, and the last known sizes served.
func TestCatalogAwayAndReady(t *testing.T) {
	g := newAlertGround(t, nil)
	g.becomes(t, `shardcat_table_shards{table="default.t"}`, is(1))
	g.becomes(t, "shardcat_catalog_up", is(1))
	g.sick.lists.Store(true)
	g.becomes(t, "shardcat_catalog_up", is(0))
	if code, _, _ := g.ask(t, "GET", "/readyz", nil, nil); code != 200 {
		t.Errorf("/readyz answers %d in an outage of the catalog", code)
	}
	if _, ok := g.metric(t, `shardcat_table_shards{table="default.t"}`); !ok {
		t.Error("no sizes in an outage of the catalog")
	}
	g.sick.lists.Store(false)
	g.becomes(t, "shardcat_catalog_up", is(1))
	if _, text, _ := g.ask(t, "GET", "/metrics", nil, nil); !strings.Contains(text, `shardcat_build_info{goversion="go`) { // ShardcatDown
		t.Error("no shardcat_build_info")
	}
}

// TestDamageHalts: ShardcatTableHalted. A lost root halts a table as a damaged one does; the process stays ready.
func TestDamageHalts(t *testing.T) {
	for what, damage := range map[string]func(*testing.T, *catalog.Table, string){
		"lost": func(*testing.T, *catalog.Table, string) {},
		"damaged": func(t *testing.T, tbl *catalog.Table, root string) {
			if err := tbl.Catalog().Client().Put(t.Context(), root, []byte("not a shard")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			g := newAlertGround(t, map[string]string{compaction.PropertyPrefix + "pause": "true"})
			g.becomes(t, `shardcat_paused{table="default.t"}`, is(1))
			tbl, err := g.table.Catalog().Load(t.Context(), g.name)
			if err != nil {
				t.Fatal(err)
			}
			root := ""
			for e, err := range tbl.Entries(t.Context(), catalog.At{}) {
				if err != nil {
					t.Fatal(err)
				}
				root = e.Path
			}
			if err := tbl.Catalog().Client().Delete(t.Context(), root, ""); err != nil {
				t.Fatal(err)
			}
			damage(t, tbl, root)
			if err := compaction.SetPolicy(t.Context(), tbl, map[string]string{"pause": ""}); err != nil {
				t.Fatal(err)
			}
			g.rerun(t)
			g.becomes(t, `shardcat_halted{table="default.t"}`, is(1))
			if code, _, _ := g.ask(t, "GET", "/readyz", nil, nil); code != 200 {
				t.Errorf("/readyz answers %d where a table is halted", code)
			}
		})
	}
}

// newPausedGround has a paused table, so that nothing runs before the test made something sick.
func newPausedGround(t *testing.T) *alertGround {
	t.Helper()
	g := newAlertGround(t, map[string]string{compaction.PropertyPrefix + "pause": "true"})
	g.becomes(t, `shardcat_paused{table="default.t"}`, is(1))
	return g
}

// start ends the pause and runs.
func (g *alertGround) start(t *testing.T) {
	t.Helper()
	tbl, err := g.table.Catalog().Load(t.Context(), g.name)
	if err != nil {
		t.Fatal(err)
	}
	if err := compaction.SetPolicy(t.Context(), tbl, map[string]string{"pause": ""}); err != nil {
		t.Fatal(err)
	}
	g.rerun(t)
}

// another opens the table as another process does, whose clock may be ahead.
func (g *alertGround) another(t *testing.T, ahead time.Duration) *catalog.Table {
	t.Helper()
	o := g.options
	o.Now = func() time.Time { return time.Now().Add(ahead) }
	c, err := catalog.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	tbl, err := c.Load(t.Context(), g.name)
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// sum adds up the samples of a metric.
func (g *alertGround) sum(t *testing.T, name string) (sum float64) {
	t.Helper()
	_, text, _ := g.ask(t, "GET", "/metrics", nil, nil)
	for _, sample := range regexp.MustCompile(`(?m)^`+name+`\{[^}]*for="data"[^}]*\} (\S+)$`).FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(sample[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += value
	}
	return sum
}

// TestUnreadableGroupIsCounted: ShardcatQuarantine. A group that can't be read is counted until a run merges it.
func TestUnreadableGroupIsCounted(t *testing.T) {
	g := newPausedGround(t)
	var key string
	for e, err := range g.table.Entries(t.Context(), catalog.At{}) {
		if err != nil {
			t.Fatal(err)
		}
		_, key, _ = strings.Cut(strings.TrimPrefix(e.Path, "mem://"), "/")
	}
	g.store.denied.Store(&key)
	g.start(t)
	g.becomes(t, `shardcat_quarantined_groups{table="default.t"}`, is(1))
	g.becomes(t, `shardcat_quarantined_shards{table="default.t"}`, is(3))
	g.store.denied.Store(nil)
	g.rerun(t) // a run by hand tries them at once
	g.becomes(t, `shardcat_quarantined_groups{table="default.t"}`, is(0))
	g.becomes(t, `shardcat_table_shards{table="default.t"}`, is(1))
}

// TestVoidPlanIsCounted: ShardcatConflicts. Another writer takes an input while it is merged.
func TestVoidPlanIsCounted(t *testing.T) {
	g := newPausedGround(t)
	g.becomes(t, "shardcat_conflicts_total", is(0))
	other := g.another(t, 0)
	where, err := filter.Parse("id = 0")
	if err != nil {
		t.Fatal(err)
	}
	merging := func() {
		if _, err := other.Delete(t.Context(), where, catalog.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	g.store.merging.Store(&merging)
	g.start(t)
	g.becomes(t, "shardcat_conflicts_total", is(1))
	g.becomes(t, `shardcat_failing{table="default.t"}`, is(0))
}

// TestLostLeaseIsCounted: ShardcatLeasesLost. Another process, whose clock is an hour ahead, takes over while the service merges.
func TestLostLeaseIsCounted(t *testing.T) {
	g := newPausedGround(t)
	g.becomes(t, `shardcat_leases_total{state="lost"}`, is(0))
	late := g.another(t, time.Hour)
	merging := func() {
		lease, err := late.LeaseForCompaction(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { lease.Release(context.Background()) })
	}
	g.store.merging.Store(&merging)
	g.start(t)
	g.becomes(t, `shardcat_leases_total{state="lost"}`, is(1))
	g.becomes(t, `shardcat_table_shards{table="default.t"}`, is(3))
}

// TestStormRaisesRetriesAndBacklog: ShardcatStoreRetries, ShardcatBacklogGrows. In a storm of failing reads the share of requests that are made again is
// above the alert's. While none succeeds the backlog has what was ingested meanwhile; it falls when the storm is over.
func TestStormRaisesRetriesAndBacklog(t *testing.T) {
	g := newPausedGround(t)
	requests, retries := g.sum(t, "shardcat_requests_total"), g.sum(t, "shardcat_retries_total")
	g.store.busy.Store(true)
	g.start(t)
	g.becomes(t, `shardcat_table_shards{table="default.t"}`, is(1))
	g.store.busy.Store(false)
	if again, all := g.sum(t, "shardcat_retries_total")-retries, g.sum(t, "shardcat_requests_total")-requests; again == 0 || again <= 0.05*all {
		t.Errorf("%v of %v requests were made again", again, all)
	}
	tbl := g.another(t, 0)
	for i := range 3 {
		src := &source{numbers(), fmt.Sprintf(`[{"id":%d,"<b>":"x"}]`, 10+i)}
		if _, err := tbl.Ingest(t.Context(), src, catalog.IngestOptions{CreationTime: time.Date(2024, 1, 1, 3+i, 0, 0, 0, time.UTC)}); err != nil {
			t.Fatal(err)
		}
	}
	g.store.storm.Store(true)
	g.rerun(t)
	g.becomes(t, `shardcat_backlog_shards{table="default.t"}`, is(4))
	g.store.storm.Store(false)
	g.rerun(t)
	g.becomes(t, `shardcat_backlog_shards{table="default.t"}`, is(0))
	g.becomes(t, `shardcat_table_shards{table="default.t"}`, is(1))
}
