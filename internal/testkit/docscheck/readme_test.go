package docscheck

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// claim is a statement of the README's first screen with what shows it: tests by name as in docs/features.md, sections of
// cmd/shardcat/testdata/script/readme.txtar as "script: TEXT", or lines of a file that CI runs as "FILE: TEXT".
type claim struct {
	text  string
	shown []string
}

// claims has every sentence of README.md up to the comparison, in order.
var claims = []claim{
	{"shardcat lands CSV, NDJSON, Parquet and Arrow files as *Amudai shards* on S3, Azure Blob, GCS or in a folder, registers them in an " +
		"Apache Iceberg catalog, finds rows in them with few ranged reads, and merges small shards by their metadata, copying data only where scans gain by it.",
		[]string{"script: lands CSV, NDJSON, Parquet and Arrow files", "cmd/shardcat.TestRequestsAreTheSameOnEveryStore", "catalog.TestPyiceberg",
			"catalog.TestCatalogs", "cmd/shardcat/internal/demo.TestFilterReadsNoMoreAfterCompaction", "compaction.TestCompactionPacksAtOnce", "script: of metadata; data is copied or rewritten only where stripes are many and small"}},
	{"It is a Go library with a command line; no server has to run.",
		[]string{".ci/readme: the program", ".ci/readme: .readme.sh", "script: none"}},
	{"**For** events, logs and telemetry that arrive in many small files and are read by filters.",
		[]string{"script: of metadata; data is copied or rewritten only where stripes are many and small", "cmd/shardcat/internal/demo.TestFilterReadsNoMoreAfterCompaction"}},
	{"**Not for** transactions on single rows, joins and aggregates (use an [engine on top](docs/guides/sql-engines.md)), or data that every " +
		"Iceberg engine must read and write as stored Parquet files.",
		[]string{"cmd/shardcat.TestGatewayTPCH", "catalog.TestTablesOfOtherEngines"}},
	{"**Status:** before the first release, 0.1.0 ([what a version promises](docs/reference/versions.md)).",
		[]string{"internal/testkit/docscheck.TestReadmeVersion"}},
	{"Amudai is [Microsoft's format](https://github.com/microsoft/amudai) of Kusto and Fabric Eventhouse; its bytes are specified in " +
		"[docs/format](docs/format/README.md).",
		[]string{"shardfmt/verify.TestGoldenShardsVerify", "internal/testkit/docscheck.TestLinksResolve"}},
	{"With Go 1.26, from a checkout; the demo lands, merges and reads shipped data in a folder of its own:",
		[]string{"internal/testkit/docscheck.TestReadmeVersion", ".ci/readme: .readme.sh", "cmd/shardcat.TestDemoObeysEachPlace"}},
	{"Any CSV, NDJSON, Parquet or Arrow file will do.", []string{"script: lands CSV, NDJSON, Parquet and Arrow files"}},
	{"Here `flights.csv` is one of the repository, 27,004 flights:", []string{"internal/testkit/docscheck.TestReadmeFlights"}},
	{"`ingest` infers the columns ([how](docs/reference/inference.md)) and creates the table with its rows in one commit; a failure leaves nothing.",
		[]string{"script: `ingest` infers the columns", "script: creates the table with its rows in one commit", "script: a failure leaves nothing",
			"catalog.TestIngestNewLeavesNothingWhenItFails"}},
	{"`scan` prints a table on a terminal and NDJSON elsewhere; `--format parquet > out.parquet` and others write files.",
		[]string{"cmd/shardcat.TestScanFormatByOutput", "script: NDJSON elsewhere", "script: `--format parquet > out.parquet` and others write files"}},
	{"Catalog and data are in `./shardcat`; `--catalog` and `--warehouse` name other places ([configuration](docs/reference/config.md)).",
		[]string{"script: Catalog and data are in `./shardcat`", "script: `--catalog` and `--warehouse` name other places"}},
	{"More in [getting started](docs/getting-started.md); the terms are in [concepts](docs/concepts.md).",
		[]string{".ci/readme: docs/getting-started.md", "internal/testkit/docscheck.TestLinksResolve"}},
	{"`bin/shardcat serve` compacts the tables on a schedule and shows them:",
		[]string{"script: compacts the tables on a schedule and shows them", "cmd/shardcat/internal/webui.TestPagesShowWhatIs", "deploy/release-test: the page"}},
	{"The files of a release, made by `deploy/release 0.1.0 DIR`, need no Go ([details, checksums, platforms](docs/install.md)):",
		[]string{`deploy/release-test: fail "go is on the PATH`, "deploy/release-test: deploy/release\" \"$version\""}},
	{"pip install shardcat-0.1.0-*.whl", []string{"deploy/release-test: tour \"the wheel\""}},
	{"docker load -i shardcat-0.1.0-image.tar", []string{"deploy/release-test: tour \"the image\""}},
	{"dpkg -i shardcat_0.1.0_amd64.deb", []string{"deploy/release-test: tour \"the Debian package\"", "deploy/release-test: tour \"the archive\""}},
	{"go install github.com/shardcat/shardcat/cmd/shardcat@v0.1.0", []string{"deploy/go-install-test: go install"}},
	{"Measured against DuckDB, pyarrow, Lance and Vortex: [performance](docs/performance.md).", []string{"internal/testkit/docscheck.TestReadmeMeasured"}},
}

