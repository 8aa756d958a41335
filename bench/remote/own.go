package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// own is what this project's side does of the parts that measure.py has for the peers.
type own struct {
	load
	c *catalog.Catalog
	// schema of the table; flags adds flags of a part.
	schema string
	flags  func(*flag.FlagSet)
	// rows is how many the last question had.
	rows int64
}

// begin makes the table.
func (o *own) begin(ctx context.Context, name string, args []string) (err error) {
	flags := flag.NewFlagSet(name, flag.ExitOnError)
	flags.StringVar(&o.catalog, "catalog", "", "URI of the catalog")
	flags.StringVar(&o.warehouse, "warehouse", "", "URL of the warehouse")
	flags.StringVar(&o.mount, "mount", "", "URL of the bucket with its options, if it has any")
	o.table = "default.t"
	if o.flags != nil {
		o.flags(flags)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.c, err = o.open(ctx); err != nil {
		return err
	}
	if o.schema == "" {
		o.schema = "id: int64, at: int64, value: double, noise: int64"
	}
	s, err := schema.Parse(o.schema)
	if err != nil {
		return err
	}
	_, err = o.c.Create(ctx, catalog.Name{Namespace: "default", Table: "t"}, catalog.CreateOptions{Schema: s, CreateNamespace: true})
	return err
}

// reopen opens the catalog with empty caches, as a new process does.
func (o *own) reopen(ctx context.Context) (err error) {
	o.c.Close()
	o.c, err = o.open(ctx)
	return err
}

// counted prints what one piece of work asked of the store.
func (o *own) counted(ctx context.Context, what string, do func(t *catalog.Table) error) error {
	began, before, metadata := time.Now(), o.c.Client().Counters(), o.c.MetadataCounters()
	t, err := o.c.Load(ctx, catalog.Name{Namespace: "default", Table: "t"})
	if err == nil {
		err = do(t)
	}
	if err != nil || what == "" {
		return err
	}
	a, b := o.c.Client().Counters().Sub(before), o.c.MetadataCounters().Sub(metadata)
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"who": "shardcat", "what": what, "seconds": time.Since(began).Seconds(), "rows": o.rows,
		"Get": a.Gets + b.Gets, "Head": a.Heads + b.Heads, "Put": a.Puts + b.Puts, "List": a.Lists + b.Lists, "Delete": a.Deletes + b.Deletes,
		"Received": a.PutBytes + b.PutBytes, "Sent": a.GetBytes + b.GetBytes})
}

func appendOf(ctx context.Context, n, rows int) func(t *catalog.Table) error {
	return func(t *catalog.Table) error {
		var text strings.Builder
		r := rand.New(rand.NewPCG(uint64(n), 1))
		for i := range rows {
			fmt.Fprintf(&text, "%d,%d,%v,%d\n", n*rows+i, 1_760_000_000_000_000+2000*i, r.Float64(), r.Int64())
		}
		src, err := fileio.OpenSource(ctx, t.Catalog().Client(), []string{fileio.Stdin}, fileio.SourceOptions{
			Format: fileio.CSV, Schema: t.Schema(), Stdin: strings.NewReader("id,at,value,noise\n" + text.String()),
		})
		if err != nil {
			return err
		}
		defer src.Close()
		_, err = t.Ingest(ctx, src, catalog.IngestOptions{})
		return err
	}
}

// appends: an append of 100 rows by a new process, the 101st, and the count of all rows by another one.
func appends(args []string) error {
	ctx, o := context.Background(), &own{}
	if err := o.begin(ctx, "appends", args); err != nil {
		return err
	}
	for n := range 101 {
		what := ""
		if n == 1 || n == 100 {
			what = fmt.Sprint("append ", n+1)
		}
		if err := o.reopen(ctx); err != nil {
			return err
		}
		if err := o.counted(ctx, what, appendOf(ctx, n, 100)); err != nil {
			return err
		}
	}
	if err := o.reopen(ctx); err != nil {
		return err
	}
	return o.counted(ctx, "count after 101 commits", func(t *catalog.Table) error {
		rows := int64(0)
		for e, err := range t.Entries(ctx, catalog.At{}) {
			if err != nil {
				return err
			}
			rows += e.Records
		}
		if rows != 101*100 {
			return fmt.Errorf("%d rows", rows)
		}
		return nil
	})
}

// year: appends of about 1 MB by one process, with compaction and expiry each hour.
func year(args []string) error {
	ctx, o := context.Background(), &own{}
	if err := o.begin(ctx, "year", args); err != nil {
		return err
	}
	for n := range 120 {
		what := ""
		if n%10 == 9 || n < 2 {
			what = fmt.Sprint("append ", n+1)
		}
		if err := o.counted(ctx, what, appendOf(ctx, n, 30_000)); err != nil {
			return err
		}
		if n%60 != 59 {
			continue
		}
		err := o.counted(ctx, fmt.Sprint("compact after ", n+1), func(t *catalog.Table) error {
			_, err := compaction.Compact(ctx, t, compaction.Policy{}, compaction.Options{})
			return err
		})
		if err != nil {
			return err
		}
		err = o.counted(ctx, fmt.Sprint("expire after ", n+1), func(t *catalog.Table) error {
			p, err := t.PlanExpire(catalog.ExpireOptions{Age: 1})
			if err == nil {
				err = p.Execute(ctx)
			}
			if err != nil {
				return err
			}
			_, err = t.Collect(ctx, catalog.CollectOptions{Execute: true, MinAge: 1, UnsafeMinAge: true, DeleteDelay: -1, MaxDeleteRatio: 1})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
