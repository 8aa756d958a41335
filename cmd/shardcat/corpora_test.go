package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corporaVariable is the environment variable that names the folder of public files with the rows that other readers make of them.
const corporaVariable = "SHARDCAT_CORPORA"

// textFamilies are the folders of text among them.
var textFamilies = []string{"csv-spectrum", "duckdb-csv", "duckdb-json", "jsontestsuite"}

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
}

// The reasons of failures.
const (
	nanoseconds = "nanoseconds before 1970 become ticks of 100 ns by rounding down, where the other readers cut them off"
	nameless    = "members of a struct that share a name, or have none, are named by their place, where the other readers print a list"
)

// TestTextCorpora reads public files of CSV and JSON, and holds the rows to those of other readers.
func TestTextCorpora(t *testing.T) {
	var args []string
	for _, family := range textFamilies {
		args = append(args, "--family", family)
	}
	checkCorpora(t, 700, args...)
}

// TestLanceCorpora reads public Lance files and datasets, and those that two releases of pylance wrote.
func TestLanceCorpora(t *testing.T) {
	checkCorpora(t, 13, "--family", "lance")
	checkCorpora(t, 32, "--family", "writers", "--only", "lance")
}

// TestArrowCorpora reads the public files of Arrow IPC.
func TestArrowCorpora(t *testing.T) {
	checkCorpora(t, 250, "--family", "arrow-testing")
}

// checkCorpora holds the rows of cases, of which there are at least some, to those of other readers.
func checkCorpora(t *testing.T, cases int, selection ...string) {
	t.Helper()
	dir := os.Getenv(corporaVariable)
	if dir == "" {
		t.Skip("SKIPPED: no public files to read: " + corporaVariable + " names their folder")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: no python3 to run check.py")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "shardcat") // the name by which this test is the command
	if err := os.Symlink(self, binary); err != nil {
		t.Fatal(err)
	}
	args := append([]string{filepath.Join(dir, "check.py"), "--binary", binary, "--json"}, selection...)
	out, err := exec.Command(python, args...).Output()
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
		}
	}
	for name, reason := range expectedFailures {
		if family, _, _ := strings.Cut(name, "/"); slices.Contains(selection, family) && !failed[name] {
			t.Errorf("%s is expected to fail (%s), and passes: take it off the list", name, reason)
		}
	}
	if result.Total.Cases < cases {
		t.Errorf("%d cases, which are fewer than there were", result.Total.Cases)
	}
	t.Logf("%d cases: %d with the rows of other readers, %d refused as they should be", result.Total.Cases, result.Total.Equal, result.Total.Refused)
}
