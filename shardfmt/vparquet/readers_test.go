package vparquet

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
)

// numbered makes rows whose first column counts them from a number on.
func numbered(t *testing.T, batch arrow.RecordBatch, from int) arrow.RecordBatch {
	t.Helper()
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range int(batch.NumRows()) {
		b.Append(int64(from + i))
	}
	out, err := batch.SetColumn(0, b.NewArray())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Libraries that nobody here wrote read every value of every type: those that the Python of SHARDCAT_PYICEBERG has.
func TestReadersOfOthers(t *testing.T) {
	python := os.Getenv("SHARDCAT_PYICEBERG")
	if python == "" {
		t.Skip("SHARDCAT_PYICEBERG names no Python with pyarrow: other readers are not tried")
	}
	for name, c := range map[string]struct {
		schema string
		rows   [2]int
	}{
		"types": {"serial: Int64, " + everyType, [2]int{500, 100}},
		"pages": {"serial: Int64, s: String, l: List<Int16>", [2]int{pageRows + 500, 100}},
	} {
		t.Run(name, func(t *testing.T) { readByOthers(t, python, c.schema, c.rows) })
	}
}

func readByOthers(t *testing.T, python, text string, rows [2]int) {
	c := blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	s := parseSchema(t, text)
	fill := &filler{rand.New(rand.NewPCG(6, 6)), 0.25}
	batches := []arrow.RecordBatch{numbered(t, randomBatch(s, fill, rows[0]), 0), numbered(t, randomBatch(s, fill, rows[1]), rows[0])}
	path := filepath.Join(t.TempDir(), "types.parquet")
	b := whole(t, openFile(t, writeShard(t, c, "mem://vparquet-others/"+path+".amudai.shard", s, batches...), Options{}))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	first := rows[0] + 3
	cmd := exec.Command(python, "testdata/readers_check.py", path, strconv.Itoa(first))
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	var got map[string]map[string][]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for reader, columns := range got {
		if filtered := columns["serial"]; reader == "duckdb filtered" {
			if len(filtered) != 6 || filtered[0] != strconv.Itoa(first) || len(columns["s"]) != 6 || !reflect.DeepEqual(columns["s"], got["pyarrow"]["s"][first:first+6]) {
				t.Errorf("%s: %v", reader, columns)
			}
			continue
		}
		t.Log(reader)
		for i, n := range s.Fields {
			at := 0
			for _, b := range batches {
				for row := range int(b.NumRows()) {
					if at >= len(columns[n.Name]) {
						t.Fatalf("%s, %s: %d values", reader, n.Name, at)
					}
					if want := expected(b.Column(i), n, row); !reflect.DeepEqual(columns[n.Name][at], want) {
						t.Fatalf("%s, %s, row %d: %v, expected %v", reader, n.Name, at, columns[n.Name][at], want)
					}
					at++
				}
			}
		}
	}
}
