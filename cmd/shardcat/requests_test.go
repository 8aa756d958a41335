package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// requestCounts is the line of --io-stats without bytes, which differ by the lengths of names, and without the depth
// of writes, which depends on who is scheduled first.
type requestCounts struct {
	Gets, Heads, Puts, Lists, Deletes int64
	Catalog                           struct{ Gets, Heads, Puts, Lists, Deletes int64 }
}

// probe is the additional request of the first command that writes to a store: whether it keeps to conditional writes. An object is
// created, created again in vain, whole and in parts, and deleted; S3 has no conditional delete and looks at the object before.
var probe = map[string]requestCounts{
	"SHARDCAT_TEST_S3":    {Puts: 5, Deletes: 2, Heads: 1},
	"SHARDCAT_TEST_AZURE": {Puts: 4, Deletes: 1},
	"SHARDCAT_TEST_GCS":   {Puts: 3, Deletes: 1},
}

// proved are the reads of what was just written that S3 makes needless, by command: roots, records of owner and job, manifests, lists and
// metadata files.
var proved = map[int]struct{ data, catalog int64 }{0: {30, 3}, 1: {2, 4}}

// TestRequestsAreTheSameOnEveryStore: a command sends a cloud exactly the requests that it sends a folder, except for the probe, and what the store proves to
// have.
func TestRequestsAreTheSameOnEveryStore(t *testing.T) {
	const evening = "time_hour >= '2013-01-03T17:00:00Z' AND time_hour < '2013-01-04T00:00:00Z' AND origin = 'JFK'"
	commands := [][]string{
		{"ingest", "flights", "../../testdata/flights/2013-01.csv.gz", "--create", "--shard-rows", "1000"},
		{"compact", "flights"},
		{"scan", "flights", "--count"},
		{"scan", "flights", "--format", "ndjson"},
		{"scan", "flights", "--format", "ndjson", "--where", evening},
		{"table", "describe", "flights"},
		{"plan", "flights"},
	}
	wanted := []string{
		"{32 2 58 0 1 {3 0 3 0 0}}", // 28 shards of two objects; the record of the job is deleted; roots, records and all metadata but the commit's are read back
		"{31 1 2 1 1 {7 0 4 0 0}}",  // 28 roots in, one out, which is read back; the record of the job; one LIST finds the 28 stripes
		"{0 0 0 0 0 {4 0 0 0 0}}",   // the number stands in the manifest
		"{29 0 0 0 0 {4 0 0 0 0}}",  // one root, 28 stripes
		"{4 0 0 0 0 {4 0 0 0 0}}",   // the end of the root, two stripes' parts of it, two stripes
		"{0 0 0 0 0 {1 0 0 0 0}}",
		"{0 0 0 0 0 {4 0 0 0 0}}",
	}
	requests := func(t *testing.T, warehouse string) (stats []requestCounts) {
		catalog := filepath.Join(t.TempDir(), "catalog.db")
		for _, c := range commands {
			stats = append(stats, requestsOf(t, catalog, warehouse, c))
		}
		return stats
	}
	folder := requests(t, filepath.Join(t.TempDir(), "warehouse"))
	for i, c := range commands {
		if got := fmt.Sprint(folder[i]); got != wanted[i] {
			t.Errorf("%v: %s requests (GET, HEAD, PUT, LIST, DELETE of data, then of the catalog), want %s", c, got, wanted[i])
		}
	}
	for _, variable := range []string{"SHARDCAT_TEST_S3", "SHARDCAT_TEST_AZURE", "SHARDCAT_TEST_GCS"} {
		t.Run(variable, func(t *testing.T) {
			if os.Getenv(variable) == "" {
				t.Skipf("%s is not set: no server to test with (.ci/servers starts one)", variable)
			}
			u, err := url.Parse(os.Getenv(variable))
			if err != nil {
				t.Fatalf("%s is not a URL", variable)
			}
			u.Path = fmt.Sprintf("/requests/%d", time.Now().UnixNano())
			for i, got := range requests(t, u.String()) {
				if p := probe[variable]; i == 0 {
					got.Puts, got.Deletes, got.Heads = got.Puts-p.Puts, got.Deletes-p.Deletes, got.Heads-p.Heads
				}
				want := folder[i]
				if variable == "SHARDCAT_TEST_S3" {
					got.Heads -= got.Deletes // it looks at an object before it deletes it
					want.Gets, want.Catalog.Gets = want.Gets-proved[i].data, want.Catalog.Gets-proved[i].catalog
				}
				if got != want {
					t.Errorf("%v: %+v, want %+v, on a folder %+v", commands[i], got, want, folder[i])
				}
			}
		})
	}
}

// requestsOf runs a command and counts its requests.
func requestsOf(t *testing.T, catalog, warehouse string, args []string) (stats requestCounts) {
	t.Helper()
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	global := []string{"--catalog", "sqlite:" + catalog, "--warehouse", warehouse, "--io-stats", "--progress", "never"}
	if code := a.finish(t.Context(), a.execute(t.Context(), append(global, args...))); code != exitDone {
		t.Fatalf("%v: exit %d: %s", args, code, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &stats); err != nil {
		t.Fatalf("%v: no --io-stats line: %v", args, err)
	}
	return stats
}
