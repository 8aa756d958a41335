package cloudblob_test

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio/azblob"
	"github.com/shardcat/shardcat/blobio/gcsblob"
	"github.com/shardcat/shardcat/blobio/s3blob"
)

// documented are the parameters of URLs that a comment in a package of gocloud's lists.
func documented(t *testing.T, pkg, file, of string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), file))
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(source), "\n"+of)
	comment = comment[strings.LastIndex(comment, "\n\n"):]
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^//\s+- ([A-Za-z0-9_]+):`).FindAllStringSubmatch(comment, -1) {
		names = append(names, m[1])
	}
	if len(names) < 3 {
		t.Fatalf("%s: %q before %s", pkg, names, of)
	}
	return names
}

// TestGocloudsParameters: every parameter that gocloud documents for its URLs is known to ours, so that a URL which
// works there works here.
func TestGocloudsParameters(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key.pem")
	values := map[string]string{
		"ssetype": "aws:kms", "kmskeyid": "k", "accelerate": "true", "use_path_style": "true", "s3ForcePathStyle": "true",
		"disable_https": "true", "region": "eu-west-1", "anonymous": "true", "profile": "p", "dualstack": "true", "fips": "true",
		"role": "arn:aws:iam::123456789012:role/r", "endpoint": "http://127.0.0.1:9", "rate_limiter_capacity": "5",
		"hostname_immutable": "true&endpoint=http://127.0.0.1:9", "request_checksum_calculation": "when_required",
		"response_checksum_validation": "when_required",
		"access_id":                    "-", "private_key_path": key, "universe_domain": "cloud.example",
		"domain": "blob.core.windows.net", "protocol": "https", "cdn": "true&domain=cdn.example", "localemu": "true&domain=localhost:1",
	}
	for _, tc := range []struct {
		driver string
		names  []string
		parse  func(url.Values) error
	}{
		{"s3", documented(t, "gocloud.dev/blob/s3blob", "s3blob.go", "type URLOpener struct"),
			func(q url.Values) error { _, err := s3blob.ParseOptions(q); return err }},
		{"s3", documented(t, "gocloud.dev/aws", "aws.go", "func V2ConfigFromURLParams"),
			func(q url.Values) error { _, err := s3blob.ParseOptions(q); return err }},
		{"gs", documented(t, "gocloud.dev/blob/gcsblob", "gcsblob.go", "type URLOpener struct"),
			func(q url.Values) error { _, err := gcsblob.ParseOptions(q); return err }},
		{"azblob", documented(t, "gocloud.dev/blob/azureblob", "azureblob.go", "type URLOpener struct"),
			func(q url.Values) error { _, err := azblob.ParseOptions(q); return err }},
	} {
		for _, name := range tc.names {
			q, err := url.ParseQuery(name + "=" + values[name])
			if err == nil {
				err = tc.parse(q)
			}
			if values[name] == "" || err != nil {
				t.Errorf("%s: %s=%s: %v", tc.driver, name, values[name], err)
			}
		}
	}
}

// TestSecretsAreRefused: by the name of the parameter, and without repeating the value.
func TestSecretsAreRefused(t *testing.T) {
	const secret = "c2VjcmV0"
	for driver, tc := range map[string]struct {
		names []string
		parse func(url.Values) error
	}{
		"s3": {[]string{"access_key_id", "secret_access_key", "Session_Token", "aws_secret_access_key"},
			func(q url.Values) error { _, err := s3blob.ParseOptions(q); return err }},
		"gs": {[]string{"access_token", "private_key", "credentials_json", "X-Goog-Signature"},
			func(q url.Values) error { _, err := gcsblob.ParseOptions(q); return err }},
		"azblob": {[]string{"account_key", "sas_token", "sig", "connection_string"},
			func(q url.Values) error { _, err := azblob.ParseOptions(q); return err }},
	} {
		for _, name := range tc.names {
			err := tc.parse(url.Values{name: {secret}})
			if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %s: %v, want an error that names it and not its value", driver, name, err)
			}
		}
	}
}
