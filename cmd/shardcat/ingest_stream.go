package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// streamFlags are the flags that make ingest commit as rows come, for ever, instead of once at the end.
type streamFlags struct {
	rows, bytes int64
	age         time.Duration
}

func (f *streamFlags) add(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&f.rows, "flush-rows", 0, "streaming: commit after this many rows (default: one commit at the end; 4194304 with another --flush flag)")
	sizeVar(cmd.Flags(), &f.bytes, "flush-bytes", 0, "streaming: commit after this many bytes (default: one commit at the end; 256MiB with another --flush flag)")
	cmd.Flags().DurationVar(&f.age, "flush-age", 0, "streaming: commit when the oldest buffered row reaches this age (default: one commit at the end; 1m with another --flush flag)")
}

// inferWait is how long inference waits for records: a part of the age at which they are committed, and short, so that a stream which
// stalls doesn't hold back what has come.
func (f *streamFlags) inferWait() time.Duration {
	const longest = 5 * time.Second
	if f.age <= 0 {
		return longest
	}
	return min(longest, f.age/2)
}

func (f *streamFlags) wanted() bool { return f.rows != 0 || f.bytes != 0 || f.age != 0 }

// streamed is what a stream added, printed when it ends.
type streamed struct {
	Rows      int64 `json:"rows"`
	Shards    int   `json:"shards"`
	Snapshots int   `json:"snapshots"`
}

// stream ingests until the input ends, with a commit at every flush. Records are read one by one, so that one that has
// come is never held back by the next.
func (a *app) stream(ctx context.Context, what ingestion, f *streamFlags) error {
	source := what.source
	if what.options.JobID != "" {
		return usagef("--job-id can't be used with --flush flags, because the rows of a flush depend on timing")
	}
	t, err := a.ingestTarget(ctx, what.name, what.create)
	if err != nil {
		return err
	}
	if t != nil && source.Schema == nil {
		source.Schema = t.Schema()
	}
	if f.age == 0 {
		f.age = time.Minute
	}
	source.BatchRows, source.NullsAsText, source.InferWait = 1, t == nil, f.inferWait()
	src, err := fileio.OpenSource(ctx, a.client, what.files, source)
	if err != nil {
		return err
	}
	defer src.Close()
	if t == nil {
		if t, err = a.createFor(ctx, what.name, src); err != nil {
			return err
		}
	}
	out := streamed{}
	w, err := t.NewWriter(ctx, src.Schema(), catalog.WriterOptions{
		Ingest: what.options, FlushRows: f.rows, FlushBytes: f.bytes, FlushAge: f.age,
		Flushed: func(in *catalog.IngestResult) {
			out.Rows, out.Shards, out.Snapshots = out.Rows+in.Rows, out.Shards+len(in.Shards), out.Snapshots+1
		},
	})
	if err != nil {
		return err
	}
	if f.age > 0 {
		// The first rows may have waited for inference; that counts towards their age.
		first := time.AfterFunc(f.age-source.InferWait, func() { w.Flush(ctx) })
		defer first.Stop()
	}
	err = pour(ctx, src, w)
	// What has come is committed even if the rest of the input can't be read.
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(out)
	}
	a.printf("%s: %s in %s, %s\n", t.Name(), plural.Count(out.Rows, "row"), plural.Count(out.Shards, "shard"), plural.Count(out.Snapshots, "snapshot"))
	return nil
}

// createFor creates a table for the rows of a source, or loads the one that another writer has just created.
func (a *app) createFor(ctx context.Context, name string, src fileio.Source) (*catalog.Table, error) {
	n, err := catalog.ParseName(name)
	if err != nil {
		return nil, err
	}
	o := catalog.CreateOptions{Schema: src.Schema(), CreateNamespace: true}
	if err := o.KeepArrow(fileio.OriginalSchema(src)); err != nil {
		return nil, err
	}
	t, err := a.tables.Create(ctx, n, o)
	if errors.Is(err, catalog.ErrExists) {
		return a.loadTable(ctx, name)
	}
	return t, err
}

func pour(ctx context.Context, src fileio.Source, w *catalog.Writer) error {
	for {
		b, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = w.Write(ctx, b)
		}
		if err != nil {
			return err
		}
	}
}
