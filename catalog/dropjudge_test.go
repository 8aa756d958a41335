package catalog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/records"
	"github.com/shardcat/shardcat/internal/literal"
)

// lookups stands in for what a catalog shows of its tables; nil functions leave it to the real one.
type lookups struct {
	icecatalog.Catalog
	load func(ident table.Identifier) error
	list func() error
	drop func() error
}

func (c *lookups) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	if c.load != nil {
		if err := c.load(ident); err != nil {
			return nil, err
		}
	}
	return c.Catalog.LoadTable(ctx, ident)
}

func (c *lookups) ListNamespaces(ctx context.Context, parent table.Identifier) ([]table.Identifier, error) {
	if c.list != nil {
		if err := c.list(); err != nil {
			return nil, err
		}
	}
	return c.Catalog.ListNamespaces(ctx, parent)
}

func (c *lookups) DropTable(ctx context.Context, ident table.Identifier) error {
	if c.drop != nil {
		if err := c.drop(); err != nil {
			return err
		}
	}
	return c.Catalog.DropTable(ctx, ident)
}

// openLookups opens the catalog behind lookups, and creates a table, and others beside it.
func (g *ground) openLookups(others ...string) (*Catalog, *lookups, *Table) {
	g.t.Helper()
	l := &lookups{}
	c := g.open(nil, func(ice icecatalog.Catalog) icecatalog.Catalog { l.Catalog = ice; return l })
	tbl := g.create(c)
	for _, other := range others {
		if _, err := c.Create(context.Background(), Name{"default", other}, CreateOptions{Schema: people()}); err != nil {
			g.t.Fatal(err)
		}
	}
	return c, l, tbl
}

