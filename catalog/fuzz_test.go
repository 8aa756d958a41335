package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go/catalog/rest"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog/internal/metadataio"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// metadataSeeds are metadata files of a table with rows: as they are, and without a part that readers look for.
func metadataSeeds(f *testing.F) (seeds []string) {
	f.Helper()
	ctx, dir := context.Background(), f.TempDir()
	c, err := Open(ctx, Options{URI: "sqlite:" + dir + "/catalog.db", Warehouse: dir + "/wh"})
	if err != nil {
		f.Fatal(err)
	}
	defer c.Close()
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), Partition: []string{"bucket(4, id)"}, CreateNamespace: true})
	if err == nil {
		_, err = tbl.Ingest(ctx, source(rows(0, 10)), IngestOptions{})
	}
	if err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimPrefix(tbl.MetadataLocation(), "file://"))
	if err != nil {
		f.Fatal(err)
	}
	seeds = append(seeds, string(text))
	for _, member := range []string{"manifest-list", "snapshots", "current-schema-id", "schemas", "partition-specs", "refs", "table-uuid", "location", "properties", "fields", "summary"} {
		seeds = append(seeds, strings.ReplaceAll(string(text), `"`+member+`"`, `"x"`))
	}
	return append(seeds, `{"format-version":2}`, `{"format-version":1,"schemas":[null]}`, "[]", "\x1f\x8b\b", "\x28\xb5\x2f\xfd")
}

// fuzzMemory is what metadata may take in these tests.
const fuzzMemory = 64 << 20

// classed reports whether an error has one of the classes that hostile metadata may bring.
func classed(err error) bool {
	for _, class := range []error{corrupt.ErrCorrupt, corrupt.ErrUnsupported, ErrInvalid, ErrUnsafe, ErrNotFound, ErrConflict, ErrRefused, manifest.ErrSchema, blobio.ErrNotFound, blobio.ErrDenied} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// use goes through what a table's metadata is requested.
func use(ctx context.Context, tbl *Table) error {
	tbl.Describe()
	tbl.History()
	tbl.Refs()
	tbl.SortOrder()
	for _, err := range tbl.Entries(ctx, At{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// FuzzMetadata: a table's metadata file, whatever its bytes are, gives a table or a typed error, and takes no more memory than metadata may.
func FuzzMetadata(f *testing.F) {
	for _, seed := range metadataSeeds(f) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := allocated()
		_, err := metadataio.Decompress("mem://fuzz/x.metadata.json", text, fuzzMemory)
		if err == nil {
			client := blobio.NewClient(blobio.ClientOptions{})
			defer client.Close()
			const at = "mem://fuzzmetadata/x.metadata.json"
			_ = client.Delete(t.Context(), at, "")
			if err := client.Put(t.Context(), at, text); err != nil {
				t.Fatal(err)
			}
			meta, readErr := (&Catalog{metadata: client, client: client, opts: Options{MaxMemory: fuzzMemory}}).readMetadata(t.Context(), at)
			if err = readErr; err == nil {
				currentSnapshot(meta)
				descends(meta, "mem://fuzz/before.metadata.json", meta)
			}
		}
		used := allocated() - before
		if err != nil && !classed(err) {
			t.Errorf("an error without a class: %v", err)
		}
		if used > 2*fuzzMemory {
			t.Errorf("%d bytes take %d of memory", len(text), used)
		}
	})
}

// FuzzREST: a REST catalog's answer to the request for a table, whatever it is, gives a table or a typed error. What is reported of a table that loads is
// read too.
func FuzzREST(f *testing.F) {
	for _, seed := range metadataSeeds(f) {
		f.Add(200, []byte(fmt.Sprintf(`{"metadata-location":"mem://fuzzrest/wh/default/t/metadata/00001-x.metadata.json","metadata":%s,"config":{"s3.endpoint":"http://127.0.0.1:1"}}`, seed)))
	}
	f.Add(404, []byte(`{"error":{"message":"no","type":"NoSuchTableException","code":404}}`))
	f.Add(400, []byte(`{"error":{"message":"no","code":"x"}}`))
	f.Add(403, []byte(`[`))
	var mu sync.Mutex
	status, body := 200, []byte(nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/config") || r.Method == http.MethodPost {
			_, _ = io.WriteString(w, `{"defaults":{},"overrides":{}}`)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	f.Cleanup(server.Close)
	ctx := context.Background()
	c, err := Open(ctx, Options{URI: "rest+" + server.URL, Warehouse: "mem://fuzzrest/wh", Vault: "mem://fuzzrest/vault", MaxMemory: fuzzMemory,
		RetryBudget: time.Nanosecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { c.Close() })
	f.Fuzz(func(t *testing.T, code int, text []byte) {
		mu.Lock()
		status, body = 200, text
		for _, known := range []int{400, 403, 404, 409} { // others are retried
			if code == known {
				status = code
			}
		}
		mu.Unlock()
		before := allocated()
		tbl, err := c.Load(ctx, tableName)
		if err == nil {
			err = use(ctx, tbl)
		}
		used := allocated() - before
		if err != nil && !classed(err) && !errors.Is(err, rest.ErrRESTError) { // iceberg-go's class of answers that it can't read
			t.Errorf("status %d: an error without a class: %v", code, err)
		}
		if used > 4*fuzzMemory {
			t.Errorf("%d bytes take %d of memory", len(text), used)
		}
	})
}

// allocated is how many bytes were ever allocated, without stopping other goroutines as runtime.ReadMemStats does.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
