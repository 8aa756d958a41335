package arrowhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt"
)

// All tests of this package scan with memory that is spoiled when scans or batches give it back.
func init() { bufpool.Spoil(0xA5) }

// ground is a server over a catalog in a folder.
type ground struct {
	*httptest.Server
	t      *testing.T
	dir    string
	cat    *catalog.Catalog
	rows   *arrowhttp.Server
	client *http.Client
}

func newGround(t *testing.T, o arrowhttp.Options) *ground {
	t.Helper()
	g := &ground{t: t, dir: t.TempDir()}
	var err error
	if g.cat, err = shardcat.Open(t.Context(), g.dir, shardcat.Options{}); err != nil {
		t.Fatal(err)
	}
	g.rows = arrowhttp.New(g.cat, o)
	g.Server = httptest.NewServer(g.rows)
	// A transport that unpacks nothing by itself, so that tests see what was sent.
	transport := &http.Transport{DisableCompression: true}
	g.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		g.Close()
		g.cat.Close()
	})
	return g
}

var people = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "price", Type: &arrow.Decimal128Type{Precision: 12, Scale: 2}, Nullable: true},
	{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
}, nil)

// table makes a table of people, one shard for each JSON array.
func (g *ground) table(name string, shards ...string) *catalog.Table {
	g.t.Helper()
	n, err := catalog.ParseName(name)
	if err != nil {
		g.t.Fatal(err)
	}
	t, err := g.cat.Create(g.t.Context(), n, catalog.CreateOptions{Arrow: people, CreateNamespace: true})
	if err != nil {
		g.t.Fatal(err)
	}
	for _, text := range shards {
		g.appendTo(t, text)
	}
	return t
}

func (g *ground) append(t *catalog.Table, o catalog.IngestOptions, batches ...arrow.RecordBatch) {
	g.t.Helper()
	r, err := array.NewRecordReader(batches[0].Schema(), batches)
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Release()
	if _, err := t.Append(g.t.Context(), r, o); err != nil {
		g.t.Fatal(err)
	}
}

// large makes a table of shards that are a mebibyte each, and do not compress.
func (g *ground) large(shards int) {
	g.t.Helper()
	types := arrow.NewSchema([]arrow.Field{{Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true}}, nil)
	t, err := g.cat.Create(g.t.Context(), catalog.Name{Table: "large"}, catalog.CreateOptions{Arrow: types, CreateNamespace: true})
	if err != nil {
		g.t.Fatal(err)
	}
	const rowBytes, rows = 1 << 10, 1 << 10
	r, value := rand.NewChaCha8([32]byte{1}), make([]byte, rowBytes)
	var batches []arrow.RecordBatch
	for range shards {
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		for range rows {
			r.Read(value)
			b.Append(value)
		}
		batches = append(batches, array.NewRecordBatch(types, []arrow.Array{b.NewArray()}, rows))
	}
	g.append(t, catalog.IngestOptions{ShardRows: rows, Profile: shardfmt.Plain}, batches...)
}

// ask sends a request. Its body is read whole.
func (g *ground) ask(method, path string, header map[string]string, body io.Reader) (*http.Response, string) {
	g.t.Helper()
	answer := g.open(g.t.Context(), method, path, header, body)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		g.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer, string(text)
}

func (g *ground) open(ctx context.Context, method, path string, header map[string]string, body io.Reader) *http.Response {
	g.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, g.URL+path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
		if k == "Host" {
			r.Host = v
		}
	}
	answer, err := g.client.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer
}

// rowsPath is the path of rows with parameters.
func rowsPath(table string, parameters ...string) string {
	q := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	return "/v1/tables/" + table + "/rows?" + q.Encode()
}

// problem is the body of an error.
type problem struct {
	Title, Code, Detail string
	Status              int
}

func problemIn(t *testing.T, answer *http.Response, text string) problem {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(text), &p); err != nil || answer.Header.Get("Content-Type") != "application/problem+json" ||
		p.Status != answer.StatusCode || p.Detail == "" || p.Title == "" {
		t.Fatalf("no problem: %d %v %s", answer.StatusCode, answer.Header, text)
	}
	return p
}

// idsOf are the values of the column id in an Arrow stream.
func idsOf(t *testing.T, stream io.Reader) (ids []int64) {
	t.Helper()
	r, err := ipc.NewReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		b := r.RecordBatch()
		ids = append(ids, b.Column(b.Schema().FieldIndices("id")[0]).(*array.Int64).Int64Values()...)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// eventually waits for what happens on the server's side.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 3000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not within 30 s: %s", what)
}

// dataFiles are the stripes below the server's folder, the oldest first.
func (g *ground) dataFiles() (files []string) {
	g.t.Helper()
	age := map[string]time.Time{}
	err := filepath.WalkDir(g.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".amudai.stripe") {
			info, err := d.Info()
			if err != nil {
				return err
			}
			age[path] = info.ModTime()
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	slices.SortFunc(files, func(a, b string) int { return age[a].Compare(age[b]) })
	return files
}

func shardOf(from, to int) string {
	var b bytes.Buffer
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `,{"id":%d,"name":"n%d","price":"%d.50","at":%d}`, i, i, i, time.Date(2024, 1, 1, 0, 0, i%60, 0, time.UTC).UnixMicro())
	}
	return "[" + b.String()[1:] + "]"
}

// appendTo adds a shard of people.
func (g *ground) appendTo(t *catalog.Table, text string) {
	g.t.Helper()
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, people, strings.NewReader(text))
	if err != nil {
		g.t.Fatal(err)
	}
	g.append(t, catalog.IngestOptions{}, b)
}

// idsOfTask reads a task.
func (g *ground) idsOfTask(task catalog.Task) []int64 {
	g.t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		g.t.Fatal(err)
	}
	answer, stream := g.ask("POST", "/v1/tables/"+task.Table+"/task?format=arrow", nil, bytes.NewReader(text))
	if answer.StatusCode != 200 {
		g.t.Fatalf("%d: %s", answer.StatusCode, stream)
	}
	return idsOf(g.t, strings.NewReader(stream))
}
