package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func (a *app) ingestCommand() *cobra.Command {
	var in sourceFlags
	var out shardFlags
	var create, uncommitted bool
	var part string
	var commitFiles int
	var flush streamFlags
	var o catalog.IngestOptions
	var tags []string
	cmd := &cobra.Command{
		Use:   "ingest T FILE...|-",
		Short: "Load files into a table in one snapshot",
		Example: `  shardcat ingest flights flights.csv --create
  shardcat ingest logs s3://bucket/landing/2024-01-31/ --unknown-fields extend --job-id logs-2024-01-31
  shardcat ingest logs 2024-01-31.ndjson --ingest-by 2024-01-31
  shardcat ingest logs s3://bucket/years/ --commit-files 500 --job-id logs-years
  shardcat ingest users changes.ndjson --upsert-by id
  shardcat ingest logs part-3.ndjson --uncommitted --job-id logs-7 --part 3 --json`,
		Long: "Load files into a table in one snapshot. Files are paths, URLs, folders, patterns or - for standard input; gzip and zstd are decompressed.\n\n" +
			"More than 1,000 files are loaded in parts, several concurrently, each part in its own snapshot. After an interruption, the same " +
			"command with the same --job-id resumes: committed files are not loaded again.\n\n" +
			"With --uncommitted nothing is committed: any number of processes write shards of one job, and job commit adds them to the table in one snapshot.",
		Args: atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.ShardRows < 0 {
				return usagef("invalid argument %d for --shard-rows", o.ShardRows)
			}
			if commitFiles < 0 {
				return usagef("invalid argument %d for --commit-files", commitFiles)
			}
			if err := out.ingestOptions(&o); err != nil {
				return err
			}
			for _, tag := range tags {
				o.StandardProperties = append(o.StandardProperties, shardfmt.TextProperty(catalog.IngestBy, tag))
			}
			read, err := in.options(a)
			if err != nil {
				return err
			}
			if in.dryRun {
				return a.dryIngest(cmd.Context(), args[0], args[1:], read, create)
			}
			if uncommitted && len(o.UpsertBy)+len(o.Unique) > 0 {
				return usagef("--uncommitted can't be used with --upsert-by or --unique, which need the table's state at the commit")
			}
			if part != "" && !uncommitted || uncommitted && (o.JobID == "" || create || flush.wanted() || commitFiles > 0) {
				return usagef("--uncommitted needs --job-id, and can't be used with --create, --commit-files or --flush flags")
			}
			what := ingestion{name: args[0], files: args[1:], source: read, create: create, options: o}
			if uncommitted {
				return a.writeUncommitted(cmd.Context(), what, part)
			}
			if flush.wanted() {
				if commitFiles > 0 {
					return usagef("--flush flags and --commit-files exclude each other")
				}
				return a.stream(cmd.Context(), what, &flush)
			}
			if parts, err := a.landParts(cmd.Context(), what, commitFiles); parts || err != nil {
				return err
			}
			return a.land(cmd.Context(), what)
		},
	}
	in.add(cmd)
	out.add(cmd)
	flush.add(cmd)
	cmd.Flags().BoolVar(&create, "create", false, "create the table and its namespace if missing")
	cmd.Flags().StringArrayVar(&tags, "ingest-by", nil, "ingest-by tag of the shards; a job with the same tags is committed once, as with --job-id (repeatable)")
	cmd.Flags().IntVar(&commitFiles, "commit-files", 0, "number of files per commit (default: all files in one commit, 200 for more than 1,000 files)")
	cmd.Flags().Int64Var(&o.ShardRows, "shard-rows", 0, "maximum number of rows per shard (default 4194304)")
	cmd.Flags().StringVar(&o.Ref, "ref", "", "branch to append to (default: main)")
	cmd.Flags().StringSliceVar(&o.UpsertBy, "upsert-by", nil, "key columns COL[,COL]: replace existing rows with the same key in the same snapshot; the last row per key wins, nulls never match (default: append)")
	cmd.Flags().StringSliceVar(&o.Unique, "unique", nil, "key columns COL[,COL]: fail if a key exists in the table or twice in the input; nulls never match (default: append)")
	cmd.Flags().BoolVar(&uncommitted, "uncommitted", false, "write shards without committing; prints the run ID for job commit")
	cmd.Flags().StringVar(&part, "part", "", "with --uncommitted: name of the part, such as a task number; one run per part can be committed (default: none)")
	cmd.Flags().StringVar(&o.JobID, "job-id", "", "idempotency key: a job with the same ID is committed once (default: random)")
	return cmd
}

