// Command adbc prints the rows of a query, as an Arrow stream, that ADBC's driver for Go gets of a server of Flight SQL:
// adbc URI TOKEN QUERY [VALUE...], where values are those of the parameters, as text. It is for tests.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "adbc URI TOKEN QUERY [VALUE...]")
		os.Exit(2)
	}
	if err := ask(context.Background(), os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, "adbc:", err)
		os.Exit(1)
	}
}

func ask(ctx context.Context, uri, token, query string, values []string) (err error) {
	database, err := flightsql.NewDriver(memory.DefaultAllocator).NewDatabase(map[string]string{
		adbc.OptionKeyURI: uri, flightsql.OptionAuthorizationHeader: "Bearer " + token,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	connection, err := database.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	statement, err := connection.NewStatement()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	if err := statement.SetSqlQuery(query); err != nil {
		return err
	}
	if len(values) > 0 {
		if err := bind(ctx, statement, values); err != nil {
			return err
		}
	}
	r, _, err := statement.ExecuteQuery(ctx)
	if err != nil {
		return err
	}
	defer r.Release()
	w := ipc.NewWriter(os.Stdout, ipc.WithSchema(r.Schema()))
	for r.Next() {
		if err := w.Write(r.Record()); err != nil {
			return err
		}
	}
	return errors.Join(r.Err(), w.Close())
}

// bind gives the parameters of a statement their values.
func bind(ctx context.Context, statement adbc.Statement, values []string) error {
	if err := statement.Prepare(ctx); err != nil {
		return err
	}
	var fields []arrow.Field
	for i := range values {
		fields = append(fields, arrow.Field{Name: fmt.Sprint(i + 1), Type: arrow.BinaryTypes.String})
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	for i, v := range values {
		b.Field(i).(*array.StringBuilder).Append(v)
	}
	row := b.NewRecord()
	defer row.Release()
	return statement.Bind(ctx, row)
}
