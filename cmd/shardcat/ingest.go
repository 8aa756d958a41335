package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/shardfmt/foreign"
)

func (a *app) ingestCommand() *cobra.Command {
	var in sourceFlags
	var out shardFlags
	var create bool
	var o catalog.IngestOptions
	cmd := &cobra.Command{
		Use:   "ingest T FILE...|-",
		Short: "Land files as shards of a table, in one snapshot",
		Long:  "Land files as shards of a table, in one snapshot. Files are paths, URLs, folders, patterns or - for standard input; gzip and zstd are seen through.",
		Args:  atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.ShardRows < 0 {
				return usagef("invalid argument %d for --shard-rows", o.ShardRows)
			}
			if err := out.ingestOptions(&o); err != nil {
				return err
			}
			read, err := in.options(a)
			if err != nil {
				return err
			}
			if in.dryRun {
				return a.dryIngest(cmd.Context(), args[0], args[1:], read, create)
			}
			t, src, err := a.ingestTarget(cmd.Context(), args[0], args[1:], read, create)
			if err != nil {
				return err
			}
			defer src.Close()
			return a.ingest(cmd.Context(), t, src, o)
		},
	}
	in.add(cmd)
	out.add(cmd)
	cmd.Flags().BoolVar(&create, "create", false, "create the table (and its namespace) if it is not there")
	cmd.Flags().Int64Var(&o.ShardRows, "shard-rows", 0, "records of a shard at most (default 4194304)")
	cmd.Flags().StringVar(&o.JobID, "job-id", "", "name of this delivery: the same one delivered twice is committed once")
	return cmd
}

// ingestOptions turns the flags into options of an ingestion.
func (f *shardFlags) ingestOptions(o *catalog.IngestOptions) error {
	w, err := f.options()
	if err != nil {
		return err
	}
	o.Profile, o.StripeRows, o.Bloom = w.Profile, w.StripeRows, w.Bloom
	if f.creationTime != "" {
		o.CreationTime, err = parseTime(f.creationTime)
	}
	return err
}

// parseTime reads an RFC 3339 time.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, usagef("%q is no RFC 3339 time", s)
	}
	return t, nil
}

// ingestTarget opens the files and the table they go to. Without a schema of their own the files are read by the
// table's; with --create a missing table gets the files' schema, with --unknown-fields extend a table that is there
// gets the columns that it lacks.
func (a *app) ingestTarget(ctx context.Context, name string, files []string, o foreign.SourceOptions, create bool) (*catalog.Table, foreign.Source, error) {
	t, err := a.loadTable(ctx, name)
	missing := errors.Is(err, catalog.ErrNotFound)
	if err != nil && !(create && missing) {
		return nil, nil, err
	}
	if t != nil && o.Schema == nil && o.UnknownFields != foreign.ExtendByUnknown {
		o.Schema = t.Schema()
	}
	src, err := a.openSource(ctx, files, o)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case missing:
		t, err = a.createTable(ctx, name, src)
	case o.UnknownFields == foreign.ExtendByUnknown:
		err = t.AddColumns(ctx, src.Schema())
	}
	if err != nil {
		src.Close()
		return nil, nil, err
	}
	return t, src, nil
}

// dryIngest prints how the files would be read: by the table's schema, or by what is inferred.
func (a *app) dryIngest(ctx context.Context, name string, files []string, o foreign.SourceOptions, create bool) error {
	t, err := a.loadTable(ctx, name)
	if err != nil && !(create && errors.Is(err, catalog.ErrNotFound)) {
		return err
	}
	if t != nil && o.Schema == nil && o.UnknownFields != foreign.ExtendByUnknown {
		o.Schema = t.Schema()
	}
	return a.dryRun(ctx, files, o)
}

func (a *app) createTable(ctx context.Context, name string, src foreign.Source) (*catalog.Table, error) {
	n, err := catalog.ParseName(name)
	if err != nil {
		return nil, usageError{err}
	}
	return a.tables.Create(ctx, n, catalog.CreateOptions{Schema: src.Schema(), CreateNamespace: true})
}

// ingest runs the ingestion and says what it added.
func (a *app) ingest(ctx context.Context, t *catalog.Table, src foreign.Source, o catalog.IngestOptions) error {
	bar, before := a.bar("ingest", "rows", 0), int64(0)
	o.Progress = func(rows int64) {
		bar.Add(rows - before)
		before = rows
	}
	started := time.Now()
	in, err := t.Ingest(ctx, src, o)
	if err != nil {
		return err
	}
	bar.Finish()
	if a.json {
		return a.printJSON(in)
	}
	if in.Before {
		a.printf("%s: this job was committed before, in snapshot %d; nothing was added\n", t.Name(), in.SnapshotID)
		return nil
	}
	a.printf("%s: %d rows in %d shards, %s stored, snapshot %d, %s\n", t.Name(), in.Rows, len(in.Shards),
		progress.Bytes(in.Bytes), in.SnapshotID, time.Since(started).Round(time.Millisecond))
	return nil
}
