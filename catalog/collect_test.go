package catalog

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog/internal/lease"
	"github.com/shardcat/shardcat/internal/testkit/crashtest"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
	"github.com/shardcat/shardcat/shardfmt"
)

// timed is a ground with a clock that the test moves.
type timed struct {
	*ground
	clock *fakeclock.Clock
}

func newTimed(t *testing.T) *timed {
	// iceberg-go stamps metadata by the real clock, and time along a branch never runs backwards.
	return &timed{newGround(t), fakeclock.New(time.Now())}
}

func (g *timed) catalog(killer *crashtest.Killer) *Catalog {
	g.t.Helper()
	b := &fakeclock.Bucket{Bucket: memblob.Open(g.bucket), Clock: g.clock}
	if killer == nil {
		return g.over(b, Options{Now: g.clock.Now})
	}
	return g.over(&crashtest.Bucket{Bucket: b, Killer: killer}, Options{Now: g.clock.Now, wrap: killed(killer)})
}

const day = 24 * time.Hour

func collect(t *testing.T, tbl *Table, o CollectOptions) *CollectResult {
	t.Helper()
	c, err := tbl.Collect(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// objectsOf lists the names in the vault folder, records left out.
func objectsOf(t *testing.T, tbl *Table) (out []string) {
	t.Helper()
	for info, err := range tbl.cat.client.List(context.Background(), tbl.VaultFolder()) {
		if err != nil {
			t.Fatal(err)
		}
		if name := strings.TrimPrefix(info.URL, tbl.VaultFolder()); !strings.HasPrefix(name, "_") {
			out = append(out, name)
		}
	}
	return out
}

func expireAll(t *testing.T, tbl *Table, now time.Time) {
	t.Helper()
	p, err := tbl.PlanExpire(ExpireOptions{OlderThan: now})
	if err == nil {
		err = p.Execute(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCollect goes through the life of replaced and deleted objects: kept by snapshots, young, marked, deleted.
func TestCollect(t *testing.T) {
	g := newTimed(t)
	tbl := g.create(g.catalog(nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	ingest(t, tbl, IngestOptions{}, rows(10, 10))
	g.clock.Advance(time.Minute)
	remove(t, tbl, "id >= 10 OR id = 3") // one shard goes, one is marked: its data stays in use
	before := objectsOf(t, tbl)
	execute := CollectOptions{Execute: true}

	g.clock.Advance(30 * day)
	if c := collect(t, tbl, execute); len(c.Mark)+len(c.Delete) != 0 || c.Live != c.Objects {
		t.Errorf("snapshots keep everything: %+v", c)
	}
	expireAll(t, tbl, g.clock.Now())
	if c := collect(t, tbl, CollectOptions{}); len(c.Mark) == 0 || !c.DryRun {
		t.Errorf("a dry run says what would go: %+v", c)
	}
	c := collect(t, tbl, execute)
	if len(c.Delete) != 0 || len(c.Mark) == 0 || c.Deleted != 0 {
		t.Errorf("first phase: %+v", c)
	}
	marked := len(c.Mark)
	if got := objectsOf(t, tbl); !slices.Equal(got, before) {
		t.Errorf("the first phase deleted: %v", got)
	}
	g.clock.Advance(47 * time.Hour)
	if c := collect(t, tbl, execute); c.Deleted != 0 || c.Kept["marked, waiting for delete-delay"].Objects != marked {
		t.Errorf("within the delay: %+v", c)
	}
	g.clock.Advance(2 * time.Hour)
	c = collect(t, tbl, execute)
	if c.Deleted != marked || len(c.Delete) != marked {
		t.Errorf("second phase deleted %d of %d: %+v", c.Deleted, marked, c)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{Ordered: true}); !slices.Equal(ids, without(between(0, 10), func(i int64) bool { return i == 3 })) {
		t.Errorf("rows %v", ids)
	}
	verifyAll(t, tbl)
	if got := objectsOf(t, tbl); len(got) != len(before)-3 { // the removed shard's root and stripe, the marked one's old root
		t.Errorf("%v\nbecame\n%v", before, got)
	}
	ingest(t, tbl, IngestOptions{}, rows(100, 1))
	if c := collect(t, tbl, execute); c.Deleted != 0 || c.Objects != c.Live+c.Kept["younger than min-age"].Objects {
		t.Errorf("nothing is left to do: %+v", c)
	}
}

// TestCollectKeeps: what is live by a tag, named by an open job, young, of unknown kind, changed or revived stays.
func TestCollectKeeps(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	tbl := g.create(g.catalog(nil))
	put := func(name string) string {
		t.Helper()
		if err := tbl.cat.client.Put(ctx, tbl.VaultFolder()+name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		return tbl.VaultFolder() + name
	}
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
	orphan := put("data/left/s-0.amudai.stripe")
	strange := put("data/left/notes.txt")
	other := put("_jobs.amudai.stripe.txt")
	g.clock.Advance(8 * day)
	j, _, err := tbl.BeginJob(ctx, JobAppend, "slow", nil, tbl.Outputs)
	if err != nil {
		t.Fatal(err)
	}
	early := put("data/" + j.Attempt() + "-0001/s-0.amudai.stripe")
	execute := CollectOptions{Execute: true}
	if c := collect(t, tbl, execute); len(c.Mark) != 1 || c.Mark[0].URL != orphan || !slices.Equal(c.Unknown, []string{other, strange}) {
		t.Errorf("%+v", c)
	}
	// The marked object is replaced by another one: its mark no longer counts.
	if err := tbl.cat.client.Delete(ctx, orphan, ""); err != nil {
		t.Fatal(err)
	}
	put("data/left/s-0.amudai.stripe")
	g.clock.Advance(3 * day)
	if c := collect(t, tbl, execute); c.Deleted != 0 || len(c.Mark) != 0 {
		t.Errorf("%+v", c)
	}
	why := func(url, state string) {
		t.Helper()
		w, err := tbl.Why(ctx, url, CollectOptions{})
		if err != nil || w.State != state || w.Reason == "" {
			t.Errorf("why %s: %+v, %v; want %s", url, w, err, state)
		}
	}
	why(early, stateLive)
	why(orphan, stateYoung)
	why(strange, stateUnknown)
	why(tbl.MetadataLocation(), stateLive)
	why(tbl.VaultFolder()+"_owner.json", stateControl)
	why(tbl.VaultFolder()+"data/none.amudai.stripe", stateGone)
	why("mem://"+g.bucket+"/wh/else", stateGone)

	// A job that was open for longer than any job takes is given up; it can't commit any more.
	g.clock.Advance(6 * day)
	c := collect(t, tbl, execute)
	if !slices.Equal(c.ClosedJobs, []string{"slow"}) || !slices.ContainsFunc(c.Mark, func(x Garbage) bool { return x.URL == early }) {
		t.Errorf("%+v", c)
	}
	if _, err := j.Append(ctx, nil); !errors.Is(err, ErrConflict) {
		t.Errorf("an abandoned job commits: %v", err)
	}
}

// Hadoop's checksums beside files of metadata, which Java's servers leave on a local file system, go with the files.
func TestCollectTakesChecksumsAlong(t *testing.T) {
	ctx, g := context.Background(), newTimed(t)
	tbl := g.create(g.catalog(nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
	beside := func(url string) string {
		t.Helper()
		folder, name := path.Split(strings.TrimPrefix(url, "mem://"))
		sum := "mem://" + folder + "." + name + ".crc"
		if err := tbl.cat.metadata.Put(ctx, sum, []byte("crc")); err != nil {
			t.Fatal(err)
		}
		return sum
	}
	live := beside(tbl.MetadataLocation())
	gone := beside(tbl.metadataFolder() + "00009-gone.metadata.json")
	strange := beside(tbl.metadataFolder() + "notes.txt")
	g.clock.Advance(8 * day)
	if c := collect(t, tbl, CollectOptions{Execute: true}); len(c.Mark) != 1 || c.Mark[0].URL != gone || !slices.Equal(c.Unknown, []string{strange}) {
		t.Errorf("%+v", c)
	}
	if w, err := tbl.Why(ctx, live, CollectOptions{}); err != nil || w.State != stateLive {
		t.Errorf("%+v, %v", w, err)
	}
	g.clock.Advance(3 * day)
	if c := collect(t, tbl, CollectOptions{Execute: true}); len(c.Delete) != 1 || c.Delete[0].URL != gone {
		t.Errorf("%+v", c)
	}
}

// The records of a job go when it ended longer ago than the table remembers; until then its delivery is committed once, though its
// snapshot has expired.
func TestCollectForgetsJobs(t *testing.T) {
	ctx, g := context.Background(), newTimed(t)
	tbl := g.create(g.catalog(nil))
	kept, err := tbl.Catalog().Create(ctx, Name{"default", "kept"}, CreateOptions{Schema: people(), Properties: map[string]string{JobMemoryProperty: "forever"}})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, kept, IngestOptions{}, rows(0, 5))
	ingest(t, tbl, IngestOptions{JobID: "first"}, rows(0, 5))
	ingest(t, tbl, IngestOptions{JobID: "second"}, rows(5, 5))
	expireAll(t, tbl, g.clock.Now().Add(time.Minute))
	g.clock.Advance(defaultJobMemory - day)
	if _, _, err := tbl.BeginJob(ctx, JobAppend, "open", nil, tbl.Outputs); err != nil {
		t.Fatal(err)
	}
	execute := CollectOptions{Execute: true, MinAge: 100 * day}
	holds := func(forgotten, stay int) {
		t.Helper()
		c := collect(t, tbl, execute)
		if jobs, err := tbl.Jobs(ctx, true); err != nil || c.ForgottenJobs != forgotten || len(jobs) != stay {
			t.Errorf("%d forgotten, %d stay, not %d and %d: %v", c.ForgottenJobs, len(jobs), forgotten, stay, err)
		}
	}
	holds(0, 3)
	if again := ingest(t, tbl, IngestOptions{JobID: "first"}, rows(0, 5)); !again.Before {
		t.Error("committed twice within the memory")
	}
	g.clock.Advance(2 * day)
	holds(0, 3) // they are younger than what may be deleted
	execute.MinAge = 30 * day
	holds(2, 1)
	if states, err := tbl.Jobs(ctx, false); err != nil || len(states) != 1 || states[0].ID != "open" {
		t.Errorf("the open job: %+v, %v", states, err)
	}
	if c := collect(t, kept, execute); c.ForgottenJobs != 0 {
		t.Errorf("%d forgotten, though for ever was asked", c.ForgottenJobs)
	}
}

// TestCollectRefuses: a foreign folder, a young age, too much at once, a run beside another, and anything that
// can't be read end a collection before it deletes.
func TestCollectRefuses(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	tbl := g.create(g.catalog(nil))
	for i := range 12 {
		ingest(t, tbl, IngestOptions{}, rows(i, 1))
	}
	if _, err := tbl.Truncate(ctx, DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(500, 3))
	g.clock.Advance(10 * day)
	expireAll(t, tbl, g.clock.Now())
	refuses := func(o CollectOptions, want error) {
		t.Helper()
		before := objectsOf(t, tbl)
		if _, err := tbl.Collect(ctx, o); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", o, err, want)
		}
		if !slices.Equal(objectsOf(t, tbl), before) {
			t.Error("something was deleted")
		}
	}
	refuses(CollectOptions{Execute: true}, ErrUnsafe)
	refuses(CollectOptions{MinAge: time.Hour}, ErrUnsafe)
	refuses(CollectOptions{MaxDeleteRatio: 2}, ErrInvalid)

	held, err := tbl.leases().Take(ctx, lease.Collect)
	if err != nil {
		t.Fatal(err)
	}
	refuses(CollectOptions{Execute: true, MaxDeleteRatio: 1}, ErrConflict)
	held.Release(ctx)

	var root string
	for e, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			t.Fatal(err)
		}
		root = e.Path
	}
	bytes, _, err := tbl.cat.client.ReadAll(ctx, root, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.cat.client.Delete(ctx, root, ""); err != nil {
		t.Fatal(err)
	}
	refuses(CollectOptions{Execute: true, MaxDeleteRatio: 1}, blobio.ErrNotFound)
	if err := tbl.cat.client.Put(ctx, root, bytes); err != nil {
		t.Fatal(err)
	}
	collect(t, tbl, CollectOptions{Execute: true, MaxDeleteRatio: 1})
	g.clock.Advance(3 * day)
	if c := collect(t, tbl, CollectOptions{Execute: true, MaxDeleteRatio: 1}); c.Deleted == 0 {
		t.Errorf("%+v", c)
	}
	if ids, _ := scanIDs(t, tbl, ScanOptions{}); len(ids) != 3 {
		t.Errorf("rows %v", ids)
	}

	for _, memory := range []string{"a while", defaultJobMemory.String()} {
		if err := tbl.cat.commitUpdates(ctx, tbl, table.NewSetPropertiesUpdate(iceberg.Properties{JobMemoryProperty: memory})); err != nil {
			t.Fatal(err)
		}
		if memory == "a while" {
			refuses(CollectOptions{Execute: true, MaxDeleteRatio: 1}, ErrInvalid)
		}
	}

	// Another catalog's record of the folder.
	if err := tbl.cat.client.Delete(ctx, tbl.VaultFolder()+"_owner.json", ""); err != nil {
		t.Fatal(err)
	}
	refuses(CollectOptions{Execute: true}, ErrUnsafe)
	if err := tbl.cat.records.Put(ctx, tbl.VaultFolder()+"_owner.json", Owner{Version: 1, Catalog: "other", TableUUID: tbl.UUID()}); err != nil {
		t.Fatal(err)
	}
	refuses(CollectOptions{Execute: true}, ErrUnsafe)
}

// TestCollectLeavesOthersAlone: two catalogs on one warehouse, a table that was dropped, and a second table.
func TestCollectLeavesOthersAlone(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	c := g.catalog(nil)
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
	other, err := c.Create(ctx, Name{"default", "other"}, CreateOptions{Schema: people()})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, other, IngestOptions{}, rows(0, 5))
	gone, err := c.Create(ctx, Name{"default", "gone"}, CreateOptions{Schema: people()})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, gone, IngestOptions{}, rows(0, 5))
	if err := c.Drop(ctx, gone.Name()); err != nil {
		t.Fatal(err)
	}
	second := &timed{&ground{t: t, dir: t.TempDir(), bucket: g.bucket}, g.clock}
	theirs := second.create(second.catalog(nil))
	ingest(t, theirs, IngestOptions{}, rows(0, 5))

	if err := tbl.cat.client.Put(ctx, tbl.VaultFolder()+"data/left/s.amudai.stripe", []byte("x")); err != nil {
		t.Fatal(err)
	}
	all := func() (n int) {
		for _, err := range c.client.List(ctx, "mem://"+g.bucket+"/") {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	g.clock.Advance(30 * day)
	collect(t, tbl, CollectOptions{Execute: true})
	g.clock.Advance(3 * day)
	before := all()
	done := collect(t, tbl, CollectOptions{Execute: true})
	if len(done.Delete) == 0 || !slices.ContainsFunc(done.Delete, func(x Garbage) bool { return strings.HasSuffix(x.URL, "left/s.amudai.stripe") }) {
		t.Errorf("%+v", done)
	}
	for _, x := range done.Delete {
		if !strings.HasPrefix(x.URL, tbl.VaultFolder()) && !strings.HasPrefix(x.URL, tbl.metadataFolder()) {
			t.Errorf("deleted %s", x.URL)
		}
	}
	// The lease and its release come, the old ones and the record of marks go.
	if n := all(); before-n > done.Deleted+3 {
		t.Errorf("%d objects became %d, %d were deleted", before, n, done.Deleted)
	}
	for _, x := range []*Table{tbl, other, theirs} {
		if ids, _ := scanIDs(t, x, ScanOptions{}); len(ids) != 5 {
			t.Errorf("%s: %d rows", x.Name(), len(ids))
		}
	}
	if got := objectsOf(t, gone); len(got) != 2 {
		t.Errorf("the dropped table's objects: %v", got)
	}
}

// TestKilledCollections kills both phases at each step: no live object is lost, and a later run converges.
func TestKilledCollections(t *testing.T) {
	ctx := context.Background()
	steps := 0
	kills, err := crashtest.Walk(func(n int, killer *crashtest.Killer) error {
		g := newTimed(t)
		tbl := g.create(g.catalog(nil))
		ingest(t, tbl, IngestOptions{}, rows(0, 5))
		g.clock.Advance(time.Minute)
		remove(t, tbl, "id = 2")
		g.clock.Advance(10 * day)
		expireAll(t, tbl, g.clock.Now())
		killed, err := g.catalog(killer).Load(ctx, tableName)
		if err != nil {
			return err
		}
		_, first := killed.Collect(ctx, CollectOptions{Execute: true})
		g.clock.Advance(3 * day)
		if first == nil {
			_, _ = killed.Collect(ctx, CollectOptions{Execute: true})
		}
		tbl = g.load(g.catalog(nil))
		verifyAll(t, tbl)
		for range 3 {
			g.clock.Advance(3 * day)
			if _, err := tbl.Collect(ctx, CollectOptions{Execute: true}); err != nil {
				return err
			}
		}
		if c := collect(t, tbl, CollectOptions{}); c.Live != c.Objects {
			t.Errorf("it does not converge: %+v", c)
		}
		if ids, _ := scanIDs(t, tbl, ScanOptions{}); len(ids) != 4 {
			t.Errorf("rows %v", ids)
		}
		steps = n
		return nil
	})
	if err != nil || kills < 6 {
		t.Errorf("%d kills in %d steps: %v", kills, steps, err)
	}
}

// A shard over Parquet files does not own them: while it is in the table they are live, and once it is gone they stay, whatever
// their names, even in the table's own folder.
func TestCollectionLeavesForeignFiles(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	tbl := g.create(g.catalog(nil))
	client := tbl.cat.client
	var file bytes.Buffer
	types := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, types)
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil)
	w, err := pqarrow.NewFileWriter(types, &file, nil, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	theirs, root := tbl.VaultFolder()+"data/part.parquet", tbl.VaultFolder()+"over.amudai.shard"
	if err := client.Put(ctx, theirs, file.Bytes()); err != nil {
		t.Fatal(err)
	}
	if _, err := shardfmt.WriteExternalParquet(ctx, client, root, []string{theirs}, shardfmt.ExternalOptions{}); err != nil {
		t.Fatal(err)
	}
	if objects, _, err := shardfmt.References(ctx, client, root, shardfmt.OpenOptions{}); err != nil || !slices.Contains(objects, theirs) {
		t.Errorf("%v %v", objects, err)
	}
	g.clock.Advance(30 * day)
	collect(t, tbl, CollectOptions{Execute: true})
	g.clock.Advance(3 * day)
	done := collect(t, tbl, CollectOptions{Execute: true}) // of the root, which no table has
	if !slices.ContainsFunc(done.Delete, func(x Garbage) bool { return x.URL == root }) {
		t.Errorf("the root was not collected: %+v", done)
	}
	if _, err := client.Stat(ctx, theirs); err != nil {
		t.Errorf("a file of others is gone: %v", err)
	}
}
