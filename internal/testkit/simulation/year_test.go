//go:build unix

package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/icebergaccess"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
)

// minutesOfAYear is how many appends make up the whole simulation: SHARDCAT_YEAR=525600.
const minutesOfAYear = 365 * 24 * 60

// The policy of the table of the year. What is not reported here is as by default: collection marks what is older than seven days and
// deletes it two days later.
var yearPolicy = map[string]string{"expire": "10m", "collect": "24h"}

// oldestOrphan bounds the age of what nothing reaches: seven days until it may be marked, two until it may be deleted, a day each until
// the collection comes that does it, and three for collectors that are killed at it, whose lease has to end first.
const oldestOrphan = (7 + 1 + 2 + 1 + 3) * 24 * time.Hour

// TestYear appends one row at a time to a table that a service keeps: it compacts, expires snapshots and collects, and is killed and
// started again; so are writers. The time is that of testing/synctest, so that every package has it, iceberg-go too. SHARDCAT_YEAR
// is the number of one-minute appends, 525600 for a whole year; without it a row comes every eight hours for three weeks.
func TestYear(t *testing.T) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	y := &year{appends: 66, every: 8 * time.Hour, faults: 6, lifetime: 300, schedule: 8 * time.Hour}
	if text := os.Getenv("SHARDCAT_YEAR"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > minutesOfAYear {
			t.Fatalf("SHARDCAT_YEAR=%s: want the number of appends, %d at most", text, minutesOfAYear)
		}
		y = &year{appends: n, every: time.Minute, faults: 200, lifetime: min(250_000, (n+1)/2), schedule: time.Hour, inMemory: true, state: os.Getenv("SHARDCAT_YEAR_STATE")}
	}
	if y.T, y.dir, y.bucket = t, t.TempDir(), t.Name(); y.state != "" {
		y.keep()
	}
	clock := realClock()
	y.real = func() time.Duration { return y.before + clock() }
	asked := askedToEnd()
	synctest.Test(t, func(t *testing.T) {
		y.T, y.began, y.asked = t, time.Now(), asked
		y.newRandom()
		y.run()
	})
}

// year is the simulation at work.
type year struct {
	*testing.T
	appends int
	every   time.Duration
	// faults: one delivery of so many is killed on the way.
	faults int
	// lifetime is the most steps that a service takes before it is killed.
	lifetime int
	// schedule is the time between two runs of the service.
	schedule    time.Duration
	dir, bucket string
	r           *rand.Rand
	source      *rand.PCG // that of r
	began       time.Time
	real        func() time.Duration
	// inMemory keeps the table's head in memory, for speed, and not in SQLite; heads is that, nil without.
	inMemory bool
	heads    *heads
	// state is the folder that the year is kept in between its parts, or empty; asked means that this part has to end, before is the time that earlier ones
	// took, and parts how many those are.
	state  string
	asked  *atomic.Bool
	before time.Duration
	parts  int

	killed, lives, conflicts int
	// appending are the requests of the deliveries that nobody killed, served the clients of the services.
	appending blobio.Counters
	served    []*blobio.Client
	// held are plans that are read when their time is nearly over.
	held []heldPlan
}

// heldPlan is a state that a reader holds: rows 0 to rows-1.
type heldPlan struct {
	plan  *catalog.Plan
	rows  int
	until time.Time
}

// open opens the catalog for an actor that a killer may kill.
func (y *year) open(killer *crashtest.Killer) *yearCatalog {
	o := catalog.Options{
		URI: "sqlite:" + filepath.Join(y.dir, "catalog.db"), Warehouse: "mem://" + y.bucket + "/wh",
		Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{}),
	}
	icebergaccess.Wrap(&o, func(inner icecatalog.Catalog) icecatalog.Catalog {
		if y.heads != nil {
			inner = &memoryCatalog{Catalog: inner, heads: y.heads, other: other.Table}
		}
		return &crashtest.Catalog{Catalog: inner, Killer: killer}
	})
	for _, c := range []*blobio.Client{o.Client, o.Metadata} {
		y.must(c.MountBucket("mem://"+y.bucket+"/", &crashtest.Bucket{Bucket: memblob.Open(y.bucket), Killer: killer}))
	}
	c, err := catalog.Open(y.Context(), o)
	y.must(err)
	return &yearCatalog{c, []*blobio.Client{o.Client, o.Metadata}}
}

func (y *year) must(err error) {
	y.Helper()
	if err != nil {
		y.Fatalf("%s after the beginning: %v", time.Since(y.began), err)
	}
}

func (y *year) load(c *yearCatalog) *catalog.Table {
	y.Helper()
	t, err := c.Load(y.Context(), name)
	y.must(err)
	return t
}

