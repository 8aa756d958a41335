package flightsql

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/shardcat/shardcat/catalog"
)

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("never: %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// openFiles counts the descriptors of this process, but for those of the catalog's database, whose connections are pooled.
func openFiles(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here:", err)
	}
	for _, e := range entries {
		if name, _ := os.Readlink("/proc/self/fd/" + e.Name()); !strings.Contains(name, "catalog.db") {
			n++
		}
	}
	return n
}

// large makes the table large, of mebibytes that do not compress in one shard.
func large(t *testing.T, c *catalog.Catalog, mebibytes int) {
	t.Helper()
	types := arrow.NewSchema([]arrow.Field{{Name: "b", Type: arrow.BinaryTypes.Binary, Nullable: true}}, nil)
	table, err := c.Create(t.Context(), catalog.Name{Table: "large"}, catalog.CreateOptions{Arrow: types})
	if err != nil {
		t.Fatal(err)
	}
	random, value := rand.NewChaCha8([32]byte{1}), make([]byte, 1<<10)
	var batches []arrow.RecordBatch
	for range mebibytes {
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		for range 1 << 10 {
			random.Read(value)
			b.Append(value)
		}
		batches = append(batches, array.NewRecordBatch(types, []arrow.Array{b.NewArray()}, 1<<10))
	}
	r, err := array.NewRecordReader(types, batches)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Append(t.Context(), r, catalog.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A hundred clients at once all get all rows, however few streams are given at a time, and leave nothing behind.
func TestManyClients(t *testing.T) {
	c := newCatalog(t)
	address := serve(t, c, Options{Answers: 4, Patience: time.Minute, SplitSize: 2000})
	readAll(t, address, 16) // so that the catalog has its connections
	resting, files := runtime.NumGoroutine(), openFiles(t)
	readAll(t, address, 100)
	eventually(t, "goroutines and files are given back", func() bool { return runtime.NumGoroutine() <= resting && openFiles(t) <= files })
}

// readAll reads a query by so many clients at once.
func readAll(t *testing.T, address string, clients int) {
	t.Helper()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			client, err := flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Error(err)
				return
			}
			defer client.Close()
			info, err := patient(func() (*flight.FlightInfo, error) {
				return client.Execute(t.Context(), "SELECT id FROM t WHERE name <> 'n3'")
			})
			if err != nil {
				t.Error(err)
				return
			}
			rows := int64(0)
			for _, e := range info.Endpoint {
				r, err := patient(func() (*flight.Reader, error) { return client.DoGet(t.Context(), e.Ticket) })
				if err != nil {
					t.Error(err)
					return
				}
				for r.Next() {
					rows += r.RecordBatch().NumRows()
				}
				if r.Err() != nil {
					t.Error(r.Err())
				}
				r.Release()
			}
			if rows != shards*shardRows*9/10 {
				t.Errorf("%d rows", rows)
			}
		})
	}
	all.Wait()
}

// patient retries while the server is busy.
func patient[T any](ask func() (T, error)) (T, error) {
	for {
		out, err := ask()
		if status.Code(err) != codes.ResourceExhausted {
			return out, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A client that takes nothing is shed: its slot is another's, and what it reads later ends with an error, not with an end.
func TestSlowClientsAreShed(t *testing.T) {
	c := newCatalog(t)
	large(t, c, 12)
	client := connect(t, serve(t, c, Options{Answers: 1, Patience: time.Minute, Stall: 100 * time.Millisecond}), insecure.NewCredentials())
	slow := begun(t, t.Context(), client)
	defer slow.Release()
	quick := begun(t, t.Context(), client) // once the slow one's slot is free
	quick.Release()
	rows := int64(0)
	for slow.Next() {
		rows += slow.RecordBatch().NumRows()
	}
	if status.Code(slow.Err()) != codes.DeadlineExceeded || rows >= 12<<10 {
		t.Errorf("%d rows, %v", rows, slow.Err())
	}
}

// A client that leaves in the middle frees all that its stream held.
func TestCancellation(t *testing.T) {
	c := newCatalog(t)
	large(t, c, 12)
	client := connect(t, serve(t, c, Options{Answers: 2, Patience: time.Minute}), insecure.NewCredentials())
	if _, err := client.Execute(t.Context(), "SELECT id FROM t"); err != nil {
		t.Fatal(err) // the connection is there
	}
	resting, files := runtime.NumGoroutine(), openFiles(t)
	for range 20 {
		ctx, leave := context.WithCancel(t.Context())
		r := begun(t, ctx, client)
		leave()
		r.Release()
	}
	eventually(t, "goroutines and files are given back", func() bool { return runtime.NumGoroutine() <= resting && openFiles(t) <= files })
}

// begun is a stream of which the first batch has come.
func begun(t *testing.T, ctx context.Context, client *flightsql.Client) *flight.Reader {
	t.Helper()
	info, err := client.Execute(ctx, "SELECT b FROM large")
	if err != nil {
		t.Fatal(err)
	}
	r, err := client.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next() {
		t.Fatal(r.Err())
	}
	return r
}
