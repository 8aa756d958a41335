package jobrecord

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog/internal/records"
)

// TestCovers: an output that is no prefix is that object alone.
func TestCovers(t *testing.T) {
	r := &Record{Outputs: []string{"mem://b/one", "mem://b/two-*"}}
	for url, want := range map[string]bool{"mem://b/one": true, "mem://b/one-more": false, "mem://b/two-": true, "mem://b/two-1": true, "mem://b/two": false, "": false} {
		if Covers(r, url) != want {
			t.Errorf("%q: %v", url, !want)
		}
	}
}

// TestFolder: the records of open, closed and claimed runs, and which of them are forgotten: those of runs that are closed, or of which only notes remain.
func TestFolder(t *testing.T) {
	ctx := context.Background()
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	if err := client.MountBucket("mem://jobs/", memblob.New()); err != nil {
		t.Fatal(err)
	}
	f := Folder{Client: client, Records: records.New(client), URL: "mem://jobs/_jobs/"}
	for run, id := range map[string]string{"load": "load", "load.2": "load", "loads": "loads", "open": "open"} {
		if err := f.Records.Put(ctx, f.URL+run+BegunSuffix, Record{Version: records.Version, ID: id, Attempt: run}); err != nil {
			t.Fatal(err)
		}
	}
	for _, run := range []string{"load", "load.2", "load"} { // closing it twice changes nothing
		if err := f.PutEnd(ctx, run, &End{ID: "load", Attempt: run, Outcome: Committed, Snapshot: 7}); err != nil {
			t.Fatal(err)
		}
	}
	for run, purposes := range map[string][]string{"gone": {ToCommit, ToDelete}, "open": {ToDelete, ToCommit}} {
		if err := f.Claim(ctx, run, &Record{ID: run}, purposes[0]); err != nil {
			t.Fatal(err)
		}
		if err := f.Claim(ctx, run, &Record{ID: run}, purposes[1]); err == nil {
			t.Errorf("%s is claimed to %s and to %s", run, purposes[0], purposes[1])
		}
	}
	ends, err := f.Ends(ctx, "load")
	if err != nil || len(ends) != 2 || ends[0].Snapshot != 7 {
		t.Errorf("ends of load: %v, %v", ends, err)
	}
	for _, c := range []struct {
		prefix string
		all    bool
		want   []string
	}{{"", false, []string{"loads", "open"}}, {"", true, []string{"load", "load.2", "loads", "open"}}, {"load", false, []string{"loads"}}} {
		states, err := f.States(ctx, c.prefix, c.all)
		var got []string
		for _, s := range states {
			got = append(got, s.Name())
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("jobs %q, all %v: %v, %v, want %v", c.prefix, c.all, got, err, c.want)
		}
	}
	var listed []blobio.Info
	for r, err := range f.List(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, r.Info)
	}
	if err := f.Forget(ctx, f.Old(listed, func(time.Time) bool { return true })); err != nil {
		t.Fatal(err)
	}
	var left []string
	for r, err := range f.List(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, r.Run+r.Kind)
	}
	slices.Sort(left)
	if want := []string{"loads", "open", "open" + ClaimSuffix}; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
}
