package faultwalk

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/azblob"
	"github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/gcsblob"
	"github.com/shardcat/shardcat/blobio/memblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
	"github.com/shardcat/shardcat/internal/testkit/catalogfault"
	"github.com/shardcat/shardcat/internal/testkit/faultproxy"
)

// store is a place for tables, which can be reached straight and through faults.
type store struct {
	name string
	// root is where everything lies, a canonical URL without a slash at its end.
	root string
	// faults it knows.
	faults []fault
	// straight mounts the store in a space.
	straight func(t *testing.T, s *blobio.Client)
	// broken begins a run in which requests go wrong by a script. Attach mounts the store in a space of the run,
	// requests counts what came so far by kind, lift ends all faults.
	broken func(t *testing.T, script string) (attach func(*blobio.Client), requests func(kind string) int, lift func())
	// unresolvable mounts the store under a host name that no DNS knows; nil where there are no names.
	unresolvable func(t *testing.T, s *blobio.Client)
	// folders are all that hold objects, root itself first.
	folders []string
	// uri of the catalog, its warehouse and vault; empty for an SQLite file of the world, and folders below root.
	uri, warehouse, vault string
	// keep remembers the state of a catalog with a uri, restore goes back to it; nil for an SQLite file.
	keep, restore func(t *testing.T)
	// remote: requests are dear, so that a copy in memory is observed.
	remote bool
	// wrap puts faults in front of the catalog, nil for none.
	wrap func(icecatalog.Catalog) icecatalog.Catalog
}

// newSpace is a space that tries as often as any, and waits for milliseconds.
func newSpace() *blobio.Client {
	return blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: 4, First: time.Millisecond,
		Most: 4 * time.Millisecond, Budget: 30 * time.Second, Stall: 10 * time.Second}})
}

// bucketStore is a store with the fault bucket in front.
func bucketStore(name, root, mountAt string, open func() blobio.Bucket) *store {
	return &store{
		name: name, root: root, faults: bucketFaults, folders: []string{root + "/"},
		straight: func(t *testing.T, s *blobio.Client) {
			if err := s.MountBucket(mountAt, open()); err != nil {
				t.Fatal(err)
			}
		},
		broken: func(t *testing.T, script string) (func(*blobio.Client), func(string) int, func()) {
			faulty := blobfake.NewFaulty(t, open(), script)
			attach := func(s *blobio.Client) {
				if err := s.MountBucket(mountAt, faulty); err != nil {
					t.Fatal(err)
				}
			}
			return attach, faulty.Requests, func() {}
		},
	}
}

func memStore(t *testing.T) *store {
	name := fmt.Sprintf("faultwalk-%d", time.Now().UnixNano())
	return bucketStore("mem", "mem://"+name+"/walk", "mem://"+name+"/", func() blobio.Bucket { return memblob.Open(name) })
}

func fileStore(t *testing.T) *store {
	dir, err := os.MkdirTemp("", "faultwalk") // a warehouse may not have the comma of a command's name in its path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	root := "file://" + filepath.ToSlash(dir)
	s := bucketStore("file", root, "file:///", func() blobio.Bucket { return fileblob.Open("/") })
	s.remote = true
	return s
}

// catalogStore is a store in memory with faults in front of the catalog.
func catalogStore(t *testing.T) *store {
	s := memStore(t)
	s.name, s.faults = "catalog", catalogFaults
	s.broken = func(t *testing.T, script string) (func(*blobio.Client), func(string) int, func()) {
		play := &catalogfault.Play{}
		if err := play.Set(script); err != nil {
			t.Fatal(err)
		}
		s.wrap = play.Wrap
		return func(client *blobio.Client) { s.straight(t, client) }, play.Calls, func() { s.wrap = nil }
	}
	return s
}

// servers are the environment variables that name buckets on real servers.
var servers = map[string]string{"s3": "SHARDCAT_TEST_S3", "azure": "SHARDCAT_TEST_AZURE", "gcs": "SHARDCAT_TEST_GCS"}

// serverStore is a bucket on a real server with the fault proxy in front.
func serverStore(t *testing.T, name string) *store {
	raw := os.Getenv(servers[name])
	if raw == "" {
		t.Skipf("%s is not set: no server to test with (.ci/servers starts one)", servers[name])
	}
	at, err := url.Parse(raw)
	if err != nil {
		t.Fatalf("%s is not a URL", servers[name])
	}
	proxy, err := faultproxy.New(at.Query().Get("endpoint"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	s := &store{name: name, faults: proxyFaults, remote: true}
	mount := func(t *testing.T, client *blobio.Client, endpoint string) {
		u, q := *at, at.Query()
		q.Set("endpoint", endpoint)
		if endpoint == faultproxy.Unresolvable {
			q.Set("anonymous", "true") // no credentials are for a host of that name
		}
		u.RawQuery = q.Encode()
		u.Path = fmt.Sprintf("/faultwalk/%d", time.Now().UnixNano())
		root, err := client.Mount(t.Context(), u.String())
		if err != nil {
			t.Fatal(err)
		}
		if s.root == "" {
			s.root, s.folders = root, []string{root + "/"}
		}
	}
	s.straight = func(t *testing.T, client *blobio.Client) { mount(t, client, at.Query().Get("endpoint")) }
	s.unresolvable = func(t *testing.T, client *blobio.Client) { mount(t, client, faultproxy.Unresolvable) }
	s.broken = func(t *testing.T, script string) (func(*blobio.Client), func(string) int, func()) {
		if err := proxy.Set(script); err != nil {
			t.Fatal(err)
		}
		refused := false
		proxy.Call("refuse", func() {
			if !refused {
				refused = true
				proxy.Refuse(true)
			}
		})
		lift := func() {
			if refused {
				if err := proxy.Refuse(false); err != nil {
					t.Fatal(err)
				}
			}
		}
		return func(client *blobio.Client) { mount(t, client, proxy.URL()) },
			func(kind string) int { return proxy.Requests(kind) }, lift
	}
	client := newSpace()
	defer client.Close()
	s.straight(t, client) // to learn the root
	return s
}