// TestDropRecordsNeedAllTables: the folder of a dropped table is marked as such only if no table that the catalog shows has its UUID, and each could
// be looked at.
func TestDropRecordsNeedAllTables(t *testing.T) {
	ctx := context.Background()
	broken := errors.New("broken by a test")
	once := func(f func(table.Identifier) error) func(table.Identifier) error {
		return func(ident table.Identifier) (err error) {
			if f != nil {
				if err = f(ident); err != nil {
					f = nil
				}
			}
			return err
		}
	}
	at := func(name string, err error) func(table.Identifier) error {
		return func(ident table.Identifier) error {
			if ident[len(ident)-1] == name {
				return err
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		twin   bool
		break_ func(*lookups)
		want   bool
	}{
		"healthy":                          {false, func(*lookups) {}, true},
		"another is gone meanwhile":        {false, func(l *lookups) { l.load = at("another", icecatalog.ErrNoSuchTable) }, true},
		"a twin":                           {true, func(*lookups) {}, false},
		"a twin behind one that is gone":   {true, func(l *lookups) { l.load = at("another", icecatalog.ErrNoSuchTable) }, false},
		"another can't be loaded":          {false, func(l *lookups) { l.load = at("another", broken) }, false},
		"another can't be loaded once":     {false, func(l *lookups) { l.load = once(at("another", broken)) }, true},
		"namespaces can't be listed":       {false, func(l *lookups) { l.list = func() error { return broken } }, false},
		"a twin behind one not to be read": {true, func(l *lookups) { l.load = at("another", broken) }, false},
	} {
		g := newGround(t)
		catalog, l, tbl := g.openLookups("another")
		if c.twin {
			if _, err := catalog.registrar.RegisterTable(ctx, Name{"default", "twin"}.identifier(), tbl.MetadataLocation()); err != nil {
				t.Fatal(err)
			}
		}
		c.break_(l)
		if err := catalog.Drop(ctx, tableName); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, record := range []string{tbl.VaultFolder() + droppedName, catalog.droppedAt(tbl.UUID())} {
			if _, err := catalog.client.Stat(ctx, record); (err == nil) != c.want || err != nil && !errors.Is(err, blobio.ErrNotFound) {
				t.Errorf("%s: the record %s: %v, want one: %v", name, record, err, c.want)
			}
		}
	}
}

// TestDropReplacesAnEarlierRecord: what an earlier drop of the same table has left gives way, also if it is gone by then; where it can't be deleted, it
// stays.
func TestDropReplacesAnEarlierRecord(t *testing.T) {
	ctx := context.Background()
	for script, replaced := range map[string]bool{
		"": true, "delete~/_dropped/ 1: lost 404": true, "delete~/_dropped/ 1: fail denied": false,
	} {
		g := newTimed(t)
		c, bucket := g.faulty()
		tbl := g.create(c)
		earlier := dropped{Version: records.Version, Table: "earlier", TableUUID: tbl.UUID(), Metadata: tbl.MetadataLocation(), Dropped: g.clock.Now().Add(-day).UTC()}
		if err := c.records.PutNote(ctx, c.droppedAt(tbl.UUID()), earlier); err != nil {
			t.Fatal(err)
		}
		bucket.Play(t, script)
		if err := c.Drop(ctx, tableName); err != nil {
			t.Errorf("%q: %v", script, err)
		}
		bucket.Play(t, "")
		var got dropped
		if err := c.records.Read(ctx, c.droppedAt(tbl.UUID()), &got); err != nil || (got.Table == tableName.String()) != replaced {
			t.Errorf("%q: %+v, %v", script, got, err)
		}
	}
}

// TestFailedDrops: a drop that fails while the table is there is an error like any other; where the table can't be loaded any more, nobody knows.
func TestFailedDrops(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		lost, unknown bool
	}{"the table is there": {false, false}, "the table can't be loaded": {true, true}} {
		catalog, l, tbl := newGround(t).openLookups()
		l.drop = func() error {
			if c.lost {
				l.load = func(table.Identifier) error { return icecatalog.ErrNoSuchTable }
			}
			return errors.New("broken by a test")
		}
		if err := catalog.Drop(ctx, tableName); err == nil || errors.Is(err, ErrUnknownOutcome) != c.unknown {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := catalog.client.Stat(ctx, tbl.VaultFolder()+droppedName); !errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("%s: a record of the drop: %v", name, err)
		}
	}
}

// TestDropWhoseAnswerIsLost: a drop that the catalog carried out leaves its records although the answer was lost, so that undrop finds the table. One of
// which nobody knows leaves none: of a table that has another name since, that the catalog lists, or that it may only hide from who may not drop it.
func TestDropWhoseAnswerIsLost(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		// before happens in place of the drop, whose answer is err.
		before func(g *ground, l *lookups) error
		err    error
		want   error
	}{
		"carried out": {func(_ *ground, l *lookups) error { return l.Catalog.DropTable(ctx, tableName.identifier()) }, errLost, nil},
		"carried out, and refused": {func(_ *ground, l *lookups) error { return l.Catalog.DropTable(ctx, tableName.identifier()) },
			rest.ErrForbidden, ErrUnknownOutcome},
		"denied twice": {func(_ *ground, l *lookups) error {
			times := 0
			l.load = func(table.Identifier) error {
				if times++; times <= 2 {
					return icecatalog.ErrNoSuchTable
				}
				return nil
			}
			return nil
		}, errLost, ErrUnknownOutcome},
		"renamed meanwhile": {func(g *ground, _ *lookups) error {
			_, err := g.open(nil, nil).Rename(ctx, tableName, Name{"default", "other"})
			return err
		}, errLost, ErrUnknownOutcome},
	} {
		g := newGround(t)
		catalog, l, tbl := g.openLookups()
		ingest(t, tbl, IngestOptions{}, rows(0, 10))
		l.drop = func() error {
			l.drop = nil
			return errors.Join(c.before(g, l), c.err)
		}
		if err := catalog.Drop(ctx, tableName); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		l.load = nil
		if _, err := catalog.client.Stat(ctx, tbl.VaultFolder()+droppedName); (err == nil) != (c.want == nil) {
			t.Errorf("%s: the record of the drop: %v", name, err)
		}
		if c.want != nil {
			continue
		}
		back, err := catalog.Undrop(ctx, tableName)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := counted(t, back); n != 10 {
			t.Errorf("%s: %d rows", name, n)
		}
	}
}

