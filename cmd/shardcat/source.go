package main

import (
	"context"
	"os"
	"strings"
	_ "time/tzdata" // --time-zone knows its zones everywhere

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// sourceFlags are those of reading files; shard write and ingest share them.
type sourceFlags struct {
	format, schema, unknown, guidOrder string
	dryRun                             bool
	formats                            formatFlags
	dialect                            dialectFlags
}

func (f *sourceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.formats.add(cmd, false)
	flags.StringVar(&f.format, "format", "", "input format: ndjson, csv, parquet, arrow, lance, cole or layer (default: detected)")
	flags.StringVar(&f.schema, "schema", "", "schema: a JSON or YAML file, or inline text (default: inferred)")
	flags.StringVar(&f.unknown, "unknown-fields", "error", "handling of fields missing from the schema: error, extend or drop")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the inferred schema with examples without writing anything")
	f.dialect.add(cmd, true)
	flags.StringVar(&f.guidOrder, "guid-order", "rfc", "byte order of guids in text: rfc or microsoft")
}

// options turns the flags into options of a source.
func (f *sourceFlags) options(a *app) (fileio.SourceOptions, error) {
	o := fileio.SourceOptions{Stdin: a.stdin, MaxMemory: a.maxMemory, Warn: a.warn}
	var err error
	if o.Format, err = inputFormat(f.format); err != nil {
		return o, err
	}
	if o.UnknownFields, err = unknownFields(f.unknown); err != nil {
		return o, err
	}
	if o.GuidOrder, err = guidOrder(f.guidOrder); err != nil {
		return o, err
	}
	if err = f.dialect.options(a, &o); err != nil {
		return o, err
	}
	if f.dryRun {
		o.Reject = ignoring(o.Reject)
	}
	if len(o.Types) > 0 && f.schema != "" {
		return o, errColumnOfSchema
	}
	if o.Settings, _, err = f.formats.values(); err != nil {
		return o, err
	}
	if o.Schema, err = readSchema(f.schema); err != nil {
		return o, err
	}
	if err := o.Validate(); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// ignoring takes rejected records without a word, where they are rejected: of a pass that only looks at the types.
func ignoring(reject func(fileio.Rejected) error) func(fileio.Rejected) error {
	if reject == nil {
		return nil
	}
	return func(fileio.Rejected) error { return nil }
}

func inputFormat(name string) (fileio.Format, error) {
	switch f := fileio.Format(name); f {
	case "", fileio.NDJSON, fileio.CSV, fileio.Parquet, fileio.Arrow, fileio.Lance, fileio.COLE, fileio.Layer:
		return f, nil
	}
	return "", usagef("invalid argument %q for --format: ndjson, csv, parquet, arrow, lance, cole or layer", name)
}

func unknownFields(name string) (fileio.UnknownFields, error) {
	switch u := fileio.UnknownFields(name); u {
	case fileio.ErrorOnUnknown, fileio.ExtendByUnknown, fileio.DropUnknown:
		return u, nil
	}
	return "", usagef("invalid argument %q for --unknown-fields: error, extend or drop", name)
}

func guidOrder(name string) (fileio.GuidOrder, error) {
	switch g := fileio.GuidOrder(name); g {
	case fileio.RFCOrder, fileio.MicrosoftOrder:
		return g, nil
	}
	return "", usagef("invalid argument %q for --guid-order: rfc or microsoft", name)
}

// readSchema reads a schema from a file or, where there is none of that name, from the text itself.
func readSchema(text string) (*schema.Schema, error) {
	if text == "" {
		return nil, nil
	}
	data, err := os.ReadFile(text)
	if err == nil {
		text = string(data)
	} else if !strings.ContainsAny(text, ":{(") {
		return nil, usagef("--schema: %w", err)
	}
	s, err := schema.Parse(text)
	if err != nil {
		return nil, usagef("--schema: %w", err)
	}
	return s, nil
}

// openSource opens the files as one stream of records, and reports what was inferred of them.
func (a *app) openSource(ctx context.Context, files []string, o fileio.SourceOptions) (fileio.Source, error) {
	src, err := fileio.OpenSource(ctx, a.client, files, o)
	if err != nil {
		return nil, asUsage(err, fileio.ErrColumn)
	}
	if in := fileio.InferenceOf(src); !in.Given {
		const most = 60
		a.notes = in.Lines(most)
		if isTerminal(a.stderr) {
			a.tellNotes()
		}
	}
	return src, nil
}

// tellNotes prints the notes that wait: on a terminal what was inferred is printed before the work begins, elsewhere
// behind its success, so that a failure is one line.
func (a *app) tellNotes() {
	for _, line := range a.notes {
		a.warn(line)
	}
	a.notes = nil
}

// dryRun prints how the files would be read.
func (a *app) dryRun(ctx context.Context, files []string, o fileio.SourceOptions) error {
	src, err := fileio.OpenSource(ctx, a.client, files, o)
	if err != nil {
		return asUsage(err, fileio.ErrColumn)
	}
	defer src.Close()
	in := fileio.InferenceOf(src)
	if a.json {
		return a.printJSON(in)
	}
	for _, line := range in.Lines(-1) {
		a.printf("%s\n", line)
	}
	return nil
}
