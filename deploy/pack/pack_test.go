package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for version, want := range map[string]string{"1.2.3": "1.2.3", "0.1.0-rc.1": "0.1.0rc1", "1.0.0-beta.12": "1.0.0b12", "1.0.0-alpha.1": "1.0.0a1"} {
		if got := pythonVersion(version); !versions.MatchString(version) || got != want {
			t.Errorf("%s becomes %s, want %s", version, got, want)
		}
	}
	for _, version := range []string{"", "1.2", "v1.2.3", "1.2.3-dev", "1.2.3+local", "1.2.3 ", "1.2.3-rc1"} {
		if err := (release{version: version}).pack(nil); err == nil || !strings.Contains(err.Error(), "invalid version") {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// TestMetadataOfProjects: the Python projects are read whole; what is not understood is refused.
func TestMetadataOfProjects(t *testing.T) {
	for project, wants := range map[string][]string{
		"shardcat": {"Name: shardcat\nVersion: 9.9.9\n", "Requires-Python: >=3.10\n", "Requires-Dist: pyarrow>=16\n", "Provides-Extra: spark\nRequires-Dist: pyspark[sql]>=4.1; extra == \"spark\"\n"},
		"amudai":   {"Name: amudai\n", "Requires-Dist: numpy>=1.24\nRequires-Dist: xxhash>=3\n"},
	} {
		text, err := os.ReadFile("../../clients/python/" + project + "/pyproject.toml")
		if err != nil {
			t.Fatal(err)
		}
		metadata, _, err := metadataOf(text, "9.9.9")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(metadata, want) {
				t.Errorf("%s lacks %q:\n%s", project, want, metadata)
			}
		}
	}
	for _, text := range []string{"[project]\nauthors = \"x\"", "[project]\ndependencies = [", "[project]\nname\n"} {
		if m, _, err := metadataOf([]byte(text), "1"); err == nil {
			t.Errorf("%q becomes %q", text, m)
		}
	}
}

// TestOneVersion: every file that names the version of the next release names the same.
func TestOneVersion(t *testing.T) {
	const root = "../../"
	chart := readText(t, root+"deploy/chart/Chart.yaml")
	_, rest, _ := strings.Cut(chart, "appVersion: \"")
	version, _, _ := strings.Cut(rest, "\"")
	for path, want := range map[string]string{
		"deploy/chart/Chart.yaml":                "\nversion: " + version + "\n",
		"deploy/compose/docker-compose.yml":      "image: shardcat:" + version + "\n",
		"deploy/kubernetes/deployment.yaml":      "image: shardcat:" + version + "\n",
		"deploy/kubernetes/cronjob.yaml":         "image: shardcat:" + version + "\n",
		"clients/python/shardcat/pyproject.toml": "version = \"" + version + "\"\n",
		"clients/python/amudai/pyproject.toml":   "version = \"" + version + "\"\n",
		"clients/flightsql/go.mod":               "github.com/shardcat/shardcat v" + version + "\n",
		"clients/sql/go.mod":                     "github.com/shardcat/shardcat v" + version + "\n",
		"compaction/temporal/go.mod":             "github.com/shardcat/shardcat v" + version + "\n",
		"clients/flightsql/go.work":              "replace github.com/shardcat/shardcat v" + version + " => ../..\n",
		"clients/sql/go.work":                    "replace github.com/shardcat/shardcat v" + version + " => ../..\n",
		"compaction/temporal/go.work":            "replace github.com/shardcat/shardcat v" + version + " => ../..\n",
		"docs/install.md":                        "shardcat-" + version + "-",
		"docs/reference/versions.md":             version,
	} {
		if !strings.Contains(readText(t, root+path), want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
	for _, module := range []string{"clients/flightsql", "clients/sql", "compaction/temporal"} {
		if strings.Contains(readText(t, root+module+"/go.mod"), "\nreplace ") {
			t.Errorf("%s: go install refuses a module with a replace", module)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCertificates(t *testing.T) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificates()) {
		t.Fatal("no certificates")
	}
	count := 0
	for rest := certificates(); ; count++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
	}
	if count < 100 || bytes.Count(certificates(), []byte("BEGIN")) != count {
		t.Errorf("%d certificates", count)
	}
}
