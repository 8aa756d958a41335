package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	_ "github.com/shardcat/shardcat/blobio/s3blob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// rowsOfAppend is how many rows each append has.
const rowsOfAppend = 100

// load is what writers do: appends to one table for some time.
type load struct {
	catalog, warehouse, mount, table string
	writers                          int
	processes                        bool
	seconds                          time.Duration
}

// appended are the appends of one writer.
type appended struct {
	// Seconds of each append, and how often it was staged.
	Seconds []float64
	Tries   int
	Errors  int
}

func writers(args []string) error {
	var l load
	flags := flag.NewFlagSet("writers", flag.ExitOnError)
	flags.StringVar(&l.catalog, "catalog", "", "URI of the catalog")
	flags.StringVar(&l.warehouse, "warehouse", "", "URL of the warehouse")
	flags.StringVar(&l.mount, "mount", "", "URL of the bucket with its options, if it has any")
	flags.StringVar(&l.table, "table", "default.writers", "table, which is made if it is missing")
	flags.IntVar(&l.writers, "writers", 1, "number of writers")
	flags.BoolVar(&l.processes, "processes", false, "each writer is a process; else they are one process that commits in groups")
	flags.DurationVar(&l.seconds, "for", 10*time.Second, "time")
	child := flags.Bool("child", false, "be one of the processes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx := context.Background()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	c, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	name, err := catalog.ParseName(l.table)
	if err != nil {
		return err
	}
	if *child {
		fmt.Println("ready")
		if _, err := fmt.Scanln(new(string)); err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(l.write(ctx, c, name, 0, false))
	}
	s, err := schema.Parse("id: int64, at: int64, text: string")
	if err != nil {
		return err
	}
	if _, err := c.Create(ctx, name, catalog.CreateOptions{Schema: s, CreateNamespace: true}); err != nil && !errors.Is(err, catalog.ErrExists) {
		return err
	}
	all := make([]appended, l.writers)
	began := time.Now()
	if l.processes {
		if began, err = l.start(args, all); err != nil {
			return err
		}
	} else {
		var group sync.WaitGroup
		for i := range all {
			group.Go(func() { all[i] = l.write(ctx, c, name, i, true) })
		}
		group.Wait()
	}
	return l.report(ctx, c, name, all, time.Since(began))
}

func (l *load) open(ctx context.Context) (*catalog.Catalog, error) {
	o := catalog.Options{URI: l.catalog, Warehouse: l.warehouse, Client: blobio.NewClient(blobio.ClientOptions{}), Metadata: blobio.NewClient(blobio.ClientOptions{})}
	for _, client := range []*blobio.Client{o.Client, o.Metadata} {
		if l.mount == "" {
			break
		}
		if _, err := client.Mount(ctx, l.mount); err != nil {
			return nil, err
		}
	}
	return catalog.Open(ctx, o)
}

// write appends until the time is over.
func (l *load) write(ctx context.Context, c *catalog.Catalog, name catalog.Name, writer int, share bool) (out appended) {
	t, err := c.Load(ctx, name)
	for end := time.Now().Add(l.seconds); err == nil && time.Now().Before(end); {
		began := time.Now()
		n, failed := appendRows(ctx, t, writer, len(out.Seconds), share)
		if out.Tries += n; failed != nil {
			out.Errors++
			fmt.Fprintln(os.Stderr, "append:", failed)
			continue
		}
		out.Seconds = append(out.Seconds, time.Since(began).Seconds())
	}
	if err != nil {
		out.Errors++
		fmt.Fprintln(os.Stderr, "load:", err)
	}
	return out
}

func appendRows(ctx context.Context, t *catalog.Table, writer, n int, share bool) (tries int, err error) {
	var text strings.Builder
	for i := range rowsOfAppend {
		fmt.Fprintf(&text, "{\"id\":%d,\"at\":%d,\"text\":\"writer %d row %d\"}\n", n*rowsOfAppend+i, time.Now().UnixMicro(), writer, i)
	}
	src, err := fileio.OpenSource(ctx, t.Catalog().Client(), []string{fileio.Stdin}, fileio.SourceOptions{
		Format: fileio.NDJSON, Schema: t.Schema(), Stdin: strings.NewReader(text.String()),
	})
	if err != nil {
		return 0, err
	}
	defer src.Close()
	done, err := t.Ingest(ctx, src, catalog.IngestOptions{ShareCommit: share})
	if err != nil {
		return 0, err
	}
	return done.Attempts, nil
}

// start runs each writer as a process of its own, and returns when all of them began.
func (l *load) start(args []string, all []appended) (began time.Time, err error) {
	var group sync.WaitGroup
	failed := make([]error, len(all))
	ready, begin := make(chan struct{}, len(all)), make(chan struct{})
	for i := range all {
		group.Go(func() {
			cmd := exec.Command(os.Args[0], append([]string{"writers", "-child"}, args...)...)
			cmd.Stderr = os.Stderr
			in, err1 := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			if failed[i] = errors.Join(err1, err2, cmd.Start()); failed[i] == nil {
				_, failed[i] = fmt.Fscanln(out, new(string))
			}
			ready <- struct{}{}
			if failed[i] != nil {
				return
			}
			<-begin
			_, err1 = fmt.Fprintln(in, "go")
			failed[i] = errors.Join(err1, json.NewDecoder(out).Decode(&all[i]), cmd.Wait())
		})
	}
	for range all {
		<-ready
	}
	began = time.Now()
	close(begin)
	group.Wait()
	return began, errors.Join(failed...)
}

// report prints what was measured, after a look at the table: it has each row once.
func (l *load) report(ctx context.Context, c *catalog.Catalog, name catalog.Name, all []appended, took time.Duration) error {
	t, err := c.Load(ctx, name)
	if err != nil {
		return err
	}
	var seconds []float64
	tries, failed, fewest := 0, 0, -1
	for _, a := range all {
		seconds = append(seconds, a.Seconds...)
		tries, failed = tries+a.Tries, failed+a.Errors
		if fewest < 0 || len(a.Seconds) < fewest {
			fewest = len(a.Seconds)
		}
	}
	slices.Sort(seconds)
	if d := t.Describe(); failed == 0 && d.Records != int64(rowsOfAppend*len(seconds)) {
		return fmt.Errorf("the table has %d rows of %d", d.Records, rowsOfAppend*len(seconds))
	}
	at := func(share float64) float64 {
		if len(seconds) == 0 {
			return 0
		}
		return seconds[int(share*float64(len(seconds)-1))]
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"appends": len(seconds), "per_second": float64(len(seconds)) / took.Seconds(), "snapshots": t.Describe().Snapshots,
		"tries": float64(tries) / float64(max(1, len(seconds))), "p50": at(0.5), "p99": at(0.99), "max": at(1), "fewest": fewest, "errors": failed,
	})
}
