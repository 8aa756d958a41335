package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// kindOf reports the format of a file that a shard command was given. A file of no known format is read as a shard, whose reader
// reports what is wrong with it.
func (a *app) kindOf(ctx context.Context, url string) (fileio.Format, error) {
	f, err := convert.Detect(ctx, a.client, url)
	if errors.Is(err, fileio.ErrUnknownFormat) {
		return convert.Amudai, nil
	}
	return f, err
}

// fileRows are the settings for which records of a file that is not a shard are printed, and how.
type fileRows struct {
	kind          fileio.Format
	format        fileio.Format
	columns       []string
	where         string
	offset, limit int64
	settings      fileformat.Settings
	sink          fileio.SinkOptions
	cmd           *cobra.Command
	values        *rowFlags
	dialect       *dialectFlags
}

// catFile prints records of a file that is not a shard.
func (a *app) catFile(ctx context.Context, url string, o fileRows) error {
	source := fileio.SourceOptions{Format: o.kind, Settings: o.settings, MaxMemory: a.maxMemory, Warn: a.warn, Columns: o.columns}
	if o.where != "" {
		var err error
		if source.Where, err = filter.Parse(o.where); err != nil {
			return usageError{err}
		}
	}
	if err := o.dialect.options(a, &source); err != nil {
		return err
	}
	if err := o.dialect.fit(o.kind, source); err != nil {
		return err
	}
	rows, err := fileio.OpenRows(ctx, a.client, url, source)
	if err != nil {
		return asUsage(err, schema.ErrNoField)
	}
	defer rows.Close()
	if o.sink.Original, err = o.values.original(o.cmd, rows.Original()); err != nil {
		return err
	}
	_, err = a.printRows(ctx, rows.Schema(), rows.All(ctx), printing{o.format, o.offset, o.limit, o.sink})
	return err
}

// inspectFile describes a file that is not a shard.
func (a *app) inspectFile(cmd *cobra.Command, url string, kind fileio.Format, detail int, f *formatFlags) error {
	settings, err := f.of(kind)
	if err != nil {
		return err
	}
	x, err := kind.Inspect(cmd.Context(), a.client, url, detail, settings)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(x)
	}
	x.Print(a.stdout)
	return nil
}

// verifyFile checks a file that is not a shard.
func (a *app) verifyFile(cmd *cobra.Command, url string, kind fileio.Format, f *formatFlags) error {
	settings, err := f.of(kind)
	if err != nil {
		return err
	}
	bar, told := a.inputBar("verify", "B")
	r, err := kind.Verify(cmd.Context(), a.client, url, settings, told)
	bar.Finish()
	if err != nil {
		return err
	}
	return a.printVerified(url, r)
}
