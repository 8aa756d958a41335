package faultproxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/azblob"
	_ "github.com/shardcat/shardcat/blobio/gcsblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/internal/testkit/faultproxy"
)

// place is a bucket on a real server, straight and through the proxy.
type place struct {
	proxy            *faultproxy.Proxy
	straight, broken string // URLs to mount
	prefix           string
}

// eachStore runs a test against every server that the environment names.
func eachStore(t *testing.T, test func(t *testing.T, at place)) {
	for _, variable := range []string{"SHARDCAT_TEST_S3", "SHARDCAT_TEST_AZURE", "SHARDCAT_TEST_GCS"} {
		t.Run(variable, func(t *testing.T) {
			raw := os.Getenv(variable)
			if raw == "" {
				t.Skipf("%s is not set: no server to test with (.ci/servers starts one)", variable)
			}
			u, err := url.Parse(raw)
			if err != nil {
				t.Fatalf("%s is not a URL", variable)
			}
			q := u.Query()
			proxy, err := faultproxy.New(q.Get("endpoint"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { proxy.Close() })
			q.Set("endpoint", proxy.URL())
			q.Set("part_size", fmt.Sprint(5<<20))
			u.RawQuery = q.Encode()
			t.Parallel()
			test(t, place{proxy, raw, u.String(), fmt.Sprintf("faults/%d/", time.Now().UnixNano())})
		})
	}
}

// mount opens a bucket and gives its canonical root, ending in the place's prefix.
func mount(t *testing.T, raw, prefix string) (*blobio.Client, string) {
	t.Helper()
	// Few attempts: faults that stay would be waited out for two minutes each.
	client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: mostAttempts, Busy: 100 * time.Millisecond}})
	root, err := client.Mount(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client, root + prefix
}

// faultsOfWrites are what may happen to any request of a write.
var faultsOfWrites = []string{"drop", "lost", "lost 500", "fail 503", "fail 403", "twice", "cut 0"}

// TestPutUnderFaults breaks every request of a write in every way. Whatever Put states must be true: nil means
// the object is there, whole, and otherwise the error has a class and nothing half done is there.
func TestPutUnderFaults(t *testing.T) {
	sizes := []int{1000, 11 << 20}
	if testing.Short() {
		sizes = sizes[:1]
	}
	eachStore(t, func(t *testing.T, at place) {
		truth, root := mount(t, at.straight, at.prefix)
		client, _ := mount(t, at.broken, at.prefix)
		for _, size := range sizes {
			data := bytes.Repeat([]byte("shard"), size/5)
			for _, fault := range faultsOfWrites {
				broken, err := at.proxy.Walk(fault, func(n int) error {
					to := fmt.Sprintf("%s%d/%x/%d", root, size, fault, n)
					return honest(t.Context(), truth, to, data, client.Put(t.Context(), to, data))
				})
				if err != nil {
					t.Errorf("%d bytes: %v", size, err)
				}
				if broken < 1 {
					t.Errorf("%d bytes, %s: no request was broken", size, fault)
				}
				t.Logf("%d bytes, %s: %d requests broken", size, fault, broken)
			}
		}
	})
}

// honest compares what a write reported with what is there.
func honest(ctx context.Context, truth *blobio.Client, url string, data []byte, said error) error {
	there, _, err := truth.ReadAll(ctx, url, 1<<30)
	gone := errors.Is(err, blobio.ErrNotFound)
	switch {
	case err != nil && !gone:
		return err
	case said == nil && gone:
		return errors.New("the write succeeded but there is nothing")
	case !gone && !bytes.Equal(there, data):
		return fmt.Errorf("%d of %d bytes were stored", len(there), len(data))
	case said != nil && blobio.Class(said) == blobio.ErrNotFound:
		return fmt.Errorf("a write that failed says not found: %w", said)
	}
	return nil
}

// TestReadsUnderFaults breaks every request of three reads in every way. A fault that passes is not seen: the
// right bytes come. A refusal is reported as one.
func TestReadsUnderFaults(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	faults := []string{"drop", "lost", "lost 502", "fail 503", "fail 403", "fail 500", "slow 1ms", "twice"}
	for _, n := range []int{0, 1, 17, len(data) / 2, -17, -1} {
		faults = append(faults, fmt.Sprintf("cut %d", n))
	}
	eachStore(t, func(t *testing.T, at place) {
		truth, root := mount(t, at.straight, at.prefix)
		client, _ := mount(t, at.broken, at.prefix)
		if err := truth.Put(t.Context(), root+"object", data); err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults {
			var allowed error // the only error that may come
			if fault == "fail 403" {
				allowed = blobio.ErrDenied
			}
			broken, err := at.proxy.Walk(fault, func(int) error {
				return readsTrue(t.Context(), client, root+"object", data, allowed)
			})
			if err != nil || broken < 3 {
				t.Errorf("%s: %d requests broken, want 3 or more; %v", fault, broken, err)
			}
		}
	})
}

