package catalog

import (
	"context"
	"maps"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/blobio"
)

// staleProperties returns earlier properties of namespaces for some reads.
type staleProperties struct {
	icecatalog.Catalog
	reads       atomic.Int32
	first, last int32
	earlier     iceberg.Properties
}

func (s *staleProperties) LoadNamespaceProperties(ctx context.Context, ident []string) (iceberg.Properties, error) {
	if n := s.reads.Add(1); n >= s.first && n <= s.last {
		return maps.Clone(s.earlier), nil
	}
	return s.Catalog.LoadNamespaceProperties(ctx, ident)
}

// TestIdentitiesSurviveStaleReads: over REST, whatever adds a UUID to those of a catalog removes none, although each read of the properties in turn, and
// each two in a row, return none of them, or those of before; nor do several processes that add theirs at the same time.
func TestIdentitiesSurviveStaleReads(t *testing.T) {
	ctx := context.Background()
	for what, add := range map[string]func(c *Catalog) error{
		"ensure": func(c *Catalog) error { _, err := c.ensureIdentity(ctx, "default"); return err },
		"adopt":  func(c *Catalog) error { return c.adoptIdentity(ctx, "default", uuid.NewString()) },
		"renew":  func(c *Catalog) error { _, err := c.renewIdentity(ctx, "default"); return err },
	} {
		for _, empty := range []bool{true, false} {
			for _, more := range []int32{0, 1} {
				for n := int32(1); ; n++ {
					g := newGround(t)
					stale := &staleProperties{Catalog: g.open(nil, nil).ice}
					server := httptest.NewServer((&restServer{ice: stale}).mux())
					open := func() *Catalog {
						c, err := Open(ctx, Options{URI: "rest+" + server.URL, Warehouse: "mem://" + g.bucket + "/wh",
							Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{})})
						if err != nil {
							t.Fatal(err)
						}
						t.Cleanup(func() { c.Close() })
						return c
					}
					c := open()
					g.create(c)
					if !empty {
						properties, err := stale.Catalog.LoadNamespaceProperties(ctx, []string{"default"})
						if err != nil {
							t.Fatal(err)
						}
						stale.earlier = properties
					}
					newest, err := c.renewIdentity(ctx, "default")
					if err == nil {
						err = c.adoptIdentity(ctx, "default", uuid.NewString())
					}
					if err != nil {
						t.Fatal(err)
					}
					if id, err := c.ensureIdentity(ctx, "default"); err != nil || id != newest {
						t.Fatalf("the newest is %s, %v, want %s", id, err, newest)
					}
					before, err := c.readIdentities(ctx)
					if err != nil || len(before) != 3 {
						t.Fatalf("%v, %v", before, err)
					}
					other := open()
					stale.reads.Store(0)
					stale.first, stale.last = n, n+more
					addErr := add(other)
					requests := stale.reads.Load()
					stale.first, stale.last = 0, 0
					after, err := open().readIdentities(ctx)
					server.Close()
					for _, id := range before {
						if err != nil || !slices.Contains(after, id) {
							t.Fatalf("%s, reads %d to %d (%v): %v became %v, %v", what, n, n+more, addErr, before, after, err)
						}
					}
					if requests < n {
						break
					}
				}
			}
		}
	}
}

// TestIdentitiesOfManyProcesses: processes that add UUIDs at the same time remove none of the others'.
func TestIdentitiesOfManyProcesses(t *testing.T) {
	ctx, g := context.Background(), newGround(t)
	_, open := g.startREST()
	g.create(open())
	before, err := open().readIdentities(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(before)
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 8 {
		c := open()
		all.Go(func() {
			id, err := uuid.NewString(), error(nil)
			if i%2 == 0 {
				id, err = c.renewIdentity(ctx, "default")
			} else {
				err = c.adoptIdentity(ctx, "default", id)
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			want = append(want, id)
		})
	}
	all.Wait()
	got, err := open().readIdentities(ctx)
	if slices.Sort(want); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
