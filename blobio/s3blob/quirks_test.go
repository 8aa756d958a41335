package s3blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/cloudblob"
)

// quirky opens a bucket on a store with quirks.
func quirky(t *testing.T, quirks, params string) (*blobtest.S3, *Bucket) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	s := blobtest.NewS3(t, quirks)
	return s, blobtest.OpenURL[*Bucket](t, OpenURL, "s3://b?endpoint="+s.URL+params)
}

// TestSizeIsNeverMadeUp: an answer that doesn't state a length is not one of an empty object.
func TestSizeIsNeverMadeUp(t *testing.T) {
	for _, quirks := range []string{"", "chunked-get", "head-no-length", "chunked-get head-no-length", "cr-star",
		"cr-star chunked-get", "short-206", "short-206 chunked-get", "no-last-modified", "head-405", "head-405 chunked-get"} {
		for _, size := range []int{0, 1, 1000, 1001, 5000} {
			s, b := quirky(t, quirks, "")
			want := bytes.Repeat([]byte("0123456789"), 500)[:size]
			s.Put("k", want)
			r, info, err := b.Open(t.Context(), "k", 0, blobio.ReadOptions{})
			if err != nil {
				t.Errorf("%q, %d bytes: open: %v", quirks, size, err)
				continue
			}
			got, err := io.ReadAll(r)
			r.Close()
			if err != nil || !bytes.Equal(got, want) || info.Size != int64(size) {
				t.Errorf("%q, %d bytes: stream of %d bytes, size %d, %v", quirks, size, len(got), info.Size, err)
			}
			if info, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); err != nil || info.Size != int64(size) {
				t.Errorf("%q, %d bytes: stat gives size %d, %v", quirks, size, info.Size, err)
			}
			dst := make([]byte, size)
			if _, info, err := b.ReadRange(t.Context(), "k", 0, dst, blobio.ReadOptions{}); err != nil || !bytes.Equal(dst, want) || info.Size != int64(size) {
				t.Errorf("%q, %d bytes: range with size %d, %v", quirks, size, info.Size, err)
			}
			if _, _, err := b.ReadRange(t.Context(), "k", 0, make([]byte, size+1), blobio.ReadOptions{}); !errors.Is(err, blobio.ErrRange) {
				t.Errorf("%q, %d bytes: range beyond the end: %v", quirks, size, err)
			}
			tail, info, err := b.ReadSuffix(t.Context(), "k", 3000, blobio.ReadOptions{})
			if err != nil || !bytes.Equal(tail, want[max(0, size-3000):]) || info.Size != int64(size) {
				t.Errorf("%q, %d bytes: suffix of %d bytes, size %d, %v", quirks, size, len(tail), info.Size, err)
			}
		}
	}
}

// TestPartWithoutPlace: bytes that the answer does not place in the object are not taken for those that were asked for.
func TestPartWithoutPlace(t *testing.T) {
	s, b := quirky(t, "cr-missing", "")
	s.Put("k", []byte(strings.Repeat("x", 100)))
	for _, off := range []int64{0, 10} {
		_, _, err := b.ReadRange(t.Context(), "k", off, make([]byte, 5), blobio.ReadOptions{})
		if blobio.Class(err) != blobio.ErrUnknown || !strings.Contains(err.Error(), "Content-Range") {
			t.Errorf("from %d: %v, want ErrUnknown that names Content-Range", off, err)
		}
	}
}

// TestNoSizeAnywhere: a store that never states the size is refused by name.
func TestNoSizeAnywhere(t *testing.T) {
	s, b := quirky(t, "chunked-get head-no-length cr-star", "")
	s.Put("k", []byte("content"))
	_, _, err := b.Open(t.Context(), "k", 0, blobio.ReadOptions{})
	if blobio.Class(err) != blobio.ErrUnknown || !strings.Contains(err.Error(), "size") {
		t.Errorf("%v, want ErrUnknown about the size", err)
	}
}

