package azblob

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// quirky opens a container of an account with quirks.
func quirky(t *testing.T, quirks, params string) (*blobfake.Azure, *bucket) {
	t.Helper()
	clearEnvironment(t)
	t.Setenv("AZURE_STORAGE_ACCOUNT", "acct")
	t.Setenv("AZURE_STORAGE_KEY", secret)
	a := blobfake.NewAzure(t, quirks)
	return a, blobfake.OpenURL[*bucket](t, OpenURL, "abfss://c@acct.dfs.core.windows.net?endpoint="+a.URL+"/acct"+params)
}

func TestSizeIsNeverMadeUp(t *testing.T) {
	blobfake.SizesAreNeverMadeUp(t, []string{"", "chunked-get", "head-no-length", "chunked-get head-no-length", "cr-star", "cr-star chunked-get",
		"short-206", "short-206 chunked-get"},
		func(t *testing.T, quirks string, body []byte) (blobio.Bucket, string) {
			a, b := quirky(t, quirks, "")
			a.Put("k", body)
			return b, "k"
		})
}

// TestAnswerWithoutTime: which the library does not expect, is an error of the object and no crash.
func TestAnswerWithoutTime(t *testing.T) {
	a, b := quirky(t, "no-last-modified", "")
	a.Put("k", []byte("content"))
	if r, _, err := b.Open(t.Context(), "k", 0, blobio.ReadOptions{}); blobio.Class(err) != blobio.ErrUnknown || !strings.Contains(err.Error(), "/k: ") {
		t.Errorf("%v, %v; want ErrUnknown that names the blob", r, err)
	}
}

// TestListsAreWhole: every blob comes with its size and time, no directory does; a list that turns in a circle, or
// lacks sizes or times, is an error.
func TestListsAreWhole(t *testing.T) {
	want := []string{"l/0:0", "l/1:1", "l/2:2", "l/3:3", "l/4/x:4"}
	for _, quirks := range []string{"", "page=1", "page=2", "page=2 empty-page", "page=1 empty-page", "page=2 hns", "list-no-mtime page=2", "list-no-size page=2",
		"list-no-size list-no-mtime", "page=2 repeat-marker"} {
		a, b := quirky(t, quirks, "")
		for _, key := range want {
			key, size, _ := strings.Cut(key, ":")
			a.Put(key, make([]byte, size[0]-'0'))
		}
		a.Put("m", nil)
		var got []string
		var err error
		for info, e := range b.List(t.Context(), "l/", blobio.ListOptions{}) {
			if err = e; e != nil {
				break
			}
			got = append(got, fmt.Sprintf("%s:%d", info.Key, info.Size))
			if !blobio.KnownTime(info.ModTime) {
				t.Errorf("%q: %s has no time", quirks, info.Key)
			}
		}
		switch broken := strings.Contains(quirks, "repeat-marker") || strings.Contains(quirks, "list-no-"); {
		case broken && blobio.Class(err) != blobio.ErrUnknown:
			t.Errorf("%q: %v, %v; want ErrUnknown", quirks, got, err)
		case !broken && (err != nil || !slices.Equal(got, want)):
			t.Errorf("%q: %v, %v", quirks, got, err)
		}
	}
}

// TestHeldBlobs: what holds a blob is named, nothing is changed, and no second request is made.
func TestHeldBlobs(t *testing.T) {
	for quirks, want := range map[string]string{"archived": "rehydrate it", "rehydrating": "a few hours", "encrypted": "a customer-provided key",
		"leased": "break the lease", "leased=LeaseLost": "break the lease", "immutable": "immutability policy", "legal-hold": "legal hold",
		"snapshots": "has snapshots"} {
		a, b := quirky(t, quirks, "")
		a.Put("k", []byte("content"))
		do := func() error { return b.Delete(t.Context(), "k", blobio.DeleteOptions{}) }
		if quirks == "archived" || quirks == "rehydrating" || quirks == "encrypted" {
			do = func() error {
				_, _, err := b.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
				return err
			}
		}
		if err := do(); blobio.Class(err) != blobio.ErrDenied || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrDenied with %q", quirks, err, want)
		}
		if body, ok := a.Blob("k"); !ok || string(body) != "content" || a.Requests() != 1 {
			t.Errorf("%s: the blob is %q, %v after %d requests", quirks, body, ok, a.Requests())
		}
	}
}

