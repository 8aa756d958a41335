package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/compaction"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// questions are those of scans in measure.py, by the same names.
var questions = []struct {
	name, where, order string
	columns            []string
	limit              int64
	count              bool
}{
	{name: "count", count: true},
	{name: "filter on an unsorted column", where: "value < 0.0005"},
	{name: "two columns of all rows", columns: []string{"id", "value"}},
	{name: "all columns of all rows"},
	{name: "top 10 of all rows", order: "value desc", limit: 10},
	{name: "one row by its key", where: "key = 'KEY'"},
	{name: "lines with two words", where: "text HAS 'w007' AND text HAS 'w011'"},
	{name: "lines with a prefix", where: "text HASPREFIX 'zq1'"},
}

// scans: what is asked of a table of many small appends, before and after a compaction, each by a new process. The appends and
// the compaction go around the delay.
func scans(args []string) error {
	ctx, o := context.Background(), &own{}
	folder, key, slow := "", "", ""
	o.flags = func(f *flag.FlagSet) {
		f.StringVar(&folder, "data", "", "folder of the Parquet files, one an append")
		f.StringVar(&slow, "slow", "", "URL of the bucket behind the delay")
		f.StringVar(&key, "key", "", "the key of one row")
	}
	o.schema = "id: int64, at: int64, key: string, host: string, value: double, level: int32, text: string"
	if err := o.begin(ctx, "scans", args); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, file := range files {
		if err := o.counted(ctx, "", appendFile(ctx, file)); err != nil {
			return err
		}
	}
	fast := o.mount
	for _, when := range []string{"before", "after"} {
		if when == "after" {
			o.mount = fast
			if err := o.reopen(ctx); err != nil {
				return err
			}
			err := o.counted(ctx, "compact", func(t *catalog.Table) error {
				_, err := compaction.Compact(ctx, t, compaction.Policy{}, compaction.Options{})
				return err
			})
			if err != nil {
				return err
			}
		}
		o.mount = slow
		for _, q := range questions {
			if err := o.reopen(ctx); err != nil {
				return err
			}
			so := catalog.ScanOptions{Select: q.columns, Limit: q.limit, ReuseBatches: true, Runs: true}
			if q.where != "" {
				if so.Where, err = filter.Parse(strings.ReplaceAll(q.where, "KEY", key)); err != nil {
					return err
				}
			}
			if q.order != "" {
				if so.OrderBy, err = catalog.ParseOrder(q.order); err != nil {
					return err
				}
			}
			if err := o.counted(ctx, when+": "+q.name, func(t *catalog.Table) error { return o.ask(ctx, t, so, q.count) }); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
		}
	}
	return nil
}

// ask runs a question and keeps the number of rows of its answer.
func (o *own) ask(ctx context.Context, t *catalog.Table, so catalog.ScanOptions, count bool) error {
	p, err := t.Plan(ctx, so)
	if err != nil {
		return err
	}
	if count {
		o.rows, err = p.Count(ctx, nil)
		return err
	}
	o.rows = 0
	for b, err := range p.Run(ctx, nil) {
		if err != nil {
			return err
		}
		o.rows += b.NumRows()
	}
	return nil
}

func appendFile(ctx context.Context, file string) func(t *catalog.Table) error {
	return func(t *catalog.Table) error {
		var indexes shardfmt.IndexSpecs
		if err := indexes.Set("hash:key text:text"); err != nil {
			return err
		}
		src, err := fileio.OpenSource(ctx, t.Catalog().Client(), []string{file}, fileio.SourceOptions{Format: fileio.Parquet, Schema: t.Schema(), InProcess: true})
		if err != nil {
			return err
		}
		defer src.Close()
		_, err = t.Ingest(ctx, src, catalog.IngestOptions{Indexes: indexes})
		return err
	}
}