// cells shows what the column of shardcat in the comparison claims, by row.
var cells = map[string][]string{
	"data files":           {"shardfmt.TestWriteAndScan"},
	"merge of small files": {"script: of metadata; data is copied or rewritten only where stripes are many and small"},
	"catalog":              {"catalog.TestCatalogs", "catalog.TestREST"},
	"text index":           {"script: text index"},
	"engines": {"cmd/shardcat/internal/gateway.TestEngines", "cmd/shardcat/internal/gateway.TestFramesThroughGateway",
		"cmd/shardcat/internal/gateway.TestTrinoThroughGateway"},
	"server": {"script: none"},
}

const tree = "../../../"

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tree, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// firstScreen returns README.md up to the comparison, and the comparison.
func firstScreen(t *testing.T) (prose, comparison string) {
	t.Helper()
	prose, rest, ok := strings.Cut(readText(t, "README.md"), "\n## Compared\n")
	comparison, _, also := strings.Cut(rest, "\n## ")
	if !ok || !also {
		t.Fatal("README.md has no comparison, or nothing after it")
	}
	return prose, comparison
}

var (
	sentenceEnd = regexp.MustCompile(`([.:])( |$)`)
	readmeImage = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
)

// sentencesOf splits the prose of a page into sentences: paragraphs without headings, code blocks, tables and pictures.
func sentencesOf(page string) (found []string) {
	page = markdownFence.ReplaceAllString(page, "")
	for paragraph := range strings.SplitSeq(page, "\n\n") {
		text := strings.TrimSpace(strings.ReplaceAll(readmeImage.ReplaceAllString(paragraph, ""), "\n", " "))
		if text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "|") {
			continue
		}
		from := 0
		for _, m := range sentenceEnd.FindAllStringIndex(text, -1) {
			if s := strings.TrimSpace(text[from:m[1]]); strings.HasSuffix(s, ":") && m[1] < len(text) {
				continue // within a sentence
			} else if s != "" {
				found = append(found, s)
			}
			from = m[1]
		}
		if s := strings.TrimSpace(text[from:]); s != "" {
			found = append(found, s)
		}
	}
	return found
}

// TestReadmeClaims: every sentence of the README's first screen, every install command and every cell of shardcat in its comparison names what
// shows it, and that exists.
func TestReadmeClaims(t *testing.T) {
	prose, comparison := firstScreen(t)
	tests, script := testsInTree(t), readText(t, "cmd/shardcat/testdata/script/readme.txtar")
	check := func(what string, shown []string) {
		for _, s := range shown {
			path, text, file := strings.Cut(s, ": ")
			switch {
			case path == "script" && file:
				if !strings.Contains(script, "\n# README: "+text+"\n") {
					t.Errorf("%s: readme.txtar has no section %q", what, text)
				}
			case file:
				if !strings.Contains(readText(t, path), text) {
					t.Errorf("%s: %s does not contain %q", what, path, text)
				}
			case !tests[s]:
				t.Errorf("%s: there is no test %s", what, s)
			}
		}
		if len(shown) == 0 {
			t.Errorf("%s: nothing shows it", what)
		}
	}
	_, after, _ := strings.Cut(comparison, "Measured against")
	sentences := append(sentencesOf(prose), sentencesOf("Measured against"+after)...)
	for _, sentence := range sentences {
		if !slices.ContainsFunc(claims, func(c claim) bool { return c.text == sentence }) {
			t.Errorf("README.md: nothing shows the sentence %q: add a test and name it in claims", sentence)
		}
	}
	for _, c := range claims {
		if !slices.Contains(sentences, c.text) && !strings.Contains(prose, "\n"+c.text) {
			t.Errorf("README.md no longer has %q", c.text)
		}
		check(c.text, c.shown)
	}
	for row, shown := range cells {
		if !strings.Contains(comparison, "\n| "+row+" | ") {
			t.Errorf("the comparison has no row %q", row)
		}
		check(row, shown)
	}
	for text := range strings.SplitSeq(script, "\n# README: ") {
		section, _, _ := strings.Cut(text, "\n")
		if flat := strings.Join(strings.Fields(prose+comparison), " "); !strings.HasPrefix(section, "#") && !strings.Contains(flat, section) {
			t.Errorf("readme.txtar shows %q, which README.md does not have", section)
		}
	}
}

