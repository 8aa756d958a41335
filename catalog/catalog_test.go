package catalog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// ground is a folder for a catalog file and a bucket in memory for everything else.
type ground struct {
	t      *testing.T
	dir    string
	bucket string
}

func newGround(t *testing.T) *ground {
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, t.Name()))
	grounds.Lock()
	defer grounds.Unlock()
	grounds.n++
	return &ground{t: t, dir: t.TempDir(), bucket: fmt.Sprintf("%s-%d", name, grounds.n)}
}

var grounds struct {
	sync.Mutex
	n int
}

// open opens the catalog; with a killer, everything it does passes through it.
func (g *ground) open(killer *crashtest.Killer, wrap func(icecatalog.Catalog) icecatalog.Catalog) *Catalog {
	g.t.Helper()
	if killer == nil {
		return g.over(nil, Options{wrap: wrap})
	}
	return g.over(&crashtest.Bucket{Bucket: memblob.Open(g.bucket), Killer: killer}, Options{wrap: killed(killer)})
}

// killed makes the requests to an Iceberg catalog pass through a killer.
func killed(killer *crashtest.Killer) func(icecatalog.Catalog) icecatalog.Catalog {
	return func(c icecatalog.Catalog) icecatalog.Catalog { return &crashtest.Catalog{Catalog: c, Killer: killer} }
}

// over opens the catalog over a bucket in place of the ground's own, if there is one.
func (g *ground) over(bucket blobio.Bucket, o Options) *Catalog {
	g.t.Helper()
	o.URI, o.Warehouse = "sqlite:"+filepath.Join(g.dir, "catalog.db"), "mem://"+g.bucket+"/wh"
	o.Client, o.Metadata = blobio.NewClient(blobio.ClientOptions{}), blobio.NewClient(blobio.ClientOptions{})
	for _, s := range []*blobio.Client{o.Client, o.Metadata} {
		if bucket == nil {
			break
		}
		if err := s.MountBucket("mem://"+g.bucket+"/", bucket); err != nil {
			g.t.Fatal(err)
		}
	}
	c, err := Open(context.Background(), o)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	return c
}

func people() *schema.Schema {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "id", Basic: schema.Int64, Signed: true, Nullable: true},
		{Name: "ts", Basic: schema.DateTime, Nullable: true},
		{Name: "small", Basic: schema.Int8, Nullable: true},
		{Name: "tags", Basic: schema.List, Nullable: true, Children: []*schema.Node{{Name: "item", Basic: schema.String, Nullable: true}}},
	}}
	s.Number()
	return s
}

var tableName = Name{"default", "people"}

func (g *ground) create(c *Catalog) *Table {
	g.t.Helper()
	t, err := c.Create(context.Background(), tableName, CreateOptions{Schema: people(), CreateNamespace: true})
	if err != nil {
		g.t.Fatal(err)
	}
	return t
}

func (g *ground) load(c *Catalog) *Table {
	g.t.Helper()
	t, err := c.Load(context.Background(), tableName)
	if err != nil {
		g.t.Fatal(err)
	}
	return t
}

// fake is the entry of a shard of 100 rows with ids from 100*i on, which no object backs.
func fake(t *Table, i int) *manifest.Entry {
	return &manifest.Entry{
		Path: fmt.Sprintf("%sfake-%d.amudai.shard", t.VaultFolder(), i), Format: manifest.Format, RootBytes: 1000, Records: 100,
		Columns: map[int]manifest.Column{1: {Bytes: 1, Values: 100, Nulls: 0, NaNs: manifest.Unknown}},
		Private: manifest.Private{Stripes: 1, MetadataBytes: 500, StoredBytes: 2000, Objects: 2},
	}
}

func anything(t *Table) func(string) []string {
	return func(string) []string { return []string{t.VaultFolder() + "*"} }
}

