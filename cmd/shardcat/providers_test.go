package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/storecheck"
	"github.com/shardcat/shardcat/internal/testkit/blobfake"
)

// providerQuirks are in which way the server of the test differs for a provider, and what the doctor finds then.
var providerQuirks = map[string]struct {
	quirks string
	found  []string
}{
	"AWS S3":               {"", nil},
	"Cloudflare R2":        {"equal-parts", nil},
	"Backblaze B2":         {"inm=501", []string{"failed  write"}},
	"Wasabi":               {"inm=ignore", []string{"failed  conditional", "failed  multipart"}},
	"MinIO":                {"", nil},
	"Ceph RGW":             {"empty-page inm-complete=ignore", []string{"failed  multipart"}},
	"Google Cloud Storage": {"inm=ignore", []string{"failed  conditional", "failed  multipart"}}, // by the S3 protocol
}

// TestProviders runs each line of docs/reference/providers.md: the doctor on a server that differs as the provider does, and finds what the page states.
func TestProviders(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none",
		"SHARDCAT_REST_TOKEN": "good", "AZURE_STORAGE_ACCOUNT": "", "AZURE_STORAGE_KEY": "", "STORAGE_EMULATOR_HOST": "127.0.0.1:1"} {
		t.Setenv(name, value)
	}
	names := strings.NewReplacer("BUCKET", "b", "REGION", "eu-west-1", "ACCOUNT", "account", "HOST", "host.example", "CONTAINER", "container", "WORKSPACE", "workspace",
		"LAKEHOUSE", "lakehouse", "PROJECT", "project", "NAME", "lake", "ID", "id", "/etc/ssl/minio.pem", "")
	flag := regexp.MustCompile(`--([a-z-]+)(?: ("[^"]*"|[^-\s]\S*))?`)
	blocks, lines := regexp.MustCompile(`(?m)^### `).Split(string(page), -1)[1:], 0
	for _, block := range blocks {
		provider, text, _ := strings.Cut(block, "\n")
		quirks, known := providerQuirks[provider]
		for _, found := range quirks.found {
			if !strings.Contains(text, "`"+found+"`") {
				t.Errorf("%s: the page does not say that the doctor prints %q", provider, found)
			}
		}
		for _, line := range strings.Split(strings.Split(text, "```")[1], "\n") {
			if !strings.HasPrefix(line, "--") {
				continue
			}
			lines++
			args := map[string]string{}
			for _, m := range flag.FindAllStringSubmatch(line, -1) {
				args[m[1]] = names.Replace(strings.Trim(m[2], `"`))
			}
			t.Run(provider, func(t *testing.T) {
				s := blobfake.NewS3(t, quirks.quirks)
				if catalog, ok := args["catalog"]; ok {
					runCatalogLine(t, s, catalog, args)
					return
				}
				u, err := url.Parse(args["warehouse"])
				if err != nil {
					t.Fatal(err)
				}
				if u.Scheme != "s3" {
					client := blobio.NewClient(blobio.ClientOptions{})
					defer client.Close()
					if _, err := client.Mount(t.Context(), args["warehouse"]); err != nil {
						t.Error(err)
					}
					return
				}
				if !known {
					t.Fatalf("no quirks of %s", provider)
				}
				runStoreLine(t, s, u, quirks.found, args)
			})
		}
	}
	if lines < 19 {
		t.Errorf("%d lines were run", lines)
	}
	s := blobfake.NewS3(t, providerQuirks["Google Cloud Storage"].quirks)
	u, _ := url.Parse("s3://b/tables?endpoint=https://storage.googleapis.com")
	runStoreLine(t, s, u, providerQuirks["Google Cloud Storage"].found, nil)
}

// runStoreLine examines a store at the test's server by the other options of a line, without the flags and with them.
func runStoreLine(t *testing.T, s *blobfake.S3, u *url.URL, found []string, args map[string]string) {
	t.Helper()
	q := u.Query()
	q.Set("endpoint", s.URL)
	q.Del("ca_file")
	u.RawQuery = q.Encode()
	code, out, stderr := runOn(t, "doctor", "--warehouse", u.String(), "--json")
	var reports []storecheck.Report
	if err := json.Unmarshal([]byte(out), &reports); err != nil || len(reports) != 1 {
		t.Fatalf("%v: %s%s", err, out, stderr)
	}
	var bad []string
	for _, f := range reports[0].Findings {
		if f.Status != storecheck.OK && f.Status != storecheck.Skipped {
			bad = append(bad, string(f.Status)+"  "+f.Check)
		}
	}
	if !slices.Equal(bad, found) || (code == exitDone) != (len(found) == 0) {
		t.Errorf("%s: exit code %d, found %q, want %q: %s", u, code, bad, found, out)
	}
	if _, unsafe := args["unsafe-no-conditional-writes"]; unsafe {
		if code, out, _ := runOn(t, "doctor", "--warehouse", u.String(), "--unsafe-no-conditional-writes"); code != exitDone {
			t.Errorf("%s with the flag: exit code %d: %s", u, code, out)
		}
	}
}

// runCatalogLine examines a catalog at the test's server, below the path and by the settings of a line.
func runCatalogLine(t *testing.T, s *blobfake.S3, catalog string, args map[string]string) {
	t.Helper()
	server, warehouses := emptyCatalog(t)
	u, err := url.Parse(strings.TrimPrefix(catalog, "rest+"))
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"doctor", "--catalog", server + u.Path + "?" + u.RawQuery, "--warehouse", args["warehouse"]}
	want := args["warehouse"]
	if vault := args["vault"]; vault != "" {
		flags = append(flags, "--vault", vault+"?endpoint="+s.URL)
	} else {
		flags[len(flags)-1] += "?endpoint=" + s.URL
	}
	t.Chdir(t.TempDir())
	code, out, stderr := runOn(t, flags...)
	asked := warehouses()
	if code != exitDone || !strings.Contains(out, "no table yet") || len(asked) == 0 || asked[0] != want {
		t.Errorf("%v: exit code %d, the catalog was asked for %q: %s%s", flags, code, asked, out, stderr)
	}
	if made, _ := filepath.Glob("*"); len(made) > 0 {
		t.Errorf("left in the folder: %v", made)
	}
}
