package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
)

// app is one run of the command: its streams, its global flags and what was opened on the way.
type app struct {
	stdin  io.Reader
	stdout *output
	stderr io.Writer

	// The global flags; see addGlobalFlags.
	catalogURI, warehouse, vault, configFile string
	json, ioStats, unsafeWrites              bool
	progressMode                             string
	catalogTimeout                           time.Duration
	stores                                   storeFlags
	maxMemory                                int64
	// log takes the warnings of the catalog, nil for slog's default.
	log *slog.Logger
	// setMemoryLimit is debug.SetMemoryLimit in a process of its own, nil in tests.
	setMemoryLimit func(int64) int64
	// setGCPercent is debug.SetGCPercent in a process of its own, nil in tests.
	setGCPercent func(int) int
	// given are the global flags of the command line, and those of a file that the command line names, not those of the
	// environment.
	given []string

	at string // the last location that was named, for what is reported after a panic

	// notes are for stderr, at the end if all went well.
	notes []string

	config *config
	client *blobio.Client
	tables *catalog.Catalog
	// command is the path of the command that was requested.
	command string
	// where is the filter of the command line, for errors in it.
	where string
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: newOutput(stdout), stderr: stderr, client: blobio.NewClient(blobio.ClientOptions{}), command: "shardcat"}
}

// execute runs a command line.
func (a *app) execute(ctx context.Context, args []string) error {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	a.command = cmd.CommandPath()
	if where := cmd.Flags().Lookup("where"); where != nil {
		a.where = where.Value.String()
	}
	a.json = a.json || err != nil && slices.Contains(args, "--json") // flags behind a bad one were not read
	return plainUsage(err)
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
	if a.stdout.err != nil && (err == nil || errors.Is(err, errSilent)) {
		err, code = fmt.Errorf("write to standard output: %w", a.stdout.err), exitFailed
	}
	if err != nil && !errors.Is(err, errSilent) {
		a.printError(err, code)
	}
	return code
}

// errSilent ends a command whose output reported it all.
var errSilent = errors.New("already reported")

// silently ends a command with a code and no further words.
func silently(code int) error { return exitError{code, errSilent} }

// openTables opens the catalog that the flags name to change it; what is missing of it is made.
func (a *app) openTables(ctx context.Context) (*catalog.Catalog, error) {
	return a.openCatalog(ctx, catalog.ReadWrite)
}

// openCatalog opens the catalog that the flags name, once in a run.
func (a *app) openCatalog(ctx context.Context, access catalog.Access) (*catalog.Catalog, error) {
	if a.tables != nil {
		return a.tables, nil
	}
	tables, err := catalog.Open(ctx, a.catalogOptions(access))
	a.tables = tables
	return tables, err
}

// catalogOptions are the global flags that describe the catalog.
func (a *app) catalogOptions(access catalog.Access) catalog.Options {
	return catalog.Options{
		URI: a.catalogURI, Warehouse: a.warehouse, Vault: a.vault, Client: a.client, Access: access,
		MaxMemory: a.maxMemory, UnsafeNoConditionalWrites: a.unsafeWrites,
		RequestTimeout: a.catalogTimeout, RetryBudget: budgetOrNone(a.stores.retry.budget), Agent: userAgent(), Log: a.log,
	}
}

// heapBase is the memory of the process beside values: code, metadata, buffers of requests.
const heapBase = 256 << 20

// limitHeap sets the soft memory limit of the Go runtime from --max-memory, so that garbage is collected before the process takes
// much more: values of so many scans at a time, as read and as converted. The variable GOMEMLIMIT takes precedence.
func (a *app) limitHeap(scans int64) {
	if a.setMemoryLimit == nil || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	memory := a.maxMemory
	if memory <= 0 {
		memory = shardfmt.DefaultMaxMemory
	}
	if each := (math.MaxInt64 - heapBase) / 2 / scans; memory > each {
		memory = each
	}
	a.setMemoryLimit(heapBase + 2*scans*memory)
}

// exportGCPercent is the growth of the heap at which an export collects garbage: what it holds is a row group, and batches that are used again, so that there is
// little garbage, and to collect it twice as often saves a third of the process's memory.
const exportGCPercent = 50

// collectOften has garbage collected at a growth of the heap by percent. The variable GOGC takes precedence.
func (a *app) collectOften(percent int) {
	if a.setGCPercent != nil && os.Getenv("GOGC") == "" {
		a.setGCPercent(percent)
	}
}

// budgetOrNone is a budget of retries as catalog.Options has it: 0 of the flag is none.
func budgetOrNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// userAgent names the program and its version in requests.
func userAgent() string {
	name, _, _ := strings.Cut(version(), " ")
	return "shardcat/" + strings.Trim(name, "()")
}

// addGlobalFlags declares the flags that every command has.
func (a *app) addGlobalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&a.catalogURI, "catalog", "", "catalog: sqlite:PATH, postgres://… or rest+http(s)://… (env SHARDCAT_CATALOG; default sqlite:./shardcat/catalog.db)")
	f.StringVar(&a.warehouse, "warehouse", "", "folder or URL that holds the tables (env SHARDCAT_WAREHOUSE; default ./shardcat/warehouse)")
	f.StringVar(&a.vault, "vault", "", "folder or URL that holds the shards (env SHARDCAT_VAULT; default WAREHOUSE/vault)")
	f.DurationVar(&a.catalogTimeout, "catalog-timeout", 0, "timeout of one request to a REST catalog (default: 25s for reads, 2m for changes)")
	f.StringVar(&a.configFile, "config", "", "YAML file with the same keys and per-table policies (env SHARDCAT_CONFIG)")
	f.BoolVar(&a.json, "json", false, "print one JSON document, or NDJSON for rows (default: text)")
	f.StringVar(&a.progressMode, "progress", "auto", "progress bar: auto, always or never")
	f.BoolVar(&a.unsafeWrites, "unsafe-no-conditional-writes", false, "allow a store without conditional writes; safe only with a single writer (default: refused)")
	a.stores.add(root)
	sizeVar(f, &a.maxMemory, "max-memory", shardfmt.DefaultMaxMemory, "memory for decoded values; data that needs more is refused with exit code 3")
	f.BoolVar(&a.ioStats, "io-stats", false, "print request counters as one JSON line to stderr at the end")
}
