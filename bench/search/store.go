package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// slow is how slow the store is, ours and the server. Tests don't wait.
var slow = blobfake.Cloud

// server answers requests for the files of a folder as S3 does for the objects of a bucket called log: GET and HEAD with ranges, and lists.
// It is as slow as slow. GET /counters reports the requests made since the last such request, and takes no time.
type server struct {
	url             string
	dir             string
	s               *httptest.Server
	requests, bytes atomic.Int64
}

func serve(dir string) *server {
	s := &server{dir: dir}
	s.s = httptest.NewServer(s)
	s.url = s.s.URL
	return s
}

func (s *server) close() { s.s.Close() }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/counters" {
		json.NewEncoder(w).Encode(map[string]int64{"requests": s.requests.Swap(0), "bytes": s.bytes.Swap(0)})
		return
	}
	s.requests.Add(1)
	time.Sleep(slow.FirstByte)
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case bucket != "log" || r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "a bucket called log is here, to be read", http.StatusForbidden)
	case key == "":
		s.list(w, r)
	default:
		s.object(w, r, filepath.Join(s.dir, filepath.FromSlash(filepath.Clean("/"+key))))
	}
}

func (s *server) object(w http.ResponseWriter, r *http.Request, path string) {
	f, err := os.Open(path)
	if err != nil {
		http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
		return
	}
	w.Header().Set("ETag", `"`+strconv.FormatInt(info.ModTime().UnixNano(), 16)+`"`)
	http.ServeContent(&slowly{ResponseWriter: w, s: s}, r, "", info.ModTime(), f)
}

// slowly sends a body at the rate of a stream.
type slowly struct {
	http.ResponseWriter
	s *server
}

func (w *slowly) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.s.bytes.Add(int64(n))
	if slow.Rate > 0 {
		time.Sleep(time.Duration(float64(n) / float64(slow.Rate) * float64(time.Second)))
	}
	return n, err
}

// listed is the answer to a list.
type listed struct {
	XMLName                 xml.Name `xml:"ListBucketResult"`
	Name, Prefix, Delimiter string
	KeyCount, MaxKeys       int
	IsTruncated             bool
	Contents                []listedObject
	CommonPrefixes          []struct{ Prefix string }
}

type listedObject struct {
	Key, LastModified, ETag, StorageClass string
	Size                                  int64
}

// list answers with all objects at once.
func (s *server) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	out := listed{Name: "log", Prefix: q.Get("prefix"), Delimiter: q.Get("delimiter"), MaxKeys: 1 << 20}
	seen := map[string]bool{}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(s.dir, path)
		key := filepath.ToSlash(rel)
		if err != nil || !strings.HasPrefix(key, out.Prefix) {
			return err
		}
		if rest := key[len(out.Prefix):]; out.Delimiter != "" && strings.Contains(rest, out.Delimiter) {
			p := out.Prefix + rest[:strings.Index(rest, out.Delimiter)+1]
			if !seen[p] {
				seen[p] = true
				out.CommonPrefixes = append(out.CommonPrefixes, struct{ Prefix string }{p})
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out.Contents = append(out.Contents, listedObject{Key: key, Size: info.Size(), LastModified: info.ModTime().UTC().Format("2006-01-02T15:04:05.000Z"),
			ETag: fmt.Sprintf(`"%x"`, info.ModTime().UnixNano()), StorageClass: "STANDARD"})
		return nil
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	out.KeyCount = len(out.Contents) + len(out.CommonPrefixes)
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(out)
}
