package flightsql

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/testkit/nested"
)

// TestNestedTypesAboveAndBelowAVector reads rows of nested types, whole, filtered and cut by a limit, and compares them with rows that
// are generated independently.
func TestNestedTypesAboveAndBelowAVector(t *testing.T) {
	c, err := shardcat.Open(t.Context(), t.TempDir(), shardcat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	address := serve(t, c, Options{})
	for _, n := range nested.Sizes {
		name := fmt.Sprint("nested_", n)
		all := nested.Numbers(n, func(int) bool { return true })
		keep(t, c, name, all)
		for query, rows := range map[string][]int{
			"SELECT * FROM %s": all,
			"SELECT * FROM %s WHERE id >= 2045 AND odd = 1":                      nested.Numbers(n, func(i int) bool { return i >= 2045 && i%2 == 1 }),
			"SELECT * FROM %s WHERE id < 3 OR id >= 2040 AND id < 2060 LIMIT 10": nested.Numbers(n, func(i int) bool { return i < 3 || i >= 2040 && i < 2047 }),
			"SELECT * FROM %s LIMIT 2049":                                        all[:min(n, 2049)],
		} {
			if err := readNested(t, address, fmt.Sprintf(query, name), rows); err != nil {
				t.Errorf("%s of %d rows: %v", query, n, err)
			}
		}
	}
}

// keep makes a table of rows, in shards and stripes that end between them.
func keep(t *testing.T, c *catalog.Catalog, name string, rows []int) {
	t.Helper()
	b, err := nested.Batch(rows)
	if err != nil {
		t.Fatal(err)
	}
	r, err := array.NewRecordReader(nested.Schema(), []arrow.RecordBatch{b})
	if err != nil {
		t.Fatal(err)
	}
	table, err := c.Create(t.Context(), catalog.Name{Table: name}, catalog.CreateOptions{Arrow: nested.Schema(), CreateNamespace: true})
	if err == nil {
		_, err = table.Append(t.Context(), r, catalog.IngestOptions{ShardRows: 3000})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readNested compares the answer of a query with rows, and holds what the client takes to what it gives back.
func readNested(t *testing.T, address, query string, rows []int) error {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	client, err := flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	client.Alloc = mem
	defer client.Close()
	info, err := client.Execute(t.Context(), query)
	if err != nil {
		return err
	}
	in := &endpoints{client: client, t: t, tickets: info.Endpoint}
	defer in.close()
	return nested.Compare(in, rows)
}

// endpoints reads the endpoints of an answer one after the other.
type endpoints struct {
	*flight.Reader
	client  *flightsql.Client
	t       *testing.T
	tickets []*flight.FlightEndpoint
	err     error
}

// Schema implements array.RecordReader.
func (e *endpoints) Schema() *arrow.Schema {
	e.open()
	return e.Reader.Schema()
}

// Next implements array.RecordReader.
func (e *endpoints) Next() bool {
	for e.err == nil {
		if e.Reader.Next() {
			return true
		}
		if e.err = e.Reader.Err(); e.err != nil || len(e.tickets) == 0 {
			break
		}
		e.open()
	}
	return false
}

// Err implements array.RecordReader.
func (e *endpoints) Err() error { return e.err }

func (e *endpoints) open() {
	e.close()
	var err error
	if e.Reader, err = e.client.DoGet(e.t.Context(), e.tickets[0].Ticket); err != nil {
		e.t.Fatal(err)
	}
	e.tickets = e.tickets[1:]
}

func (e *endpoints) close() {
	if e.Reader != nil {
		e.Reader.Release()
	}
}
