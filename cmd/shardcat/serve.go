package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/catalog/arrowhttp"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/gateway"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/notify"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/tracing"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/webui"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/internal/access"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/urlresolve"
)

// serveTokenEnv names the variable that holds the token for actions and appends, readTokenEnv that for reading rows.
const (
	serveTokenEnv = "SHARDCAT_SERVE_TOKEN"
	readTokenEnv  = "SHARDCAT_READ_TOKEN"
)

// serveWebhookEnv names the variable that holds the URL that receives failures; such URLs are secrets.
const serveWebhookEnv = "SHARDCAT_SERVE_WEBHOOK"

// defaultListen is loopback: other machines need a token to read.
const defaultListen = "127.0.0.1:8099"

func (a *app) serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run scheduled maintenance with a web UI, metrics, probes and an HTTP API for rows",
		Long: "Maintain every table of the catalog on its schedule: apply retention, compact by policy, expire old snapshots. " +
			"The web UI is at /; metrics and probes are at /metrics, /healthz and /readyz. Actions in the web UI need the token in " +
			serveTokenEnv + "; without it the web UI is read-only. The tables' rows are served below /v1/ as Arrow, NDJSON or CSV (docs/reference/http.md). " +
			"A read-only Iceberg REST catalog at /iceberg lets other engines read the tables as Parquet (docs/guides/iceberg.md). Pages and rows need the token in " +
			readTokenEnv + " or, if it is not set, a request from this machine. When a table starts to fail or halts, its state is sent as JSON to the URL in " + serveWebhookEnv +
			" and to the program of --on-failure. SIGHUP reloads the policies of the file given by --config. SIGTERM stops it cleanly.",
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
			if err := o.parse(); err != nil {
				return err
			}
			if o.ready {
				return requestReady(cmd.Context(), o.listen)
			}
			return a.serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", defaultListen, "listen address; port 0 chooses a free one")
	cmd.Flags().IntVar(&o.workers, "workers", 1, "number of tables to maintain concurrently")
	cmd.Flags().IntVar(&o.answers, "answers", arrowhttp.DefaultAnswers, "maximum number of concurrent responses with rows, which share --max-memory; further requests queue")
	cmd.Flags().StringSliceVar(&o.proxies, "trusted-proxies", nil, "addresses or networks (CIDR) of proxies whose X-Forwarded-For tells clients apart, so that these take turns")
	cmd.Flags().StringVar(&o.onFailure, "on-failure", "", "program to run when a table starts to fail or halts, with its state as JSON on standard input")
	cmd.Flags().BoolVar(&o.once, "once", false, "run all due maintenance once and exit, for cron")
	cmd.Flags().BoolVar(&o.ready, "ready", false, "check that the service listening on --listen is ready and exit: code 0 if ready, else 1; for container health checks")
	cmd.Flags().StringVar(&o.minAge, "collect-min-age", "7d", "minimum age of objects that gc marks")
	cmd.Flags().StringVar(&o.deleteDelay, "collect-delete-delay", "48h", "delay between marking and deleting an object")
	cmd.Flags().BoolVar(&o.collect.UnsafeMinAge, "unsafe-min-age", false, "allow --collect-min-age below 24h; only safe if no write takes longer (default: refused)")
	cmd.Flags().StringVar(&o.logFormat, "log-format", "json", "format of the log on standard error: json or text")
	cmd.Flags().StringVar(&o.logLevel, "log-level", "info", "log level: debug, info, warn or error")
	cmd.Flags().BoolVar(&o.profile, "pprof", false, "serve net/http/pprof below /debug/pprof/")
	return cmd
}

// serveOptions are the flags of serve.
type serveOptions struct {
	listen           string
	workers, answers int
	profile          bool
	proxies          []string
	trusted          []netip.Prefix
	onFailure        string
	once, ready      bool

	minAge, deleteDelay string
	collect             catalog.CollectOptions
	logFormat, logLevel string
	level               slog.Level
}

// parse checks the flags that are text.
func (o *serveOptions) parse() (err error) {
	if o.collect.MinAge, err = literal.ParseAge(o.minAge); err != nil {
		return usagef("--collect-min-age: %v", err)
	}
	if o.collect.MinAge < catalog.SafeMinAge && !o.collect.UnsafeMinAge {
		return usagef("--collect-min-age %s: values below %s need --unsafe-min-age", o.minAge, catalog.SafeMinAge)
	}
	o.collect.MinAge = cmp.Or(o.collect.MinAge, time.Nanosecond) // 0 would be the default
	if o.collect.DeleteDelay, err = literal.ParseAge(o.deleteDelay); err != nil {
		return usagef("--collect-delete-delay: %v", err)
	}
	if o.collect.DeleteDelay == 0 {
		o.collect.DeleteDelay = -1
	}
	for _, text := range o.proxies {
		network, err := netip.ParsePrefix(text)
		if address, plain := netip.ParseAddr(text); err != nil && plain == nil {
			network, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return usagef("invalid argument %q for --trusted-proxies: must be an address or a network such as 10.0.0.0/8", text)
		}
		o.trusted = append(o.trusted, network)
	}
	if o.logFormat != "json" && o.logFormat != "text" {
		return usagef("--log-format %q: json or text", o.logFormat)
	}
	if err := o.level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return usagef("--log-level %q: debug, info, warn or error", o.logLevel)
	}
	return nil
}

