package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/console"
	"github.com/shardcat/shardcat/internal/notify"
	"github.com/shardcat/shardcat/internal/tracing"
)

// serveTokenEnv names the variable that holds the token for actions and appends, readTokenEnv that for reading rows.
const (
	serveTokenEnv = "SHARDCAT_SERVE_TOKEN"
	readTokenEnv  = "SHARDCAT_READ_TOKEN"
)

// serveWebhookEnv names the variable that holds the URL that is told of failures; such URLs are secrets.
const serveWebhookEnv = "SHARDCAT_SERVE_WEBHOOK"

// defaultListen is loopback: other machines need a token to read.
const defaultListen = "127.0.0.1:8099"

func (a *app) serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Keep all tables in shape by their schedules, with a page, metrics and probes, and give their rows over HTTP",
		Long: "Look at every table of the catalog by its schedule: drop what its retention says, compact by its policy, expire old snapshots. " +
			"A page at / shows what happens and why; /metrics, /healthz and /readyz are for machines. Actions on the page need the token in " +
			serveTokenEnv + "; without one it is read-only. Below /v1/ are the tables' rows as Arrow, NDJSON or CSV (docs/reads.md). Pages and rows need the token in " +
			readTokenEnv + ", or, if that is not set, a request from this machine. When a table begins to fail, or halts, the URL in " + serveWebhookEnv +
			" gets its state as JSON, and so does the program of --on-failure. SIGHUP reads the policies of the file given by --config anew. Ends on SIGTERM with every table in order.",
		Example: "  shardcat serve\n  " + serveTokenEnv + "=secret shardcat serve --listen 127.0.0.1:9000 --workers 4\n" +
			"  " + readTokenEnv + "=secret shardcat serve --listen 0.0.0.0:8099 --answers 32",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.workers < 1:
				return usagef("invalid argument %d for --workers: 1 or more", o.workers)
			case o.answers < 1:
				return usagef("invalid argument %d for --answers: 1 or more", o.answers)
			}
			return a.serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", defaultListen, "address of the page; port 0 takes any that is free")
	cmd.Flags().IntVar(&o.workers, "workers", 1, "tables that are worked on at the same time")
	cmd.Flags().IntVar(&o.answers, "answers", arrowhttp.DefaultAnswers, "answers with rows at the same time; each may take its share of --max-memory, and others wait in line")
	cmd.Flags().StringVar(&o.onFailure, "on-failure", "", "program that is run when a table begins to fail or halts, with its state as JSON on standard input")
	cmd.Flags().BoolVar(&o.profile, "pprof", false, "serve net/http/pprof below /debug/pprof/")
	return cmd
}

// serveOptions are the flags of serve.
type serveOptions struct {
	listen           string
	workers, answers int
	profile          bool
	onFailure        string
}

func (a *app) serve(ctx context.Context, o serveOptions) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // before anybody knows that there is something to reload, and until all is in order
	defer signal.Stop(hangup)
	tables, err := a.openTables(ctx)
	if err != nil {
		return err
	}
	a.limitHeap(1 + int64(o.workers)) // the answers together, and the worker of each table
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", o.listen, err)
	}
	log := slog.New(slog.NewTextHandler(a.stderr, nil))
	tracer, endTraces, err := tracing.FromEnvironment(ctx, version())
	if err != nil {
		return err
	}
	defer endTraces(context.WithoutCancel(ctx)) // what the collector does not take is lost, and nothing else
	metrics := console.NewMetrics()
	tell, told := failureTeller(ctx, &notify.Notifier{URL: os.Getenv(serveWebhookEnv), Program: o.onFailure}, log)
	defer told()
	service := compaction.NewService(tables, compaction.ServiceOptions{
		Workers: o.workers, Log: log, Finished: metrics.Finished, Tracer: tracer,
		Overrides: a.config.tables, Failed: tell,
	})
	rows := arrowhttp.New(tables, arrowhttp.Options{
		ReadToken: os.Getenv(readTokenEnv), WriteToken: os.Getenv(serveTokenEnv), Answers: o.answers, MaxMemory: a.maxMemory, Log: log,
	})
	mux := http.NewServeMux()
	mux.Handle("/v1/", rows)
	mux.Handle("/", console.New(tables, service, metrics, console.Options{
		Token: os.Getenv(serveTokenEnv), ReadToken: os.Getenv(readTokenEnv), Version: version(), Profile: o.profile, Log: log, Reads: rows.Stats, Turn: rows.Turn,
	}))
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: writeTimeout,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if err := a.printServing(listener.Addr().String()); err != nil {
		listener.Close()
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return service.Run(ctx) })
	group.Go(func() error { a.reloadOn(ctx, hangup, service, log); return nil })
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		return server.Shutdown(grace)
	})
	return group.Wait()
}

// failedTable is what is told of a table that fails.
type failedTable struct {
	Table string `json:"table"`
	compaction.TableStatus
}

// failureTeller tells of tables that fail, in the background: whoever is told may be slow. wait waits for what is being told, which the end of the
// service does not stop; the Notifier bounds how long that may take.
func failureTeller(ctx context.Context, n *notify.Notifier, log *slog.Logger) (tell func(compaction.TableStatus), wait func()) {
	ctx = context.WithoutCancel(ctx)
	var telling sync.WaitGroup
	return func(st compaction.TableStatus) {
		telling.Go(func() {
			if err := n.Tell(ctx, failedTable{st.Table.String(), st}); err != nil {
				log.Error("nobody could be told of a failure", "table", st.Table, "error", err)
			}
		})
	}, telling.Wait
}

// reloadOn reads the policies of the file anew at each signal. A file that can't be read changes nothing.
func (a *app) reloadOn(ctx context.Context, hangup <-chan os.Signal, service *compaction.Service, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		tables, err := readPolicies(a.configFile)
		if err != nil {
			log.Error("the file was not read; the settings before it stay in force", "config", a.configFile, "error", err)
			continue
		}
		service.Reload(tables)
		log.Info("settings of the file are in force", "config", a.configFile, "entries", len(tables))
	}
}

// writeTimeout is how long a page may take; answers with rows have a deadline for each piece instead.
const writeTimeout = 2 * time.Minute

// shutdownGrace is how long answers that are under way may take once the server is told to end.
const shutdownGrace = 10 * time.Second

// printServing tells where the server listens.
func (a *app) printServing(address string) error {
	if a.json {
		return a.printJSON(map[string]string{"address": address, "url": "http://" + address + "/"})
	}
	a.printf("listening on http://%s/\n", address)
	return nil
}
