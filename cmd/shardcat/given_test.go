package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/internal/progress"
)

// runIn runs a command line in this process and returns its exit code and both streams.
func runIn(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs)
	code := a.finish(t.Context(), a.execute(t.Context(), args))
	return code, out.String() + errs.String()
}

// demoLines are the command lines of README.md that run the demo on an object store, without what starts the command.
func demoLines(t *testing.T) (lines [][]string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(readme)) {
		if _, args, ok := strings.Cut(line, "./cmd/shardcat "); ok && strings.Contains(args, "s3://") {
			lines = append(lines, strings.Fields(strings.ReplaceAll(args, "'", "")))
		}
	}
	return lines
}

// TestDemoLandsWhereItIsTold runs the README's lines for S3, and others that name a place, and looks into each place.
func TestDemoLandsWhereItIsTold(t *testing.T) {
	lines := demoLines(t)
	if len(lines) != 2 {
		t.Fatalf("README.md has %d lines that run the demo on S3: %v", len(lines), lines)
	}
	for i, args := range lines {
		t.Run(args[len(args)-1], func(t *testing.T) {
			store := newFakeS3(t)
			t.Chdir(t.TempDir())
			args[len(args)-1] = strings.Replace(args[len(args)-1], "http://127.0.0.1:9000", store.url, 1)
			if i == 0 { // its server is named by the environment of .ci/servers
				t.Setenv("AWS_ENDPOINT_URL_S3", store.url)
			}
			if code, said := runIn(t, args...); code != exitDone {
				t.Fatalf("exit %d: %s", code, said)
			}
			if n := store.count(".amudai.shard"); n < 29 {
				t.Errorf("%d shards in the bucket, want 28 and the merged one", n)
			}
			if n := store.count(".metadata.json"); n == 0 {
				t.Error("no metadata of the table in the bucket")
			}
			if here := found(t, ".", ".shard"); len(here) > 0 {
				t.Errorf("shards beside the bucket: %v", here)
			}
		})
	}
}

// TestDemoObeysEachPlace: every global flag for a place is obeyed, on either side of the command's name and from a file that
// the command line names; the environment's places stay alone, and that is reported.
func TestDemoObeysEachPlace(t *testing.T) {
	for _, c := range []struct {
		name string
		args func(dir string) []string
		env  string
	}{
		{"behind", func(dir string) []string {
			return []string{"demo", "--warehouse", dir + "/wh", "--catalog", "sqlite:" + dir + "/mine.db", "--vault", dir + "/vault"}
		}, ""},
		{"before", func(dir string) []string {
			return []string{"--warehouse", dir + "/wh", "--catalog", "sqlite:" + dir + "/mine.db", "--vault", dir + "/vault", "demo"}
		}, ""},
		{"file", func(dir string) []string {
			text := "warehouse: " + dir + "/wh\nvault: " + dir + "/vault\ncatalog: sqlite:" + dir + "/mine.db\n"
			if err := os.WriteFile("c.yaml", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return []string{"demo", "--config", "c.yaml"}
		}, ""},
		{"environment", func(string) []string { return []string{"demo"} }, "SHARDCAT_WAREHOUSE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(t.TempDir())
			if c.env != "" {
				t.Setenv(c.env, dir+"/wh")
			}
			code, said := runIn(t, c.args(dir)...)
			if code != exitDone {
				t.Fatalf("exit %d: %s", code, said)
			}
			_, catalogErr := os.Stat(dir + "/mine.db")
			told := len(found(t, dir+"/vault", ".shard")) > 0 && len(found(t, dir+"/wh", ".metadata.json")) > 0 && catalogErr == nil
			here := len(found(t, ".", "")) > 0 && c.name != "file"
			if want := c.env == ""; told != want || here == want {
				t.Errorf("written where it was told: %v, elsewhere: %v", told, here)
			}
			if c.env != "" && !strings.Contains(said, c.env+" is ignored here") {
				t.Errorf("nothing is said of %s: %s", c.env, said)
			}
		})
	}
}

