package blobfake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
)

// Driver is the driver of a cloud, tested without it: on servers that answer what a test wants.
type Driver struct {
	// Open opens a bucket by its URL.
	Open blobio.OpenBucket
	// Parse reads the parameters of a URL.
	Parse func(url.Values) error
	// Stub opens a bucket on a server that answers as handler does.
	Stub func(t *testing.T, handler http.HandlerFunc) blobio.Bucket
	// Refuse answers every request with a status, the provider's code in its own form, and headers.
	Refuse func(status int, code string, header ...string) http.HandlerFunc
	// Refusals are answers, "404 NoSuchKey" with the code left out where there is none, and their classes.
	Refusals map[string]error
	// KeepsIdle: the bucket's client can't close its idle connections.
	KeepsIdle bool
	// State sets the headers of a successful read of an object of some bytes, and answers requests for its metadata by
	// itself: it returns true then.
	State func(w http.ResponseWriter, r *http.Request, size int) bool
	// Denied is the provider's code of a refusal with status 403.
	Denied string
	// Unresolvable is the URL of a bucket on a host that no DNS knows.
	Unresolvable string
	// Mounts are URLs and the locations that they become.
	Mounts map[string]string
	// Forbidden are URLs that hold Secret, which are refused.
	Forbidden []string
	// Params are parameters of URLs, and what the error about them states, empty where they are fine.
	Params map[string]string
	// Secret stands in Forbidden and some of Params, and must not stand in an error.
	Secret string
}

// RunDriver runs the tests of what a driver makes of answers and of URLs.
func RunDriver(t *testing.T, d Driver) {
	for name, test := range map[string]func(*testing.T, Driver){
		"ErrorClasses": testErrorClasses, "DeniedIsNotNotFound": testDenied, "RetryAfter": testRetryAfter,
		"FollowsNoRedirect": testFollowsNoRedirect, "AsksOnce": testAsksOnce, "Unresolvable": testUnresolvable,
		"Mounts": testMounts, "Params": testParams, "UnstatedLength": testUnstatedLength,
		"ClosesConnections": testClosesConnections,
	} {
		t.Run(name, func(t *testing.T) { test(t, d) })
	}
}

// OpenURL opens a bucket by its URL.
func OpenURL[B blobio.Bucket](t *testing.T, open blobio.OpenBucket, raw string) B {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	b, err := open(context.WithoutCancel(t.Context()), u)
	if err != nil {
		t.Fatal(err)
	}
	return b.(B)
}

// Serve starts a server that answers as handler does, until the test ends, and gives its URL.
func Serve(t *testing.T, handler http.HandlerFunc) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// testErrorClasses: each answer has its class, and an error on one line that names the object.
func testErrorClasses(t *testing.T, d Driver) {
	for refusal, want := range d.Refusals {
		t.Run(refusal, func(t *testing.T) {
			status, code, _ := strings.Cut(refusal, " ")
			n, err := strconv.Atoi(status)
			if err != nil {
				t.Fatal(err)
			}
			b := d.Stub(t, d.Refuse(n, code))
			_, _, err = b.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
			if got := blobio.Class(err); got != want {
				t.Fatalf("class %v, want %v (%v)", got, want, err)
			}
			if text := err.Error(); !strings.Contains(text, "://") || !strings.Contains(text, "/k: ") ||
				strings.Contains(text, "\n") || strings.Contains(text, d.Secret) {
				t.Errorf("want the object on one line and no secret: %q", text)
			}
		})
	}
}

// calls makes each of a bucket's calls and gives their errors.
func calls(ctx context.Context, b blobio.Bucket) map[string]error {
	_, _, errRead := b.ReadRange(ctx, "k", 0, make([]byte, 1), blobio.ReadOptions{})
	_, _, errSuffix := b.ReadSuffix(ctx, "k", 8, blobio.ReadOptions{})
	_, _, errOpen := b.Open(ctx, "k", 0, blobio.ReadOptions{})
	_, errStat := b.Stat(ctx, "k", blobio.ReadOptions{})
	errs := map[string]error{"read": errRead, "suffix": errSuffix, "open": errOpen, "stat": errStat, "list": nil,
		"create": blobtest.Put(ctx, b, "k", []byte("x")), "delete": b.Delete(ctx, "k", blobio.DeleteOptions{})}
	for _, err := range b.List(ctx, "", blobio.ListOptions{}) {
		errs["list"] = err
	}
	return errs
}

// testDenied: layers above a client confuse the two.
func testDenied(t *testing.T, d Driver) {
	for call, err := range calls(t.Context(), d.Stub(t, d.Refuse(http.StatusForbidden, d.Denied))) {
		if !errors.Is(err, blobio.ErrDenied) || errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("%s: %v, want only ErrDenied", call, err)
		}
	}
}

func testRetryAfter(t *testing.T, d Driver) {
	b := d.Stub(t, d.Refuse(http.StatusServiceUnavailable, "", "Retry-After", "7"))
	_, _, err := b.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
	if said := (*blobio.Error)(nil); !errors.As(err, &said) || said.RetryAfter != 7*time.Second {
		t.Errorf("%v requests another wait than 7s", err)
	}
}

// testFollowsNoRedirect: no request, with its token and signature, is sent on to another host that the store names, and
// the answer counts as a refusal.
func testFollowsNoRedirect(t *testing.T, d Driver) {
	stranger := Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s reached another host", r.Method, r.URL.Path)
	})
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		bucket := d.Stub(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", stranger+r.URL.RequestURI())
			w.WriteHeader(status)
		})
		for call, err := range calls(t.Context(), bucket) {
			if blobio.Class(err) != blobio.ErrDenied {
				t.Errorf("%s answered by %d: %v, want %v", call, status, err, blobio.ErrDenied)
			}
			if host := strings.TrimPrefix(stranger, "http://"); !strings.Contains(err.Error(), strconv.Quote(host)) {
				t.Errorf("%s answered by %d: %v, does not name %s", call, status, err, host)
			}
		}
	}
}

