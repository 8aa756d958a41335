package commitqueue

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	"github.com/google/uuid"
	_ "modernc.org/sqlite"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog/internal/sqldb"
)

// fakeTable is a table that nobody has committed to.
type fakeTable struct {
	id        uuid.UUID
	refreshed int
	last      time.Time
	missing   bool
}

func newFakeTable() *fakeTable { return &fakeTable{id: uuid.New()} }

func (f *fakeTable) UUID() uuid.UUID       { return f.id }
func (f *fakeTable) Name() string          { return "default.t" }
func (f *fakeTable) Exists() bool          { return !f.missing }
func (f *fakeTable) LastCommit() time.Time { return f.last }

func (f *fakeTable) Refresh(context.Context) error {
	f.refreshed++
	return nil
}

func newClient(t *testing.T) *blobio.Client {
	client := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { client.Close() })
	if err := client.MountBucket("mem://queue/", memblob.New()); err != nil {
		t.Fatal(err)
	}
	return client
}

func vault(table string) string { return "mem://queue/vault/" + table + "/" }

func newDB(t *testing.T) sqldb.DB {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "queue.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return sqldb.DB{DB: db, Dialect: sqlcatalog.SQLite}
}

// TestDeadWriter: a ticket whose holder shows no life is taken away, and one that was only slow gets another.
func TestDeadWriter(t *testing.T) {
	for name, attempt := range map[string]int{"rows": 1, "objects": 2} { // at objects only who was rejected looks
		t.Run(name, func(t *testing.T) {
			ctx, table := t.Context(), newFakeTable()
			var queue, other Queue
			if name == "objects" {
				client := newClient(t)
				queue, other = NewObjects(client, vault), NewObjects(client, vault)
			} else {
				db := newDB(t)
				queue, other = NewSQL(db), NewSQL(db)
			}
			dead := &Writer{Queue: queue, Table: table, Now: time.Now}
			if err := dead.hold(ctx, table.id); err != nil {
				t.Fatal(err)
			}
			next := &Writer{Queue: other, Table: table, Now: time.Now, deadAfter: 5 * time.Millisecond}
			if err := next.Await(ctx, attempt); err != nil {
				t.Fatal(err)
			}
			if all, err := queue.waiting(ctx, table.id); err != nil || len(all) != 1 || all[0].number != next.number || next.number <= dead.number {
				t.Errorf("%+v wait, %v; the dead one had %d, the next %d", all, err, dead.number, next.number)
			}
			if table.refreshed != 1 {
				t.Errorf("the table was read again %d times, want once", table.refreshed)
			}
			was := dead.number
			dead.beaten = time.Time{}
			if err := dead.hold(ctx, table.id); err != nil || dead.number == was {
				t.Errorf("the holder came back as %d, as before: %v", dead.number, err)
			}
			dead.Leave(ctx)
			next.Leave(ctx)
			if all, err := queue.waiting(ctx, table.id); err != nil || len(all) != 0 {
				t.Errorf("%+v are left, %v", all, err)
			}
		})
	}
}

