package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
)

// TestRecoverWhereTheMetadataFileIsLost: a table whose current metadata file is gone is recovered from another file of its folder, with what that
// file holds. A name whose file is there stays taken, and a file of another folder is refused.
func TestRecoverWhereTheMetadataFileIsLost(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	var before string
	for i := range 2 {
		before = tbl.MetadataLocation()
		if _, err := appendFake(tbl, "", i+1); err != nil {
			t.Fatal(err)
		}
	}
	last := g.load(c).MetadataLocation()
	if before == last || !slices.Equal(live(t, g.load(c)), []int{1, 2}) {
		t.Fatalf("the files are %s and %s, live is %v", before, last, live(t, g.load(c)))
	}
	other := Name{"default", "others"}
	if _, err := c.Create(ctx, other, CreateOptions{Schema: people()}); err != nil {
		t.Fatal(err)
	}
	foreign, err := c.Load(ctx, other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Recover(ctx, before, RecoverOptions{As: tableName}); !errors.Is(err, ErrExists) {
		t.Errorf("while the current file is there: %v, want ErrExists", err)
	}
	if err := c.metadata.Delete(ctx, last, ""); err != nil {
		t.Fatal(err)
	}
	fresh := g.open(nil, nil)
	if _, err := fresh.Load(ctx, tableName); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("without its metadata file: %v", err)
	}
	if err := fresh.Drop(ctx, other); err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Recover(ctx, foreign.MetadataLocation(), RecoverOptions{As: tableName}); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), last) {
		t.Errorf("by the file of another table: %v, want ErrUnsafe with %s", err, last)
	}
	back, err := fresh.Recover(ctx, before, RecoverOptions{As: tableName})
	if err != nil {
		t.Fatal(err)
	}
	if got := live(t, back); back.MetadataLocation() != before || !slices.Equal(got, []int{1}) {
		t.Errorf("recovered from %s: live %v", back.MetadataLocation(), got)
	}
	if _, err := appendFake(back, "", 3); err != nil {
		t.Fatal(err)
	}
	if got := live(t, g.load(g.open(nil, nil))); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("after the next commit: live %v", got)
	}
}

// TestAdvanceDeletesNoState: a recovery that finds the catalog's pointer moved by somebody else leaves the file that it would have pointed to: it is a
// state of the table.
func TestAdvanceDeletesNoState(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl := g.create(c)
	first := tbl.MetadataLocation()
	if _, err := appendFake(tbl, "", 1); err != nil {
		t.Fatal(err)
	}
	second := g.load(c)
	if _, err := appendFake(g.load(c), "", 2); err != nil {
		t.Fatal(err)
	}
	number, err := metadataio.Version(second.MetadataLocation())
	if err != nil {
		t.Fatal(err)
	}
	state := metadataState{at: second.MetadataLocation(), number: number, meta: second.ice.Metadata()}
	if _, err := c.advance(ctx, tableName, first, state); err == nil {
		t.Error("the pointer was moved although another writer had moved it")
	}
	if _, err := c.metadata.Stat(ctx, second.MetadataLocation()); err != nil {
		t.Errorf("the state that was not taken: %v", err)
	}
	if got := live(t, g.load(c)); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("live %v", got)
	}
}

// TestRecoverReplacesNoFileThatIsThere: two requests of a recovery, each pair in turn, are answered "not found". A table whose metadata file exists keeps it.
func TestRecoverReplacesNoFileThatIsThere(t *testing.T) {
	ctx := context.Background()
	g := newDamagedGround(t, "")
	if got := g.deliveries(2); len(got) != 20 {
		t.Fatalf("%d rows", len(got))
	}
	before := ""
	for s := range g.load(g.open(g.bucket)).ice.Metadata().PreviousFiles() {
		before = s.MetadataFile
	}
	for m, n := 1, 2; ; n++ {
		c := g.open(g.bucket)
		g.bucket.Play(t, fmt.Sprintf("any %d: hide\nany %d: hide", m, n))
		_, err := c.Recover(ctx, before, RecoverOptions{As: tableName})
		requests := g.bucket.Requests("any")
		g.bucket.Play(t, "")
		if err == nil {
			t.Errorf("request %d: the older state has taken the place of the current one", n)
		}
		g.holds(between(0, 20))
		switch {
		case requests >= n:
		case t.Failed() || requests < m:
			return
		default:
			m, n = m+1, m+1
		}
	}
}

// hiddenReads is hidden for each kind of reads by itself.
func hiddenReads(requests func(script, kind string) int) {
	for _, kind := range []string{"get", "stat", "list"} {
		for _, more := range []int{0, 1} {
			for n := 1; ; n++ {
				if requests(fmt.Sprintf("%s %d-%d: hide", kind, n, n+more), kind) < n {
					break
				}
			}
		}
	}
}

// TestRecoverAllFindsTheLastState: a catalog that is created again gets a table in its last state and by its last name or not at all, whichever read is answered
// wrong. The last commit is that of a job whose first run failed, and whose second has no end yet.
func TestRecoverAllFindsTheLastState(t *testing.T) {
	ctx := context.Background()
	renamed := Name{"default", "persons"}
	recovered, failed := 0, 0
	hiddenReads(func(script, kind string) int {
		g := newDamagedGround(t, "")
		c := g.open(g.bucket)
		tbl := g.create(c)
		ingest(t, tbl, IngestOptions{}, rows(0, 10))
		j, _, err := tbl.BeginJob(ctx, JobAppend, "last", nil, tbl.Outputs)
		if err != nil {
			t.Fatal(err)
		}
		j.Fail(ctx, nil)
		ingest(t, tbl, IngestOptions{JobID: "last"}, rows(10, 10))
		for _, record := range jobObjects(t, tbl) {
			if record != "last"+jobrecord.ClosedSuffix && strings.HasSuffix(record, jobrecord.ClosedSuffix) {
				if err := c.client.Delete(ctx, tbl.VaultFolder()+"_jobs/"+record, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := c.Rename(ctx, tableName, renamed); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Close(), os.Remove(g.dir+"/catalog.db")); err != nil {
			t.Fatal(err)
		}
		fresh := g.open(g.bucket)
		g.bucket.Play(t, script)
		results, err := fresh.RecoverAll(ctx, false)
		requests := g.bucket.Requests(kind)
		g.bucket.Play(t, "")
		if err != nil || len(results) == 0 {
			failed++
			return requests
		}
		recovered++
		back, err := g.open(g.bucket).Load(ctx, renamed)
		if err != nil {
			t.Errorf("%s: %v: %v", script, outcomes(results), err)
			return requests
		}
		if ids, _ := scanIDs(t, back, ScanOptions{Ordered: true}); !slices.Equal(ids, between(0, 20)) {
			t.Errorf("%s: rows %v", script, ids)
		}
		return requests
	})
	if recovered < 10 || failed < 3 {
		t.Errorf("recovered %d times, failed %d times", recovered, failed)
	}
}