// appendFake runs a whole append job.
func appendFake(t *Table, job string, i int) (*CommitResult, error) {
	ctx := context.Background()
	j, before, err := t.BeginJob(ctx, JobAppend, job, nil, anything(t))
	if before != nil || err != nil {
		return before, err
	}
	return j.Append(ctx, []*manifest.Entry{fake(t, i)})
}

// replaceFake merges two fakes into one.
func replaceFake(t *Table, job string, a, b, into int) (*CommitResult, error) {
	ctx := context.Background()
	merged := fake(t, into)
	merged.Records = 200
	inputs := []string{fake(t, a).Path, fake(t, b).Path}
	j, before, err := t.BeginJob(ctx, JobCompact, job, inputs, anything(t))
	if before != nil || err != nil {
		return before, err
	}
	return j.Replace(ctx, inputs, []*manifest.Entry{merged})
}

// live lists the numbers of the live fakes and checks that the summary agrees.
func live(tb testing.TB, t *Table) []int {
	tb.Helper()
	var out []int
	var records int64
	for e, err := range t.Entries(context.Background(), At{}) {
		if err != nil {
			tb.Fatal(err)
		}
		var i int
		fmt.Sscanf(e.Path[strings.LastIndex(e.Path, "/")+1:], "fake-%d.amudai.shard", &i)
		out = append(out, i)
		records += e.Records
	}
	slices.Sort(out)
	if d := t.Describe(); d.Records != records || d.Shards != int64(len(out)) {
		tb.Errorf("summary says %d rows in %d shards, entries say %d in %d", d.Records, d.Shards, records, len(out))
	}
	return out
}

func TestCreateLoadListDrop(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	created := g.create(c)
	if _, err := c.Create(ctx, tableName, CreateOptions{Schema: people()}); !errors.Is(err, ErrExists) {
		t.Errorf("created twice: %v", err)
	}
	loaded := g.load(c)
	d := loaded.Describe()
	if d.Properties["gc.enabled"] != "false" || d.Properties["write.format.default"] != "amudai" || d.Properties["comment"] == "" || d.FormatVersion != 2 {
		t.Errorf("settings: %v", d.Properties)
	}
	if got := loaded.Schema().Fields[2]; got.Basic != schema.Int8 || got.Signed {
		t.Errorf("UInt8 came back as %+v", got)
	}
	if ids := loaded.FieldIDs(); len(ids) != 5 {
		t.Errorf("field ids %v", ids)
	}
	names, err := c.Tables(ctx, "")
	if err != nil || len(names) != 1 || names[0] != tableName {
		t.Errorf("tables: %v, %v", names, err)
	}
	if _, err := c.Load(ctx, Name{"default", "peple"}); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "default.people") {
		t.Errorf("no suggestion: %v", err)
	}
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	var gone dropped
	if err := c.records.Read(ctx, created.VaultFolder()+"_dropped.json", &gone); err != nil || gone.TableUUID != created.UUID() {
		t.Errorf("record of the drop: %+v, %v", gone, err)
	}
	again := g.create(c)
	if again.VaultFolder() == created.VaultFolder() || again.Location() == created.Location() {
		t.Error("a new table got the folders of a dropped one")
	}
}

func TestAppendReplaceHistory(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	for i := range 3 {
		if _, err := appendFake(tbl, "", i); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := replaceFake(tbl, "merge", 0, 2, 9); err != nil {
		t.Fatal(err)
	}
	again := g.load(g.open(nil, nil))
	if got := live(t, again); !slices.Equal(got, []int{1, 9}) {
		t.Errorf("live: %v", got)
	}
	h := again.History()
	if len(h) != 4 || h[3].Operation != "replace" || !h[3].Current || h[3].JobID != "merge" || h[3].Parent != h[2].ID {
		t.Errorf("history: %+v", h)
	}
	for e, err := range again.Entries(context.Background(), At{SnapshotID: h[1].ID}) {
		if err != nil || e.Path == fake(again, 2).Path {
			t.Errorf("second snapshot holds %v, %v", e, err)
		}
	}
	if _, err := again.snapshot(At{SnapshotID: 5}); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown snapshot: %v", err)
	}
	if s, err := again.snapshot(At{AsOf: h[2].Time}); err != nil || s.SnapshotID != h[2].ID && h[2].Time != h[3].Time {
		t.Errorf("as of: %v, %v", s, err)
	}
	if _, err := again.snapshot(At{AsOf: h[0].Time.AddDate(-1, 0, 0)}); !errors.Is(err, ErrNotFound) {
		t.Errorf("before the first: %v", err)
	}
}

