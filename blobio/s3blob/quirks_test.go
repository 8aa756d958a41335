package s3blob

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/blobio/internal/cloudblob"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// quirky opens a bucket on a store with quirks.
func quirky(t *testing.T, quirks, params string) (*blobfake.S3, *bucket) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	s := blobfake.NewS3(t, quirks)
	return s, blobfake.OpenURL[*bucket](t, OpenURL, "s3://b?endpoint="+s.URL+params)
}

func TestSizeIsNeverMadeUp(t *testing.T) {
	blobfake.SizesAreNeverMadeUp(t, []string{"", "chunked-get", "head-no-length", "chunked-get head-no-length", "cr-star",
		"cr-star chunked-get", "short-206", "short-206 chunked-get", "no-last-modified", "head-405", "head-405 chunked-get"},
		func(t *testing.T, quirks string, body []byte) (blobio.Bucket, string) {
			s, b := quirky(t, quirks, "")
			s.Put("k", body)
			return b, "k"
		})
}

// TestPartWithoutPlace: bytes that the answer does not place in the object are not taken for those that were requested.
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
	r, info, err := p.Open(t.Context(), "empty", 0, blobio.ReadOptions{})
	if err != nil || info.Size != 0 {
		t.Fatalf("size %d, %v; want an empty object", info.Size, err)
	}
	r.Close()
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
		{"page=2 empty-page", "", false},
		{"page=1 empty-page", "", false},
		{"page=2 empty-page=always", "", true},
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

// TestPagesAreTriedAgain: a list of many pages ends although every second request fails.
func TestPagesAreTriedAgain(t *testing.T) {
	for _, quirks := range []string{"page=1", "page=1 list-v1-only"} {
		s, b := quirky(t, quirks, "")
		for i := range 9 {
			s.Put(fmt.Sprintf("l/%d", i), nil)
		}
		s.Before(func(w http.ResponseWriter, _ *http.Request, kind string, n int) bool {
			if kind != "list" || n%2 == 0 {
				return false
			}
			s.Refuse(w, http.StatusServiceUnavailable, "SlowDown", "")
			return true
		})
		client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond, Busy: time.Millisecond, Budget: 10 * time.Second}})
		if err := client.MountBucket("s3://b/", b); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range client.List(t.Context(), "s3://b/l/") {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if lists := len(s.Requests("list")); n != 9 || lists > 25 {
			t.Errorf("%q: %d keys by %d requests", quirks, n, lists)
		}
		client.Close()
	}
}

// TestPathOfABucket: what is allowed below BUCKET/ may be listed, by both versions.
func TestPathOfABucket(t *testing.T) {
	for _, params := range []string{"", "&list_version=1"} {
		s, b := quirky(t, "", params)
		s.Put("l/1", nil)
		s.Before(func(w http.ResponseWriter, r *http.Request, kind string, _ int) bool {
			if r.URL.Path == "/b/" {
				return false
			}
			s.Refuse(w, http.StatusForbidden, "AccessDenied", "")
			return true
		})
		if got, err := listed(t, b, "l/"); err != nil || !slices.Equal(got, []string{"l/1:0"}) {
			t.Errorf("%q: %v, %v", params, got, err)
		}
	}
}