func (y *year) run() {
	plain := blobio.NewClient(blobio.ClientOptions{})
	y.must(plain.MountBucket("mem://"+y.bucket+"/", memblob.Open(y.bucket)))
	defer plain.Close()
	saved := y.saved()
	if saved == nil {
		y.create()
	}
	if y.inMemory {
		y.heads = &heads{client: plain}
	}
	first := 0
	if saved != nil {
		y.restore(saved)
		first = saved.Appends
	}
	day := int(24 * time.Hour / y.every)
	for first < y.appends {
		next := y.appends
		if y.state != "" {
			next = min(first+savedEvery*day, next)
		}
		if first = y.live(first, next, day); first < y.appends || y.asked.Load() {
			y.save(first)
		}
		if y.asked.Load() {
			y.Skipf("asked to end after %d appends; SHARDCAT_YEAR_STATE=%s has the state", first, y.state)
		}
	}
	c := y.open(crashtest.KillAt(0))
	defer c.Close()
	y.end(c, y.load(c))
}

// live makes the appends from first to last, beside a service, and returns how many there are then: fewer if it is requested to end.
func (y *year) live(first, last, day int) int {
	c := y.open(crashtest.KillAt(0))
	defer c.Close()
	t := y.load(c)
	stop := y.serve()
	defer stop()
	n := first
	for n < last && (n%day != 0 || y.state == "" || !y.asked.Load()) {
		time.Sleep(y.every)
		y.append(c, t, n)
		if n++; n%day == 0 {
			y.daily(t, n, int64(n/day))
		}
	}
	if n < y.appends && y.state != "" {
		for _, h := range y.held {
			y.read(h.plan, h.rows)
		}
		y.held = nil
	}
	return n
}

// other is a table that stays empty.
var other = catalog.Name{Namespace: "default", Table: "other"}

func (y *year) create() {
	c := y.open(crashtest.KillAt(0))
	defer c.Close()
	_, err := c.Create(y.Context(), other, catalog.CreateOptions{Schema: newSource(nil).Schema(), CreateNamespace: true})
	y.must(err)
	t, err := c.Create(y.Context(), name, catalog.CreateOptions{Schema: newSource(nil).Schema(), CreateNamespace: true})
	y.must(err)
	policy := maps.Clone(yearPolicy)
	policy["schedule"] = y.schedule.String()
	if !y.inMemory { // a file of metadata is live as long as the log names it, which at few commits a day is long
		y.must(t.SetProperties(y.Context(), map[string]string{"write.metadata.previous-versions-max": "1"}, nil))
	}
	y.must(compaction.SetPolicy(y.Context(), t, policy))
}

// serve runs services one after the other, each until it is killed; the result ends the last one.
func (y *year) serve() (stop func()) {
	ctx, cancel := context.WithCancel(y.Context())
	done := make(chan struct{})
	r := rand.New(rand.NewPCG(2, uint64(525_600+y.lives)))
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			y.lives++
			y.life(ctx, crashtest.KillAt(1+r.IntN(y.lifetime)))
		}
	}()
	return func() { cancel(); <-done }
}

// life lets a service run over the tables time and again until it is killed. In between it does not wait for its next turn by itself:
// it looks at the clock every few seconds, and a year has many of them.
func (y *year) life(ctx context.Context, killer *crashtest.Killer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	killer.Kill = cancel
	c := y.open(killer)
	defer c.Close()
	y.served = append(y.served, c.clients...) // one service runs at a time
	finished := make(chan catalog.Name, 10)
	s := compaction.NewService(c.Catalog, compaction.ServiceOptions{Discover: time.Hour, Finished: func(r compaction.Run) {
		y.conflicts += r.Conflicts
		if r.Error != "" {
			y.Errorf("%s after the beginning a run failed: %s", time.Since(y.began), r.Error)
		}
		finished <- r.Table
	}})
	for ctx.Err() == nil {
		turn, end := context.WithCancel(ctx)
		done := make(chan error)
		go func() { done <- s.Run(turn) }()
		for turned := false; !turned && ctx.Err() == nil; {
			select {
			case n := <-finished:
				turned = n == name
			case <-ctx.Done():
			}
		}
		end()
		if err := <-done; err != nil {
			y.Errorf("the service: %v", err)
		}
		select {
		case <-time.After(y.schedule):
			_ = s.RunNow(name) // it is due anyway, but for the jitter
		case <-ctx.Done():
		}
	}
}

// append delivers a row. Some deliveries are killed on the way and made again under their name.
func (y *year) append(c *yearCatalog, t *catalog.Table, n int) {
	y.Helper()
	o := catalog.IngestOptions{JobID: fmt.Sprint("row-", n)}
	if y.r.IntN(y.faults) == 0 {
		killer := crashtest.KillAt(1 + y.r.IntN(16))
		victim := y.open(killer)
		_, err := y.load(victim).Ingest(y.Context(), newSource([]int64{int64(n)}), o)
		_, killed := killer.Killed()
		if err != nil && !killed {
			y.must(err)
		}
		if killed {
			y.killed++
		}
		y.must(victim.Close())
		y.must(t.Refresh(y.Context()))
	}
	before := requestsOf(c.clients)
	_, err := t.Ingest(y.Context(), newSource([]int64{int64(n)}), o)
	y.must(err)
	y.appending = addCounters(y.appending, requestsOf(c.clients).Sub(before))
}

