package s3blob

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
)

func TestParseOptions(t *testing.T) {
	for _, tc := range []struct {
		query, wantErr string // wantErr empty: it is fine
	}{
		{"", ""},
		{"region=eu-west-1&endpoint=https://minio.example:9000&use_path_style=true", ""},
		{"s3ForcePathStyle=true&path_style=true", ""},
		{"anonymous=true", ""},
		{"role=arn:aws:iam::1:role/r&external_id=x&role_session_name=s", ""},
		{"role=arn:aws:iam::1:role/r&web_identity_token_file=/var/token", ""},
		{"sse=aws:kms&kms_key_id=k", ""},
		{"sse=AES256&storage_class=standard_ia", ""},
		{"requester_pays=true&dualstack=true&fips=true", ""},
		{"request_checksum_calculation=when_required&response_checksum_validation=when_supported", ""},
		{"conditional_writes=false&part_size=8388608&list_page=10", ""},
		{"sse=rot13", "sse"},
		{"storage_class=SHOEBOX", "storage_class"},
		{"part_size=1", "part_size"},
		{"list_page=0", "list_page"},
		{"anonymous=perhaps", "anonymous"},
		{"anonymous=true&role=r", "exclude"},
		{"web_identity_token_file=/x", "needs parameter role"},
		{"endpoint=minio:9000", "endpoint"},
		{"endpoint=http://user:pw@host", "credentials"},
		{"region=a&region=b", "2 times"},
		{"regoin=a", `"regoin" is not known`},
		{"request_checksum_calculation=never", "when_supported"},
		{"secret_access_key=" + secret, "environment"},
		{"AWS_SESSION_TOKEN=" + secret, "environment"},
	} {
		q, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ParseOptions(q)
		switch {
		case (err == nil) != (tc.wantErr == ""):
			t.Errorf("%s: error %v, want %q", tc.query, err, tc.wantErr)
		case err != nil && !strings.Contains(err.Error(), tc.wantErr):
			t.Errorf("%s: error %q does not say %q", tc.query, err, tc.wantErr)
		case err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "pw")):
			t.Errorf("%s: the error repeats a secret", tc.query)
		}
	}
}

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
		var put http.Header
		var path string
		b := stub(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			put, path = r.Header, r.URL.Path
		}, tc.params)
		if err := create(t.Context(), b, "k", "x"); err != nil {
			t.Errorf("%s: %v", tc.params, err)
		}
		if got := put.Get(tc.header); got != tc.want {
			t.Errorf("%s: %s is %q, want %q", tc.params, tc.header, got, tc.want)
		}
		if path != "/b/k" {
			t.Errorf("%s: path %q, want /b/k: an endpoint of one's own means path style", tc.params, path)
		}
	}
}

// TestGocloudsOwnParameters: those of gocloud's URLs that had no like here do what they say.
func TestGocloudsOwnParameters(t *testing.T) {
	stub(t, nil, "")
	plain := open(t, "s3://b?region=eu-west-1&disable_https=true&rate_limiter_capacity=5").client.Options()
	if !plain.EndpointOptions.DisableHTTPS || plain.Retryer.MaxAttempts() != 1 {
		t.Errorf("https disabled %v, %d attempts", plain.EndpointOptions.DisableHTTPS, plain.Retryer.MaxAttempts())
	}
	if fixed := open(t, "s3://b?endpoint=http://127.0.0.1:9&hostname_immutable=true").client.Options(); !fixed.UsePathStyle {
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
		var signed string
		b := stub(t, func(_ http.ResponseWriter, r *http.Request) { signed = r.Header.Get("Authorization") }, "")
		sts, asked := stubSTS(t, http.StatusOK)
		t.Setenv("AWS_ENDPOINT_URL_STS", sts)
		t.Setenv("AWS_REGION", "eu-west-1")
		b = open(t, "s3://b?endpoint="+*b.client.Options().BaseEndpoint+params)
		if _, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(signed, "Credential=ASIAROLE/") || *asked != action {
			t.Errorf("%s: signed with %q after %s, want the role's credentials after %s", params, signed, *asked, action)
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
		b := open(t, "s3://b?endpoint=http://127.0.0.1:9&role=arn:aws:iam::123456789012:role/reader")
		if _, err := b.Stat(t.Context(), "k", blobio.ReadOptions{}); blobio.Class(err) != want {
			t.Errorf("%d: %v, want %v", status, err, want)
		}
	}
}