// found are the files below a folder whose names end so.
func found(t *testing.T, dir, suffix string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestGivenFlagsHaveAnEffect: a flag that would have none is refused.
func TestGivenFlagsHaveAnEffect(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"a.ndjson": `{"a":1,"b":"x"}` + "\n", "a.csv": "a,b\n1,x\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"convert", "a.ndjson", "a.parquet"}, {"shard", "write", "a.amudai.shard", "a.ndjson"}, {"ingest", "t", "a.ndjson", "--create"},
	} {
		if code, said := runIn(t, args...); code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, said)
		}
	}
	for _, line := range []string{
		"scan t --seed 7", "scan t --count --format csv", "scan t --explain --format csv", "scan t --task x --seed 1",
		"scan t --task x --ordered", "scan t --task x --ignore-indexes",
		"scan t --time-unit ms", "scan t --format csv --guid-as string", "scan t --format ndjson --all", "scan t --decimal-as 18,2",
		"changes t --from 1 --dynamic-as variant", "export t out.csv --time-unit s", "export t out.csv --all",
		"compact t --once=false", "compact t --dry-run --check", "plan t --cache-disk 100",
		"shard cat a.amudai.shard --types i64", "shard cat a.parquet --version 1", "shard cat a.parquet --allow .", "shard cat a.csv --binary-strings true",
		"shard inspect a.amudai.shard --version 1", "shard inspect a.parquet --types i64", "shard inspect a.csv --allow .",
		"shard verify a.amudai.shard --strict-pages true", "shard verify a.parquet --strict-pages true", "shard verify a.parquet --allow .",
		"shard write b.amudai.shard a.ndjson --comma ;", "shard write b.amudai.shard a.ndjson --no-header", "shard write b.amudai.shard a.ndjson --null x",
		"shard write b.amudai.shard a.parquet --date-format %d", "shard write b.amudai.shard a.parquet --time-zone Europe/Berlin",
		"shard write b.amudai.shard a.ndjson --types i64", "shard write b.amudai.shard a.ndjson --index-scope shard", "ingest t a.ndjson --header yes",
		"ingest t a.ndjson --version 1", "convert a.ndjson b.ndjson --types i64", "convert a.ndjson b.parquet --page-rows 1",
		"convert a.parquet b.arrow --comma ;", "convert a.parquet b.arrow --quote '", "convert a.parquet b.arrow --column a:Int64", "convert a.ndjson b.arrow --comma ;",
		"convert a.ndjson b.arrow --null x", "shard cat a.parquet --infer-rows 5", "ingest t a.parquet --infer-rows 5",
		"shard write b.amudai.shard a.parquet --infer-rows 0", "overwrite t --where a=1 a.parquet --infer-rows 5", "convert a.parquet b.arrow --reject-file bad.csv",
		"shard write b.amudai.shard a.csv --encoding latin", "shard cat a.parquet --comma ;", "shard cat a.ndjson --header no",
		"shard cat a.amudai.shard --column a:Int64", "convert a.ndjson b.arrow --column a:Int64 --schema a:Int64,b:String",
		"convert a.parquet b.parquet --null-value a=1", "convert a.ndjson b.amudai.shard --filter bloom", "convert a.parquet b.ndjson --time-unit s",
	} {
		if code, said := runIn(t, strings.Fields(line)...); code != exitUsage {
			t.Errorf("%s: exit %d, want it refused: %s", line, code, said)
		}
	}
	for _, line := range []string{
		"scan t --sample 1 --seed 7", "scan t --format arrow --time-unit ms", "convert a.parquet c.col --page-rows 1000", "compact t --dry-run",
		"shard write c.amudai.shard a.csv --comma , --header yes --null x", "export t out.parquet --time-unit s", "shard cat a.csv --comma , --header yes --null x --column a:String --infer-rows 1",
		"convert a.csv d.arrow --comma , --header yes --null x --column a:String --infer-rows 1", "shard cat a.parquet --format parquet --time-unit ms",
	} {
		if code, said := runIn(t, strings.Fields(line)...); code != exitDone {
			t.Errorf("%s: exit %d: %s", line, code, said)
		}
	}
}