func TestJobIDIsCommittedOnce(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	first, err := appendFake(tbl, "load-1", 1)
	if err != nil {
		t.Fatal(err)
	}
	second, err := appendFake(g.load(g.open(nil, nil)), "load-1", 2)
	if err != nil || !second.Before || second.SnapshotID != first.SnapshotID {
		t.Errorf("the second delivery: %+v, %v", second, err)
	}
	// Two runs that both began before either committed.
	a, b := g.load(g.open(nil, nil)), g.load(g.open(nil, nil))
	ctx := context.Background()
	ja, _, err := a.BeginJob(ctx, JobAppend, "load-2", nil, anything(a))
	if err != nil {
		t.Fatal(err)
	}
	jb, _, err := b.BeginJob(ctx, JobAppend, "load-2", nil, anything(b))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ja.Append(ctx, []*manifest.Entry{fake(a, 3)}); err != nil {
		t.Fatal(err)
	}
	late, err := jb.Append(ctx, []*manifest.Entry{fake(b, 4)})
	if err != nil || !late.Before {
		t.Errorf("the slower run: %+v, %v", late, err)
	}
	if got := live(t, b); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("live: %v", got)
	}
	var end JobEnd
	if err := b.cat.records.Read(ctx, jb.at(".closed.json"), &end); err != nil || end.Outcome != jobrecord.Duplicate {
		t.Errorf("record of the slower run: %+v, %v", end, err)
	}
	if _, _, err := b.BeginJob(ctx, JobAppend, "../x", nil, anything(b)); !errors.Is(err, ErrInvalid) {
		t.Errorf("job id with a path: %v", err)
	}
}

func TestConcurrentWriters(t *testing.T) {
	g := newGround(t)
	g.create(g.open(nil, nil))
	const writers, each = 4, 5
	var wg sync.WaitGroup
	for w := range writers {
		tbl := g.load(g.open(nil, nil))
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				if _, err := appendFake(tbl, "", w*each+i); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if got := live(t, g.load(g.open(nil, nil))); len(got) != writers*each {
		t.Errorf("%d of %d shards: %v", len(got), writers*each, got)
	}
}

func TestTwoCompactorsAndAWriter(t *testing.T) {
	g := newGround(t)
	tbl := g.create(g.open(nil, nil))
	for i := range 4 {
		if _, err := appendFake(tbl, "", i); err != nil {
			t.Fatal(err)
		}
	}
	one, two, other := g.load(g.open(nil, nil)), g.load(g.open(nil, nil)), g.load(g.open(nil, nil))
	if _, err := appendFake(other, "", 7); err != nil {
		t.Fatal(err)
	}
	if _, err := replaceFake(one, "", 0, 1, 10); err != nil {
		t.Fatal(err) // rebased over the append
	}
	if _, err := replaceFake(two, "", 1, 2, 11); !errors.Is(err, ErrConflict) {
		t.Errorf("the second compactor of shard 1: %v", err)
	}
	if _, err := replaceFake(two, "", 2, 3, 12); err != nil {
		t.Errorf("other shards: %v", err)
	}
	if got := live(t, g.load(g.open(nil, nil))); !slices.Equal(got, []int{7, 10, 12}) {
		t.Errorf("live: %v", got)
	}
}

// commitFunc stands in for a catalog's commit.
type commitFunc struct {
	icecatalog.Catalog
	commit func(real func() error) error
}

func (c *commitFunc) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	var meta table.Metadata
	var at string
	err := c.commit(func() (err error) {
		meta, at, err = c.Catalog.CommitTable(ctx, ident, reqs, updates)
		return err
	})
	return meta, at, err
}

