// Command shardcat-sql asks tables of shards anything in DuckDB's SQL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	_ "github.com/shardcat/shardcat/blobio/azblob"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/gcsblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/catalog"
	shardsql "github.com/shardcat/shardcat/clients/sql"
)

// settings are the flags.
type settings struct {
	catalog  catalog.Options
	engine   shardsql.Options
	format   string
	timeUnit string
	explain  bool
	question string
}

// errUsage is a mistake in the flags.
var errUsage = errors.New("usage")

func main() {
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(s, os.Stdin, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "shardcat-sql:", err)
		os.Exit(code(err))
	}
}

// code is the exit code of an error, as shardcat's.
func code(err error) int {
	switch {
	case errors.Is(err, context.Canceled):
		return 130
	case errors.Is(err, errUsage), errors.Is(err, shardsql.ErrSQL), errors.Is(err, catalog.ErrInvalid):
		return 2
	case errors.Is(err, catalog.ErrNotFound):
		return 4
	}
	return 1
}

const help = `Query tables with DuckDB's SQL: shardcat-sql [flags] [QUERY]

Without QUERY, statements are read from standard input, each up to its semicolon; on a terminal with a prompt. A name in
FROM is a table of the catalog, namespace.table or table, or a file that DuckDB reads ('x.parquet').

  shardcat-sql "SELECT carrier, avg(dep_delay) FROM flights GROUP BY carrier ORDER BY 2 DESC"
  shardcat-sql --format parquet "FROM flights JOIN 'carriers.csv' USING (carrier)" > named.parquet

`

func parse(arguments []string, out io.Writer) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("shardcat-sql", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprint(out, help)
		f.PrintDefaults()
	}
	f.StringVar(&s.catalog.URI, "catalog", os.Getenv("SHARDCAT_CATALOG"), "Iceberg catalog: sqlite:PATH, postgres://…, rest+https://… (default: "+catalog.DefaultURI+")")
	f.StringVar(&s.catalog.Warehouse, "warehouse", os.Getenv("SHARDCAT_WAREHOUSE"), "folder or URL of the tables' metadata (default: "+catalog.DefaultWarehouse+")")
	f.StringVar(&s.catalog.Vault, "vault", os.Getenv("SHARDCAT_VAULT"), "folder or URL of shards (default: <warehouse>/vault)")
	f.StringVar(&s.engine.Database, "database", "", "DuckDB database file for other tables (default: in memory)")
	f.Int64Var(&s.engine.MaxMemory, "max-memory", 1<<30, "memory limit in bytes, for the scans of a query and for DuckDB each; DuckDB spills to temporary files")
	f.BoolVar(&s.engine.NoPushdown, "no-pushdown", false, "read all rows and filter in DuckDB (default: conditions are pushed down)")
	f.StringVar(&s.format, "format", "", "format of rows: table, ndjson, csv, arrow, arrows or parquet (default: table on a terminal, else ndjson)")
	f.StringVar(&s.timeUnit, "time-unit", "us", "time unit in arrow and parquet: ns, us, ms or s")
	f.BoolVar(&s.explain, "explain", false, "print what was read from each table to standard error as JSON, after each query")
	if err := f.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	if f.NArg() > 1 {
		return nil, fmt.Errorf("%w: expected one query in quotes, got %d arguments", errUsage, f.NArg())
	}
	if _, ok := formats[s.format]; !ok {
		return nil, fmt.Errorf("%w: --format %q: table, ndjson, csv, arrow, arrows or parquet", errUsage, s.format)
	}
	s.question = strings.TrimSpace(f.Arg(0))
	s.catalog.Access = catalog.ReadOnly
	return s, nil
}

// run answers the query of the command line, else those of the input.
func run(s *settings, in io.Reader, out, log io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c, err := catalog.Open(ctx, s.catalog)
	if err != nil {
		return err
	}
	defer c.Close()
	e, err := shardsql.Open(c, s.engine)
	if err != nil {
		return err
	}
	defer e.Close()
	session := &session{settings: s, catalog: c, engine: e, out: out, log: log}
	if s.question != "" {
		return session.script(ctx, s.question)
	}
	if terminal(in) && terminal(out) {
		return session.prompt(ctx, in)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	return session.script(ctx, string(text))
}
