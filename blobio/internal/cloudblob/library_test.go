package cloudblob_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"
	"google.golang.org/api/option"
)

// The tests of this file show what gocloud and the clouds' libraries do that kept parts of the drivers from being built
// on them. One that fails reports that a library has changed, and that what was built in its place may go.

// onS3 opens a bucket by gocloud alone on a server that answers as the handler does.
func onS3(t *testing.T, handler http.HandlerFunc) *blob.Bucket {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := s3.New(s3.Options{BaseEndpoint: aws.String(server.URL), Region: "us-east-1", UsePathStyle: true,
		Credentials: aws.AnonymousCredentials{}, Retryer: aws.NopRetryer{}})
	bucket, err := s3blob.OpenBucket(t.Context(), client, "b", nil)
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

// onGCS is onS3 with the library's own retries.
func onGCS(t *testing.T, handler http.HandlerFunc) *blob.Bucket {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := storage.NewClient(t.Context(), option.WithHTTPClient(server.Client()), option.WithoutAuthentication(),
		option.WithEndpoint(server.URL+"/storage/v1/"), storage.WithJSONReads())
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := gcsblob.OpenBucket(t.Context(), nil, "b", &gcsblob.Options{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

// TestFileIfNotExistIsNoLock: it looks, and then renames over whatever is there. A link that leads nowhere, which a
// look does not see and an exclusive create would, is replaced; so is the object of another writer that came between.
func TestFileIfNotExistIsNoLock(t *testing.T) {
	dir := t.TempDir()
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer bucket.Close()
	key := filepath.Join(dir, "k")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), key); err != nil {
		t.Fatal(err)
	}
	if err := bucket.WriteAll(t.Context(), "k", []byte("mine"), &blob.WriterOptions{IfNotExist: true}); err != nil {
		t.Fatalf("the key was taken exclusively: %v", err)
	}
	if info, err := os.Lstat(key); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v: what was there is to be replaced", info, err)
	}
}

// TestFileIsNotSynced: no call in the package makes what was written outlive the machine.
func TestFileIsNotSynced(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "gocloud.dev/blob/fileblob").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	renames := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok {
				switch call.Sel.Name {
				case "Sync", "Fdatasync", "Fsync":
					t.Errorf("%s calls %s", filepath.Base(name), call.Sel.Name)
				case "Rename":
					renames++
				}
			}
			return true
		})
	}
	if renames == 0 {
		t.Error("objects are no longer renamed into place")
	}
}

// multipart is a stand-in for S3 that takes an upload in parts, and notes whether its parts were aborted.
type multipart struct {
	mu      sync.Mutex
	parts   int
	aborted bool
	// hold is called with each part; commit answers the last request.
	hold   func()
	commit func(w http.ResponseWriter)
}

func (m *multipart) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodPost && q.Has("uploads"):
		fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPut && q.Has("partNumber"):
		m.mu.Lock()
		m.parts++
		m.mu.Unlock()
		if m.hold != nil {
			m.hold()
		}
		w.Header().Set("ETag", `"1"`)
	case r.Method == http.MethodPost:
		m.commit(w)
	case r.Method == http.MethodDelete:
		m.mu.Lock()
		m.aborted = true
		m.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}
}

// TestS3LeavesPartsOfACancelledUpload: the request that would abort them has the context that has ended.
func TestS3LeavesPartsOfACancelledUpload(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store := &multipart{hold: cancel}
	bucket := onS3(t, store.ServeHTTP)
	w, err := bucket.NewWriter(ctx, "k", &blob.WriterOptions{BufferSize: 5 << 20, MaxConcurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, errWrite := w.Write(bytes.Repeat([]byte("x"), 20<<20))
	if err := w.Close(); err == nil && errWrite == nil {
		t.Error("a cancelled upload succeeded")
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	if store.parts == 0 || store.aborted {
		t.Errorf("%d parts, aborted %v: the transfer manager tidies up now", store.parts, store.aborted)
	}
}

// TestS3LostCompletion: of two writers, the one that loses at the completion of its parts is notified where S3 states 412;
// where it reports that two writers met, gocloud's code is that of anything.
func TestS3LostCompletion(t *testing.T) {
	for _, tc := range []struct {
		status int
		code   string
		want   gcerrors.ErrorCode
	}{
		{http.StatusPreconditionFailed, "PreconditionFailed", gcerrors.FailedPrecondition},
		{http.StatusConflict, "ConditionalRequestConflict", gcerrors.Unknown},
	} {
		store := &multipart{commit: func(w http.ResponseWriter) {
			w.WriteHeader(tc.status)
			fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", tc.code)
		}}
		bucket := onS3(t, store.ServeHTTP)
		err := bucket.WriteAll(t.Context(), "k", bytes.Repeat([]byte("x"), 17<<20), &blob.WriterOptions{IfNotExist: true})
		if code := gcerrors.Code(err); err == nil || code != tc.want {
			t.Errorf("%d %s: %v, want %v (%v)", tc.status, tc.code, code, tc.want, err)
		}
	}
}

// TestGCSReopensABrokenBody: each time a body breaks, the rest is requested, unseen by the caller: here once a byte.
func TestGCSReopensABrokenBody(t *testing.T) {
	const size = 40
	asked := 0
	bucket := onGCS(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		at := 0
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &at)
		w.Header().Set("Content-Length", fmt.Sprint(size-at))
		if at > 0 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", at, size-1, size))
			w.WriteHeader(http.StatusPartialContent)
		}
		io.WriteString(w, "x")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	got, err := bucket.ReadAll(t.Context(), "k")
	if len(got) != size || asked != size {
		t.Errorf("%d bytes by %d requests, %v", len(got), asked, err)
	}
}

// TestGCSReadsNoSuffix: the library could, but no hook of gocloud's lets a read begin before the first byte.
func TestGCSReadsNoSuffix(t *testing.T) {
	bucket := onGCS(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	if _, err := bucket.NewRangeReader(t.Context(), "k", -10, -1, nil); err == nil {
		t.Error("gocloud reads suffixes now")
	}
}

// TestGocloudsCodes: a request that was denied and a name that does not resolve look like missing objects, which garbage
// collection would take for proof; a store that is busy looks like anything.
func TestGocloudsCodes(t *testing.T) {
	refuse := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	azure, err := container.NewClientWithNoCredential("https://no-such-store.invalid/c",
		&container.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	unresolved, err := azureblob.OpenBucket(t.Context(), azure, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		bucket *blob.Bucket
		want   gcerrors.ErrorCode
	}{
		"GCS denied":          {onGCS(t, refuse(http.StatusForbidden, "")), gcerrors.NotFound},
		"Azure without DNS":   {unresolved, gcerrors.NotFound},
		"S3 asked to go slow": {onS3(t, refuse(http.StatusServiceUnavailable, "<Error><Code>SlowDown</Code></Error>")), gcerrors.Unknown},
	} {
		_, err := tc.bucket.Attributes(t.Context(), "k")
		if name == "S3 asked to go slow" { // a HEAD has no body to say it in
			_, err = tc.bucket.ReadAll(t.Context(), "k")
		}
		if code := gcerrors.Code(err); err == nil || code != tc.want {
			t.Errorf("%s: %v, want %v (%v)", name, code, tc.want, err)
		}
	}
}
