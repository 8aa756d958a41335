package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio/blobtest"
)

// TestTwoProviders: one command reads a source at one provider and writes tables at another, each with the keys of its own profile and none of
// the environment's.
func TestTwoProviders(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config")
	text := "[profile partner]\naws_access_key_id = AKIDPARTNER\naws_secret_access_key = p\n[profile lake]\naws_access_key_id = AKIDLAKE\naws_secret_access_key = l\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	owned := func(key string) *blobtest.S3 {
		s := blobtest.NewS3(t, "")
		s.Before(func(w http.ResponseWriter, r *http.Request, _ string, _ int) bool {
			if strings.Contains(r.Header.Get("Authorization"), "Credential="+key+"/") {
				return false
			}
			s.Refuse(w, http.StatusForbidden, "InvalidAccessKeyId", "")
			return true
		})
		return s
	}
	partner, lake := owned("AKIDPARTNER"), owned("AKIDLAKE")
	partner.Put("in/a.csv", []byte("id\n1\n2\n"))
	run := func(args ...string) (int, string, string) {
		t.Helper()
		t.Setenv("AWS_ACCESS_KEY_ID", "AKIDOTHER")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "o")
		t.Setenv("AWS_CONFIG_FILE", config)
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", dir+"/none")
		t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &errs)
		code := a.finish(t.Context(), a.execute(t.Context(), append([]string{"--catalog", "sqlite:" + filepath.Join(dir, "c.db"),
			"--warehouse", "s3://tables/wh?endpoint=" + lake.URL + "&profile=lake"}, args...)))
		return code, out.String(), errs.String()
	}
	source := "s3://landing/in/a.csv?endpoint=" + partner.URL + "&profile="
	if code, _, errs := run("ingest", "t", source+"partner", "--create"); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if code, out, errs := run("scan", "t", "--count"); code != exitDone || strings.TrimSpace(out) != "2" {
		t.Errorf("exit code %d: %q %s", code, out, errs)
	}
	for name, s := range map[string]*blobtest.S3{"partner": partner, "lake": lake} {
		if n := len(s.Requests("")); n == 0 {
			t.Errorf("%s was not asked", name)
		}
	}
	if keys := partner.Keys(); len(keys) != 1 {
		t.Errorf("the source's bucket holds %q", keys)
	}
	// The keys of one provider do not open the other, and the refusal names the object.
	if code, _, errs := run("ingest", "t", source+"lake"); code != exitFailed || !strings.Contains(errs, "s3://landing/in/a.csv") {
		t.Errorf("with the other profile: exit code %d: %s", code, errs)
	}
}