// ingestOptions turns the flags into options of an ingestion.
func (f *shardFlags) ingestOptions(o *catalog.IngestOptions) error {
	w, err := f.options()
	if err != nil {
		return err
	}
	o.Profile, o.Layout, o.StripeRows, o.Bloom, o.Indexes, o.Pack = w.Profile, w.Layout, w.StripeRows, w.Bloom, w.Indexes, w.Pack
	o.Properties, o.StandardProperties = w.Properties, w.StandardProperties
	o.StripeProperties, o.FieldProperties, o.SparseUnions = w.StripeProperties, w.FieldProperties, w.SparseUnions
	o.OpaqueDictionaries, o.DictionaryEntries, o.Encodings = w.OpaqueDictionaries, w.DictionaryEntries, w.Encodings
	o.IngestionTime, o.RecordID = f.internal.IngestionTime, f.internal.RecordID
	if f.creationTime != "" {
		o.CreationTime, err = parseTime(f.creationTime)
	}
	return err
}

// parseTime reads an RFC 3339 time.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, usagef("%q is not an RFC 3339 time", s)
	}
	return t, nil
}

// dryIngest prints how the files would be read: by the table's schema, or by what is inferred.
func (a *app) dryIngest(ctx context.Context, name string, files []string, o fileio.SourceOptions, create bool) error {
	t, err := a.readTable(ctx, name)
	if err != nil && !(create && errors.Is(err, catalog.ErrNotFound)) {
		return err
	}
	if t != nil && o.Schema == nil {
		o.Schema = t.Schema()
	}
	return a.dryRun(ctx, files, o)
}

// ingestion is the input of an ingest: files, how they are read, and the table that gets their rows.
type ingestion struct {
	name    string
	files   []string
	source  fileio.SourceOptions
	create  bool
	options catalog.IngestOptions
}

// land opens the files and the table they go to, and ingests. Without a schema of their own the files are read by
// the table's; with --create a missing table gets the files' schema, with --unknown-fields extend a table that is
// there gets the columns that it lacks.
func (a *app) land(ctx context.Context, what ingestion) error {
	for {
		t, err := a.ingestTarget(ctx, what.name, what.create)
		if err != nil {
			return err
		}
		err = a.landIn(ctx, t, what)
		made := t == nil && (errors.Is(err, catalog.ErrExists) || errors.Is(err, catalog.ErrConflict))
		if !made || slices.Contains(what.files, "-") {
			return err
		}
		// Another writer made the table meanwhile: it is there now, and the files can be read again.
	}
}

// ingestTarget is the table, or nil for one to be created.
func (a *app) ingestTarget(ctx context.Context, name string, create bool) (*catalog.Table, error) {
	access := catalog.Existing
	if create {
		access = catalog.ReadWrite
	}
	t, err := a.openTable(ctx, name, access)
	if create && errors.Is(err, catalog.ErrNotFound) {
		return nil, nil
	}
	return t, err
}

