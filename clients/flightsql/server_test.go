package flightsql

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
)

// shards and shardRows are those of the table t: ids count up from 0.
const shards, shardRows = 4, 1000

// newCatalog makes the table t.
func newCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := shardcat.Open(t.Context(), t.TempDir(), shardcat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	types := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	table, err := c.Create(t.Context(), catalog.Name{Table: "t"}, catalog.CreateOptions{Arrow: types, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, types)
	for i := range int64(shards * shardRows) {
		b.Field(0).(*array.Int64Builder).Append(i)
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("n", i%10))
	}
	r, err := array.NewRecordReader(types, []arrow.RecordBatch{b.NewRecordBatch()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.Append(t.Context(), r, catalog.IngestOptions{ShardRows: shardRows}); err != nil {
		t.Fatal(err)
	}
	return c
}

// serve runs a server and gives its address.
func serve(t *testing.T, c *catalog.Catalog, o Options, options ...grpc.ServerOption) string {
	t.Helper()
	s, err := New(c, o, options...)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

func connect(t *testing.T, address string, transport credentials.TransportCredentials) *flightsql.Client {
	t.Helper()
	c, err := flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(transport))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ids reads the endpoints of an answer from a server.
func ids(t *testing.T, from *flightsql.Client, info *flight.FlightInfo) (out []int64) {
	t.Helper()
	for _, e := range info.Endpoint {
		r, err := from.DoGet(t.Context(), e.Ticket)
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
			out = append(out, r.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
		}
		if err := r.Err(); err != nil {
			t.Fatal(err)
		}
		r.Release()
	}
	return out
}

// A query is an endpoint for each task; another server reads the tickets of the first, also after compaction and expiry.
func TestEndpointsAreTasksThatAnyServerReads(t *testing.T) {
	c := newCatalog(t)
	one := connect(t, serve(t, c, Options{SplitSize: 2000}), insecure.NewCredentials())
	other := connect(t, serve(t, c, Options{}), insecure.NewCredentials())
	info, err := one.Execute(t.Context(), "SELECT id FROM t WHERE name <> 'n3'")
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Endpoint) < shards {
		t.Errorf("%d endpoints", len(info.Endpoint))
	}
	table, err := c.Load(t.Context(), catalog.Name{Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if report, err := compaction.Compact(t.Context(), table, compaction.Policy{}, compaction.Options{}); err != nil || len(report.Results) == 0 {
		t.Fatal(report, err)
	}
	plan, err := table.PlanExpire(catalog.ExpireOptions{OlderThan: time.Now().Add(time.Hour)})
	if err == nil {
		err = plan.Execute(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	got := ids(t, other, info)
	slices.Sort(got)
	if len(slices.Compact(got)) != shards*shardRows*9/10 {
		t.Errorf("%d rows", len(got))
	}
}

func TestQueries(t *testing.T) {
	c := newCatalog(t)
	client := connect(t, serve(t, c, Options{}), insecure.NewCredentials())
	for text, want := range map[string][]int64{
		"select id from t where id in (7, 3999)":                      {7, 3999},
		`SELECT "id", name FROM shardcat."default".t WHERE id < 2 ;`:  {0, 1},
		"SELECT * FROM default.t WHERE (id = 5 OR id = 6) LIMIT 1":    {5},
		"SELECT id FROM t WHERE name = 'it''s LIMIT 3' LIMIT 10":      nil,
		"SELECT id FROM t LIMIT 3":                                    {0, 1, 2},
		"SELECT id FROM t LIMIT 0":                                    nil,
		"SELECT id FROM t WHERE id BETWEEN 10 AND 11 AND name = 'n1'": {11},
	} {
		info, err := client.Execute(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := ids(t, client, info); !slices.Equal(got, want) {
			t.Errorf("%s: %v", text, got)
		}
		statement, err := client.Prepare(t.Context(), text)
		if err != nil {
			t.Errorf("prepare %s: %v", text, err)
			continue
		}
		prepared, err := statement.Execute(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(t, client, prepared); !slices.Equal(got, want) {
			t.Errorf("prepared %s: %v", text, got)
		}
		if err := statement.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// What a scan can't answer is refused with the way to it, and every error has a code.
func TestRefused(t *testing.T) {
	c := newCatalog(t)
	client := connect(t, serve(t, c, Options{}), insecure.NewCredentials())
	for text, want := range map[string]string{
		"SELECT count(*) FROM t":                    "the function count",
		"SELECT id AS x FROM t":                     `"AS"`,
		"SELECT DISTINCT id FROM t":                 `"DISTINCT"`,
		"SELECT id, FROM t":                         `"FROM"`,
		"SELECT id FROM t JOIN u":                   `"JOIN"`,
		"SELECT id FROM t, u":                       `","`,
		"SELECT id FROM t WHERE id > 1 ORDER BY id": "ORDER",
		"SELECT id FROM t WHERE id > 1 GROUP BY id": "GROUP",
		"SELECT id FROM t LIMIT x":                  `LIMIT "x"`,
		"SELECT id FROM t LIMIT 3 OFFSET 1":         `"OFFSET"`,
		"SELECT id FROM t WHERE id = ?":             "prepare",
		"SELECT id FROM t WHERE name = 'x":          "unclosed quote",
		"DROP TABLE t":                              "not a SELECT",
		"SELECT id FROM t; SELECT id FROM t":        `"SELECT"`,
		"SELECT id FROM t WHERE id IN (SELECT 1)":   "WHERE",
		"": "the end",
	} {
		_, err := client.Execute(t.Context(), text)
		if said := status.Convert(err).Message(); status.Code(err) != codes.InvalidArgument || !strings.Contains(said, want) || !strings.Contains(said, "DuckDB") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]codes.Code{
		"SELECT nobody FROM t":           codes.InvalidArgument,
		"SELECT id FROM t WHERE x = 1":   codes.InvalidArgument,
		"SELECT id FROM nobody":          codes.NotFound,
		"SELECT id FROM elsewhere.a.b.t": codes.NotFound,
	} {
		if _, err := client.Execute(t.Context(), text); status.Code(err) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, handle := range []string{"", "{}", `{"version":9,"query":"SELECT id FROM t"}`, `{"version":1,"task":{"version":1,"table":"t"}}`} {
		wrapped, err := flightsql.CreateStatementQueryTicket([]byte(handle))
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.DoGet(t.Context(), &flight.Ticket{Ticket: wrapped})
		if err == nil {
			r.Next()
			err = r.Err()
			r.Release()
		}
		if code := status.Code(err); code != codes.InvalidArgument && code != codes.FailedPrecondition {
			t.Errorf("ticket %q: %v", handle, err)
		}
	}
}

func TestMetadata(t *testing.T) {
	c := newCatalog(t)
	client := connect(t, serve(t, c, Options{}), insecure.NewCredentials())
	pattern, none := "t%", "u_"
	for name, ask := range map[string]func() (*flight.FlightInfo, error){
		"[shardcat]": func() (*flight.FlightInfo, error) { return client.GetCatalogs(t.Context()) },
		"[shardcat default]": func() (*flight.FlightInfo, error) {
			return client.GetDBSchemas(t.Context(), &flightsql.GetDBSchemasOpts{})
		},
		"[TABLE]": func() (*flight.FlightInfo, error) { return client.GetTableTypes(t.Context()) },
		"[shardcat default t TABLE]": func() (*flight.FlightInfo, error) {
			return client.GetTables(t.Context(), &flightsql.GetTablesOpts{TableNameFilterPattern: &pattern})
		},
		"": func() (*flight.FlightInfo, error) {
			return client.GetTables(t.Context(), &flightsql.GetTablesOpts{TableNameFilterPattern: &none})
		},
		"[shardcat default t TABLE id,name]": func() (*flight.FlightInfo, error) {
			return client.GetTables(t.Context(), &flightsql.GetTablesOpts{IncludeSchema: true})
		},
	} {
		info, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.DoGet(t.Context(), info.Endpoint[0].Ticket)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for r.Next() {
			rows = append(rows, rowsOf(t, r.RecordBatch())...)
		}
		if got := strings.Join(rows, " "); r.Err() != nil || got != name {
			t.Errorf("%q, want %q (%v)", got, name, r.Err())
		}
		r.Release()
	}
	info, err := client.GetSqlInfo(t.Context(), []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName, flightsql.SqlInfoFlightSqlServerReadOnly})
	if err != nil || len(info.Endpoint) != 1 {
		t.Errorf("%v %v", info, err)
	}
}

func rowsOf(t *testing.T, b arrow.RecordBatch) (rows []string) {
	for i := range int(b.NumRows()) {
		var values []string
		for _, c := range b.Columns() {
			value := c.ValueStr(i)
			if bin, ok := c.(*array.Binary); ok {
				types, err := flight.DeserializeSchema(bin.Value(i), memory.DefaultAllocator)
				if err != nil {
					t.Fatal(err)
				}
				value = types.Field(0).Name + "," + types.Field(1).Name
			}
			values = append(values, value)
		}
		rows = append(rows, fmt.Sprint(values))
	}
	return rows
}

func TestTokens(t *testing.T) {
	c := newCatalog(t)
	client := connect(t, serve(t, c, Options{Token: "secret"}), insecure.NewCredentials())
	for header, want := range map[string]codes.Code{
		"": codes.Unauthenticated, "Bearer x": codes.Unauthenticated, "Basic secret": codes.Unauthenticated, "Bearer secret": codes.OK,
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", header)
		if _, err := client.Execute(ctx, "SELECT id FROM t"); status.Code(err) != want {
			t.Errorf("%q: %v", header, err)
		}
		wrapped, err := flightsql.CreateStatementQueryTicket([]byte(`{"version":1,"query":"SELECT id FROM t LIMIT 1"}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.DoGet(ctx, &flight.Ticket{Ticket: wrapped})
		if err == nil {
			r.Next()
			err = r.Err()
			r.Release()
		}
		if status.Code(err) != want {
			t.Errorf("a stream with %q: %v", header, err)
		}
	}
}

// Without a token, calls that a proxy passed on are not from this machine.
func TestProxiedCalls(t *testing.T) {
	c := newCatalog(t)
	client := connect(t, serve(t, c, Options{}), insecure.NewCredentials())
	for header, want := range map[string]codes.Code{"x-other": codes.OK, "x-forwarded-for": codes.PermissionDenied, "via": codes.PermissionDenied, "forwarded": codes.PermissionDenied} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), header, "")
		if _, err := client.Execute(ctx, "SELECT id FROM t"); status.Code(err) != want {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// Where certificates are requested, nobody without one comes through.
func TestCertificatesOfClients(t *testing.T) {
	c := newCatalog(t)
	authority, pair := certificates(t)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: authority, ClientAuth: tls.RequireAndVerifyClientCert}
	address := serve(t, c, Options{}, grpc.Creds(credentials.NewTLS(config)))
	with := connect(t, address, credentials.NewTLS(&tls.Config{RootCAs: authority, Certificates: []tls.Certificate{pair}}))
	if info, err := with.Execute(t.Context(), "SELECT id FROM t LIMIT 2"); err != nil || len(ids(t, with, info)) != 2 {
		t.Error(err)
	}
	without := connect(t, address, credentials.NewTLS(&tls.Config{RootCAs: authority}))
	if _, err := without.Execute(t.Context(), "SELECT id FROM t"); status.Code(err) != codes.Unavailable {
		t.Errorf("without a certificate: %v", err)
	}
}

// certificates makes a certificate that is its own authority, for 127.0.0.1 and for clients.
func certificates(t *testing.T) (*x509.CertPool, tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: parsed}
}

// A client that leaves gives its slot back, and one that finds none is refused with a time to retry.
func TestSlotsAreGivenBack(t *testing.T) {
	c := newCatalog(t)
	client := connect(t, serve(t, c, Options{Answers: 1, Patience: 50 * time.Millisecond}), insecure.NewCredentials())
	wrapped, err := flightsql.CreateStatementQueryTicket([]byte(`{"version":1,"query":"SELECT id FROM t"}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		ctx, leave := context.WithCancel(t.Context())
		r, err := client.DoGet(ctx, &flight.Ticket{Ticket: wrapped})
		if err == nil {
			r.Release()
		} else if status.Code(err) != codes.ResourceExhausted {
			t.Fatal(err)
		}
		leave()
	}
	for i := 0; ; i++ {
		info, err := client.Execute(t.Context(), "SELECT id FROM t")
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.DoGet(t.Context(), info.Endpoint[0].Ticket)
		if err == nil {
			r.Release()
			return
		}
		if i == 100 {
			t.Fatal("no slot is given back: ", err)
		}
	}
}

// Messages stay below what clients take, whatever the batches are.
func TestPartsOfABatch(t *testing.T) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.LargeString}}, nil))
	for range 100 {
		b.Field(0).(*array.LargeStringBuilder).Append(strings.Repeat("x", 100_000))
	}
	rows := int64(0)
	for _, part := range parts(b.NewRecordBatch()) {
		if rows += part.NumRows(); part.NumRows()*100_000 > 3<<20 {
			t.Errorf("a message of %d rows", part.NumRows())
		}
	}
	if rows != 100 {
		t.Errorf("%d rows", rows)
	}
}

// The driver of ADBC for Python, in the interpreter that SHARDCAT_ADBC names.
func TestADBCDriver(t *testing.T) {
	python := os.Getenv("SHARDCAT_ADBC")
	if python == "" {
		t.Skip("SHARDCAT_ADBC names no Python with adbc-driver-flightsql")
	}
	c := newCatalog(t)
	address := serve(t, c, Options{Token: "secret", SplitSize: 2000})
	run := exec.CommandContext(t.Context(), python, "-c", `
import sys
import adbc_driver_flightsql.dbapi as adbc
from adbc_driver_flightsql import DatabaseOptions
with adbc.connect("grpc://" + sys.argv[1], {DatabaseOptions.AUTHORIZATION_HEADER.value: "Bearer secret"}, autocommit=True) as c:
    with c.cursor() as cursor:
        cursor.execute("SELECT id, name FROM t WHERE name = 'n3'")
        rows = cursor.fetch_arrow_table()
        print(rows.num_rows, sum(rows["id"].to_pylist()))
        try:
            cursor.execute("SELECT count(*) FROM t")
        except adbc.Error as e:
            print("DuckDB" in str(e))
    print(c.adbc_get_table_schema("t").names)
    objects = c.adbc_get_objects(depth="tables").read_all().to_pylist()
    print([t["table_name"] for o in objects for s in o["catalog_db_schemas"] for t in s["db_schema_tables"]])
`, address)
	out, err := run.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("%v: %s", err, exit.Stderr)
	}
	if want := "400 799200\nTrue\n['id', 'name']\n['t']\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}