// TestConfigFromEnvironment: the file of settings can be named by the environment too, as any other global flag.
func TestConfigFromEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("c.yaml", []byte("catalog: sqlite:here.db\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHARDCAT_CONFIG", "c.yaml")
	if code, said := runIn(t, "namespace", "create", "n"); code != exitDone {
		t.Fatalf("exit %d: %s", code, said)
	}
	if _, err := os.Stat("here.db"); err != nil {
		t.Error("the file of SHARDCAT_CONFIG was not read:", err)
	}
	t.Setenv("SHARDCAT_CONFIG", "none.yaml")
	if code, _ := runIn(t, "namespace", "list"); code != exitUsage {
		t.Errorf("a missing file: exit %d", code)
	}
}

// TestDescribeShowsSizesOfLongProperties: what programs keep in a table's properties does not fill the screen, and --json has it.
func TestDescribeShowsSizesOfLongProperties(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.ndjson", []byte(`{"a":1,"b":"x"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 3000)
	for _, args := range [][]string{{"convert", "a.ndjson", "a.arrow"}, {"table", "create", "t", "--like", "a.arrow", "--property", "mine=" + long, "--property", "short=y"}} {
		if code, said := runIn(t, args...); code != exitDone || strings.Contains(said, long) {
			t.Fatalf("%v: exit %d: %s", args, code, said)
		}
	}
	code, said := runIn(t, "table", "describe", "t")
	for _, line := range strings.Split(said, "\n") {
		if len(line) > 300 {
			t.Errorf("a line of %d bytes: %.100s…", len(line), line)
		}
	}
	if code != exitDone || !strings.Contains(said, "mine = 2.9 KiB (--json prints it)") || !strings.Contains(said, "short = y") {
		t.Errorf("exit %d: %s", code, said)
	}
	if code, said := runIn(t, "table", "describe", "t", "--json"); code != exitDone || !strings.Contains(said, long) {
		t.Errorf("exit %d: --json lacks the property", code)
	}
}

// TestDescribeShowsTheSizeOfTheArrowSchema: a table that was made like a file of Arrow, also of one column, shows how large its Arrow schema is,
// and --json has it.
func TestDescribeShowsTheSizeOfTheArrowSchema(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, columns := range map[string]int{"one": 1, "many": 40} {
		var fields []arrow.Field
		for i := range columns {
			fields = append(fields, arrow.Field{Name: fmt.Sprintf("d%d", i), Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}})
		}
		file, err := os.Create(name + ".arrow")
		if err != nil {
			t.Fatal(err)
		}
		w, err := ipc.NewFileWriter(file, ipc.WithSchema(arrow.NewSchema(fields, nil)))
		if err == nil {
			err = errors.Join(w.Close(), file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		created, made := runIn(t, "table", "create", name, "--like", name+".arrow")
		described, said := runIn(t, "table", "describe", name)
		code, text := runIn(t, "table", "describe", name, "--json")
		if created != exitDone || described != exitDone || code != exitDone {
			t.Fatalf("exits %d, %d and %d: %s%s%s", created, described, code, made, said, text)
		}
		var table struct{ Properties map[string]string }
		if err := json.Unmarshal([]byte(text), &table); err != nil {
			t.Fatal(err)
		}
		value := table.Properties["shardcat.arrow-schema"]
		if value == "" {
			t.Fatal("the table has no Arrow schema")
		}
		for _, said := range []string{made, said} {
			if strings.Contains(said, value) || !strings.Contains(said, "shardcat.arrow-schema = "+progress.Bytes(int64(len(value)))+" (--json prints it)") {
				t.Errorf("%d columns, of %d bytes: %s", columns, len(value), said)
			}
		}
	}
}

// TestHeadWithoutEqualsSign: the number behind --head and a blank is an argument, and the error states how to write it.
func TestHeadWithoutEqualsSign(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"scan", "t", "--head", "7"}, {"scan", "--head", "7", "t"}} {
		if code, said := runIn(t, args...); code != exitUsage || !strings.Contains(said, "--head=7") {
			t.Errorf("%v: exit %d: %s", args, code, said)
		}
	}
	if code, said := runIn(t, "scan", "t", "7"); code != exitUsage || !strings.Contains(said, "got 2 arguments") {
		t.Errorf("exit %d: %s", code, said)
	}
}
