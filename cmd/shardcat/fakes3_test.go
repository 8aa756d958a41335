package main

import (
	"bytes"
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeS3 is a server of one bucket's objects in memory: whole objects, ranges, conditional creation, lists.
type fakeS3 struct {
	url     string
	mu      sync.Mutex
	objects map[string][]byte // by bucket/key
}

// newFakeS3 starts a server and puts credentials for it into the environment.
func newFakeS3(t *testing.T) *fakeS3 {
	t.Helper()
	f := &fakeS3{objects: map[string][]byte{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
		"AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none",
	} {
		t.Setenv(name, value)
	}
	return f
}

// count is how many objects have names that end so.
func (f *fakeS3) count(suffix string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.objects {
		if strings.HasSuffix(key, suffix) {
			n++
		}
	}
	return n
}

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := strings.TrimPrefix(r.URL.Path, "/")
	data, there := f.objects[key]
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "2":
		f.list(w, strings.TrimSuffix(key, "/"), r.URL.Query().Get("prefix"), r.URL.Query().Get("delimiter"))
	case r.Method == http.MethodPut && there && r.Header.Get("If-None-Match") == "*":
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut && there && r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != etag(data):
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		f.objects[key] = body
		w.Header().Set("ETag", etag(body))
	case r.Method == http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case !there:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", etag(data))
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), bytes.NewReader(data))
	}
}

func etag(data []byte) string { return fmt.Sprintf("\"%x\"", md5.Sum(data)) }

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

// list answers ListObjectsV2 with all keys on one page.
func (f *fakeS3) list(w http.ResponseWriter, bucket, prefix, delimiter string) {
	type object struct {
		Key, ETag, LastModified string
		Size                    int
	}
	type common struct{ Prefix string }
	page := struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		Contents       []object
		CommonPrefixes []common
	}{}
	for name, data := range f.objects {
		key, ok := strings.CutPrefix(name, bucket+"/")
		rest, below := strings.CutPrefix(key, prefix)
		if !ok || !below {
			continue
		}
		if folder, _, nested := strings.Cut(rest, delimiter); delimiter != "" && nested {
			if c := (common{prefix + folder + delimiter}); !slices.Contains(page.CommonPrefixes, c) {
				page.CommonPrefixes = append(page.CommonPrefixes, c)
			}
			continue
		}
		page.Contents = append(page.Contents, object{key, etag(data), "2023-11-14T22:13:20Z", len(data)})
	}
	slices.SortFunc(page.Contents, func(a, b object) int { return strings.Compare(a.Key, b.Key) })
	w.Header().Set("Content-Type", "application/xml")
	if err := xml.NewEncoder(w).Encode(page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
