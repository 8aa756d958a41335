package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// corporaVariable is the environment variable that names the folder of public files with the rows that other readers make of them.
const corporaVariable = "SHARDCAT_CORPORA"

// textFamilies are the folders of text among them.
var textFamilies = []string{"csv-spectrum", "duckdb-csv", "duckdb-json", "jsontestsuite"}

// expectedFailures are the cases that fail, by family and name, with the reason.
var expectedFailures = map[string]string{}

// TestTextCorpora reads public files of CSV and JSON, and holds the rows to those of other readers.
func TestTextCorpora(t *testing.T) {
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
	args := []string{filepath.Join(dir, "check.py"), "--binary", binary, "--json"}
	for _, family := range textFamilies {
		args = append(args, "--family", family)
	}
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
		if !failed[name] {
			t.Errorf("%s is expected to fail (%s), and passes: take it off the list", name, reason)
		}
	}
	if result.Total.Cases < 700 {
		t.Errorf("%d cases, which are fewer than there were", result.Total.Cases)
	}
	t.Logf("%d cases: %d with the rows of other readers, %d refused as they should be", result.Total.Cases, result.Total.Equal, result.Total.Refused)
}
