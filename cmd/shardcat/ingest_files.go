package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/internal/progress"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

const (
	// oneCommitFiles is the most files that ingest lands in one commit by default.
	oneCommitFiles = 1000
	// workerMemory is what landing a part takes at most: two stripes and what reading holds.
	workerMemory = 256 << 20
)

// landParts lands many files in parts and reports whether it did: without --commit-files few files, and what can be read
// once only, are landed in one commit.
func (a *app) landParts(ctx context.Context, what ingestion, part int) (bool, error) {
	args, o := what.files, &what.options
	if slices.Contains(args, fileio.Stdin) {
		if part > 0 {
			return true, usagef("--commit-files can't be used with standard input: use the --flush flags")
		}
		return false, nil
	}
	if part == 0 && o.JobID == "" && len(o.StandardProperties) == 0 && len(args) <= oneCommitFiles && !slices.ContainsFunc(args, mayBeMany) {
		return false, nil // nothing is to be looked for
	}
	inputs, ok, err := fileio.FindInputs(ctx, a.client, args)
	if err != nil || !ok {
		return false, nil // reported by the reading of them
	}
	t, err := a.ingestTarget(ctx, what.name, what.create)
	if err != nil {
		return true, err
	}
	begun := false
	if t != nil && o.JobID != "" {
		if begun, err = t.HasFiles(ctx, o.JobID); err != nil {
			return true, err
		}
	}
	if part == 0 && len(inputs) <= oneCommitFiles && !begun {
		return false, nil
	}
	if t, err = a.partsTarget(ctx, t, what, inputs); err != nil {
		return true, err
	}
	return true, a.landFiles(ctx, t, what, inputs, part)
}

// mayBeMany distinguishes folders and patterns from files, by their names alone.
func mayBeMany(arg string) bool {
	_, named := fileio.FormatOf(arg)
	return !named || strings.HasSuffix(arg, "/") || strings.ContainsAny(arg, "*?[")
}

// partsTarget makes the table, or adds columns to it, as all files together require.
func (a *app) partsTarget(ctx context.Context, t *catalog.Table, what ingestion, inputs []fileio.Input) (*catalog.Table, error) {
	source := what.source
	extend := source.UnknownFields == fileio.ExtendByUnknown
	if t != nil && !extend {
		return t, nil
	}
	source.NullsAsText, source.Reject = true, ignoring(source.Reject)
	if t != nil && source.Schema == nil {
		source.Schema = t.Schema()
	}
	src, err := fileio.OpenInputs(ctx, a.client, inputs, source)
	if err != nil {
		return nil, asUsage(err, fileio.ErrColumn)
	}
	defer src.Close()
	if t != nil {
		return t, t.AddColumns(ctx, src.Schema())
	}
	n, err := catalog.ParseName(what.name)
	if err != nil {
		return nil, err
	}
	o := catalog.CreateOptions{Schema: src.Schema(), CreateNamespace: true}
	if err := o.KeepArrow(fileio.OriginalSchema(src)); err != nil {
		return nil, err
	}
	t, err = a.tables.Create(ctx, n, o)
	if !errors.Is(err, catalog.ErrExists) {
		return t, err
	}
	// Another writer created the table meanwhile.
	if t, err = a.ingestTarget(ctx, what.name, false); err != nil || !extend {
		return t, err
	}
	return t, t.AddColumns(ctx, src.Schema())
}

// landFiles lands the files of a table that is there.
func (a *app) landFiles(ctx context.Context, t *catalog.Table, what ingestion, inputs []fileio.Input, part int) error {
	source, o := what.source, what.options
	if err := checkColumns(t, source); err != nil {
		return asUsage(err, fileio.ErrColumn)
	}
	files, byURL := make([]catalog.InputFile, len(inputs)), make(map[string]fileio.Input, len(inputs))
	for i, in := range inputs {
		files[i] = catalog.InputFile{URL: in.URL, Size: in.Size}
		byURL[in.URL] = in
	}
	workers := int(min(int64(runtime.GOMAXPROCS(0)), max(1, a.maxMemory/workerMemory)))
	source.MaxMemory = a.maxMemory / int64(workers)
	source.NullsAsText, source.Reject = true, ignoring(source.Reject)
	if source.Schema == nil || source.UnknownFields == fileio.ExtendByUnknown {
		source.Schema, source.Types = t.Schema(), nil
	}
	if source.UnknownFields == fileio.ExtendByUnknown {
		source.UnknownFields = fileio.ErrorOnUnknown // the columns are there
	}
	bar := a.bar("ingest", "B", 0)
	started := time.Now()
	done, err := t.IngestFiles(ctx, files, catalog.FilesOptions{
		Ingest: o, PartFiles: part, Workers: workers,
		Begun: func(id string, bytes int64) {
			bar.Expect(bytes)
			if o.JobID == "" {
				a.warn("landing " + progress.Count(int64(len(files))) + " files in parts; to resume after a crash use --job-id " + id)
			}
		},
		Open: func(ctx context.Context, part []catalog.InputFile) (catalog.FileSource, error) {
			found := make([]fileio.Input, len(part))
			for i, f := range part {
				found[i] = byURL[f.URL]
			}
			mine, read := source, int64(0)
			mine.Progress = func(now, _ int64) { // by one goroutine for each part
				bar.Add(now - read)
				read = now
			}
			return fileio.OpenInputs(ctx, a.client, found, mine)
		},
	})
	if err != nil {
		return err
	}
	bar.Finish()
	return a.printFiles(t, done, time.Since(started))
}

// printFiles reports what was added.
func (a *app) printFiles(t *catalog.Table, in *catalog.IngestFilesResult, took time.Duration) error {
	if a.json {
		return a.printJSON(in)
	}
	a.printf("%s: %s of %s in %s and %s, %s stored, job %s, %s\n", t.Name(), plural.Count(in.Rows, "row"), plural.Count(in.Files-in.Before, "file"),
		plural.Count(in.Shards, "shard"), plural.Count(in.Snapshots, "snapshot"), progress.Bytes(in.Bytes), in.JobID, took.Round(time.Millisecond))
	if in.Before > 0 {
		a.printf("committed before: %s\n", plural.Count(in.Before, "file"))
	}
	if in.Unlisted > 0 {
		a.printf("added since the job started: %s; load them with another --job-id\n", plural.Count(in.Unlisted, "file"))
	}
	return nil
}
