package gcsblob

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
)

const secret = "ya29.c2VjcmV0"

// stub opens a bucket on a server that answers as the handler does.
func stub(t *testing.T, handler http.HandlerFunc, params string) *Bucket {
	t.Helper()
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, "gs://b?endpoint="+server.URL+params)
}

func open(t *testing.T, raw string) *Bucket {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	b, err := OpenURL(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	return b.(*Bucket)
}

// refuse answers every request with a status and an error document.
func refuse(status int, reason string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if reason != "" {
			fmt.Fprintf(w, `{"error":{"code":%d,"message":"as the\nstore says","errors":[{"reason":%q}]}}`, status, reason)
		}
	}
}

func create(ctx context.Context, b blobio.Bucket, key, content string) error {
	w, err := b.Create(ctx, key, blobio.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, content); err != nil {
		return err
	}
	return w.Close()
}

func TestErrorClasses(t *testing.T) {
	for _, tc := range []struct {
		status int
		reason string
		want   error
	}{
		{404, "notFound", blobio.ErrNotFound},
		{403, "forbidden", blobio.ErrDenied},
		{403, "insufficientPermissions", blobio.ErrDenied},
		{401, "authError", blobio.ErrDenied},
		{403, "rateLimitExceeded", blobio.ErrThrottled},
		{403, "userRateLimitExceeded", blobio.ErrThrottled},
		{429, "rateLimitExceeded", blobio.ErrThrottled},
		{429, "", blobio.ErrThrottled},
		{503, "backendError", blobio.ErrThrottled},
		{503, "", blobio.ErrThrottled},
		{412, "conditionNotMet", blobio.ErrExists},
		{409, "conflict", blobio.ErrConflict},
		{416, "requestedRangeNotSatisfiable", blobio.ErrRange},
		{500, "internalError", blobio.ErrTransient},
		{502, "", blobio.ErrTransient},
		{408, "uploadBrokenConnection", blobio.ErrTransient},
		{400, "invalid", blobio.ErrUnknown},
	} {
		t.Run(fmt.Sprint(tc.status, tc.reason), func(t *testing.T) {
			b := stub(t, refuse(tc.status, tc.reason), "")
			_, _, err := b.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
			if got := blobio.Class(err); got != tc.want {
				t.Errorf("class %v, want %v (%v)", got, tc.want, err)
			}
			if !strings.Contains(err.Error(), "gs://b/k") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error does not name the object on one line: %q", err)
			}
		})
	}
}

// TestDeniedIsNotNotFound holds for every call: some layers above the client confuse the two.
func TestDeniedIsNotNotFound(t *testing.T) {
	b := stub(t, refuse(403, "forbidden"), "")
	_, errStat := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	_, _, errSuffix := b.ReadSuffix(t.Context(), "k", 8, blobio.ReadOptions{})
	_, _, errOpen := b.Open(t.Context(), "k", 0, blobio.ReadOptions{})
	errs := map[string]error{"stat": errStat, "suffix": errSuffix, "open": errOpen,
		"create": create(t.Context(), b, "k", "x"), "delete": b.Delete(t.Context(), "k", blobio.DeleteOptions{})}
	for _, err := range b.List(t.Context(), "", blobio.ListOptions{}) {
		errs["list"] = err
	}
	for op, err := range errs {
		if !errors.Is(err, blobio.ErrDenied) || errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("%s: %v, want only ErrDenied", op, err)
		}
	}
	if len(errs) != 6 {
		t.Errorf("%d calls failed, want 6", len(errs))
	}
}

func TestRetryAfterIsTold(t *testing.T) {
	b := stub(t, refuse(429, "rateLimitExceeded", "Retry-After", "7"), "")
	_, _, err := b.ReadRange(t.Context(), "k", 0, make([]byte, 1), blobio.ReadOptions{})
	if wait := blobio.RetryAfter(err); wait != 7*time.Second {
		t.Errorf("asked to wait %v, want 7s (%v)", wait, err)
	}
}

// TestLostCreateIsAnError: in one request, at the begin of a session and at its end.
func TestLostCreateIsAnError(t *testing.T) {
	for _, tc := range []struct {
		name  string
		size  int
		atEnd bool
	}{{"one request", 3, false}, {"session refused", 600 << 10, false}, {"session lost at its end", 600 << 10, true}} {
		t.Run(tc.name, func(t *testing.T) {
			b := stub(t, func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(io.Discard, r.Body)
				switch {
				case r.URL.Path != "/session" && r.URL.Query().Get("ifGenerationMatch") != "0":
					t.Errorf("%s came without its condition", r.URL)
				case r.URL.Path != "/session" && tc.atEnd:
					w.Header().Set("Location", "http://"+r.Host+"/session")
				case r.URL.Path == "/session" && n == 512<<10:
					w.Header().Set("Range", "bytes=0-524287")
					w.Header().Set("X-Http-Status-Code-Override", "308")
				default:
					refuse(412, "conditionNotMet")(w, r)
				}
			}, "&part_size=524288")
			err := create(t.Context(), b, "k", strings.Repeat("x", tc.size))
			if !errors.Is(err, blobio.ErrExists) {
				t.Errorf("%v, want ErrExists", err)
			}
		})
	}
}

