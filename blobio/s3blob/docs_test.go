package s3blob

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedSettings: each line of the page with an S3 URL is taken, and each setting stands on the page.
func TestDocumentedSettings(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/object-stores.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^s3://\S+\?\S+$`).FindAllString(string(page), -1)
	if len(lines) < 8 {
		t.Errorf("%d examples", len(lines))
	}
	used := map[string]bool{}
	for _, line := range lines {
		u, err := url.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseOptions(u.Query()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		for name := range u.Query() {
			used[name] = true
		}
	}
	for _, name := range []string{"acl", "kms_context", "ca_file", "client_cert_file", "sse_customer_key_file", "header.X-Team", "list_version",
		"storage_class", "profile", "role", "web_identity_token_file", "fips", "dualstack"} {
		if !used[name] {
			t.Errorf("%s has no example", name)
		}
	}
	aliases := "role_arn kmskeyid ssetype path_style s3ForcePathStyle"
	for name := range params.Params {
		if !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(aliases, name) {
			t.Errorf("%s is not on the page", name)
		}
	}
}
