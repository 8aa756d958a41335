package compaction

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
)

// listings is a bucket that remembers which prefixes it was requested.
type listings struct {
	*memblob.Bucket
	mu       sync.Mutex
	prefixes []string
}

// List implements blobio.Bucket.
func (l *listings) List(ctx context.Context, prefix string, o blobio.ListOptions) iter.Seq2[blobio.Info, error] {
	l.mu.Lock()
	l.prefixes = append(l.prefixes, prefix)
	l.mu.Unlock()
	return l.Bucket.List(ctx, prefix, o)
}

// A service lists the records of all jobs once, and from then on only those of compactions: what another process left, that died later,
// is found among them.
func TestServiceListsCompactionsOnly(t *testing.T) {
	g := newGround(t)
	fill(t, g.create(), 4)
	bucket := &listings{Bucket: memblob.Open(g.bucket)}
	o := g.options()
	if err := o.Client.MountBucket("mem://"+g.bucket+"/", bucket); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, runs, stop := serve(t, c, ServiceOptions{Overrides: Overrides{"*": {"collect": "never"}}})
	defer stop()
	if r := await(t, runs, 1)[0]; r.Error != "" || len(r.Results) != 1 {
		t.Fatalf("%+v", r)
	}
	statusOf(t, s, name)

	tbl := g.load(nil)
	fill(t, tbl, 4)
	written(t, tbl, Policy{MinInputs: 2})
	// Its process dies here. The service's next run ends its job.
	rows := contents(t, tbl)
	bucket.mu.Lock()
	first := slices.Clone(bucket.prefixes)
	bucket.prefixes = nil
	bucket.mu.Unlock()
	if err := s.RunNow(name); err != nil {
		t.Fatal(err)
	}
	if r := await(t, runs, 1)[0]; r.Error != "" || r.Resumed != 1 {
		t.Errorf("%+v", r)
	}
	statusOf(t, s, name)
	jobs := func(prefixes []string) (all, compactions int) {
		for _, p := range prefixes {
			if strings.HasSuffix(p, "/_jobs/") {
				all++
			} else if strings.HasSuffix(p, "/_jobs/compact-") {
				compactions++
			}
		}
		return all, compactions
	}
	if all, _ := jobs(first); all != 1 {
		t.Errorf("the first run listed %q", first)
	}
	if all, compactions := jobs(bucket.prefixes); all != 0 || compactions == 0 {
		t.Errorf("the second run listed %q", bucket.prefixes)
	}
	if got := contents(t, g.load(nil)); !slices.Equal(got, rows) {
		t.Errorf("%d rows became %d others", len(rows), len(got))
	}
}
