package httpsblob_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/httpsblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// server is a web server that holds objects by path.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	objects map[string][]byte
	asked   int
}

func newServer(t *testing.T) *server {
	s := &server{objects: map[string][]byte{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) put(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects["/"+key] = data
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked++
	data, ok := s.objects[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data)))
	http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(data))
}

func (s *server) host() string { return strings.TrimPrefix(s.URL, "http://") }

func TestConformance(t *testing.T) {
	s := newServer(t)
	blobtest.Run(t, blobtest.Store{
		Open:     func(*testing.T) blobio.Bucket { return httpsblob.Open("http", s.host()) },
		ReadOnly: true,
		Seed:     func(_ *testing.T, key string, data []byte) { s.put(key, data) },
	})
}

func TestSizeIsNeverMadeUp(t *testing.T) {
	blobfake.SizesAreNeverMadeUp(t, []string{"", "chunked-get", "head-no-length", "cr-star", "short-206", "short-206 chunked-get", "head-405 chunked-get"},
		func(t *testing.T, quirks string, body []byte) (blobio.Bucket, string) {
			s := blobfake.NewS3(t, quirks) // to a request without a signature it is a web server
			s.Put("k", body)
			return httpsblob.Open("http", strings.TrimPrefix(s.URL, "http://")), "b/k"
		})
}

func TestThroughSpace(t *testing.T) {
	s := newServer(t)
	s.put("a b/x", []byte("0123456789"))
	sp := blobio.NewClient(blobio.ClientOptions{})
	url := s.URL + "/a%20b/x"
	got, err := sp.ReadRanges(t.Context(), url, []blobio.Range{{Start: 2, End: 4}, {Start: 6, End: 8}})
	if err != nil || string(got[0])+string(got[1]) != "2367" {
		t.Errorf("%q, %v", got, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := sp.Counters(); c.Gets != 1 || s.asked != 1 {
		t.Errorf("%+v, the server saw %d requests", c, s.asked)
	}
	if err := sp.Put(t.Context(), s.URL+"/new", nil); blobio.Class(err) != blobio.ErrDenied {
		t.Errorf("Put: %v", err)
	}
	if err := sp.Delete(t.Context(), url, ""); blobio.Class(err) != blobio.ErrDenied {
		t.Errorf("Delete: %v", err)
	}
	for _, err := range sp.List(t.Context(), s.URL+"/") {
		if blobio.Class(err) != blobio.ErrDenied {
			t.Errorf("List: %v", err)
		}
	}
}

// TestOddServers: what a server may do instead of answering.
func TestOddServers(t *testing.T) {
	const size = 100
	body := strings.Repeat("x", size)
	for _, test := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request)
		class  error // of reading [10, 20)
	}{
		{"redirect to a metadata service", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		}, blobio.ErrDenied},
		{"redirect to itself", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusPermanentRedirect)
		}, blobio.ErrDenied},
		{"no ranges", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }, blobio.ErrDenied},
		{"another range", func(w http.ResponseWriter, _ *http.Request) {
			partial(w, "bytes 11-20/100", body[:10])
		}, blobio.ErrUnknown},
		{"no size", func(w http.ResponseWriter, _ *http.Request) { partial(w, "bytes 10-19/*", body[:10]) }, blobio.ErrUnknown},
		{"several parts", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "multipart/byteranges; boundary=x")
			partial(w, "", "--x")
		}, blobio.ErrUnknown},
		{"shorter object", func(w http.ResponseWriter, _ *http.Request) { partial(w, "bytes 10-14/15", body[:5]) }, blobio.ErrRange},
		{"cut body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			partial(w, "bytes 10-19/100", body[:4])
		}, blobio.ErrTransient},
		{"packed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			partial(w, "bytes 10-19/100", body[:10])
		}, blobio.ErrUnknown},
		{"forbidden", status(http.StatusForbidden), blobio.ErrDenied},
		{"unauthorised", status(http.StatusUnauthorized), blobio.ErrDenied},
		{"gone", status(http.StatusGone), blobio.ErrNotFound},
		{"busy", status(http.StatusServiceUnavailable), blobio.ErrThrottled},
		{"too many", status(http.StatusTooManyRequests), blobio.ErrThrottled},
		{"broken", status(http.StatusInternalServerError), blobio.ErrTransient},
		{"bad gateway", status(http.StatusBadGateway), blobio.ErrTransient},
		{"teapot", status(http.StatusTeapot), blobio.ErrUnknown},
		{"nothing there", status(http.StatusNoContent), blobio.ErrUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				test.answer(w, r)
			}))
			defer s.Close()
			b := httpsblob.Open("http", strings.TrimPrefix(s.URL, "http://"))
			defer b.Close()
			_, _, err := b.ReadRange(t.Context(), "x", 10, make([]byte, 10), blobio.ReadOptions{})
			if blobio.Class(err) != test.class {
				t.Errorf("%v (class %v), want %v", err, blobio.Class(err), test.class)
			}
			want := int64(1)
			if test.name == "no size" { // is requested by a HEAD, and by a range of one byte
				want = 3
			}
			if got := asked.Load(); got != want {
				t.Errorf("%d requests, want %d", got, want)
			}
		})
	}
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func partial(w http.ResponseWriter, contentRange, body string) {
	if contentRange != "" {
		w.Header().Set("Content-Range", contentRange)
	}
	w.WriteHeader(http.StatusPartialContent)
	fmt.Fprint(w, body)
}