// TestUnstatedSizeWithoutHooks: gocloud's portable layer makes 0 of an unstated length.
func TestUnstatedSizeWithoutHooks(t *testing.T) {
	s, b := quirky(t, "chunked-get", "")
	s.Put("k", []byte("content"))
	s.Put("empty", nil)
	var below *blob.Bucket
	b.As(&below)
	p := cloudblob.FromBucket("s3://b/", below, cloudblob.Options{KeepOpen: true})
	if _, _, err := p.Open(t.Context(), "k", 0, blobio.ReadOptions{}); blobio.Class(err) != blobio.ErrUnknown {
		t.Errorf("%v, want ErrUnknown", err)
	}
	if _, info, err := p.Open(t.Context(), "empty", 0, blobio.ReadOptions{}); err != nil || info.Size != 0 {
		t.Errorf("size %d, %v; want an empty object", info.Size, err)
	}
}

// listed gives the keys below a prefix, with their sizes.
func listed(t *testing.T, b blobio.Bucket, prefix string) (keys []string, err error) {
	for info, err := range b.List(t.Context(), prefix, blobio.ListOptions{}) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, fmt.Sprintf("%s:%d", info.Key, info.Size))
		if info.ModTime.IsZero() {
			t.Errorf("%s has no time", info.Key)
		}
	}
	return keys, nil
}

// TestListsAreWhole: every key comes, or an error.
func TestListsAreWhole(t *testing.T) {
	want := []string{"l/0:0", "l/1:1", "l/2:2", "l/3:3", "l/4:4"}
	for _, test := range []struct {
		quirks, params string
		cutOff         bool
	}{
		{"", "", false},
		{"page=1", "", false},
		{"page=2", "", false},
		{"", "&list_page=1", false},
		{"page=2 list-v1-only", "", false},
		{"page=2 list-v1-only nextmarker", "", false},
		{"page=2 list-v2-refused", "", false},
		{"page=2 list-v2-refused nextmarker", "", false},
		{"page=2", "&list_version=1", false},
		{"page=2 nextmarker", "&list_version=1", false},
		{"page=2 no-token", "", false}, // goes on by version 1
		{"page=2 list-no-mtime", "", false},
		{"page=2 list-no-size", "", false},
		{"page=2 list-no-size list-no-mtime", "&list_version=1", false},
		{"page=2 enc-always", "", false},
		{"page=2 repeat-token", "", true},
		{"page=2 no-token", "&list_version=2", true},
		{"page=2 list-v1-only marker-ignored", "", true},
		{"page=2 stray-key", "", true},
	} {
		s, b := quirky(t, test.quirks, test.params)
		for i := range 5 {
			s.Put(fmt.Sprintf("l/%d", i), make([]byte, i))
		}
		s.Put("m", nil)
		got, err := listed(t, b, "l/")
		switch {
		case test.cutOff && blobio.Class(err) != blobio.ErrUnknown:
			t.Errorf("%q %q: %v, %v; want ErrUnknown", test.quirks, test.params, got, err)
		case !test.cutOff && (err != nil || !slices.Equal(got, want)):
			t.Errorf("%q %q: %v, %v", test.quirks, test.params, got, err)
		}
	}
}

// TestCutOffListWithoutHooks: gocloud takes a page without a token for the last one.
func TestCutOffListOfAnotherBucket(t *testing.T) {
	s, b := quirky(t, "page=2 no-token", "")
	for i := range 5 {
		s.Put(fmt.Sprintf("l/%d", i), nil)
	}
	var below *blob.Bucket
	b.As(&below)
	hooks := Hooks()
	hooks.KeepOpen = true
	if got, err := listed(t, cloudblob.FromBucket("s3://b/", below, hooks), ""); blobio.Class(err) != blobio.ErrUnknown {
		t.Errorf("%v, %v; want ErrUnknown", got, err)
	}
}

// TestKeysThatAStoreEscapes: unasked and undeclared, declared, and keys that only look so.
func TestKeysThatAStoreEscapes(t *testing.T) {
	for _, quirks := range []string{"", "enc-always", "enc-always list-v1-only page=1", "enc-declared"} {
		for _, keys := range [][]string{{"l/a b.csv", "l/c+d.csv"}, {"l/a%20b.csv", "l/c+d.csv"}, {"l/%C3%A4.csv"}, {"l/ä.csv"}, {"l/100%.csv"}} {
			s, b := quirky(t, quirks, "")
			var want []string
			for _, key := range keys {
				s.Put(key, []byte("x"))
				want = append(want, key+":1")
			}
			if got, err := listed(t, b, "l/"); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q: %q, %v; want %q", quirks, got, err, want)
			}
		}
	}
}