// TestSkewedClock: a refusal for the time of the signature is known by the date of its answer, also where that has no body, and
// heals.
func TestSkewedClock(t *testing.T) {
	for _, skew := range []string{"-3600", "3600"} {
		s, b := quirky(t, "skew="+skew, "")
		s.Put("k", []byte("content"))
		_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
		if blobio.Class(err) != blobio.ErrTransient || !strings.Contains(err.Error(), "clock is") {
			t.Errorf("%s s: %v, want ErrTransient that names the clock", skew, err)
		}
		if info, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); err != nil || info.Size != 7 {
			t.Errorf("%s s, signed by the store's clock: %v, %v", skew, info, err)
		}
	}
	// A refusal at the right time is one of a right.
	b := stub(t, refuse(403, ""), "")
	if _, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); blobio.Class(err) != blobio.ErrDenied {
		t.Errorf("%v, want ErrDenied", err)
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
	hooks := (&bucket{}).reads()
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

// TestETagsAreComparedBare: stores print the ETag of one object in several ways.
func TestETagsAreComparedBare(t *testing.T) {
	for _, quirks := range []string{"", "etag-bare=list", "etag-weak=get+head+put+list", "etag-weak=list", "etag-upper=list", "etag-gzip=get",
		"etag-bare=get+head+list", "etag-weak=get etag-bare=head"} {
		s, b := quirky(t, quirks, "")
		s.Put("k", []byte("content"))
		var info blobio.Info
		for i, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
			if info = i; err != nil {
				t.Fatal(err)
			}
		}
		read := make([]byte, 3)
		if quirks == "etag-upper=list" { // is sent as it was printed, which the server does not know
			info.ETag = strings.ToLower(info.ETag)
		}
		if _, _, err := b.ReadRange(t.Context(), "k", 1, read, blobio.ReadOptions{IfMatch: info.ETag}); err != nil || string(read) != "ont" {
			t.Errorf("%q: pinned read: %v", quirks, err)
		}
		if _, err := b.Stat(t.Context(), "k", blobio.ReadOptions{IfMatch: info.ETag}); err != nil {
			t.Errorf("%q: pinned stat: %v", quirks, err)
		}
		if err := b.Delete(t.Context(), "k", blobio.DeleteOptions{IfMatch: `"00"`}); !errors.Is(err, blobio.ErrChanged) {
			t.Errorf("%q: delete of another version: %v", quirks, err)
		}
		if err := b.Delete(t.Context(), "k", blobio.DeleteOptions{IfMatch: info.ETag}); err != nil {
			t.Errorf("%q: delete: %v", quirks, err)
		}
	}
}

// TestETagsOfParts: those of an upload's parts are sent as S3 prints them.
func TestETagsOfParts(t *testing.T) {
	for _, quirks := range []string{"", "etag-weak=part", "etag-bare=part"} {
		s, b := quirky(t, quirks, "&part_size=5242880")
		if err := blobtest.Put(t.Context(), b, "k", make([]byte, 6<<20)); err != nil {
			t.Errorf("%q: %v", quirks, err)
		}
		if o, _ := s.Object("k"); len(o.Body) != 6<<20 {
			t.Errorf("%q: %d bytes", quirks, len(o.Body))
		}
	}
}

// TestDeleteWithoutHead: a store without HEAD deletes, and keeps to the condition.
func TestDeleteWithoutHead(t *testing.T) {
	s, b := quirky(t, "head-405", "")
	s.Put("k", []byte("content"))
	if err := b.Delete(t.Context(), "k", blobio.DeleteOptions{IfMatch: `"00"`}); !errors.Is(err, blobio.ErrChanged) {
		t.Errorf("another version: %v, want ErrChanged", err)
	}
	if err := b.Delete(t.Context(), "k", blobio.DeleteOptions{}); err != nil || len(s.Keys()) > 0 {
		t.Errorf("%v, left %v", err, s.Keys())
	}
	if err := b.Delete(t.Context(), "k", blobio.DeleteOptions{}); !errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("what is gone: %v, want ErrNotFound", err)
	}
}

// TestWordlessRefusals: the reason of a HEAD that was refused with 400, of which the answer has no body, comes from a read.
func TestWordlessRefusals(t *testing.T) {
	for code, want := range map[string]error{"ExpiredToken": blobio.ErrDenied, "RequestTimeout": blobio.ErrTransient, "InvalidArgument": blobio.ErrUnknown} {
		b := stub(t, refuse(400, code), "")
		if _, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); blobio.Class(err) != want || !strings.Contains(err.Error(), code) {
			t.Errorf("%s: %v, want %v", code, err, want)
		}
	}
}

