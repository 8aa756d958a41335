package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
)

// app is one run of the command: its streams, its global flags and what was opened on the way.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	// The global flags; see addGlobalFlags.
	catalogURI, warehouse, vault, configFile string
	json, ioStats                            bool
	progressMode                             string
	stores                                   storeFlags

	// notes are for stderr, at the end if all went well.
	notes []string

	config *config
	client *blobio.Client
	tables *catalog.Catalog
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: stdout, stderr: stderr, client: blobio.NewClient()}
}

// execute runs a command line.
func (a *app) execute(ctx context.Context, args []string) error {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return root.ExecuteContext(ctx)
}

// finish closes what was opened, prints counters and the error, and returns the exit code.
func (a *app) finish(ctx context.Context, err error) int {
	code := exitCode(ctx, err)
	if err == nil {
		a.tellNotes()
	}
	if a.ioStats {
		a.printIOStats()
	}
	if a.tables != nil {
		if closeErr := a.tables.Close(); closeErr != nil && err == nil {
			err, code = closeErr, exitFailed
		}
	}
	if closeErr := a.client.Close(); closeErr != nil && err == nil {
		err, code = closeErr, exitFailed
	}
	if err != nil && !errors.Is(err, errSilent) {
		fmt.Fprintln(a.stderr, "shardcat: "+oneLine(err))
		if code == exitUsage {
			fmt.Fprintln(a.stderr, "see: shardcat --help")
		}
	}
	return code
}

// errSilent ends a command whose output said it all.
var errSilent = errors.New("already reported")

// silently ends a command with a code and no further words.
func silently(code int) error { return exitError{code, errSilent} }

// openTables opens the catalog that the flags name, once.
func (a *app) openTables(ctx context.Context) (*catalog.Catalog, error) {
	if a.tables != nil {
		return a.tables, nil
	}
	tables, err := catalog.Open(ctx, catalog.Options{
		URI: a.catalogURI, Warehouse: a.warehouse, Vault: a.vault, Client: a.client,
	})
	a.tables = tables
	return tables, err
}

// printJSON writes one JSON document to stdout.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	if a.stdoutIsTerminal() {
		e.SetIndent("", "  ")
	}
	return e.Encode(v)
}

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }

func (a *app) stdoutIsTerminal() bool { return isTerminal(a.stdout) }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// addGlobalFlags declares the flags that every command has.
func (a *app) addGlobalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&a.catalogURI, "catalog", "", "catalog: sqlite:PATH, postgres://… or rest+http(s)://… (env SHARDCAT_CATALOG; default sqlite:./shardcat/catalog.db)")
	f.StringVar(&a.warehouse, "warehouse", "", "folder or URL that holds the tables (env SHARDCAT_WAREHOUSE; default ./shardcat/warehouse)")
	f.StringVar(&a.vault, "vault", "", "folder or URL that holds the shards (env SHARDCAT_VAULT; default WAREHOUSE/vault)")
	f.StringVar(&a.configFile, "config", "", "YAML file with the same keys and per-table policies")
	f.BoolVar(&a.json, "json", false, "machine output: one JSON document, or NDJSON where rows stream")
	f.StringVar(&a.progressMode, "progress", "auto", "progress bar: auto, always or never")
	a.stores.add(root)
	f.BoolVar(&a.ioStats, "io-stats", false, "print request counters as one JSON line to stderr at the end")
}