// logger is the log of the process.
func (o *serveOptions) logger(w io.Writer) *slog.Logger {
	if o.logFormat == "text" {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: o.level}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: o.level}))
}

func (a *app) serve(ctx context.Context, o serveOptions) (err error) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // before anybody knows that there is something to reload, and until all is in order
	defer signal.Stop(hangup)
	a.limitHeap(1 + int64(o.workers)) // the answers together, and the worker of each table
	log := o.logger(a.stderr)
	a.log = log
	tracer, endTraces, err := tracing.FromEnvironment(ctx, version())
	if err != nil {
		return err
	}
	defer endTraces(context.WithoutCancel(ctx)) // what the collector does not take is lost, and nothing else
	if o.once {
		return a.serveOnce(ctx, o, log, tracer)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", o.listen, err)
	}
	begun := time.Now()
	log.Info("serving", append(a.whatRuns(o), "address", listener.Addr().String())...)
	defer func() {
		ended := []any{"uptime", time.Since(begun).Round(time.Second).String()}
		if err != nil && !errors.Is(err, context.Canceled) {
			log.Error("ended", append(ended, "error", err)...)
			return
		}
		log.Info("ended", append(ended, "reason", cmp.Or(fmt.Sprint(context.Cause(ctx)), "the server was closed"))...)
	}()
	var handler swapped
	handler.use(http.HandlerFunc(beforeCatalog))
	server := &http.Server{
		Handler: &handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: writeTimeout,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	tell, told := failureTeller(ctx, &notify.Notifier{URL: os.Getenv(serveWebhookEnv), Program: o.onFailure}, log)
	defer told()
	group, ctx := errgroup.WithContext(ctx)
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
	open := make(chan struct{})
	group.Go(func() error {
		tables, err := a.awaitTables(ctx, log)
		if err != nil || tables == nil {
			return err
		}
		metrics := webui.NewMetrics()
		rows := arrowhttp.New(tables, arrowhttp.Options{
			ReadToken: os.Getenv(readTokenEnv), WriteToken: os.Getenv(serveTokenEnv), Answers: o.answers, MaxMemory: a.maxMemory, Log: log,
			TrustedProxies: o.trusted,
		})
		service := compaction.NewService(tables, o.service(a, log, tracer, metrics.Finished, tell))
		page := webui.New(tables, service, metrics, webui.Options{
			Token: os.Getenv(serveTokenEnv), ReadToken: os.Getenv(readTokenEnv), Version: version(), Profile: o.profile, Log: log, Reads: rows.Stats, Turn: rows.Turn,
		})
		mux := http.NewServeMux()
		mux.Handle("/v1/", rows)
		a.gateway(tables, rows, o, log).Register(mux)
		mux.Handle("/", page)
		handler.use(mux)
		group.Go(func() error { return page.Keep(ctx) })
		close(open)
		group.Go(func() error { a.reloadOn(ctx, hangup, service, log); return nil })
		return service.Run(ctx)
	})
	select { // who reads the address finds tables, unless the catalog is away
	case <-open:
	case <-ctx.Done():
		return group.Wait()
	case <-time.After(openBeforeAddress):
	}
	group.Go(func() error { return a.printServing(listener.Addr().String()) })
	return group.Wait()
}

// gateway serves the tables to Iceberg engines. It takes the slots of answers with rows and their memory, a quarter of which is for its caches.
func (a *app) gateway(tables *catalog.Catalog, rows *arrowhttp.Server, o serveOptions, log *slog.Logger) *gateway.Server {
	cache := a.maxMemory / 8
	return gateway.New(tables, gateway.Options{
		Tokens: access.Tokens{Read: os.Getenv(readTokenEnv), Write: os.Getenv(serveTokenEnv)},
		Open:   gateway.Shards(cache, (a.maxMemory-2*cache)/int64(o.answers)), CacheBytes: cache, Turn: rows.Turn, Log: log,
	})
}

// openBeforeAddress is how long the address is not printed while the catalog is being opened.
const openBeforeAddress = 5 * time.Second

