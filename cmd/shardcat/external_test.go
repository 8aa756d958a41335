package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// web serves the files of a folder over TLS, and counts the requests to it.
type web struct {
	*httptest.Server
	cert string // a file, for SSL_CERT_FILE

	mu          sync.Mutex
	gets, whole int
	sent        int64
}

func newWeb(t *testing.T, folder string) *web {
	w := new(web)
	files := http.FileServer(http.Dir(folder))
	w.Server = httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		counted := &counter{ResponseWriter: out}
		files.ServeHTTP(counted, r)
		w.mu.Lock()
		defer w.mu.Unlock()
		if r.Method == http.MethodGet {
			w.gets++
			w.sent += counted.n
			if r.Header.Get("Range") == "" {
				w.whole++
			}
		}
	}))
	t.Cleanup(w.Close)
	w.cert = filepath.Join(t.TempDir(), "cert.pem")
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})
	if err := os.WriteFile(w.cert, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// counter counts the bytes of an answer.
type counter struct {
	http.ResponseWriter
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += int64(n)
	return n, err
}

// reset gives what was counted, and begins again.
func (w *web) reset() (gets, whole int, sent int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gets, whole, sent = w.gets, w.whole, w.sent
	w.gets, w.whole, w.sent = 0, 0, 0
	return gets, whole, sent
}

// TestExternalParquetOverHTTPS: files of a web server become a shard, are read by ranges, and only with leave.
func TestExternalParquetOverHTTPS(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	w := newWeb(t, folder)
	sc := func(args ...string) (string, error) {
		path, err := exec.LookPath("shardcat")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir, cmd.WaitDelay = folder, time.Second
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+w.cert)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		return string(out) + errs.String(), err
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := sc(args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	var rows strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&rows, `{"id":%d,"text":"%x"}`+"\n", i, uint64(i)*0x9E3779B97F4A7C15)
	}
	if err := os.WriteFile(filepath.Join(folder, "rows.ndjson"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "lake"), 0o700); err != nil {
		t.Fatal(err)
	}
	run("convert", "rows.ndjson", "lake/data.parquet")
	info, err := os.Stat(filepath.Join(folder, "lake", "data.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	url := w.URL + "/lake/data.parquet"
	if out, err := sc("shard", "write", "over.amudai.shard", url, "--external-parquet"); err == nil || !strings.Contains(out, "--allow-external") {
		t.Errorf("a file elsewhere, without leave: %v, %s", err, out)
	}
	run("shard", "write", "over.amudai.shard", url, "--external-parquet", "--allow-external")
	if gets, whole, sent := w.reset(); whole > 0 || sent > 2*info.Size()+info.Size()/2 { // read twice
		t.Errorf("writing the root: %d GETs, %d of them without a range, %d bytes of a file of %d", gets, whole, sent, info.Size())
	}
	if out, err := sc("shard", "cat", "over.amudai.shard"); err == nil {
		t.Errorf("read without leave: %.200s", out)
	}
	if gets, _, _ := w.reset(); gets > 0 {
		t.Errorf("%d GETs without leave", gets)
	}
	leave := []string{"--allow", w.URL + "/lake/"}
	if got := run(append(leave, "shard", "cat", "over.amudai.shard", "--format", "ndjson")...); got != rows.String() {
		t.Errorf("other rows: %.200s", got)
	}
	w.reset()
	got := run(append(leave, "shard", "cat", "over.amudai.shard", "--where", "id = 41234", "--select", "id", "--format", "ndjson")...)
	if gets, whole, sent := w.reset(); !strings.Contains(got, `"id":41234`) || whole > 0 || gets == 0 || gets > 6 || sent > info.Size()/2 {
		t.Errorf("a row: %d GETs, %d of them without a range, %d bytes of a file of %d: %s", gets, whole, sent, info.Size(), got)
	}
	run(append(leave, "shard", "verify", "over.amudai.shard")...)
}

// TestExternalParquetOfTwoColumnsOfOneName: a root can't distinguish them, so the file is unsupported, by the name.
func TestExternalParquetOfTwoColumnsOfOneName(t *testing.T) {
	data, err := os.ReadFile("../../shardfmt/fileio/testdata/files/duplicate_names.parquet")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "two.parquet"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	code, said := runIn(t, "shard", "write", filepath.Join(dir, "x.amudai.shard"), filepath.Join(dir, "two.parquet"), "--external-parquet")
	if code != exitCorrupt || !strings.Contains(said, `two.parquet`) || !strings.Contains(said, `more than one column is named "a"`) {
		t.Errorf("exit %d: %s", code, said)
	}
}

// TestExternalParquetOfLongPages: a page that does not fit into the memory of a run is refused by its column, with what to do, and that helps.
func TestExternalParquetOfLongPages(t *testing.T) {
	dir := t.TempDir()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil))
	const rows = 20_000
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat(fmt.Sprintf("%08d", i), 64))
	}
	file, err := os.Create(filepath.Join(dir, "long.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(b.Schema(), file, parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryDefault(false),
		parquet.WithDataPageSize(1<<30), parquet.WithBatchSize(rows)), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(b.NewRecordBatch()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	args := []string{"shard", "write", filepath.Join(dir, "x.amudai.shard"), filepath.Join(dir, "long.parquet"), "--external-parquet", "--max-memory"}
	code, said := runIn(t, append(args, "20000000")...)
	if code != exitCorrupt || !strings.Contains(said, `column "text" of row group 0`) || !strings.Contains(said, "--max-memory") {
		t.Errorf("exit %d: %s", code, said)
	}
	if code, said = runIn(t, append(args, "200000000")...); code != exitDone {
		t.Errorf("with more memory: exit %d: %s", code, said)
	}
}