// TestRefusalsSayWhatToDo: the region from wherever the store states it, and what is behind other refusals.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		header string
		want   string
	}{
		{"301", 301, "<Error><Code>PermanentRedirect</Code><Endpoint>b.s3-eu-north-1.amazonaws.com</Endpoint></Error>", "", "?region=eu-north-1"},
		{"301 header", 301, "", "eu-north-1", "?region=eu-north-1"},
		{"307", 307, "<Error><Code>TemporaryRedirect</Code></Error>", "eu-north-1", "?region=eu-north-1"},
		{"400 element", 400, "<Error><Code>AuthorizationHeaderMalformed</Code><Message>malformed</Message><Region>eu-central-003</Region></Error>", "", "?region=eu-central-003"},
		{"400 text", 400, "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'x' is wrong; expecting 'garage'</Message></Error>", "", "?region=garage"},
		{"400 header", 400, "", "eu-north-1", "?region=eu-north-1"},
		{"400 nowhere", 400, "<Error><Code>AuthorizationHeaderMalformed</Code><Message>wrong</Message></Error>", "", "?region="},
		{"403 scope", 403, "<Error><Code>SignatureDoesNotMatch</Code><Message>Credential scope should be 'us-west-004'</Message></Error>", "", "?region=us-west-004"},
		{"R2", 400, "<Error><Code>InvalidRegionName</Code><Message>Must be one of: wnam, auto</Message></Error>", "", "auto; the store expects another region"},
		{"hidden", 403, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>", "", "s3:ListBucket"},
		{"archived", 403, "<Error><Code>InvalidObjectState</Code><Message>not valid</Message></Error>", "", "restore it"},
		{"locked", 403, "<Error><Code>AccessDenied</Code><Message>protected by object lock</Message></Error>", "", "retention rule"},
	} {
		b := stub(t, func(w http.ResponseWriter, _ *http.Request) {
			if test.header != "" {
				w.Header().Set("X-Amz-Bucket-Region", test.header)
			}
			w.WriteHeader(test.status)
			fmt.Fprint(w, test.body)
		}, "")
		_, _, err := b.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
		if blobio.Class(err) != blobio.ErrDenied || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want ErrDenied with %q", test.name, err, test.want)
		}
	}
}