// TestComparisonNamesSources: every cell of the README's comparison is on docs/reference/comparison.md, with a source.
func TestComparisonNamesSources(t *testing.T) {
	_, comparison := firstScreen(t)
	page := readText(t, "docs/reference/comparison.md")
	var systems []string
	rows := 0
	for line := range strings.Lines(comparison) {
		parts := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--") {
			continue
		}
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if systems == nil {
			systems = parts[1:]
			continue
		}
		rows++
		for i, cell := range parts[1:] {
			row := "| " + parts[0] + " | " + systems[i] + " | " + cell + " | "
			_, source, ok := strings.Cut(page, row)
			if source, _, _ = strings.Cut(source, "\n"); !ok || !strings.Contains(source, "<https://") && !strings.Contains(source, "](") {
				t.Errorf("docs/reference/comparison.md lacks %q with a source", row)
			}
		}
	}
	if rows != 6 || len(systems) != 5 {
		t.Errorf("%d rows, %d systems", rows, len(systems))
	}
}

// TestReadmeVersion: the version of the README is that of the chart, and the version of Go that of go.mod.
func TestReadmeVersion(t *testing.T) {
	_, version, ok := strings.Cut(readText(t, "deploy/chart/Chart.yaml"), "appVersion: \"")
	version, _, _ = strings.Cut(version, "\"")
	prose, _ := firstScreen(t)
	if !ok || !strings.Contains(prose, "first release, "+version+" ") {
		t.Errorf("the chart's version is %q, README.md has another", version)
	}
	for _, named := range regexp.MustCompile(`\b\d+\.\d+\.\d+\b`).FindAllString(prose, -1) {
		if named != version {
			t.Errorf("README.md names the version %s, the chart %s", named, version)
		}
	}
	_, goVersion, _ := strings.Cut(readText(t, "go.mod"), "\ngo ")
	if !strings.HasPrefix(goVersion, "1.26") || !strings.Contains(prose, "Go 1.26") {
		t.Errorf("go.mod has %.6q, README.md another version of Go", goVersion)
	}
}

// TestReadmeMeasured: the page of measurements names every system that the README says it is measured against.
func TestReadmeMeasured(t *testing.T) {
	page := readText(t, "docs/performance.md")
	for _, name := range []string{"DuckDB", "pyarrow", "Lance", "Vortex"} {
		if !strings.Contains(page, name) {
			t.Errorf("docs/performance.md has no measurement of %s", name)
		}
	}
	if n := strings.Count(page, "\n"); n > 300 {
		t.Errorf("docs/performance.md has %d lines, at most 300 are readable", n)
	}
	head, _, _ := strings.Cut(page, "\n## ")
	if plots := strings.Count(head, ".svg)"); plots != 3 {
		t.Errorf("docs/performance.md opens with %d plots, want 3", plots)
	}
}

// TestReadmeFlights counts the rows of the file that the README lands.
func TestReadmeFlights(t *testing.T) {
	f, err := os.Open(tree + "testdata/flights/2013-01.csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows := -1 // the header
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		rows++
	}
	if prose, _ := firstScreen(t); lines.Err() != nil || rows != 27004 || !strings.Contains(prose, "27,004 flights") {
		t.Errorf("%d rows: %v", rows, lines.Err())
	}
}
