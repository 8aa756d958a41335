package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog/internal/gc"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/internal/testkit/fakeclock"
)

// TestDeleteRatio: a plan of few objects or of exactly the ratio passes, one more does not.
func TestDeleteRatio(t *testing.T) {
	for _, c := range []struct {
		objects, mark, delete int
		ratio                 float64
		ok                    bool
	}{
		{fewObjects - 1, fewObjects - 1, 0, 0.5, true},
		{fewObjects, fewObjects/2 + 1, 0, 0.5, false},
		{fewObjects, fewObjects / 2, fewObjects / 2, 0.5, true},
		{fewObjects, 0, fewObjects/2 + 1, 0.5, false},
		{100, 26, 0, 0.25, false},
		{100, 25, 25, 0.25, true},
		{100, 100, 100, 1, true},
		{100, 0, 0, 0, true},
		{100, 1, 0, 0, false},
	} {
		x := &collector{table: &Table{name: tableName}, o: CollectOptions{MaxDeleteRatio: c.ratio},
			plan: &CollectResult{Objects: c.objects, Mark: make([]Garbage, c.mark), Delete: make([]Garbage, c.delete)}}
		if err := x.checkRatio(); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrUnsafe) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestEverythingAJobNamesIsLive: each input and output of an open job, whatever stands before it in the list: roots of the vault
// and of adopted folders, prefixes of both, and the objects that lie under a prefix of the vault.
func TestEverythingAJobNamesIsLive(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	tbl := g.create(g.catalog(nil))
	ingest(t, tbl, IngestOptions{}, rows(0, 5))
	vault := tbl.VaultFolder()
	under := []string{vault + "data/p/one.amudai.stripe", vault + "data/p/two.amudai.stripe"}
	for _, at := range under {
		if err := tbl.cat.client.Put(ctx, at, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{vault + "in.amudai.shard", "mem://adopted/in.amudai.shard", "mem://adopted/p*", vault + "data/p/*", vault + "out.amudai.shard", vault + "data/q/*"}
	// Each order has another name last, so that each is behind every kind.
	for turn := range names {
		order := slices.Concat(names[turn:], names[:turn])
		for cut := range len(order) + 1 {
			job := &JobState{JobRecord: JobRecord{ID: "j", Inputs: order[:cut], Outputs: order[cut:]}}
			other := &JobState{JobRecord: JobRecord{ID: "k", Outputs: []string{vault + "k.amudai.shard"}}}
			l := gc.NewLive()
			roots := map[string]rootToRead{}
			if err := tbl.reachJobs(ctx, &openJobs{open: []*JobState{job, other}}, l, roots); err != nil {
				t.Fatal(err)
			}
			for _, at := range slices.Concat(under, []string{vault + "in.amudai.shard", "mem://adopted/in.amudai.shard", "mem://adopted/p/x",
				vault + "out.amudai.shard", vault + "data/q/later", vault + "k.amudai.shard"}) {
				if !l.Has(at) {
					t.Errorf("%v: %s is not live", order, at)
				}
			}
			for _, at := range []string{vault + "in.amudai.shard", "mem://adopted/in.amudai.shard", vault + "out.amudai.shard", vault + "k.amudai.shard"} {
				if !roots[at].optional {
					t.Errorf("%v: the root %s is not read: %+v", order, at, roots[at])
				}
			}
			if l.Has(vault+"other.amudai.shard") || l.Has(vault+"data/r/x") {
				t.Errorf("%v: what no job names is live", order)
			}
		}
	}
}

// faulty opens the ground's catalog over a store whose requests go wrong by a script.
func (g *timed) faulty() (*Catalog, *blobfake.Faulty) {
	g.t.Helper()
	bucket := blobfake.NewFaulty(g.t, &fakeclock.Bucket{Bucket: memblob.Open(g.bucket), Clock: g.clock}, "")
	return g.over(bucket, Options{Now: g.clock.Now}), bucket
}

// TestAnyFailedReadEndsACollection: a denied request proves nothing about its object. Each request of a plan is denied once, for a table
// with marks, open and closed jobs, a key index and adopted references, and for a dropped one: the plan is never made without it.
func TestAnyFailedReadEndsACollection(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	healthy := g.catalog(nil)
	tbl := g.create(healthy)
	ingest(t, tbl, IngestOptions{JobID: "named"}, rows(0, 10))
	ingest(t, tbl, IngestOptions{}, rows(10, 10))
	remove(t, tbl, "id >= 10 OR id = 3")
	if _, err := tbl.AddKeyIndex(ctx, "keys:id", IndexOptions{}); err != nil {
		t.Fatal(err)
	}
	g.clock.Advance(8 * day)
	expireAll(t, tbl, g.clock.Now())
	collect(t, tbl, CollectOptions{Execute: true, MaxDeleteRatio: 1})
	if _, _, err := tbl.BeginJob(ctx, JobAppend, "open", nil, tbl.Outputs); err != nil {
		t.Fatal(err)
	}
	dropped, err := healthy.Create(ctx, Name{"default", "gone"}, CreateOptions{Schema: people()})
	if err != nil {
		t.Fatal(err)
	}
	ingest(t, dropped, IngestOptions{}, rows(0, 5))
	if err := healthy.Drop(ctx, Name{"default", "gone"}); err != nil {
		t.Fatal(err)
	}
	g.clock.Advance(8 * day)
	for name, plan := range map[string]func(c *Catalog) (any, error){
		"table": func(c *Catalog) (any, error) {
			loaded, err := c.Load(ctx, tableName)
			if err != nil {
				return nil, err
			}
			done, err := loaded.Collect(ctx, CollectOptions{MaxDeleteRatio: 1})
			if err == nil && len(done.Delete) == 0 {
				err = fmt.Errorf("nothing would be deleted: %+v", done)
			}
			return done, err
		},
		"dropped": func(c *Catalog) (any, error) {
			done, err := c.CollectDropped(ctx, CollectOptions{MaxDeleteRatio: 1})
			if err == nil && (len(done) != 1 || len(done[0].Delete) == 0) {
				err = fmt.Errorf("nothing would be deleted: %+v", done)
			}
			return done, err
		},
	} {
		c, bucket := g.faulty() // nothing is cached of the one before
		bucket.Play(t, "")
		if _, err := plan(c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		requests := bucket.Requests("any")
		if requests < 10 {
			t.Errorf("%s: %d requests", name, requests)
		}
		for n := range requests {
			c, bucket := g.faulty()
			bucket.Play(t, fmt.Sprintf("any %d: fail denied", n+1))
			if done, err := plan(c); err == nil {
				t.Errorf("%s: with request %d of %d denied: %+v", name, n+1, requests, done)
			} else if !errors.Is(err, blobio.ErrDenied) {
				t.Errorf("%s: with request %d of %d denied: %v", name, n+1, requests, err)
			}
			c.Close()
		}
	}
}

// TestRecordsOfCollections: a run that marks nothing leaves no record, and those of earlier runs whose objects are gone go together, also if
// somebody deletes one of them meanwhile.
func TestRecordsOfCollections(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	c, bucket := g.faulty()
	tbl := g.create(c)
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	g.clock.Advance(8 * day)
	for i := range 3 {
		run := fmt.Sprintf("%08d", i+1)
		gone := Garbage{URL: tbl.VaultFolder() + "data/" + run + "/s-0.amudai.stripe", Size: 1}
		err := c.records.Put(ctx, tbl.gcFolder()+tombstonePrefix+run+".json", tombstoneRecord{Version: records.Version, Run: run, Table: tbl.Name().String(), Objects: []Garbage{gone}})
		if err != nil {
			t.Fatal(err)
		}
	}
	bucket.Play(t, "delete~"+tombstonePrefix+" 2: lost 404")
	if c := collect(t, tbl, CollectOptions{Execute: true}); len(c.Mark)+len(c.Delete) != 0 {
		t.Errorf("%+v", c)
	}
	if got := objectsBelow(t, c, tbl.gcFolder()+tombstonePrefix); len(got) != 0 {
		t.Errorf("nothing is marked: %v", got)
	}
}

// TestDroppedAmongBegun: a table whose collection has begun hides none that comes after it.
func TestDroppedAmongBegun(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	c := g.catalog(nil)
	g.create(c)
	var want []string
	for i := range 4 {
		name := Name{"default", fmt.Sprintf("t%d", i)}
		tbl, err := c.Create(ctx, name, CreateOptions{Schema: people()})
		if err != nil {
			t.Fatal(err)
		}
		ingest(t, tbl, IngestOptions{}, rows(0, 5))
		if err := c.Drop(ctx, name); err != nil {
			t.Fatal(err)
		}
		begun := i%2 == 0
		if begun {
			d := dropped{Version: records.Version, Table: name.String(), TableUUID: tbl.UUID(), Metadata: tbl.MetadataLocation()}
			if err := c.records.PutNote(ctx, c.begunAt(tbl.UUID()), d); err != nil {
				t.Fatal(err)
			}
		}
		if i == 2 { // all that a run which died at its end has left
			if err := c.client.Delete(ctx, c.droppedAt(tbl.UUID()), ""); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, fmt.Sprint(name, begun))
	}
	all, err := c.Dropped(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range all {
		got = append(got, d.Table+fmt.Sprint(d.Begun))
	}
	slices.Sort(got)
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], " ", "")
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDroppedVaultOfAnother: the folder of a dropped table that another catalog or table owns by now, or whose owner can't be read, stays.
func TestDroppedVaultOfAnother(t *testing.T) {
	ctx := context.Background()
	for name, change := range map[string]func(o *Owner){
		"another table": func(o *Owner) { o.TableUUID = "00000000-0000-4000-8000-000000000000" },
		"another catalog": func(o *Owner) {
			o.Catalog, o.CatalogID = "sqlite:/elsewhere/catalog.db", "00000000-0000-4000-8000-000000000000"
		},
		"nobody": nil,
	} {
		g := newTimed(t)
		c := g.catalog(nil)
		tbl := g.create(c)
		ingest(t, tbl, IngestOptions{}, rows(0, 5))
		g.clock.Advance(8 * day)
		if err := c.Drop(ctx, tableName); err != nil {
			t.Fatal(err)
		}
		g.clock.Advance(8 * day)
		at := tbl.VaultFolder() + "_owner.json"
		var owner Owner
		if err := c.records.Read(ctx, at, &owner); err != nil {
			t.Fatal(err)
		}
		if err := c.client.Delete(ctx, at, ""); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(&owner)
			if err := c.records.PutNote(ctx, at, owner); err != nil {
				t.Fatal(err)
			}
		}
		before := objectsOf(t, tbl)
		if out, err := c.CollectDropped(ctx, CollectOptions{Execute: true, MaxDeleteRatio: 1}); err == nil {
			t.Errorf("%s: collected: %+v", name, out)
		}
		if after := objectsOf(t, tbl); len(before) == 0 || !slices.Equal(before, after) {
			t.Errorf("%s: %v, before %v", name, after, before)
		}
	}
}

// TestDroppedThatCantBeRead: of a dropped table whose record or metadata can't be read, nothing is deleted, and the error is reported.
func TestDroppedThatCantBeRead(t *testing.T) {
	ctx := context.Background()
	for name, harm := range map[string]func(t *testing.T, tbl *Table){
		"no metadata":  func(t *testing.T, tbl *Table) { lose(t, tbl, tbl.MetadataLocation()) },
		"bad metadata": func(t *testing.T, tbl *Table) { replaceObject(t, tbl, tbl.MetadataLocation(), []byte("{")) },
		"bad property": func(t *testing.T, tbl *Table) {
			file, _, err := tbl.cat.client.ReadAll(ctx, tbl.MetadataLocation(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			bad := edited(t, file, func(m map[string]any) { m["properties"].(map[string]any)[adoptedNamesProperty] = "{" })
			replaceObject(t, tbl, tbl.MetadataLocation(), bad)
		},
		"bad name": func(t *testing.T, tbl *Table) {
			lose(t, tbl, tbl.cat.droppedAt(tbl.UUID()))
			d := dropped{Version: records.Version, Table: "a..b", TableUUID: tbl.UUID(), Metadata: tbl.MetadataLocation()}
			if err := tbl.cat.records.PutNote(ctx, tbl.cat.droppedAt(tbl.UUID()), d); err != nil {
				t.Fatal(err)
			}
		},
	} {
		g := newTimed(t)
		c := g.catalog(nil)
		tbl := g.create(c)
		ingest(t, tbl, IngestOptions{}, rows(0, 5))
		if err := c.Drop(ctx, tableName); err != nil {
			t.Fatal(err)
		}
		harm(t, tbl)
		g.clock.Advance(8 * day)
		before := objectsBelow(t, c, tbl.VaultFolder())
		if out, err := c.CollectDropped(ctx, CollectOptions{Execute: true, MaxDeleteRatio: 1}); err == nil || len(out) != 0 {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		if after := objectsBelow(t, c, tbl.VaultFolder()); len(before) == 0 || !slices.Equal(before, after) {
			t.Errorf("%s: %v, before %v", name, after, before)
		}
		if _, err := c.CollectDropped(ctx, CollectOptions{Execute: true, MaxDeleteRatio: 2}); !errors.Is(err, ErrInvalid) {
			t.Errorf("a ratio of 2: %v", err)
		}
	}
}

// TestDeniedListings: what a denied listing would have shown is not taken as absent, for a table that is to come back, or the lease of another.
func TestDeniedListings(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	healthy := g.catalog(nil)
	held, err := g.create(healthy).LeaseForCompaction(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release(ctx)
	c, bucket := g.faulty()
	tbl := g.load(c)
	bucket.Play(t, "list 1: fail denied")
	if lease, err := tbl.LeaseForCompaction(ctx); !errors.Is(err, blobio.ErrDenied) {
		t.Errorf("a lease without looking: %v, %v", lease, err)
	}
	bucket.Play(t, "")
	if lease, err := tbl.LeaseForCompaction(ctx); !errors.Is(err, ErrConflict) {
		t.Errorf("a second lease: %v, %v", lease, err)
	}
	if err := c.Drop(ctx, tableName); err != nil {
		t.Fatal(err)
	}
	bucket.Play(t, "list 1: fail denied")
	if back, err := c.Undrop(ctx, tableName); !errors.Is(err, blobio.ErrDenied) {
		t.Errorf("brought back without looking: %v, %v", back, err)
	}
}

// TestLeaseForCompaction: one holder at a time, whose token is larger than that of the one before; none on a table that can't be written.
func TestLeaseForCompaction(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	tbl := g.create(g.catalog(nil))
	last := ""
	for range 2 {
		lease, err := tbl.LeaseForCompaction(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Check(ctx); err != nil {
			t.Error(err)
		}
		if lease.Token() <= last {
			t.Errorf("token %s after %s", lease.Token(), last)
		}
		last = lease.Token()
		if other, err := tbl.LeaseForCompaction(ctx); !errors.Is(err, ErrConflict) {
			t.Errorf("a second lease: %v, %v", other, err)
		}
		if holder, err := tbl.CompactionHolder(ctx); err != nil || holder == "" {
			t.Errorf("held by %q, %v", holder, err)
		}
		lease.Release(ctx)
		if holder, err := tbl.CompactionHolder(ctx); err != nil || holder != "" {
			t.Errorf("released, held by %q, %v", holder, err)
		}
	}
	foreign := newGround(t)
	if lease, err := foreign.foreign(foreign.open(nil, nil), "1", idField()).LeaseForCompaction(ctx); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a table of format version 1: %v, %v", lease, err)
	}
}

// TestKeyIndexesBehindALostOne: the objects of a key index are live whatever another index has lost.
func TestKeyIndexesBehindALostOne(t *testing.T) {
	for lost := range 3 {
		for name, harm := range map[string]func(*testing.T, *Table, string){
			"lost":    lose,
			"damaged": func(t *testing.T, tbl *Table, url string) { flipIn(t, tbl, url, 40) },
		} {
			g := newTimed(t)
			tbl := g.create(g.catalog(nil))
			ingest(t, tbl, IngestOptions{}, rows(0, 10))
			for _, spec := range []string{"keys:id", "keys:ts", "keys:small"} {
				addKeyIndex(t, tbl, spec)
			}
			var want []string
			defs := tbl.keyIndexDefs()
			for i, def := range defs {
				want = append(want, tbl.VaultFolder()+def.Object)
				state, err := tbl.keyIndexFolder(tbl.cat.client).ReadState(context.Background(), def)
				if err != nil || len(state.Levels) == 0 {
					t.Fatalf("%+v, %v", state, err)
				}
				for _, level := range state.Levels {
					if i != lost {
						want = append(want, tbl.VaultFolder()+level.Object)
					}
				}
			}
			harm(t, tbl, tbl.VaultFolder()+defs[lost].Object)
			l := gc.NewLive()
			if err := tbl.reachKeyIndexes(context.Background(), l); err != nil {
				t.Fatal(err)
			}
			for _, at := range want {
				if !l.Has(at) {
					t.Errorf("%s, number %d: %s is not live", name, lost, at)
				}
			}
		}
	}
}