// daily looks at the table: it has all rows, and those who hold an old state read it.
func (y *year) daily(t *catalog.Table, rows int, day int64) {
	y.must(t.Refresh(y.Context()))
	if d := t.Describe(); d.Records != int64(rows) {
		y.Fatalf("day %d: %d rows of %d", day, d.Records, rows)
	}
	y.held = slices.DeleteFunc(y.held, func(h heldPlan) bool {
		if time.Until(h.until) > 0 {
			return false
		}
		y.read(h.plan, h.rows)
		return true
	})
	p, err := t.Plan(y.Context(), catalog.ScanOptions{})
	y.must(err)
	y.held = append(y.held, heldPlan{p, rows, time.Now().Add(46 * time.Hour)})
	if day == 1 || day%15 == 0 {
		y.report(t, fmt.Sprint("day ", day))
	}
}

// read compares what a plan gives with the ledger: the rows 0 to rows-1, each once.
func (y *year) read(p *catalog.Plan, rows int) {
	y.Helper()
	ids, err := idsOf(p)
	y.must(err)
	if len(ids) != rows {
		y.Fatalf("%d rows of %d", len(ids), rows)
	}
	for i, id := range ids {
		if id != int64(i) {
			y.Fatalf("row %d is in the place of row %d", id, i)
		}
	}
}

// report reports what there is, and holds it to the policy's bounds.
func (y *year) report(t *catalog.Table, when string) {
	ctx := y.Context()
	c, err := t.Collect(ctx, catalog.CollectOptions{MinAge: 1, UnsafeMinAge: true, DeleteDelay: -1})
	if !errors.Is(err, catalog.ErrUnsafe) { // more is garbage than may be deleted at a time: nothing is
		y.must(err)
	}
	var oldest time.Duration
	for _, g := range slices.Concat(c.Mark, c.Delete) {
		oldest = max(oldest, time.Since(g.Modified))
	}
	metadata, metadataBytes, vault, vaultBytes := 0, int64(0), 0, int64(0)
	for info, err := range memblob.Open(y.bucket).List(ctx, "", blobio.ListOptions{}) {
		y.must(err)
		if strings.Contains(info.Key, "/metadata/") {
			metadata, metadataBytes = metadata+1, metadataBytes+info.Size
		} else {
			vault, vaultBytes = vault+1, vaultBytes+info.Size
		}
	}
	d := t.Describe()
	days := int64(time.Since(y.began)/(24*time.Hour)) + 1
	y.Logf("%s: %d rows in %d shards, %d snapshots; %d objects of metadata, %d MB, %d in the vault, %d MB; %d live of %d, the oldest orphan made %s ago; %d writers killed, %d services, %d groups lost to others; %.0f s",
		when, d.Records, d.Shards, len(t.History()), metadata, metadataBytes>>20, vault, vaultBytes>>20, c.Live, c.Objects, oldest.Round(time.Minute),
		y.killed, y.lives, y.conflicts, y.real().Seconds())
	if oldest > oldestOrphan {
		y.Errorf("%s: an orphan was made %s ago, %s at most", when, oldest, oldestOrphan)
	}
	// A shard for each day, by max-creation-range, and what came since the last two runs.
	if bound := 2*days + int64(2*y.schedule/y.every) + 20; d.Shards > bound {
		y.Errorf("%s: %d shards, %d at most", when, d.Shards, bound)
	}
	if n, bound := len(t.History()), int(3*y.schedule/y.every)+10; n > bound {
		y.Errorf("%s: %d snapshots, %d at most", when, n, bound)
	}
}

// end reads every row and every byte, and lets collections run until nothing is left to do.
func (y *year) end(c *yearCatalog, t *catalog.Table) {
	ctx := y.Context()
	y.must(t.Refresh(ctx))
	y.report(t, "the end")
	p, err := t.Plan(ctx, catalog.ScanOptions{})
	y.must(err)
	y.read(p, y.appends)
	time.Sleep(8 * 24 * time.Hour)
	for range 3 {
		_, err := t.Collect(ctx, catalog.CollectOptions{Execute: true, MaxDeleteRatio: 1})
		y.must(err)
		time.Sleep(8 * 24 * time.Hour)
	}
	left, err := t.Collect(ctx, catalog.CollectOptions{})
	y.must(err)
	if left.Live != left.Objects {
		y.Errorf("garbage is left: %d objects, %d live", left.Objects, left.Live)
	}
	v, err := t.Verify(ctx, catalog.VerifyOptions{})
	y.must(err)
	if !v.OK {
		y.Errorf("damaged: %+v", v.Errors)
	}
	if y.killed == 0 || y.lives < 2 {
		y.Errorf("%d writers were killed, %d services ran", y.killed, y.lives)
	}
	y.checkRequests()
	y.Logf("at rest: %d objects, %d bytes, all live; %.0f s", left.Objects, left.Bytes, y.real().Seconds())
}