// readsTrue reads an object in three ways; each brings its bytes or the error that is allowed.
func readsTrue(ctx context.Context, client *blobio.Client, url string, data []byte, allowed error) error {
	dst := make([]byte, len(data))
	_, errRange := client.ReadRange(ctx, url, 0, dst)
	suffix, _, errSuffix := client.ReadSuffix(ctx, url, 100)
	all, _, errAll := client.ReadAll(ctx, url, 1<<30)
	for _, read := range []struct {
		what      string
		got, want []byte
		err       error
	}{{"range", dst, data, errRange}, {"suffix", suffix, data[len(data)-100:], errSuffix}, {"all", all, data, errAll}} {
		switch {
		case read.err != nil && blobio.Class(read.err) != allowed:
			return fmt.Errorf("%s: %w", read.what, read.err)
		case read.err == nil && !bytes.Equal(read.got, read.want):
			return fmt.Errorf("%s: wrong bytes", read.what)
		}
	}
	return nil
}

// TestStormOf503: a store that is busy for a while is retried, one that stays busy is given up after a
// bounded number of requests.
func TestStormOf503(t *testing.T) {
	eachStore(t, func(t *testing.T, at place) {
		truth, root := mount(t, at.straight, at.prefix)
		client, _ := mount(t, at.broken, at.prefix)
		if err := truth.Put(t.Context(), root+"object", []byte("content")); err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, 7)
		for _, storm := range []string{"get 1-2: fail 503", "get 1: fail 503 Busy after 1s", "get 1-2: fail 429"} {
			if err := at.proxy.Set(storm); err != nil {
				t.Fatal(err)
			}
			if _, err := client.ReadRange(t.Context(), root+"object", 0, dst); err != nil || string(dst) != "content" {
				t.Errorf("%s: %q, %v", storm, dst, err)
			}
		}
		if err := at.proxy.Set("any *: fail 503"); err != nil {
			t.Fatal(err)
		}
		_, err := client.ReadRange(t.Context(), root+"object", 0, dst)
		if blobio.Class(err) != blobio.ErrThrottled || at.proxy.Requests("any") > mostAttempts {
			t.Errorf("an endless storm: %v after %d requests, want ErrThrottled after %d at most", err, at.proxy.Requests("any"), mostAttempts)
		}
	})
}

// mostAttempts bounds the attempts of the clients here.
const mostAttempts = 6

// TestListPagesInterleavedWithWrites: an object that was there all the time is listed, whatever is written
// between two pages.
func TestListPagesInterleavedWithWrites(t *testing.T) {
	eachStore(t, func(t *testing.T, at place) {
		truth, root := mount(t, at.straight, at.prefix)
		client, _ := mount(t, at.broken+"&list_page=4", at.prefix)
		want := map[string]bool{}
		for i := range 10 {
			key := fmt.Sprintf("%sold/%02d", root, i)
			want[key] = true
			if err := truth.Put(t.Context(), key, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		written := 0
		at.proxy.Call("write", func() {
			written++
			for _, name := range []string{"00a", "99"} { // before and behind the page
				if err := truth.Put(t.Context(), fmt.Sprintf("%sold/%s%d", root, name, written), []byte("y")); err != nil {
					t.Error(err)
				}
			}
		})
		if err := at.proxy.Set("list 2-: call write"); err != nil {
			t.Fatal(err)
		}
		for info, err := range client.List(t.Context(), root+"old/") {
			if err != nil {
				t.Fatal(err)
			}
			delete(want, info.URL)
		}
		if len(want) != 0 || written == 0 {
			t.Errorf("%d old objects were not listed, %d writes in between", len(want), written)
		}
	})
}

// TestStoreThatIsDown: neither refused connections nor a name that does not resolve look like "not found".
func TestStoreThatIsDown(t *testing.T) {
	eachStore(t, func(t *testing.T, at place) {
		client, root := mount(t, at.broken, at.prefix)
		if err := at.proxy.Refuse(true); err != nil {
			t.Fatal(err)
		}
		_, err := client.Stat(t.Context(), root+"object")
		if !errors.Is(err, blobio.ErrTransient) || errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("refused connection: %v, want ErrTransient", err)
		}
		if err := at.proxy.Refuse(false); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Stat(t.Context(), root+"object"); !errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("once it is up again: %v, want ErrNotFound", err)
		}
		lost, root := mount(t, nowhere(t, at.straight), at.prefix)
		if _, err := lost.Stat(t.Context(), root+"object"); !errors.Is(err, blobio.ErrTransient) || errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("unresolvable name: %v, want ErrTransient", err)
		}
	})
}

// nowhere is the bucket on an endpoint whose name does not resolve.
func nowhere(t *testing.T, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("endpoint", faultproxy.Unresolvable)
	q.Set("anonymous", "true")
	u.RawQuery = q.Encode()
	return u.String()
}