// TestCreatesOverHeldBlobs: where the account refuses a create by what holds the blob that is there, that is named, the blob stays as it was, and no
// request is repeated: of a small blob, and of one in blocks.
func TestCreatesOverHeldBlobs(t *testing.T) {
	for quirks, want := range map[string]string{"archived": "rehydrate it", "rehydrating": "retry in a few hours", "leased": "break the lease",
		"leased=LeaseLost": "break the lease", "leased=LeaseIdMismatchWithBlobOperation": "break the lease", "immutable": "immutability policy",
		"legal-hold": "legal hold", "encrypted": "a customer-provided key"} {
		for size, requests := range map[int]int{3: 1, 12 << 10: 4} { // 3 blocks and their list
			a, b := quirky(t, quirks+" held-first", "&part_size=5000")
			a.Put("k", []byte("content"))
			client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond}})
			t.Cleanup(func() { client.Close() })
			const root = "abfss://c@acct.dfs.core.windows.net/"
			if err := client.MountBucket(root, b); err != nil {
				t.Fatal(err)
			}
			w, err := client.Create(t.Context(), root+"k", blobio.CreateOptions{InParts: size > 5000})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = w.Write(make([]byte, size)); err == nil {
				err = w.Close()
			}
			if blobio.Class(err) != blobio.ErrDenied || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %d bytes: %v, want ErrDenied with %q", quirks, size, err, want)
			}
			if body, ok := a.Blob("k"); !ok || string(body) != "content" || a.Requests() != requests {
				t.Errorf("%s, %d bytes: the blob is %q, %v after %d requests, want %d", quirks, size, body, ok, a.Requests(), requests)
			}
		}
	}
}

// TestCreatesThatLose: in one request and in blocks, by each code that accounts answer, and the blob stays as it was.
func TestCreatesThatLose(t *testing.T) {
	for _, quirks := range []string{"", "exists=ConditionNotMet", "exists=TargetConditionNotMet"} {
		for _, size := range []int{3, 12 << 10} {
			a, b := quirky(t, quirks, "&part_size=5000")
			body := bytes.Repeat([]byte("x"), size)
			if err := blobtest.Put(t.Context(), b, "k", body); err != nil {
				t.Fatal(err)
			}
			if err := blobtest.Put(t.Context(), b, "k", []byte("other")); !errors.Is(err, blobio.ErrExists) {
				t.Errorf("%q, %d bytes: %v, want ErrExists", quirks, size, err)
			}
			if got, _ := a.Blob("k"); !bytes.Equal(got, body) {
				t.Errorf("%q: %d bytes, want %d", quirks, len(got), size)
			}
		}
	}
}

// TestBusyAccounts: each third request is refused with Retry-After, and all succeed.
func TestBusyAccounts(t *testing.T) {
	a, b := quirky(t, "busy=3", "&part_size=5000&list_page=1")
	client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond, Busy: time.Millisecond}})
	defer client.Close()
	const root = "abfss://c@acct.dfs.core.windows.net/"
	if err := client.MountBucket(root, b); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("0123456789"), 300)
	for i := range 4 {
		if err := client.Put(t.Context(), fmt.Sprintf("%sk%d", root, i), want); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, err := range client.List(t.Context(), root) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	got := make([]byte, len(want))
	if _, err := client.ReadRange(t.Context(), root+"k0", 0, got); err != nil || !bytes.Equal(got, want) || n != 4 {
		t.Errorf("%d blobs, %v", n, err)
	}
	for i := range 4 {
		if err := client.Delete(t.Context(), fmt.Sprintf("%sk%d", root, i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := a.Blob("k0"); ok {
		t.Error("a blob is left")
	}
}

// TestListOfShortPagesOnBusyAccount: a list whose pages are short, as at the borders of partitions, comes to its end although some requests in
// each round through it are refused.
func TestListOfShortPagesOnBusyAccount(t *testing.T) {
	for _, quirks := range []string{"busy=5 page=2", "busy=3 page=1", "busy=2 page=3"} {
		a, b := quirky(t, quirks, "")
		var want, got []string
		for i := range 40 {
			a.Put(fmt.Sprintf("k%02d", i), nil)
			want = append(want, fmt.Sprintf("k%02d", i))
		}
		for info, err := range b.List(t.Context(), "", blobio.ListOptions{Retry: blobio.RetryPolicy{Budget: time.Hour, First: time.Millisecond,
			Busy: time.Millisecond, Most: time.Millisecond, Attempts: 5}}) {
			if err != nil {
				t.Fatalf("%s, after %d blobs: %v", quirks, len(got), err)
			}
			got = append(got, info.Key)
		}
		if !slices.Equal(got, want) || a.Requests() > 300 {
			t.Errorf("%s: %v in %d requests", quirks, got, a.Requests())
		}
	}
}

// TestDeleteOfWhatIsGone: where the condition of a delete can't hold because the blob is gone, the error is ErrNotFound, whatever the store
// answers: the first of two requests may have deleted it.
func TestDeleteOfWhatIsGone(t *testing.T) {
	for _, quirks := range []string{"", "match-missing"} {
		a, b := quirky(t, quirks, "")
		a.Put("k", []byte("one"))
		info, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a.Put("k", []byte("another"))
		if err := b.Delete(t.Context(), "k", blobio.DeleteOptions{IfMatch: info.ETag}); blobio.Class(err) != blobio.ErrChanged {
			t.Errorf("%q: another blob: %v", quirks, err)
		}
		if err := b.Delete(t.Context(), "k", blobio.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := b.Delete(t.Context(), "k", blobio.DeleteOptions{IfMatch: info.ETag}); blobio.Class(err) != blobio.ErrNotFound {
			t.Errorf("%q: no blob: %v", quirks, err)
		}
	}
}