// TestTickets: a holder that beats keeps its number, whoever saw it before takes nothing away, and objects of other names are nobody's.
func TestTickets(t *testing.T) {
	ctx, client, id := t.Context(), newClient(t), uuid.New()
	queue := NewObjects(client, vault)
	for _, name := range []string{"x.json", "0000000000000009.json", "0000000000000009.1.json.bak", "9.1.json", "0000000000000009.01.json", "-000000000000009.1.json"} {
		if err := client.Put(ctx, queue.folder(id)+name, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	for want := int64(1); want <= 3; want++ {
		if n, err := queue.take(ctx, id); err != nil || n != want {
			t.Fatalf("ticket %d, %v, want %d", n, err, want)
		}
	}
	seen, err := queue.waiting(ctx, id)
	if err != nil || !slices.Equal(seen, []ticket{{1, 0}, {2, 0}, {3, 0}}) {
		t.Fatal(seen, err)
	}
	for range 11 { // beats of two digits
		if there, err := queue.beat(ctx, id, 2); err != nil || !there {
			t.Fatal(there, err)
		}
	}
	for _, p := range seen[:2] {
		if err := queue.leave(ctx, id, p.number, p.beats); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := queue.waiting(ctx, id); err != nil || !slices.Equal(now, []ticket{{2, 11}, {3, 0}}) {
		t.Error(now, err)
	}
	if there, err := queue.beat(ctx, id, 1); err != nil || there {
		t.Errorf("a ticket that was taken away beats: %v", err)
	}
	if err := queue.leave(ctx, id, 2, anyBeats); err != nil {
		t.Fatal(err)
	}
	if now, err := queue.waiting(ctx, id); err != nil || !slices.Equal(now, []ticket{{3, 0}}) {
		t.Error(now, err)
	}
}

// TestManyDeadWriters: all that show no life are found at once, however many wait; a time-out for each would hold it
// up for as long as there are dead ones.
func TestManyDeadWriters(t *testing.T) {
	seen, queue := sightings{}, []ticket{{1, 0}, {2, 4}, {3, 9}, {4, 0}}
	if dead := seen.lifeless(queue, 0); len(dead) != 0 {
		t.Errorf("%v are dead at first sight", dead)
	}
	queue[1].beats++
	if dead := seen.lifeless(queue, -1); !slices.Equal(dead, []ticket{{1, 0}, {3, 9}, {4, 0}}) {
		t.Errorf("%v are dead", dead)
	}
	if seen.lifeless(queue[1:2], -1); len(seen) != 1 {
		t.Errorf("%v are remembered", seen)
	}
}

// TestCompactionYieldsForSeconds: a compaction among constant writers takes a number after a few commits of theirs.
func TestCompactionYieldsForSeconds(t *testing.T) {
	ahead := ticket{number: 7}
	for _, c := range []struct {
		writer     Writer
		ahead      ticket
		rejections int
		waited     time.Duration
		want       bool
	}{
		{Writer{Yields: true}, ahead, 1, 0, false},
		{Writer{Yields: true}, ahead, 1, time.Second, false},
		{Writer{Yields: true}, ahead, yieldTries - 1, time.Second, false},
		{Writer{Yields: true}, ahead, yieldTries, 0, true},
		{Writer{Yields: true}, ticket{}, yieldTries, 0, true}, // beaten again and again by writers that need no number
		{Writer{Yields: true}, ahead, 0, 3 * time.Second, true},
		{Writer{Yields: true, number: 8}, ahead, 0, 0, true},
		{Writer{}, ahead, 0, 0, true},
		{Writer{}, ticket{}, 0, 0, false},
		{Writer{}, ticket{}, 1, 0, true},
	} {
		if got := c.writer.takesPart(c.ahead, c.rejections, c.waited); got != c.want {
			t.Errorf("%+v, %d rejections, after %s: takes part %v", c.writer, c.rejections, c.waited, got)
		}
	}
}

// TestWhoLooks: a writer that was not rejected looks at a queue of objects only after a commit of the last seconds, and nobody at that of a
// table that does not exist yet.
func TestWhoLooks(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		table   fakeTable
		attempt int
		yields  bool
		queue   bool
		rows    bool
		want    bool
	}{
		"first try":              {queue: true},
		"first try, rows":        {queue: true, rows: true, want: true},
		"after a commit":         {queue: true, table: fakeTable{last: now.Add(-busyFor / 2)}, want: true},
		"by a clock ahead":       {queue: true, table: fakeTable{last: now.Add(busyFor / 2)}, want: true},
		"long after a commit":    {queue: true, table: fakeTable{last: now.Add(-2 * busyFor)}},
		"rejected":               {queue: true, attempt: 2, want: true},
		"compaction":             {queue: true, yields: true, want: true},
		"table to be created":    {queue: true, rows: true, table: fakeTable{missing: true}},
		"catalog without queues": {attempt: 2},
	} {
		w := &Writer{Table: &c.table, Yields: c.yields, Now: func() time.Time { return now }}
		looks := 0
		if c.queue {
			w.Queue = countedQueue{NewObjects(nil, vault), &looks}
			if c.rows {
				w.Queue = countedQueue{NewSQL(sqldb.DB{}), &looks}
			}
		}
		if err := w.Await(t.Context(), max(1, c.attempt)); err != nil || looks > 0 != c.want {
			t.Errorf("%s: %d looks, %v", name, looks, err)
		}
	}
}

// countedQueue counts the looks at a queue that is empty.
type countedQueue struct {
	Queue
	looks *int
}

func (q countedQueue) waiting(context.Context, uuid.UUID) ([]ticket, error) {
	*q.looks++
	return nil, nil
}

func (q countedQueue) take(context.Context, uuid.UUID) (int64, error) { return 1, nil }