// TestRequestsOfSettings: what each setting puts into requests.
func TestRequestsOfSettings(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(headersVariable, "CF-Access-Client-Id: abc\nX-Other: d: e\n")
	s, b := quirky(t, "", "&acl=bucket-owner-full-control&sse=aws:kms&kms_key_id=k1&"+url.Values{"kms_context": {`{"a":"b"}`}}.Encode()+
		"&storage_class=STANDARD_IA&header.X-Team=data&part_size=5242880")
	small := func(b *bucket) {
		for _, size := range []int{3, 6 << 20} {
			if err := blobtest.Put(t.Context(), b, fmt.Sprint("k", size), make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Stat(t.Context(), "k3", blobio.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.ReadRange(t.Context(), "k3", 0, make([]byte, 1), blobio.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	small(b)
	for _, kind := range []string{"put", "begin"} {
		h := s.Requests(kind)[0].Header
		for name, want := range map[string]string{"X-Amz-Acl": "bucket-owner-full-control", "X-Amz-Storage-Class": "STANDARD_IA",
			"X-Amz-Server-Side-Encryption": "aws:kms", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": "k1",
			"X-Amz-Server-Side-Encryption-Context": base64.StdEncoding.EncodeToString([]byte(`{"a":"b"}`))} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", kind, name, h.Get(name), want)
			}
		}
	}
	for _, r := range s.Requests("") {
		h := r.Header
		if h.Get("X-Team") != "data" || h.Get("Cf-Access-Client-Id") != "abc" || h.Get("X-Other") != "d: e" {
			t.Errorf("%s lacks a header: %v", r.Kind, h)
		}
		if !strings.Contains(h.Get("User-Agent"), "shardcat/") {
			t.Errorf("%s by %q", r.Kind, h.Get("User-Agent"))
		}
		if strings.Contains(h.Get("Authorization"), "accept-encoding") || h.Get("Accept-Encoding") == "" {
			t.Errorf("%s: Accept-Encoding %q is signed or missing: %s", r.Kind, h.Get("Accept-Encoding"), h.Get("Authorization"))
		}
		if !strings.Contains(h.Get("Authorization"), "x-team") {
			t.Errorf("%s: the header is not signed", r.Kind)
		}
		if h.Get("X-Amz-Checksum-Mode") != "" {
			t.Errorf("%s has X-Amz-Checksum-Mode", r.Kind)
		}
	}
	s, b = quirky(t, "", "&sse_customer_key_file="+key+"&part_size=5242880")
	small(b)
	for _, kind := range []string{"put", "begin", "part", "get", "head"} {
		h := s.Requests(kind)[0].Header
		if h.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") != "AES256" || h.Get("X-Amz-Server-Side-Encryption-Customer-Key-Md5") == "" ||
			h.Get("X-Amz-Server-Side-Encryption-Customer-Key") != base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)) {
			t.Errorf("%s lacks the customer's key: %v", kind, h)
		}
	}
}

// TestTimesOfAnyForm: a time that is not HTTP's own does not cost the answer.
func TestTimesOfAnyForm(t *testing.T) {
	s, b := quirky(t, "iso-last-modified", "")
	s.Put("k", []byte("content"))
	info, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	if err != nil || info.ModTime.IsZero() {
		t.Errorf("%v, %v", info, err)
	}
}

// TestChecksumProbeWithoutWords: a refusal is one of the checksum if the right checksum is taken.
func TestChecksumProbeWithoutWords(t *testing.T) {
	for quirks, want := range map[string]bool{"": true, "digest-error=bare": true, "digest-error=html": true, "no-md5-check": false} {
		s, b := quirky(t, quirks, "")
		if checked, err := b.ProbeChecksum(t.Context(), "p"); err != nil || checked != want {
			t.Errorf("%q: %v, %v", quirks, checked, err)
		}
		if _, there := s.Object("p"); there && want {
			t.Errorf("%q: the probe is left", quirks)
		}
	}
	for _, kind := range []string{"put", "delete"} { // the second request fails once, and the probe is made again
		s, b := quirky(t, "digest-error=html", "")
		s.Before(func(w http.ResponseWriter, r *http.Request, is string, n int) bool {
			if is != kind || n != map[string]int{"put": 2, "delete": 1}[kind] {
				return false
			}
			s.Refuse(w, http.StatusBadGateway, "", "")
			return true
		})
		client := blobio.NewClient(blobio.ClientOptions{Retry: blobio.RetryPolicy{First: time.Millisecond}})
		if err := client.MountBucket("s3://b/", b); err != nil {
			t.Fatal(err)
		}
		if checked, known, err := client.ProbeChecksum(t.Context(), "s3://b/p"); !checked || !known || err != nil || len(s.Keys()) > 0 {
			t.Errorf("%s fails once: %v, %v, %v, left %v", kind, checked, known, err, s.Keys())
		}
		client.Close()
	}
	b := stub(t, refuse(400, "InvalidArgument"), "")
	if checked, err := b.ProbeChecksum(t.Context(), "p"); err == nil || checked {
		t.Errorf("a store that refuses everything: %v, %v", checked, err)
	}
}

// TestEndlessAnswers: an error and a list that do not end are given up.
func TestEndlessAnswers(t *testing.T) {
	for _, status := range []int{200, 403, 404, 500} {
		var sent atomic.Int64 // MiB of the last answer; its handler may outlive the call that gave up
		b := stub(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, "<ListBucketResult><Error><Message>")
			junk := bytes.Repeat([]byte("x"), 1<<20)
			for mib := range int64(300) {
				sent.Store(mib)
				if _, err := w.Write(junk); err != nil {
					return
				}
			}
		}, "")
		if _, err := listed(t, b, ""); err == nil {
			t.Errorf("%d: no error", status)
		}
		if n := sent.Load(); n > 150 {
			t.Errorf("%d: %d MiB were read", status, n)
		}
	}
}

// TestTrust: a store with a certificate of one's own, and one that wants to see one.
func TestTrust(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) > 0 {
			w.Header().Set("ETag", `"seen"`)
		}
		w.Header().Set("Content-Length", "1")
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	ca, key := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{ca: {Type: "CERTIFICATE", Bytes: server.Certificate().Raw}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		params, bundle, etag string
		class                error
	}{
		{"", "", "", blobio.ErrDenied},
		{"&ca_file=" + ca, "", "", nil},
		{"", ca, "", nil},
		{"&ca_file=" + ca + "&client_cert_file=" + ca + "&client_key_file=" + key, "", `"seen"`, nil},
	} {
		stub(t, nil, "")
		t.Setenv("AWS_CA_BUNDLE", test.bundle)
		b := blobfake.OpenURL[*bucket](t, OpenURL, "s3://b?endpoint="+server.URL+test.params)
		info, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
		if blobio.Class(err) != test.class || info.ETag != test.etag {
			t.Errorf("%q %q: %+v, %v", test.params, test.bundle, info, err)
		}
	}
}