func TestUnresolvableNameIsNotNotFound(t *testing.T) {
	b := open(t, "gs://b?anonymous=true&endpoint=http://no-such-store.invalid")
	_, err := b.Stat(t.Context(), "k", blobio.ReadOptions{})
	if !errors.Is(err, blobio.ErrTransient) || errors.Is(err, blobio.ErrNotFound) {
		t.Errorf("%v, want ErrTransient", err)
	}
}

func TestNoCredentials(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", t.TempDir()+"/none.json")
	u, err := url.Parse("gs://b")
	if err != nil {
		t.Fatal(err)
	}
	_, err = OpenURL(t.Context(), u)
	if !errors.Is(err, blobio.ErrDenied) || !strings.Contains(err.Error(), "no usable Google credentials") {
		t.Errorf("%v, want ErrDenied about credentials", err)
	}
}

func TestParseOptions(t *testing.T) {
	for _, tc := range []struct{ query, wantErr string }{
		{"", ""},
		{"endpoint=http://127.0.0.1:4443&anonymous=true", ""},
		{"impersonate=a@b.iam.gserviceaccount.com&user_project=p", ""},
		{"storage_class=NEARLINE&kms_key_name=projects/p/locations/l/keyRings/r/cryptoKeys/k", ""},
		{"part_size=524288&list_page=10", ""},
		{"part_size=300000", "multiple"},
		{"part_size=1000", "part_size"},
		{"list_page=1001", "list_page"},
		{"list_page=ten", "list_page"},
		{"anonymous=true&impersonate=a", "exclude"},
		{"endpoint=localhost:1", "endpoint"},
		{"endpoint=http://u:" + secret + "@h", "endpoint"},
		{"access_id=-", ""},
		{"access_id=-&impersonate=a", "exclude"},
		{"universe_domain=cloud.example", ""},
		{"project=p", "not known"},
		{"user_project=a&user_project=b", "2 times"},
		{"access_token=" + secret, "environment"},
	} {
		q, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ParseOptions(q)
		switch {
		case (err == nil) != (tc.wantErr == ""):
			t.Errorf("%s: error %v, want %q", tc.query, err, tc.wantErr)
		case err != nil && (!strings.Contains(err.Error(), tc.wantErr) || strings.Contains(err.Error(), secret)):
			t.Errorf("%s: error %q, want %q and no secret", tc.query, err, tc.wantErr)
		}
	}
}

// TestOptionsReachTheStore looks at the requests that a store sees.
func TestOptionsReachTheStore(t *testing.T) {
	for _, tc := range []struct{ params, name, want string }{
		{"&user_project=p1", "userProject", "p1"},
		{"&kms_key_name=k1", "kmsKeyName", "k1"},
		{"", "ifGenerationMatch", "0"},
	} {
		var seen url.Values
		b := stub(t, func(w http.ResponseWriter, r *http.Request) {
			seen = r.URL.Query()
			io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, `{"size":"1"}`)
		}, tc.params)
		if err := create(t.Context(), b, "k", "x"); err != nil {
			t.Errorf("%s: %v", tc.params, err)
		}
		if got := seen.Get(tc.name); got != tc.want {
			t.Errorf("%s: %s is %q, want %q", tc.params, tc.name, got, tc.want)
		}
	}
}

// TestUniverseDomain: the store of another universe is asked, and no other.
func TestUniverseDomain(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	b := open(t, "gs://b?access_id=-&universe_domain=cloud.invalid")
	if _, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); err == nil || !strings.Contains(err.Error(), "storage.cloud.invalid") {
		t.Errorf("%v, want a host below cloud.invalid", err)
	}
}

// TestSignedURLs: the gocloud bucket that lies below signs URLs with the key and name that were given.
func TestSignedURLs(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/key.pem"
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var below *blob.Bucket
	if !open(t, "gs://b?anonymous=true&access_id=me@example&private_key_path="+path).As(&below) {
		t.Fatal("the gocloud bucket is not handed out")
	}
	signed, err := below.SignedURL(t.Context(), "k", nil)
	if err != nil || !strings.Contains(signed, "GoogleAccessId=me%40example") {
		t.Errorf("%q, %v", signed, err)
	}
	u, _ := url.Parse("gs://b?anonymous=true&private_key_path=" + path + ".none")
	if _, err := OpenURL(t.Context(), u); err == nil {
		t.Error("a key that is not there was taken")
	}
}