// serveOnce does one round over all tables, for cron.
func (a *app) serveOnce(ctx context.Context, o serveOptions, log *slog.Logger, tracer trace.Tracer) error {
	tables, err := a.openTables(ctx)
	if err != nil {
		return err
	}
	tell, told := failureTeller(ctx, &notify.Notifier{URL: os.Getenv(serveWebhookEnv), Program: o.onFailure}, log)
	defer told()
	log.Info("starting one round over all tables", a.whatRuns(o)...)
	begun := time.Now()
	service := compaction.NewService(tables, o.service(a, log, tracer, nil, tell))
	err = service.Once(ctx)
	log.Info("finished the round over all tables", "tables", len(service.Status()), "seconds", time.Since(begun).Seconds())
	return err
}

// service are the options of the service.
func (o *serveOptions) service(a *app, log *slog.Logger, tracer trace.Tracer, finished func(compaction.Run), failed func(compaction.TableStatus)) compaction.ServiceOptions {
	return compaction.ServiceOptions{
		Workers: o.workers, Log: log, Finished: finished, Tracer: tracer, Overrides: a.config.tables, Failed: failed, Collect: o.collect,
	}
}

// whatRuns are the attributes of the first line of the log.
func (a *app) whatRuns(o serveOptions) []any {
	options := a.catalogOptions(catalog.ReadWrite)
	return []any{
		"version", version(), "pid", os.Getpid(), "catalog", catalog.RedactURI(cmp.Or(options.URI, catalog.DefaultURI)),
		"warehouse", urlresolve.Redact(cmp.Or(options.Warehouse, catalog.DefaultWarehouse)), "config", a.configFile, "workers", o.workers,
	}
}

// swapped is a handler that can be replaced.
type swapped struct{ handler atomic.Pointer[http.Handler] }

func (s *swapped) use(h http.Handler) { s.handler.Store(&h) }

func (s *swapped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*s.handler.Load()).ServeHTTP(w, r)
}

// beforeCatalog answers while the catalog has never been reached.
func beforeCatalog(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		w.Write([]byte("ok\n"))
		return
	}
	w.Header().Set("Retry-After", "5")
	http.Error(w, "the catalog has not been reached yet", http.StatusServiceUnavailable)
}

// catalogPause is the time between two attempts to open a catalog that can't be reached.
const catalogPause = 5 * time.Second

// awaitTables opens the catalog, for as long as it takes where it can't be reached; nil if the context ends before.
func (a *app) awaitTables(ctx context.Context, log *slog.Logger) (*catalog.Catalog, error) {
	for begun, told := time.Now(), false; ; {
		tables, err := a.openTables(ctx)
		switch {
		case err == nil:
			if told {
				log.Info("the catalog is reachable", "waited", time.Since(begun).Round(time.Second).String())
			}
			return tables, nil
		case ctx.Err() != nil:
			return nil, nil
		case !errors.Is(err, catalog.ErrUnreachable):
			return nil, err
		case !told:
			log.Warn("the catalog is unreachable; waiting", "error", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(catalogPause):
		}
	}
}

// failedTable is the notification of a table that fails.
type failedTable struct {
	Table string `json:"table"`
	compaction.TableStatus
}

// failureTeller notifies of tables that fail, in the background: a receiver may be slow. wait waits for notifications under way, which the end of the
// service does not stop; the Notifier bounds how long that may take.
func failureTeller(ctx context.Context, n *notify.Notifier, log *slog.Logger) (tell func(compaction.TableStatus), wait func()) {
	ctx = context.WithoutCancel(ctx)
	var telling sync.WaitGroup
	return func(st compaction.TableStatus) {
		telling.Go(func() {
			if err := n.Tell(ctx, failedTable{st.Table.String(), st}); err != nil {
				log.Error("a failure notification could not be sent", "table", st.Table, "error", err)
			}
		})
	}, telling.Wait
}

// reloadOn reads the policies of the file again at each signal. A file that can't be read changes nothing.
func (a *app) reloadOn(ctx context.Context, hangup <-chan os.Signal, service *compaction.Service, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		tables, err := readPolicies(a.configFile)
		if err != nil {
			log.Error("the configuration file could not be read; the previous settings remain in force", "config", a.configFile, "error", err)
			continue
		}
		service.Reload(tables)
		log.Info("settings of the configuration file reloaded", "config", a.configFile, "entries", len(tables))
	}
}

// writeTimeout is how long a page may take; answers with rows have a deadline for each piece instead.
const writeTimeout = 2 * time.Minute

// shutdownGrace is how long answers that are under way may take once the server is stopped.
const shutdownGrace = 10 * time.Second

// printServing reports where the server listens.
func (a *app) printServing(address string) error {
	if a.json {
		return a.printJSON(map[string]string{"address": address, "url": "http://" + address + "/"})
	}
	a.printf("listening on http://%s/\n", address)
	return nil
}
