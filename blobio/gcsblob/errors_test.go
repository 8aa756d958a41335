package gcsblob

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"gocloud.dev/blob"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

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
			err := blobtest.Put(t.Context(), b, "k", []byte(strings.Repeat("x", tc.size)))
			if !errors.Is(err, blobio.ErrExists) {
				t.Errorf("%v, want ErrExists", err)
			}
		})
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

// TestOptionsReachTheStore looks at the requests that a store sees.
func TestOptionsReachTheStore(t *testing.T) {
	for _, tc := range []struct{ params, name, want string }{
		{"&user_project=p1", "userProject", "p1"},
		{"&kms_key_name=k1", "kmsKeyName", "k1"},
		{"", "ifGenerationMatch", "0"},
	} {
		var seen atomic.Pointer[url.URL]
		b := stub(t, func(w http.ResponseWriter, r *http.Request) {
			seen.Store(r.URL)
			io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, `{"size":"1"}`)
		}, tc.params)
		if err := blobtest.Put(t.Context(), b, "k", []byte("x")); err != nil {
			t.Errorf("%s: %v", tc.params, err)
		}
		if got := seen.Load().Query().Get(tc.name); got != tc.want {
			t.Errorf("%s: %s is %q, want %q", tc.params, tc.name, got, tc.want)
		}
	}
}

// TestUniverseDomain: requests go to the store of another universe, and to no other.
func TestUniverseDomain(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	b := blobfake.OpenURL[*bucket](t, OpenURL, "gs://b?access_id=-&universe_domain=cloud.invalid")
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
	if !blobfake.OpenURL[*bucket](t, OpenURL, "gs://b?anonymous=true&access_id=me@example&private_key_path="+path).As(&below) {
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
