package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestGatewayTPCH starts the service and compares queries of TPC-H by DuckDB through its Iceberg gateway with DuckDB over the original
// Parquet files: as ingested, while tables are compacted, compacted, and after expiry and collection. SHARDCAT_TPCH names a Python that has
// DuckDB and its extensions, SHARDCAT_TPCH_QUERIES other queries than four. With SHARDCAT_TPCH_JARS, Iceberg's runtime and its AWS bundle with
// commas, pyspark of that Python answers them too.
func TestGatewayTPCH(t *testing.T) {
	python := os.Getenv("SHARDCAT_TPCH")
	if python == "" {
		t.Skip("SHARDCAT_TPCH does not name a Python with DuckDB and its extensions for Iceberg and TPC-H: no query is compared")
	}
	queries := strings.Fields(cmp.Or(os.Getenv("SHARDCAT_TPCH_QUERIES"), "1 3 6 12"))
	const token = "read"
	t.Setenv("SHARDCAT_READ_TOKEN", token)
	dir := t.TempDir()
	script := func(arguments ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), python, append([]string{"testdata/gateway_tpch.py"}, arguments...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := script("make", dir, "0.01"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at := []string{"--catalog", "sqlite:" + filepath.Join(dir, "catalog.db"), "--warehouse", filepath.Join(dir, "warehouse")}
	run := func(arguments ...string) error {
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &errs)
		if code := a.finish(t.Context(), a.execute(t.Context(), slices.Concat(at, arguments))); code != exitDone {
			return fmt.Errorf("%v: exit code %d\n%s\n%s", arguments, code, out.String(), errs.String())
		}
		return nil
	}
	tables := []string{"customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"}
	for _, table := range tables {
		if err := run("ingest", table, filepath.Join(dir, table+".parquet"), "--create", "--shard-rows", "5000"); err != nil {
			t.Fatal(err)
		}
		if err := run("policy", "set", table, "pause=true"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan int, 1)
	go func() {
		a := newApp(strings.NewReader(""), w, io.Discard)
		done <- a.finish(ctx, a.execute(ctx, slices.Concat(at, []string{"serve", "--listen", "127.0.0.1:0", "--json"})))
	}()
	defer func() {
		stop()
		if code := <-done; code != exitDone {
			t.Errorf("serve ended with %d", code)
		}
	}()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var server struct{ URL string }
	if err := json.Unmarshal(line, &server); err != nil || server.URL == "" {
		t.Fatalf("%s: %v", line, err)
	}
	compare := func(when string) {
		t.Helper()
		out, err := script(append([]string{"compare", dir, strings.TrimSuffix(server.URL, "/"), token}, queries...)...)
		want := fmt.Sprintf("equal: %d\n", len(queries))
		if err != nil || out != want {
			t.Errorf("%s: %v\n%s, want %s", when, err, out, want)
		}
		if jars := os.Getenv("SHARDCAT_TPCH_JARS"); jars != "" {
			out, err := script(append([]string{"spark", jars, dir, strings.TrimSuffix(server.URL, "/"), token}, queries...)...)
			if err != nil || !strings.HasSuffix(out, want) {
				t.Errorf("Spark, %s: %v\n%s, want %s", when, err, out, want)
			}
		}
	}
	compare("as ingested")
	// The queries are repeated, from before the first table is compacted until the last one is.
	until := filepath.Join(dir, "compacted")
	t.Setenv("GATEWAY_TPCH_UNTIL", until)
	compacted := make(chan error, 1)
	go func() {
		defer os.WriteFile(until, nil, 0o600) //nolint:errcheck // the queries would not end
		for i := 0; ; i++ {
			if _, err := os.Stat(until + ".begun"); err == nil {
				break
			}
			if i == 3000 {
				compacted <- errors.New("no query was answered within five minutes")
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		for _, table := range tables {
			if err := run("compact", table); err != nil {
				compacted <- err
				return
			}
		}
		compacted <- nil
	}()
	compare("during compaction")
	if err := <-compacted; err != nil {
		t.Fatal(err)
	}
	if err := os.Unsetenv("GATEWAY_TPCH_UNTIL"); err != nil {
		t.Fatal(err)
	}
	compare("compacted")
	before := filesBelow(t, dir)
	for _, table := range tables {
		if err := run("expire", table, "--older-than", "0s", "--retain-last", "1"); err != nil {
			t.Fatal(err)
		}
	}
	compare("expired")
	for range 2 { // one run marks, the next deletes
		if err := run("gc", "--all", "--execute", "--min-age", "0s", "--unsafe-min-age", "--delete-delay", "0s", "--max-delete-ratio", "1"); err != nil {
			t.Fatal(err)
		}
	}
	if after := filesBelow(t, dir); after >= before {
		t.Errorf("nothing was collected: %d files, %d before", after, before)
	}
	compare("collected")
}

// filesBelow counts the files below a folder.
func filesBelow(t *testing.T, dir string) (n int) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
