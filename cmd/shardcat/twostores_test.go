package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/internal/testkit/blobfake"
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
	owned := func(key string) *blobfake.S3 {
		s := blobfake.NewS3(t, "")
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
	for name, s := range map[string]*blobfake.S3{"partner": partner, "lake": lake} {
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

// TestCredentialsByPrefix: stores in the configuration file gives buckets and folders of one bucket their own credentials, so that one command
// reads with some and writes with others; what is given on the command line wins.
func TestCredentialsByPrefix(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	profiles := ""
	for _, name := range []string{"lake", "inbox", "night", "partner"} {
		profiles += "[profile " + name + "]\naws_access_key_id = AKID" + strings.ToUpper(name) + "\naws_secret_access_key = s\n"
	}
	aws := write("aws", profiles)
	// owned serves keys of each prefix to one access key alone.
	owned := func(owners map[string]string) *blobfake.S3 {
		s := blobfake.NewS3(t, "")
		s.Before(func(w http.ResponseWriter, r *http.Request, _ string, _ int) bool {
			_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			key += r.URL.Query().Get("prefix")
			owner, longest := "", -1
			for prefix, name := range owners {
				if strings.HasPrefix(key, prefix) && len(prefix) > longest {
					owner, longest = name, len(prefix)
				}
			}
			if strings.Contains(r.Header.Get("Authorization"), "Credential=AKID"+strings.ToUpper(owner)+"/") {
				return false
			}
			s.Refuse(w, http.StatusForbidden, "AccessDenied", "")
			return true
		})
		return s
	}
	lake := owned(map[string]string{"": "lake", "in/": "inbox", "in/night/": "night"})
	partner := owned(map[string]string{"": "partner"})
	lake.Put("in/a.csv", []byte("id\n1\n2\n"))
	lake.Put("in/night/b.csv", []byte("id\n3\n"))
	partner.Put("out/c.csv", []byte("id\n4\n5\n"))
	stores := "stores:\n  s3://lake: {endpoint: '" + lake.URL + "', profile: lake}\n  s3a://lake/in/: {profile: inbox}\n  s3://lake/in/night: {profile: night}\n" +
		"  s3://partner/: {endpoint: '" + partner.URL + "', profile: partner}\n"
	run := func(config string, args ...string) (int, string, string) {
		t.Helper()
		for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_CONFIG_FILE": aws,
			"AWS_SHARED_CREDENTIALS_FILE": dir + "/none", "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": ""} {
			t.Setenv(name, value)
		}
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &errs)
		code := a.finish(t.Context(), a.execute(t.Context(), append([]string{"--config", write("shardcat.yaml", config), "--catalog",
			"sqlite:" + filepath.Join(dir, "c.db"), "--warehouse", "s3://lake/wh"}, args...)))
		return code, out.String(), errs.String()
	}
	for i, source := range []string{"s3://lake/in/a.csv", "s3://lake/in/night/", "s3://partner/out/*.csv"} {
		if code, _, errs := run(stores, "ingest", "t", source, "--create="+strconv.FormatBool(i == 0)); code != exitDone {
			t.Fatalf("%s: exit code %d: %s", source, code, errs)
		}
	}
	if code, out, errs := run(stores, "scan", "t", "--count"); code != exitDone || strings.TrimSpace(out) != "5" {
		t.Errorf("exit code %d: %q %s", code, out, errs)
	}
	for _, key := range lake.Keys() {
		if !strings.HasPrefix(key, "wh/") && !strings.HasPrefix(key, "in/") {
			t.Errorf("an object %s was written", key)
		}
	}
	if code, _, errs := run(stores, "ingest", "t", "s3://partner/out/c.csv?profile=inbox"); code != exitFailed || !strings.Contains(errs, "s3://partner/out/c.csv") {
		t.Errorf("options on the command line do not win: exit code %d: %s", code, errs)
	}
	for config, want := range map[string]string{
		"stores:\n  s3://lake: {profil: lake}\n": "profil",
		"stores:\n  s3://lake: {endpoint: '" + lake.URL + "', profile: lake}\n  s3://lake/in: {profil: x}\n": "s3://lake/in/: ",
		"stores:\n  s3://lake: {profile: a}\n  s3a://lake/: {profile: b}\n":                                  "s3://lake/: given twice",
		"stores:\n  s3://lake/x: {profile: a}\n  s3://lake/x/: {profile: b}\n":                               "s3://lake/x/: given twice",
		"stores:\n  /srv/data: {profile: a}\n":                                                               "not the URL of a bucket",
		"stores:\n  file:///srv/data: {profile: a}\n":                                                        "a store of scheme file has no options",
		"stores:\n  s3://lake: {}\n":                                                                         "s3://lake/: no options",
		"stores:\n  s3://lake: profile=a\n":                                                                  "line 2",
		"stores:\n  s3://lake: {secret_key: x}\n":                                                            "secret_key",
	} {
		code, _, errs := run(config, "ingest", "t", "s3://lake/in/a.csv")
		if code == exitDone || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d: %s\nwant %q", config, code, errs, want)
		}
	}
}

// TestConfigFileOfTheDocs: the file in docs/reference/config.md is one that the command takes.
func TestConfigFileOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	at := filepath.Join(t.TempDir(), "shardcat.yaml")
	if err := os.WriteFile(at, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := &cobra.Command{}
	a := new(app)
	a.addGlobalFlags(flags)
	c, err := readConfig(at, flags.PersistentFlags())
	if err != nil || c.stores == nil || c.tables == nil || a.warehouse != "s3://bucket/tables" {
		t.Errorf("%+v, %v, warehouse %q", c, err, a.warehouse)
	}
}