func TestCutBodyIsResumed(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 100)
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		if requests.Add(1) == 1 {
			w.Header().Set("Content-Length", "1000")
			partial(w, "bytes 0-999/1000", string(data[:377]))
			return
		}
		if got := r.Header.Get("Range") + " " + r.Header.Get("If-Match"); got != `bytes=377-999 "one"` {
			t.Errorf("the second request asks for %s", got)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	defer s.Close()
	sp := blobio.NewClient(blobio.ClientOptions{})
	dst := make([]byte, 1000)
	if _, err := sp.ReadRange(t.Context(), s.URL+"/x", 0, dst); err != nil || !bytes.Equal(dst, data) {
		t.Error(err)
	}
}

func TestRetryAfterReachesTheSpace(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer s.Close()
	b := httpsblob.Open("http", strings.TrimPrefix(s.URL, "http://"))
	_, err := b.Stat(t.Context(), "x", blobio.ReadOptions{})
	if said := (*blobio.Error)(nil); !errors.As(err, &said) || said.RetryAfter != 7*time.Second {
		t.Errorf("%v requests another wait than 7s", err)
	}
}

// TestUnreachable: faults of the network are never taken for "not there".
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	for _, host := range []string{"127.0.0.1:" + strconv.Itoa(port), "no-such-host.invalid"} {
		_, err := httpsblob.Open("http", host).Stat(t.Context(), "x", blobio.ReadOptions{})
		if blobio.Class(err) != blobio.ErrTransient {
			t.Errorf("%s: %v (class %v)", host, err, blobio.Class(err))
		}
	}
}

// TestMetadataServicesAreRefusedWhenDialled: the address counts that a name resolved to, right before the connection.
func TestMetadataServicesAreRefusedWhenDialled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for _, host := range []string{"169.254.169.254", "169.254.169.254:8080", "[::ffff:169.254.169.254]"} {
		_, err := httpsblob.Open("http", host).Stat(ctx, "latest/meta-data/", blobio.ReadOptions{})
		if blobio.Class(err) != blobio.ErrDenied || !strings.Contains(err.Error(), "address of a metadata service") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestPlainOptionsAreRefused(t *testing.T) {
	for _, raw := range []string{"https://user:secret@example.com/x", "https://example.com/x?sig=secret"} {
		_, err := blobio.NewClient(blobio.ClientOptions{}).Mount(t.Context(), raw)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	}
}
