package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/jobrecord"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// TestDeliveredAfterAFailedRun: of the ends of a job's runs each counts: that of a run which failed does not hide that of the one which was committed.
func TestDeliveredAfterAFailedRun(t *testing.T) {
	ctx, g := context.Background(), newGround(t)
	tbl := g.create(g.open(nil, nil))
	first := ingest(t, tbl, IngestOptions{JobID: "load"}, rows(0, 10))
	// Its name comes before that of the other record.
	failed := JobEnd{Version: records.Version, ID: "load", Attempt: "0", Outcome: jobrecord.Failed}
	if err := tbl.cat.records.PutNote(ctx, tbl.VaultFolder()+"_jobs/load.0"+jobrecord.ClosedSuffix, failed); err != nil {
		t.Fatal(err)
	}
	ingest(t, tbl, IngestOptions{}, rows(10, 10))
	expireNow(t, tbl)
	tbl = g.load(g.open(nil, nil))
	if again := ingest(t, tbl, IngestOptions{JobID: "load"}, rows(0, 10)); !again.Before || again.SnapshotID != first.SnapshotID {
		t.Errorf("%+v, was %+v", again.CommitResult, first.CommitResult)
	}
	if n := counted(t, tbl); n != 20 {
		t.Errorf("%d rows", n)
	}
}

// TestCanceledBegin: a job whose begin is canceled leaves no open record of its own, and does not end that of an earlier run.
func TestCanceledBegin(t *testing.T) {
	for _, earlier := range []int{0, 1} {
		for n, lost := 1, false; ; {
			g := newGround(t)
			tbl := g.create(g.open(nil, nil))
			ingest(t, tbl, IngestOptions{}, rows(0, 10))
			if earlier > 0 {
				if _, _, err := tbl.BeginJob(context.Background(), JobCompact, "load", nil, tbl.Outputs); err != nil {
					t.Fatal(err)
				}
			}
			c, b := g.canceling()
			tbl = g.load(c)
			ctx, cancel := context.WithCancel(context.Background())
			b.CancelAt(n, lost, cancel)
			j, _, err := tbl.BeginJob(ctx, JobCompact, "load", nil, tbl.Outputs)
			at := b.Canceled()
			cancel()
			if at == "" {
				if j == nil || err != nil || n < 5 {
					t.Errorf("%v, %d requests", err, n-1)
				}
				break
			}
			open, listErr := g.load(g.open(nil, nil)).Jobs(context.Background(), false)
			if !errors.Is(err, context.Canceled) || listErr != nil || len(open) != earlier {
				t.Errorf("canceled at %s (done %v): %d jobs are open of %d, %v, %v", at, lost, len(open), earlier, listErr, err)
			}
			if lost = !lost; !lost {
				n++
			}
		}
	}
}

// TestFailedRunThatWasClaimed: who fails does not delete what another process has claimed for a commit, be it a compaction or a run that writes shards.
func TestFailedRunThatWasClaimed(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []string{JobCompact, jobWrite} {
		for _, purpose := range []string{"", jobrecord.ToCommit} {
			g := newGround(t)
			tbl := g.create(g.open(nil, nil))
			j, _, err := tbl.BeginJob(ctx, kind, "load", nil, tbl.Outputs)
			if err != nil {
				t.Fatal(err)
			}
			object := tbl.VaultFolder() + j.Attempt() + "-0001.amudai.shard"
			if err := tbl.cat.client.Put(ctx, object, []byte("root")); err != nil {
				t.Fatal(err)
			}
			if purpose != "" {
				if err := j.claim(ctx, purpose); err != nil {
					t.Fatal(err)
				}
			}
			j.Fail(ctx, []string{object})
			_, err = tbl.cat.client.Stat(ctx, object)
			if stays := err == nil; stays != (purpose == jobrecord.ToCommit) {
				t.Errorf("%s, claimed for %q: the object is there: %v", kind, purpose, stays)
			}
		}
	}
}

// TestGroupContext: the commit of a group ends when all its callers have gone, and not before.
func TestGroupContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group []*groupMember
		var cancels []func()
		for range 3 {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			group, cancels = append(group, &groupMember{ctx: ctx}), append(cancels, cancel)
		}
		ctx, end := groupContext(group)
		defer end()
		for i, cancel := range cancels {
			if ctx.Err() != nil {
				t.Errorf("it has ended with %d callers of 3", i)
			}
			cancel()
			synctest.Wait()
		}
		if ctx.Err() == nil {
			t.Error("it goes on without a caller")
		}
	})
}

// TestNamesOfLocations: a table that is recovered without a name has that of its folder, without the eight hexadecimal digits that make it unique.
func TestNamesOfLocations(t *testing.T) {
	c := newGround(t).open(nil, nil)
	for folder, want := range map[string]string{
		"/a/people-12345678": "a.people", "/a/b/people-12345678": "a.b.people", "/a/people": "a.people", "/a/people-1234567": "a.people-1234567",
		"/a/two-words-12345678": "a.two-words", "/a/-12345678": "", "/people-12345678": "", "elsewhere/a/people-12345678": "",
	} {
		name, err := c.nameOfLocation(c.warehouse + folder)
		if want == "" && err == nil && folder != "/a/-12345678" || want != "" && (err != nil || name.String() != want) {
			t.Errorf("%s: %q, %v, want %q", folder, name, err, want)
		}
	}
}

// TestStatesDescend: a state descends from one whose file its log names, or whose snapshot is among its ancestors, and from no other. A catalog that is two
// versions behind its folder is an old copy, one that is one version behind is not.
func TestStatesDescend(t *testing.T) {
	ctx, g := context.Background(), newGround(t)
	tbl := g.create(g.open(nil, nil))
	empty := tbl.ice.Metadata()
	ingest(t, tbl, IngestOptions{}, rows(0, 10))
	old := g.load(g.open(nil, nil))
	was, at := old.ice.Metadata(), old.MetadataLocation()
	ahead := func() string {
		t.Helper()
		var files []blobio.Info
		for info, err := range old.cat.metadata.List(ctx, old.metadataFolder()) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(info.URL, ".metadata.json") { // a manifest may be named by a UUID that starts with eight decimal digits
				files = append(files, info)
			}
		}
		file, err := (&collector{table: old}).aheadOf(ctx, files)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	ingest(t, tbl, IngestOptions{}, rows(10, 10))
	if file := ahead(); file != "" {
		t.Errorf("a catalog one version behind: %s", file)
	}
	ingest(t, tbl, IngestOptions{}, rows(20, 10))
	is, now := tbl.ice.Metadata(), tbl.MetadataLocation()
	if file := ahead(); file != metadataio.CanonicalURL(now) {
		t.Errorf("a catalog two versions behind: %q", file)
	}
	const elsewhere = "mem://elsewhere/metadata/00001-x.metadata.json"
	for what, got := range map[string]bool{
		"by the log": descends(is, at, nil), "by the snapshots": descends(is, elsewhere, was), "the same snapshot": descends(is, elsewhere, is),
		"not a later one": !descends(was, now, is), "not an unknown one": !descends(is, elsewhere, nil), "not one without snapshots": !descends(is, elsewhere, empty),
		"not one of an empty table": !descends(empty, elsewhere, was),
	} {
		if !got {
			t.Error(what)
		}
	}
}