// landIn ingests into a table, or into one that comes into being with the rows if t is nil.
func (a *app) landIn(ctx context.Context, t *catalog.Table, what ingestion) error {
	bar, told := a.inputBar("ingest", "B")
	what.source.Progress = told
	src, err := a.openFor(ctx, t, what.files, what.source)
	if err != nil {
		return err
	}
	defer src.Close()
	o := what.options
	if src, err = gatherGroups(src, o.Pack); err != nil {
		return err
	}
	if err := convert.KeepSchema(fileio.OriginalSchema(src), &o.Properties); err != nil {
		return err
	}
	started := time.Now()
	var in *catalog.IngestResult
	if t != nil {
		in, err = t.Ingest(ctx, src, o)
	} else if n, nameErr := catalog.ParseName(what.name); nameErr == nil {
		create := catalog.CreateOptions{CreateNamespace: true}
		if err := create.KeepArrow(fileio.OriginalSchema(src)); err != nil {
			return err
		}
		t, in, err = a.tables.IngestNew(ctx, n, src, create, o)
	} else {
		err = nameErr
	}
	if err != nil {
		return err
	}
	bar.Finish()
	return a.printIngested(t, in, time.Since(started))
}

// openFor opens files whose records go to a table (nil: one that is not there yet).
func (a *app) openFor(ctx context.Context, t *catalog.Table, files []string, o fileio.SourceOptions) (fileio.Source, error) {
	o.NullsAsText = true // no table has a column without values
	if t != nil {
		if err := checkColumns(t, o); err != nil {
			return nil, asUsage(err, fileio.ErrColumn)
		}
		if o.Schema == nil {
			o.Schema = t.Schema()
		}
	}
	src, err := a.openSource(ctx, files, o)
	if t == nil || err != nil || o.UnknownFields != fileio.ExtendByUnknown {
		return src, err
	}
	if err := t.AddColumns(ctx, src.Schema()); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	if slices.Contains(files, fileio.Stdin) || sameTypes(src.Schema().Fields, t.Schema().Fields) {
		return src, nil
	}
	// Another writer added a column of the same name and another type: the files are read by it, as if they had come later.
	if err := src.Close(); err != nil {
		return nil, err
	}
	o.Schema = t.Schema()
	return a.openSource(ctx, files, o)
}

// checkColumns refuses types of single columns that would have no effect: the table has such a column with another type, or has none.
func checkColumns(t *catalog.Table, o fileio.SourceOptions) error {
	fields := t.Schema().Fields
	for _, c := range o.Types {
		i := slices.IndexFunc(fields, func(f *schema.Node) bool { return f.Name == c.Name })
		switch {
		case i < 0 && o.UnknownFields == fileio.ExtendByUnknown: // it is added with this type
		case i < 0:
			return fmt.Errorf("%w %q: the table has no such column: --unknown-fields extend adds it", fileio.ErrColumn, c.Name)
		case !sameTypes([]*schema.Node{c}, fields):
			return fmt.Errorf("%w %q: the table has it with type %s, which is used", fileio.ErrColumn, c.Name, fields[i].TypeName())
		}
	}
	return nil
}

// sameTypes reports whether fields have the types of a table's fields of the same names.
func sameTypes(fields, table []*schema.Node) bool {
	byName := make(map[string]*schema.Node, len(table))
	for _, n := range table {
		byName[n.Name] = n
	}
	return !slices.ContainsFunc(fields, func(f *schema.Node) bool {
		n := byName[f.Name]
		return n != nil && (f.TypeName() != n.TypeName() || !sameTypes(f.Children, n.Children))
	})
}

// indexesText is what the indexes take beside the data, "" for none.
func indexesText(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf(" and %s of indexes", progress.Bytes(bytes))
}

// printIngested reports what was added.
func (a *app) printIngested(t *catalog.Table, in *catalog.IngestResult, took time.Duration) error {
	if a.json {
		return a.printJSON(in)
	}
	if in.Before {
		a.printf("%s: this job was committed before, in snapshot %d; nothing was added\n", t.Name(), in.SnapshotID)
		return nil
	}
	replaced := ""
	if in.Replaced > 0 {
		replaced = fmt.Sprintf(", replacing %s of the table", plural.Count(in.Replaced, "row"))
	}
	a.printf("%s: %s in %s%s, %s stored%s, snapshot %d, %s\n", t.Name(), plural.Count(in.Rows, "row"), plural.Count(len(in.Shards), "shard"), replaced,
		progress.Bytes(in.Bytes), indexesText(in.IndexBytes), in.SnapshotID, took.Round(time.Millisecond))
	return nil
}
