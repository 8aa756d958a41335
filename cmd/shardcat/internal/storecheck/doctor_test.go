package storecheck

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	gocloud "gocloud.dev/blob/memblob"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/azblob"
	"github.com/shardcat/shardcat/blobio/cloudblob"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/gcsblob"
	"github.com/shardcat/shardcat/blobio/memblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

const root = "mem://examined/"

// examine runs all checks on a bucket in memory behind a wrapper.
func examine(t *testing.T, bucket blobio.Bucket, opts Options) *Report {
	t.Helper()
	client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{Attempts: 2, First: time.Millisecond, Busy: time.Millisecond}})
	t.Cleanup(func() { client.Close() })
	if err := client.MountBucket(root, bucket); err != nil {
		t.Fatal(err)
	}
	opts.LargeBytes = 1 << 20
	return Examine(t.Context(), client, root+"w", opts)
}

// find is the finding of a check.
func find(t *testing.T, r *Report, check string) Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Check == check {
			return f
		}
	}
	t.Fatalf("no finding of %s", check)
	return Finding{}
}

// left lists what a report's examination left behind.
func left(t *testing.T, b blobio.Bucket) (keys []string) {
	t.Helper()
	for info, err := range b.List(context.Background(), "", blobio.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func TestHealthyStore(t *testing.T) {
	bucket := memblob.New()
	r := examine(t, bucket, Options{})
	for _, f := range r.Findings {
		if f.Status != OK {
			t.Error(f)
		}
	}
	if !r.Healthy || !r.SafeWrites || len(r.Findings) != 13 {
		t.Errorf("healthy %v, safe writes %v, %d findings; want yes, yes, 13", r.Healthy, r.SafeWrites, len(r.Findings))
	}
	if keys := left(t, bucket); len(keys) > 0 {
		t.Errorf("objects were left: %v", keys)
	}
}

// TestBareDriver: what a gocloud bucket without hooks can't promise is a warning that names it, and nothing else is
// wrong with it.
func TestBareDriver(t *testing.T) {
	bucket := cloudblob.FromBucket(root, gocloud.OpenBucket(nil))
	limits := bucket.(blobio.Limited).Limits()
	r := examine(t, bucket, Options{})
	mount := find(t, r, "mount")
	if len(limits) != 5 || mount.Status != Warning || !strings.Contains(mount.Do, "hooks") {
		t.Errorf("%d limits, %v", len(limits), mount)
	}
	for _, limit := range limits {
		if !strings.Contains(mount.What, limit) {
			t.Errorf("%q is not named in %q", limit, mount.What)
		}
	}
	if !r.Healthy || !r.SafeWrites {
		t.Errorf("healthy %v, safe writes %v: %v", r.Healthy, r.SafeWrites, r.Findings)
	}
}

// TestSickStores: each illness is found by the check that is made for it, and reports what to do.
func TestSickStores(t *testing.T) {
	for _, tc := range []struct {
		name, script  string
		check, do     string
		unsafe, skips bool
	}{
		{"nothing may be written", "put *: fail denied", "write", "check the credentials", true, true},
		{"nothing may be read", "get *: fail denied", "read", "check the credentials", true, true},
		{"nothing may be listed", "list *: fail denied", "list", "check the credentials", false, false},
		{"nothing may be deleted", "delete *: fail denied", "delete", "check the credentials", false, false},
		{"there is no bucket", "any *: fail notfound", "write", "create the bucket", true, true},
		{"it is down", "any *: fail transient", "list", "check endpoint", true, true},
		{"new objects are hidden", "list 2-: hide", "listed", "consistent listings", false, false},
		{"bits flip", "get 1: flip 7", "read", "do not use", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := examine(t, blobfake.NewFaulty(t, memblob.New(), tc.script), Options{})
			f := find(t, r, tc.check)
			if f.Status != Failed || !strings.Contains(f.Do, tc.do) || strings.Contains(f.String(), "\n") {
				t.Errorf("%q, want a failed check on one line that says %q", f, tc.do)
			}
			if r.Healthy || r.SafeWrites == tc.unsafe {
				t.Errorf("healthy %v, safe writes %v; want false, %v", r.Healthy, r.SafeWrites, !tc.unsafe)
			}
			if skipped := find(t, r, "throughput").Status == Skipped; skipped != tc.skips {
				t.Errorf("later checks skipped: %v, want %v", skipped, tc.skips)
			}
		})
	}
}

// careless is a store without conditional creates: the last writer wins, all succeed.
type careless struct{ *memblob.Bucket }

func (c careless) Create(ctx context.Context, key string, o blobio.CreateOptions) (blobio.Writer, error) {
	if err := c.Bucket.Delete(ctx, key, blobio.DeleteOptions{}); err != nil && blobio.Class(err) != blobio.ErrNotFound {
		return nil, err
	}
	return c.Bucket.Create(ctx, key, o)
}

func TestStoreWithoutConditionalWrites(t *testing.T) {
	r := examine(t, careless{memblob.New()}, Options{})
	f := find(t, r, "conditional")
	if f.Status != Failed || !f.Unsafe || !strings.Contains(f.Do, "--unsafe-no-conditional-writes") || r.SafeWrites {
		t.Errorf("%s, safe writes %v; want a failure that names the flag", f, r.SafeWrites)
	}
}

// TestStoreThatRefusesConditions: some answer 501 to If-None-Match.
func TestStoreThatRefusesConditions(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotImplemented)
			fmt.Fprint(w, "<Error><Code>NotImplemented</Code></Error>")
			return
		}
		if !r.URL.Query().Has("list-type") {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
	}))
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	client := blobio.NewClient(blobio.ClientOptions{})
	defer client.Close()
	f := find(t, Examine(t.Context(), client, "s3://b/w?endpoint="+server.URL, Options{}), "write")
	if f.Status != Failed || !f.Unsafe || !strings.Contains(f.Do, "--unsafe-no-conditional-writes") {
		t.Errorf("%s, want a failure that names the flag", f)
	}
}

