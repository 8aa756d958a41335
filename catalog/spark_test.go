package catalog

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Spark with Iceberg's own runtime sees a table, is refused whatever would read, write or clean up, and leaves every row where it was.
// SHARDCAT_SPARK names a Python with pyspark, SHARDCAT_SPARK_JARS Iceberg's runtime for it and SQLite's JDBC driver, with commas.
func TestSpark(t *testing.T) {
	python, jars := os.Getenv("SHARDCAT_SPARK"), os.Getenv("SHARDCAT_SPARK_JARS")
	if python == "" || jars == "" {
		t.Skip("SHARDCAT_SPARK and SHARDCAT_SPARK_JARS name no Spark with Iceberg: what it sees is not tried")
	}
	for _, s := range catalogs(t) {
		if s.kind == "postgres" { // for Spark one JDBC catalog is like the other
			continue
		}
		t.Run(s.kind, func(t *testing.T) {
			tbl := s.create(t, s.open(t), "spark", "day(ts)")
			ingest(t, tbl, IngestOptions{}, rows(0, 30))
			ingest(t, tbl, IngestOptions{}, rows(30, 10))
			remove(t, tbl, "id = 3")
			check := exec.Command(python, "testdata/spark_check.py", s.kind, s.uri, s.warehouse, s.namespace, jars)
			var complaints strings.Builder
			check.Stderr = &complaints
			out, err := check.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, complaints.String())
			}
			var seen map[string]string
			if err := json.Unmarshal(out, &seen); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, what := range slices.Sorted(maps.Keys(seen)) {
				t.Logf("%s: %s", what, seen[what])
			}
			for what, want := range map[string]string{
				"columns": "id:bigint ts:timestamp small:int tags:array<string>", "snapshots": "append append overwrite", "history": "3", "refs": "main",
				"manifests": "", "records": "39", "files": "39", "refusal of files": "amudai", "refusal": "amudai", "refusal of count": "amudai",
				"refusal of VALUES": "amudai", "refusal of DELETE": "amudai", "refusal of UPDATE": "amudai", "refusal of rewrite_data_files": "amudai", "refusal of rewrite_manifests": "amudai",
				"refusal of expire_snapshots": "GC is disabled", "refusal of remove_orphan_files": "GC is disabled", "refusal of DROP PURGE": "GC is disabled",
			} {
				if !strings.Contains(strings.ToLower(seen[what]), strings.ToLower(want)) {
					t.Errorf("%s is %q, want %q", what, seen[what], want)
				}
			}
			want := append(between(0, 3), between(4, 40)...)
			s.holds(t, "spark", want)
			if v, err := s.load(t, "spark").Verify(context.Background(), VerifyOptions{}); err != nil || len(v.Errors) != 0 {
				t.Errorf("after Spark: %+v, %v", v, err)
			}
		})
	}
}