// TestUnknownOutcomes: whatever becomes of the catalog's answers, the shard is in the table once, or the error
// returns that it is not known.
func TestUnknownOutcomes(t *testing.T) {
	lost := errors.New("connection reset")
	for name, c := range map[string]struct {
		commit func(n int, real func() error) error
		want   error
		live   []int
	}{
		"committed, answer lost": {func(n int, real func() error) error { real(); return lost }, nil, []int{1}},
		"not committed, answer lost": {func(n int, real func() error) error {
			if n == 1 {
				return lost
			}
			return real()
		}, nil, []int{1}},
		"delivered twice": {func(n int, real func() error) error { real(); return real() }, nil, []int{1}},
		"never arrives":   {func(n int, real func() error) error { return lost }, ErrUnknownOutcome, nil},
		"rejected once": {func(n int, real func() error) error {
			if n == 1 {
				return table.ErrCommitFailed
			}
			return real()
		}, nil, []int{1}},
		"rejected for ever":    {func(n int, real func() error) error { return table.ErrCommitFailed }, ErrConflict, nil},
		"success that is none": {func(n int, real func() error) error { return nil }, ErrUnknownOutcome, nil},
		"lost, then committed by both": {func(n int, real func() error) error {
			if n == 1 {
				real()
			}
			real()
			return lost
		}, nil, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t)
			g.create(g.open(nil, nil))
			n := 0
			flaky := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog {
				return &commitFunc{ice, func(real func() error) error { n++; return c.commit(n, real) }}
			})
			flaky.opts.CommitAttempts = 3
			_, err := appendFake(g.load(flaky), "job", 1)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%v, want %v", err, c.want)
			}
			tbl := g.load(g.open(nil, nil))
			if got := live(t, tbl); !slices.Equal(got, c.live) {
				t.Errorf("live %v, want %v", got, c.live)
			}
			// The job is delivered again: now it is there, once.
			if _, err := appendFake(tbl, "job", 1); err != nil {
				t.Error(err)
			}
			if got := live(t, tbl); !slices.Equal(got, []int{1}) {
				t.Errorf("live after the second delivery: %v", got)
			}
		})
	}
}

// TestForeignHeadAfterLostAnswer: the head moved while the outcome was unknown, and our job is not in history.
func TestForeignHeadAfterLostAnswer(t *testing.T) {
	g := newGround(t)
	g.create(g.open(nil, nil))
	n := 0
	flaky := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog {
		return &commitFunc{ice, func(real func() error) error {
			if n++; n > 1 {
				return real()
			}
			if _, err := appendFake(g.load(g.open(nil, nil)), "", 5); err != nil {
				t.Error(err)
			}
			return errors.New("connection reset")
		}}
	})
	if _, err := appendFake(g.load(flaky), "", 1); err != nil {
		t.Fatal(err)
	}
	if got := live(t, g.load(g.open(nil, nil))); !slices.Equal(got, []int{1, 5}) {
		t.Errorf("live: %v", got)
	}
}