// testUnstatedLength: a body without Content-Length is read to its end, and is never one of an empty object.
func testUnstatedLength(t *testing.T, d Driver) {
	for _, size := range []int{1, 100, 300_000} {
		body := bytes.Repeat([]byte("0123456789"), 30_000)[:size]
		b := d.Stub(t, func(w http.ResponseWriter, r *http.Request) {
			if d.State(w, r, size) {
				return
			}
			part, status := body, http.StatusOK
			var from, to int
			spec := r.Header.Get("Range") + r.Header.Get("X-Ms-Range")
			if n, _ := fmt.Sscanf(spec, "bytes=%d-%d", &from, &to); n > 0 {
				if n == 1 || to >= size {
					to = size - 1
				}
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, size))
				part, status = body[from:to+1], http.StatusPartialContent
			}
			w.WriteHeader(status)
			_ = http.NewResponseController(w).Flush()
			_, _ = w.Write(part)
		})
		r, info, err := b.Open(t.Context(), "k", 0, blobio.ReadOptions{})
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || !bytes.Equal(got, body) || info.Size != int64(size) {
			t.Errorf("%d bytes: %d came, size %d, %v", size, len(got), info.Size, err)
		}
		dst := make([]byte, size)
		if _, _, err := b.ReadRange(t.Context(), "k", 0, dst, blobio.ReadOptions{}); err != nil || !bytes.Equal(dst, body) {
			t.Errorf("range of %d bytes: %v", size, err)
		}
	}
}

// testAsksOnce: a read whose body breaks is one request that fails, in a way that may pass: who counts, paces and
// resumes requests is above the driver, and must see each.
func testAsksOnce(t *testing.T, d Driver) {
	var asked atomic.Int32
	bucket := d.Stub(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		h := w.Header()
		h.Set("Content-Length", "10")
		h.Set("Content-Range", "bytes 5-14/20")
		h.Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		h.Set("ETag", `"1"`)
		w.WriteHeader(http.StatusPartialContent)
		w.Write([]byte("abc"))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	dst := make([]byte, 10)
	n, _, err := bucket.ReadRange(t.Context(), "k", 5, dst, blobio.ReadOptions{})
	if n != 3 || blobio.Class(err) != blobio.ErrTransient || asked.Load() != 1 {
		t.Errorf("%d bytes by %d requests, %v; want 3 by one, and %v", n, asked.Load(), err, blobio.ErrTransient)
	}
}

// testClosesConnections: a closed bucket has no open connections, neither on the side of the client nor on that of the server.
func testClosesConnections(t *testing.T, d Driver) {
	if d.KeepsIdle {
		t.Skip("idle connections end by themselves")
	}
	sockets := func() (n int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc here:", err)
		}
		for _, e := range entries {
			if name, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(name, "socket:") {
				n++
			}
		}
		return n
	}
	const opened = 20
	before := sockets()
	for range opened {
		bucket := d.Stub(t, d.Refuse(http.StatusNotFound, ""))
		calls(t.Context(), bucket)
		if err := bucket.Close(); err != nil {
			t.Fatal(err)
		}
	}
	after := 0
	for range 100 { // a server closes its side when it sees that of the client
		if after = sockets(); after <= before+opened { // one listens for each stub
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%d sockets, %d before, %d listen", after, before, opened)
}

func testUnresolvable(t *testing.T, d Driver) {
	d.Stub(t, nil) // its credentials
	_, err := OpenURL[blobio.Bucket](t, d.Open, d.Unresolvable).Stat(t.Context(), "k", blobio.ReadOptions{})
	if !errors.Is(err, blobio.ErrTransient) || errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("%v, want ErrTransient", err)
	}
}

// testMounts: any spelling with options becomes the canonical location without them; secrets are refused.
func testMounts(t *testing.T, d Driver) {
	d.Stub(t, nil) // its credentials
	for raw, want := range d.Mounts {
		client := blobio.NewClient(blobio.ClientOptions{})
		got, err := client.Mount(t.Context(), raw)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", raw, got, err, want)
		}
		client.Close()
	}
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	for _, raw := range d.Forbidden {
		if _, err := client.Mount(t.Context(), raw); err == nil || strings.Contains(err.Error(), d.Secret) {
			t.Errorf("mounting a URL with a secret: %v", err)
		}
	}
}

func testParams(t *testing.T, d Driver) {
	for query, want := range d.Params {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		err = d.Parse(q)
		switch {
		case (err == nil) != (want == ""):
			t.Errorf("%s: error %v, want %q", query, err, want)
		case err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), d.Secret)):
			t.Errorf("%s: error %q, want %q and no secret", query, err, want)
		}
	}
}

// RunServer runs the suite on a real server's bucket, which an environment variable names, with more parameters in its
// URL.
func RunServer(t *testing.T, variable, params string, open blobio.OpenBucket, store blobtest.Store) {
	raw := os.Getenv(variable)
	if raw == "" {
		t.Skipf("%s is not set: no server to test with (docs/guides/object-stores.md says how to start one)", variable)
	}
	store.Open = func(t *testing.T) blobio.Bucket { return OpenURL[blobio.Bucket](t, open, raw+params) }
	store.Prefix = fmt.Sprintf("conformance/%d/", time.Now().UnixNano())
	blobtest.Run(t, store)
}
