package s3blob

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/blobio/blobtest"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// TestOptionsReachTheStore looks at the requests that a store sees.
func TestOptionsReachTheStore(t *testing.T) {
	for _, tc := range []struct{ params, header, want string }{
		{"&requester_pays=true", "X-Amz-Request-Payer", "requester"},
		{"&sse=kms&kms_key_id=key1", "X-Amz-Server-Side-Encryption", "aws:kms"},
		{"&sse=kms&kms_key_id=key1", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", "key1"},
		{"&storage_class=STANDARD_IA", "X-Amz-Storage-Class", "STANDARD_IA"},
		{"", "X-Amz-Checksum-Crc32", ""},
		{"&request_checksum_calculation=when_supported", "X-Amz-Checksum-Crc32", "jNwWgw=="},
		{"", "If-None-Match", "*"},
		{"&conditional_writes=false", "If-None-Match", ""},
		{"&anonymous=true", "Authorization", ""},
	} {
		var put atomic.Pointer[http.Request]
		b := stub(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			put.Store(r)
		}, tc.params)
		if err := blobtest.Put(t.Context(), b, "k", []byte("x")); err != nil {
			t.Errorf("%s: %v", tc.params, err)
		}
		if got := put.Load().Header.Get(tc.header); got != tc.want {
			t.Errorf("%s: %s is %q, want %q", tc.params, tc.header, got, tc.want)
		}
		if path := put.Load().URL.Path; path != "/b/k" {
			t.Errorf("%s: path %q, want /b/k: an endpoint of one's own means path style", tc.params, path)
		}
	}
}

// TestGocloudsOwnParameters: those of gocloud's URLs that had no like here do what they say.
func TestGocloudsOwnParameters(t *testing.T) {
	stub(t, nil, "")
	plain := blobfake.OpenURL[*bucket](t, OpenURL, "s3://b?region=eu-west-1&disable_https=true&rate_limiter_capacity=5").client.Options()
	if !plain.EndpointOptions.DisableHTTPS || plain.Retryer.MaxAttempts() != 1 {
		t.Errorf("https disabled %v, %d attempts", plain.EndpointOptions.DisableHTTPS, plain.Retryer.MaxAttempts())
	}
	if fixed := blobfake.OpenURL[*bucket](t, OpenURL, "s3://b?endpoint=http://127.0.0.1:9&hostname_immutable=true").client.Options(); !fixed.UsePathStyle {
		t.Error("the bucket would stand in the host")
	}
	for _, bad := range []string{"hostname_immutable=true", "hostname_immutable=true&use_path_style=false&endpoint=http://h", "rate_limiter_capacity=-1"} {
		u, err := url.Parse("s3://b?" + bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := OpenURL(t.Context(), u); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestRoleIsAssumed(t *testing.T) {
	token := t.TempDir() + "/token"
	if err := os.WriteFile(token, []byte("web-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	const role = "&role=arn:aws:iam::123456789012:role/reader"
	for params, action := range map[string]string{role: "AssumeRole", role + "&external_id=x&role_session_name=s": "AssumeRole",
		role + "&web_identity_token_file=" + token: "AssumeRoleWithWebIdentity"} {
		var signed atomic.Pointer[http.Request]
		b := stub(t, func(_ http.ResponseWriter, r *http.Request) { signed.Store(r) }, "")
		sts, asked := stubSTS(t, http.StatusOK)
		t.Setenv("AWS_ENDPOINT_URL_STS", sts)
		t.Setenv("AWS_REGION", "eu-west-1")
		b = blobfake.OpenURL[*bucket](t, OpenURL, "s3://b?endpoint="+*b.client.Options().BaseEndpoint+params)
		if _, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
		auth, last := signed.Load().Header.Get("Authorization"), asked.Load()
		if !strings.Contains(auth, "Credential=ASIAROLE/") || last.Form.Get("Action") != action {
			t.Errorf("%s: signed with %q after %v, want the role's credentials after %s", params, auth, last.Form, action)
		}
	}
}

// TestTokenServiceThatFails: one that is away may come back, one that refuses will refuse again.
func TestTokenServiceThatFails(t *testing.T) {
	for status, want := range map[int]error{403: blobio.ErrDenied, 503: blobio.ErrThrottled, 500: blobio.ErrTransient} {
		stub(t, nil, "")
		sts, _ := stubSTS(t, status)
		t.Setenv("AWS_ENDPOINT_URL_STS", sts)
		t.Setenv("AWS_REGION", "eu-west-1")
		b := blobfake.OpenURL[*bucket](t, OpenURL, "s3://b?endpoint=http://127.0.0.1:9&role=arn:aws:iam::123456789012:role/reader")
		if _, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); blobio.Class(err) != want {
			t.Errorf("%d: %v, want %v", status, err, want)
		}
	}
}