// TestKilledAtEveryStep: an append and a replace, killed at each of their steps, leave the table as before or as
// after, and the next delivery of the same job converges.
func TestKilledAtEveryStep(t *testing.T) {
	for name, work := range map[string]struct {
		run           func(*Table) (*CommitResult, error)
		before, after []int
	}{
		"append":  {func(t *Table) (*CommitResult, error) { return appendFake(t, "job", 5) }, []int{1, 2}, []int{1, 2, 5}},
		"replace": {func(t *Table) (*CommitResult, error) { return replaceFake(t, "job", 1, 2, 9) }, []int{1, 2}, []int{9}},
	} {
		t.Run(name, func(t *testing.T) {
			kills, err := crashtest.Walk(func(n int, killer *crashtest.Killer) error {
				g := newGround(t)
				tbl := g.create(g.open(nil, nil))
				for _, i := range work.before {
					if _, err := appendFake(tbl, "", i); err != nil {
						return err
					}
				}
				_, runErr := work.run(g.load(g.open(killer, nil)))
				_, killed := killer.Killed()
				after := g.load(g.open(nil, nil))
				got := live(t, after)
				if !slices.Equal(got, work.after) && (runErr == nil || !slices.Equal(got, work.before)) {
					return fmt.Errorf("neither before nor after: %v (run: %v)", got, runErr)
				}
				if killed && runErr == nil {
					t.Logf("step %d: killed after the work was done", n)
				}
				if _, err := work.run(after); err != nil {
					return fmt.Errorf("second delivery: %w", err)
				}
				if got := live(t, after); !slices.Equal(got, work.after) {
					return fmt.Errorf("second delivery left %v", got)
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
		})
	}
}

// TestKilledWhileCreating: a create that was killed can be taken up by the next writer.
func TestKilledWhileCreating(t *testing.T) {
	kills, err := crashtest.Walk(func(n int, killer *crashtest.Killer) error {
		g := newGround(t)
		ctx := context.Background()
		_, err := g.open(killer, nil).Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true})
		c := g.open(nil, nil)
		tbl, loadErr := c.Load(ctx, tableName)
		if err == nil && loadErr != nil {
			return loadErr
		}
		if errors.Is(loadErr, ErrNotFound) {
			tbl, loadErr = c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true})
		}
		if loadErr != nil {
			return loadErr
		}
		_, err = appendFake(tbl, "", 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if kills < 4 {
		t.Errorf("only %d steps were killed", kills)
	}
}

func TestVaultBelongsToOneTable(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	other := g.open(nil, nil)
	other.identity = "postgres://elsewhere/db"
	if _, err := appendFake(g.load(other), "", 1); err != nil {
		t.Errorf("the catalog under another name: %v", err)
	}
	at := tbl.VaultFolder() + "_owner.json"
	owned := func(o Owner) {
		t.Helper()
		o.Version, o.TableUUID = records.Version, tbl.UUID()
		if err := errors.Join(c.client.Delete(ctx, at, ""), c.records.Put(ctx, at, o)); err != nil {
			t.Fatal(err)
		}
	}
	for what, o := range map[string]Owner{
		"a catalog without an identity":               {Catalog: "sqlite:elsewhere"},
		"a catalog with another identity":             {Catalog: "sqlite:elsewhere", CatalogID: "5f0d7a35-b7ac-4c8f-8f2c-2f6c7e2f8a01"},
		"one that took over, with this catalog's URI": {Catalog: c.identity, CatalogID: "5f0d7a35-b7ac-4c8f-8f2c-2f6c7e2f8a01", TakenOver: true},
	} {
		owned(o)
		if _, err := appendFake(g.load(c), "", 1); !errors.Is(err, ErrUnsafe) {
			t.Errorf("the folder of %s: %v", what, err)
		}
	}
	owned(Owner{Catalog: c.identity, CatalogID: "5f0d7a35-b7ac-4c8f-8f2c-2f6c7e2f8a01"}) // a catalog that was recreated in the same place
	j, _, err := tbl.BeginJob(ctx, JobAppend, "", nil, func(a string) []string { return []string{tbl.VaultFolder() + a + "*"} })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(ctx, []*manifest.Entry{fake(tbl, 1)}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("an entry that the job does not name: %v", err)
	}
}

// TestClaimOfAnotherBeforeTheCommit: a process that has claimed the folder before looks again before it commits, and commits nothing to a folder
// that has become another catalog's.
func TestClaimOfAnotherBeforeTheCommit(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	stripes := func() (n int) {
		for info, err := range c.client.List(ctx, tbl.VaultFolder()) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(info.URL, ".amudai.") {
				n++
			}
		}
		return n
	}
	head, before := tbl.Head(), stripes()
	if !tbl.claimedBefore() || before == 0 {
		t.Fatal("the folder was not claimed")
	}
	at := tbl.VaultFolder() + "_owner.json"
	foreign := Owner{Version: records.Version, TableUUID: tbl.UUID(), Catalog: "sqlite:elsewhere", CatalogID: "5f0d7a35-b7ac-4c8f-8f2c-2f6c7e2f8a01"}
	if err := errors.Join(c.client.Delete(ctx, at, ""), c.records.Put(ctx, at, foreign)); err != nil {
		t.Fatal(err)
	}
	for _, of := range []*Table{tbl, g.load(c)} {
		if _, err := of.Ingest(ctx, source(rows(10, 10)), IngestOptions{}); !errors.Is(err, ErrUnsafe) {
			t.Errorf("an append to the folder of another catalog: %v, want ErrUnsafe", err)
		}
	}
	if now := g.load(g.open(nil, nil)); now.Head() != head || stripes() != before {
		t.Errorf("snapshot %d and %d objects, want %d and %d", now.Head(), stripes(), head, before)
	}
}

func TestOpenRefusals(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	for name, c := range map[string]struct {
		o    Options
		want error
	}{
		"space in the path":  {Options{URI: "sqlite:" + dir + "/c.db", Warehouse: dir + "/my data"}, ErrInvalid},
		"unknown catalog":    {Options{URI: "mysql://x/y", Warehouse: dir}, ErrInvalid},
		"rest without vault": {Options{URI: "rest+http://127.0.0.1:1/", Warehouse: "prod"}, ErrInvalid},
	} {
		if _, err := Open(ctx, c.o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	_, err := Open(ctx, Options{URI: "postgres://user:secret@127.0.0.1:1/db", Warehouse: dir, RetryBudget: -1})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error of an unreachable database: %v", err)
	}
}

func TestPartitionGrammar(t *testing.T) {
	ice, notes, err := manifest.ToIceberg(people(), 0)
	if err != nil {
		t.Fatal(err)
	}
	sc := manifest.NewTableSchema(ice, notes)
	spec, err := parsePartition([]string{"day(ts)", "bucket(16, id)", "truncate[10](id)", "small"}, sc)
	if err != nil || spec.NumFields() != 4 {
		t.Fatalf("%v, %v", spec, err)
	}
	odd, err := schema.Parse(`{"fields":[{"name":"a,b","type":"String"},{"name":"f(x)","type":"Int64"},{"name":"say \"hi\"","type":"DateTime"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if ice, notes, err = manifest.ToIceberg(odd, 0); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a,b": "a,b", `"a,b"`: "a,b", `bucket(4, "a,b")`: "a,b_bucket", "truncate(2, a,b)": "a,b_trunc", `"f(x)"`: "f(x)", `bucket[8]("f(x)")`: "f(x)_bucket",
		`day("say ""hi""")`: `say "hi"_day`, `hour(say "hi")`: `say "hi"_hour`,
	} {
		spec, err := parsePartition([]string{text}, manifest.NewTableSchema(ice, notes))
		if err != nil || spec.Field(0).Name != want {
			t.Errorf("%s: %v, %v", text, spec, err)
		}
	}
	for _, bad := range []string{"day(id)", "nope", "week(ts)", "bucket(id)", "day(ts", "bucket(1,2,id)", "day()"} {
		if _, err := parsePartition([]string{bad}, sc); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{"a": "default.a", "x.a": "x.a", "x.y.a": "x.y.a"} {
		if n, err := ParseName(text); err != nil || n.String() != want {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	}
	for _, bad := range []string{"", ".", "a.", "../x", "a b", "ä"} {
		if _, err := ParseName(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