// examineS3 runs all checks on a store of S3 with quirks.
func examineS3(t *testing.T, quirks string) (*Report, *blobfake.S3) {
	t.Helper()
	s := blobfake.NewS3(t, quirks)
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond, Busy: time.Millisecond}})
	t.Cleanup(func() { client.Close() })
	return Examine(t.Context(), client, "s3://b/w?part_size=5242880&endpoint="+s.URL, Options{LargeBytes: 6 << 20}), s
}

// TestFaultsThatPass: each request of an examination fails at first, or its answer is lost; the findings are those of a healthy store,
// and nothing is left.
func TestFaultsThatPass(t *testing.T) {
	for _, fault := range []string{"503", "reset", "lost"} { // the probe of package catalog meets the others, too
		r, s := examineS3(t, "passing="+fault)
		for _, f := range r.Findings {
			if f.Status != OK {
				t.Errorf("%s: %s", fault, f)
			}
		}
		if left := s.Keys(); len(left) > 0 || s.Uploads() > 0 && fault != "lost" { // an upload whose id was lost stays
			t.Errorf("%s: left behind: %v, %d uploads", fault, left, s.Uploads())
		}
	}
}

// TestQuirksOfS3: what a real store does otherwise is found by the check for it, or nothing where it is made up for.
func TestQuirksOfS3(t *testing.T) {
	for quirks, want := range map[string]struct {
		check, do string
		unsafe    bool
	}{
		"list-v1-only":            {},
		"list-v2-refused":         {},
		"nextmarker list-v1-only": {},
		"empty-page":              {},
		"enc-always":              {},
		"list-no-size":            {},
		"no-token marker-ignored": {"listed", "", false},
		"inm-complete=ignore":     {"multipart", "--unsafe-no-conditional-writes", true},
		"inm=ignore":              {"conditional", "--unsafe-no-conditional-writes", true},
		"inm=501":                 {"write", "--unsafe-no-conditional-writes", true},
		"cr-missing":              {"ranges", "ignores ranges", false},
		"ignore-range":            {"ranges", "ignores ranges", false},
		"etag-none=get+head+list": {"pinned", "", false},
		"no-md5-check":            {"checksum", "", false},
	} {
		r, _ := examineS3(t, quirks)
		found := want.check == ""
		for _, f := range r.Findings {
			switch {
			case f.Check == want.check:
				found = f.Status != OK && strings.Contains(f.Do, want.do) && f.Unsafe == want.unsafe
				if !found {
					t.Errorf("%s: %s", quirks, f)
				}
			case want.check == "" && f.Status != OK:
				t.Errorf("%s: %s", quirks, f)
			}
		}
		if !found {
			t.Errorf("%s: not found by %s", quirks, want.check)
		}
	}
}

func TestClocks(t *testing.T) {
	for _, tc := range []struct {
		off  time.Duration
		want Status
	}{{0, OK}, {time.Minute, Warning}, {-time.Minute, Warning}, {time.Hour, Failed}, {-time.Hour, Failed}} {
		r := examine(t, memblob.New(), Options{Now: func() time.Time { return time.Now().Add(tc.off) }})
		if f := find(t, r, "clock"); f.Status != tc.want {
			t.Errorf("%s off: %s, want %s", tc.off, f, tc.want)
		}
	}
}

func TestURLThatNamesNoStore(t *testing.T) {
	const secret = "c2VjcmV0"
	for _, raw := range []string{"ftp://host/x", "s3://b/w?colour=blue", "s3://b/w?secret_access_key=" + secret} {
		client := blobio.NewClient(blobio.ClientOptions{})
		r := Examine(t.Context(), client, raw, Options{})
		client.Close()
		f := find(t, r, "mount")
		if f.Status != Failed || r.Healthy || strings.Contains(fmt.Sprint(r), secret) {
			t.Errorf("%s: %s", raw, f)
		}
		if find(t, r, "delete").Status != Skipped {
			t.Errorf("%s: the other checks were not skipped", raw)
		}
	}
}

// TestRealServers examines a folder and the servers that the environment names; all of them are healthy.
func TestRealServers(t *testing.T) {
	places := map[string]string{"file": "file://" + t.TempDir()}
	for _, variable := range []string{"SHARDCAT_TEST_S3", "SHARDCAT_TEST_AZURE", "SHARDCAT_TEST_GCS"} {
		places[variable] = os.Getenv(variable)
	}
	for name, raw := range places {
		t.Run(name, func(t *testing.T) {
			if raw == "" {
				t.Skipf("%s is not set: no server to test with (.ci/servers starts one)", name)
			}
			client := blobio.NewClient(blobio.ClientOptions{})
			defer client.Close()
			r := Examine(t.Context(), client, raw, Options{})
			for _, f := range r.Findings {
				if f.Status != OK {
					t.Error(f)
				}
			}
			if !r.Healthy || !r.SafeWrites {
				t.Errorf("healthy %v, safe writes %v", r.Healthy, r.SafeWrites)
			}
			t.Log(find(t, r, "throughput"))
		})
	}
}
