package flightsql

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// values is one row of parameters, from JSON.
func values(t *testing.T, text string, types ...arrow.DataType) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	for i, x := range types {
		fields = append(fields, arrow.Field{Name: string(rune('a' + i)), Type: x, Nullable: true})
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrow.NewSchema(fields, nil), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var (
	number  = arrow.PrimitiveTypes.Int64
	words   = arrow.BinaryTypes.String
	doubles = arrow.PrimitiveTypes.Float64
)

// A statement is prepared at one server and bound at another; every value means what it states, also one that looks like SQL.
func TestParameters(t *testing.T) {
	c := newCatalog(t)
	at := serve(t, c, Options{SplitSize: 2000})
	client := connect(t, at, insecure.NewCredentials())
	for _, x := range []struct {
		query, row string
		types      []arrow.DataType
		want       []int64
	}{
		{"SELECT id FROM t WHERE id = ?", `[{"a":1234}]`, []arrow.DataType{number}, []int64{1234}},
		{"SELECT id FROM t WHERE id = ?", `[{"a":-1}]`, []arrow.DataType{number}, nil},
		{"SELECT id FROM t WHERE id = ?", `[{"a":null}]`, []arrow.DataType{number}, nil},
		{"SELECT id FROM t WHERE id < ? AND name = ?", `[{"a":20,"b":"n3"}]`, []arrow.DataType{doubles, words}, []int64{3, 13}},
		{"SELECT id FROM t WHERE name IN (?, ?) AND id BETWEEN ? AND ? LIMIT ?", `[{"a":"n1","b":"n2","c":10,"d":30,"e":3}]`, []arrow.DataType{words, words, number, number, number}, []int64{11, 12, 21}},
		{"SELECT id FROM t WHERE name = ? OR id = 1 AND name <> '?'", `[{"a":"x' OR name = 'n2"}]`, []arrow.DataType{words}, []int64{1}},
		{"SELECT id FROM t WHERE name LIKE ? AND id < 5", `[{"a":"n4%"}]`, []arrow.DataType{words}, []int64{4}},
	} {
		statement, err := client.Prepare(t.Context(), x.query)
		if err != nil {
			t.Errorf("%s: %v", x.query, err)
			continue
		}
		if p := statement.ParameterSchema(); p.NumFields() != len(x.types) || p.Field(0).Type.ID() == arrow.NULL || statement.DatasetSchema().Field(0).Name != "id" {
			t.Errorf("%s: parameters %v, rows %v", x.query, p, statement.DatasetSchema())
		}
		if _, err := statement.Execute(t.Context()); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s without values: %v", x.query, err)
		}
		statement.SetParameters(values(t, x.row, x.types...))
		info, err := statement.Execute(t.Context())
		if err != nil {
			t.Errorf("%s %s: %v", x.query, x.row, err)
			continue
		}
		if got := ids(t, client, info); !slices.Equal(got, x.want) {
			t.Errorf("%s %s: %v", x.query, x.row, got)
		}
	}
}

func TestRefusedParameters(t *testing.T) {
	client := connect(t, serve(t, newCatalog(t), Options{}), insecure.NewCredentials())
	for _, query := range []string{"SELECT ? FROM t", "SELECT id FROM ?", "SELECT id FROM t WHERE ?", "SELECT id FROM t WHERE nobody = 1 AND id = 2 ORDER BY ?"} {
		if _, err := client.Prepare(t.Context(), query); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", query, err)
		}
	}
	statement, err := client.Prepare(t.Context(), "SELECT id FROM t WHERE id = ?")
	if err != nil {
		t.Fatal(err)
	}
	for row, types := range map[string][]arrow.DataType{
		`[{"a":1,"b":2}]`:        {number, number},
		`[{"a":1},{"a":2}]`:      {number},
		`[{"a":"MQ=="}]`:         {arrow.BinaryTypes.Binary},
		`[{"a":"not a number"}]`: {words},
	} {
		statement.SetParameters(values(t, row, types...))
		if _, err := statement.Execute(t.Context()); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", row, err)
		}
	}
}

func TestLiterals(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 30, 0, 123456700, time.UTC)
	stamp, err := arrow.TimestampFromTime(at, arrow.Nanosecond)
	if err != nil {
		t.Fatal(err)
	}
	stamps := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"})
	stamps.Append(stamp)
	dates := array.NewDate32Builder(memory.DefaultAllocator)
	dates.Append(arrow.Date32FromTime(at))
	decimals := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 12, Scale: 2})
	decimals.Append(decimal128.FromI64(-150))
	flags := array.NewBooleanBuilder(memory.DefaultAllocator)
	flags.Append(true)
	for _, x := range []struct {
		array arrow.Array
		want  string
	}{
		{stamps.NewArray(), "'2024-02-29T12:30:00.1234567Z'"}, {dates.NewArray(), "'2024-02-29T00:00:00Z'"}, {decimals.NewArray(), "-1.5"}, {flags.NewArray(), "true"},
	} {
		if got, err := literal(x.array, 0); err != nil || got != x.want {
			t.Errorf("%s: %s, %v", x.array, got, err)
		}
	}
}

// Parameters by the driver of ADBC for Python, in the interpreter that SHARDCAT_ADBC names.
func TestADBCParameters(t *testing.T) {
	python := os.Getenv("SHARDCAT_ADBC")
	if python == "" {
		t.Skip("SHARDCAT_ADBC names no Python with adbc-driver-flightsql")
	}
	run := exec.CommandContext(t.Context(), python, "-c", `
import sys
import adbc_driver_flightsql.dbapi as adbc
with adbc.connect("grpc://" + sys.argv[1], autocommit=True) as c, c.cursor() as cursor:
    for bound in ("n3", 20), ("n4", 20), ("x' OR id = 1 OR name = 'x", 20):
        cursor.execute("SELECT id FROM t WHERE name = ? AND id < ?", bound)
        print(sorted(cursor.fetch_arrow_table()["id"].to_pylist()))
`, serve(t, newCatalog(t), Options{}))
	out, err := run.CombinedOutput()
	if want := "[3, 13]\n[4, 14]\n[]\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}
