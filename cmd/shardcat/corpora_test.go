package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// corporaVariable is the environment variable that names the folder of public files with the rows that other readers make of them.
const corporaVariable = "SHARDCAT_CORPORA"

// textFamilies are the folders of text among them.
var textFamilies = []string{"csv-spectrum", "duckdb-csv", "duckdb-json", "jsontestsuite"}

// parquetFamilies are those with Parquet files.
var parquetFamilies = []string{"parquet-testing", "duckdb-parquet", "writers", "cases"}

// expectedFailures are the cases that fail, by family and name, with the reason.
var expectedFailures = map[string]string{
	"arrow-testing/arrow-ipc-stream/integration/0.14.1/generated_datetime.arrow":                          nanoseconds,
	"arrow-testing/arrow-ipc-stream/integration/1.0.0-bigendian/generated_datetime.arrow":                 nanoseconds,
	"arrow-testing/arrow-ipc-stream/integration/1.0.0-bigendian/generated_datetime.arrows":                nanoseconds,
	"arrow-testing/arrow-ipc-stream/integration/1.0.0-bigendian/generated_duplicate_fieldnames.arrow":     nameless,
	"arrow-testing/arrow-ipc-stream/integration/1.0.0-bigendian/generated_duplicate_fieldnames.arrows":    nameless,
	"arrow-testing/arrow-ipc-stream/integration/1.0.0-littleendian/generated_datetime.arrows":             nanoseconds,
	"arrow-testing/arrow-ipc-stream/integration/1.0.0-littleendian/generated_duplicate_fieldnames.arrow":  nameless,
	"arrow-testing/arrow-ipc-stream/integration/1.0.0-littleendian/generated_duplicate_fieldnames.arrows": nameless,
	"arrow-testing/arrow-ipc-stream/integration/cpp-21.0.0/generated_datetime.arrow":                      nanoseconds,
	"arrow-testing/arrow-ipc-stream/integration/cpp-21.0.0/generated_datetime.arrow (write, verify, cat)": nanoseconds,
	"arrow-testing/arrow-ipc-stream/integration/cpp-21.0.0/generated_datetime.arrows":                     nanoseconds,
	"arrow-testing/arrow-ipc-stream/integration/cpp-21.0.0/generated_duplicate_fieldnames.arrow":          nameless,
	"arrow-testing/arrow-ipc-stream/integration/cpp-21.0.0/generated_duplicate_fieldnames.arrows":         nameless,

	"cases/bugs-files/timestamp_ns_min.arrow":                                      nanoseconds,
	"writers/pyarrow/timestamp_ns_min.arrow":                                       nanoseconds,
	"writers/pyarrow/ts_units.parquet":                                             nanoseconds,
	"duckdb-parquet/parquet-testing/json_convertedtype.parquet (convert --strict)": repeatedLeaf,
}

// The reasons of failures.
const (
	nanoseconds = "the rows have nanoseconds before 1970 cut towards 1970, as pyarrow casts them; here they are rounded down, as by DuckDB, polars, pandas and numpy, " +
		"and as cutting the digits of the text does"
	nameless     = "members of a struct that share a name, or have none, are named by their place, where the other readers print a list"
	repeatedLeaf = "the repeated column becomes a LIST, whose element has the type JSON, and the case looks for a leaf of the old name"
)

// TestTextCorpora reads public files of CSV and JSON, and holds the rows to those of other readers.
func TestTextCorpora(t *testing.T) {
	checkCorpora(t, 700, allCases, textFamilies...)
}

// TestLanceCorpora reads public Lance files and datasets, and those that two releases of pylance wrote.
func TestLanceCorpora(t *testing.T) {
	checkCorpora(t, 45, func(family, name string) bool { return family == "lance" || strings.Contains(name, "lance") }, "lance", "writers")
}

// TestArrowCorpora reads the public files of Arrow IPC.
func TestArrowCorpora(t *testing.T) {
	checkCorpora(t, 250, allCases, "arrow-testing")
}

// TestParquetCorpora reads the public files of Parquet, and those that other programs wrote. For time it runs each fourth
// case of the latter and of DuckDB's, and of what is more than to read a file, but to convert it where no type may be lost.
func TestParquetCorpora(t *testing.T) {
	n := 0
	checkCorpora(t, 350, func(family, name string) bool {
		if strings.Contains(name, "lance") || slices.Contains(slowCases, name) {
			return false
		}
		_, way, other := strings.Cut(name, " (")
		if _, expected := expectedFailures[family+"/"+name]; expected || way == "convert --strict)" || !other && (family == "parquet-testing" || family == "cases") {
			return true
		}
		n++
		return n%4 == 0
	}, parquetFamilies...)
}

// slowCases are left out for time: most of it goes into the comparison.
var slowCases = []string{
	"parquet-testing/candidate.parquet", "parquet-testing/bloom_filter_bad_numbytes.parquet", "parquet-testing/list_sort_segfault.parquet",
	"parquet-testing/bloom_filter_bad_numbytes.parquet (external)", "duckdb/row_groups.parquet",
	"parquet-testing/candidate.parquet (convert to parquet)", "parquet-testing/bloom_filter_bad_numbytes.parquet (convert to parquet)",
	"parquet-testing/list_sort_segfault.parquet (convert to parquet)", "parquet-testing/list_sort_segfault.parquet (write, verify, cat)",
	"parquet-testing/bloom_filter_bad_numbytes.parquet (write, verify, cat)", "data/alltypes_tiny_pages.parquet (convert to parquet)",
	"data/alltypes_tiny_pages.parquet (write, verify, cat)",
}