// TestRegisteredTablesThatCantBeRead: a listing of all tables, by loading them, leaves out none that could not be loaded.
func TestRegisteredTablesThatCantBeRead(t *testing.T) {
	ctx := context.Background()
	missingPause = 0
	defer func() { missingPause = time.Second }()
	broken := errors.New("broken by a test")
	catalog, l, tbl := newGround(t).openLookups("another", "third")
	if catalog.sql == nil {
		t.Fatal("the tables are not listed by a query")
	}
	ended, end := context.WithCancel(ctx)
	end()
	if all, err := catalog.registered(ended); err == nil {
		t.Errorf("a query that was not made: %+v", all)
	}
	catalog.sql = nil // as if the catalog had to load them
	for _, c := range []struct {
		load, list error
		want       int
	}{{nil, nil, 3}, {icecatalog.ErrNoSuchTable, nil, 2}, {broken, nil, 0}, {nil, broken, 0}} {
		l.load = func(ident table.Identifier) error {
			if ident[len(ident)-1] == "another" {
				return c.load
			}
			return nil
		}
		l.list = func() error { return c.list }
		all, err := catalog.registered(ctx)
		if len(all) != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%v, %v: %+v, %v", c.load, c.list, all, err)
		}
		for _, r := range all {
			if r.Name == "" || r.UUID == "" {
				t.Errorf("%v, %v: %+v", c.load, c.list, r)
			}
		}
		if err := tbl.sharesFiles(ctx); (err == nil) != (c.want > 0) {
			t.Errorf("%v, %v: %v", c.load, c.list, err)
		}
	}
	another, err := catalog.Load(ctx, Name{"default", "another"})
	if err != nil {
		t.Fatal(err)
	}
	l.list = nil
	for look, found := range map[string]func() (bool, error){
		"registered": func() (bool, error) {
			all, err := catalog.registered(ctx)
			return len(all) == 3, err
		},
		"nameOf": func() (bool, error) {
			name, err := catalog.nameOf(ctx, another.UUID())
			return name != nil && *name == another.Name(), err
		},
	} {
		times := 0 // missing for a moment, as behind a failover
		l.load = func(ident table.Identifier) error {
			if ident[len(ident)-1] != "another" {
				return nil
			}
			if times++; times <= 3 {
				return icecatalog.ErrNoSuchTable
			}
			return nil
		}
		if ok, err := found(); err != nil || !ok {
			t.Errorf("%s: found %v, %v", look, ok, err)
		}
	}
}

// TestAges: days and durations of Go, not negative; a retention is not nothing either.
func TestAges(t *testing.T) {
	ctx := context.Background()
	g := newTimed(t)
	tbl := g.create(g.catalog(nil))
	most := math.MaxInt64 / int64(day)
	for text, want := range map[string]time.Duration{
		"7d": 7 * day, "0d": 0, "36h": 36 * time.Hour, "0s": 0, fmt.Sprint(most, "d"): time.Duration(most) * day,
		fmt.Sprint(most+1, "d"): -1, "-1d": -1, "-1h": -1, "d": -1, "a while": -1,
	} {
		d, err := literal.ParseAge(text)
		if (err != nil) != (want < 0) || err == nil && d != want {
			t.Errorf("%s: %v, %v", text, d, err)
		}
		if err := tbl.SetProperties(ctx, map[string]string{RetentionProperty: text}, nil); errors.Is(err, ErrInvalid) != (want <= 0) {
			t.Errorf("setting a retention of %s: %v", text, err)
		}
		if d, err := tbl.Retention(); err != nil || want > 0 && d != want {
			t.Errorf("a retention of %s: %v, %v", text, d, err)
		}
		if d, err := parseRetention(text); errors.Is(err, ErrInvalid) != (want <= 0) || err == nil && d != want {
			t.Errorf("reading a retention of %s: %v, %v", text, d, err)
		}
	}
	// A shard is as old as its youngest record, and goes once that is older, by one tick.
	created := g.clock.Now().UTC()
	ingest(t, tbl, IngestOptions{CreationTime: created}, rows(0, 3))
	g.clock.Advance(created.Add(day).Sub(g.clock.Now()))
	for i, want := range []int64{1, 0} {
		if _, err := tbl.DropOlder(ctx, day, DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := tbl.Describe().Shards; got != want {
			t.Errorf("%d ticks older than a day: %d shards", i, got)
		}
		g.clock.Advance(100 * time.Nanosecond)
	}
}