func allCases(string, string) bool { return true }

// libraryWords are words of libraries and of Go's runtime, which say nothing to a person who has a file.
var libraryWords = regexp.MustCompile(`runtime error|goroutine|panic|out of range|makeslice|nil pointer|interface conversion|arrow/|\barrow: |\bparquet: |thrift|unexpected EOF|` +
	`error reading struct|Unknown data type|from flatbuf|metadata said|leaf column readers|invalid number of bytes|delta byte array|zstd: |gzip: |flate: |snappy: |strconv|protobuf|\bjson: `)

// TestMessagesOfCorporaInPlainWords reads the public files that are not to be read, or may be refused, and looks for words of libraries in what is said of them.
func TestMessagesOfCorporaInPlainWords(t *testing.T) {
	dir := os.Getenv(corporaVariable)
	if dir == "" {
		t.Skip("SKIPPED: no public files to read: " + corporaVariable + " names their folder")
	}
	binary, n := commandOfTest(t), 0
	for _, family := range []string{"arrow-testing", "parquet-testing", "duckdb-parquet", "writers", "cases"} {
		for _, path := range refusedFiles(t, dir, family) {
			n++
			said, err := exec.Command(binary, "shard", "cat", path).CombinedOutput()
			if err == nil {
				continue
			}
			at := bytes.LastIndex(said, []byte("shardcat: ")) // rows and notes may be before the error
			message := strings.ReplaceAll(string(said[max(at, 0):]), path, "FILE")
			if words := libraryWords.FindString(message); words != "" {
				t.Errorf("%s: %q in %q", path, words, message)
			}
		}
	}
	if n < 80 {
		t.Errorf("%d files, which are fewer than there were", n)
	}
	t.Logf("%d files", n)
}

// refusedFiles are the files of a family that lie there as they are, and of which not all cases are rows.
func refusedFiles(t *testing.T, dir, family string) (files []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, family, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index struct {
		Files []struct{ Path, Pack, Expect string }
	}
	if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	for _, c := range index.Files {
		path := filepath.Join(dir, family, c.Path)
		if c.Expect != "rows" && c.Pack == "" && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return files
}

// commandOfTest is a name by which this test is the command.
func commandOfTest(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "shardcat")
	if err := os.Symlink(self, binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

// selectCases makes a folder of the families with those of their cases that are wanted, and gives their names.
func selectCases(t *testing.T, from string, wanted func(family, name string) bool, families []string) (dir string, names map[string]bool) {
	t.Helper()
	dir, names = t.TempDir(), map[string]bool{}
	for _, family := range families {
		b, err := os.ReadFile(filepath.Join(from, family, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		var index struct {
			Files []json.RawMessage `json:"files"`
		}
		if err := json.Unmarshal(b, &index); err != nil {
			t.Fatal(err)
		}
		index.Files = slices.DeleteFunc(index.Files, func(c json.RawMessage) bool {
			var named struct{ Name string }
			if err := json.Unmarshal(c, &named); err != nil {
				t.Fatal(err)
			}
			if !wanted(family, named.Name) {
				return true
			}
			names[family+"/"+named.Name] = true
			return false
		})
		b, err = json.Marshal(index)
		if err == nil {
			err = os.Mkdir(filepath.Join(dir, family), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, family, "index.json"), b, 0o644)
		}
		if err == nil {
			err = os.Symlink(filepath.Join(from, family, "files"), filepath.Join(dir, family, "files"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, names
}

// checkCorpora holds the rows of cases, of which there are at least some, to those of other readers.
func checkCorpora(t *testing.T, least int, wanted func(family, name string) bool, families ...string) {
	t.Helper()
	dir := os.Getenv(corporaVariable)
	if dir == "" {
		t.Skip("SKIPPED: no public files to read: " + corporaVariable + " names their folder")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 to run check.py")
	}
	binary := commandOfTest(t)
	selected, names := selectCases(t, dir, wanted, families)
	out, err := exec.Command(python, filepath.Join(dir, "check.py"), "--binary", binary, "--dir", selected, "--json").Output()
	var result struct {
		Total    struct{ Cases, Equal, Refused int }
		Failures []struct{ Family, Name, Kind, What string }
	}
	if jsonErr := json.Unmarshal(out, &result); jsonErr != nil {
		t.Fatalf("check.py: %v, %v", err, jsonErr)
	}
	failed := map[string]bool{}
	for _, f := range result.Failures {
		name := f.Family + "/" + f.Name
		failed[name] = true
		if expectedFailures[name] == "" {
			t.Errorf("%s: %s: %s", name, f.Kind, f.What)
		} else {
			t.Logf("%s: %s, as expected: %s", name, f.What, expectedFailures[name])
		}
	}
	for name, reason := range expectedFailures {
		if names[name] && !failed[name] {
			t.Errorf("%s is expected to fail (%s), and passes: take it off the list", name, reason)
		}
	}
	if result.Total.Cases < least {
		t.Errorf("%d cases, which are fewer than there were", result.Total.Cases)
	}
	t.Logf("%d cases: %d with the rows of other readers, %d refused as they should be", result.Total.Cases, result.Total.Equal, result.Total.Refused)
}
