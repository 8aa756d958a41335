package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/shardfmt/foreign"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// sourceFlags say how files are read; shard write, ingest and table create share them.
type sourceFlags struct {
	format, schema, unknown, guidOrder, comma string
	inferRows                                 int
	noHeader                                  bool
}

func (f *sourceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "format of the files: ndjson, csv, parquet, arrow, lance, cole or layer (default: by their names)")
	flags.StringVar(&f.schema, "schema", "", "schema: a file (JSON or YAML) or the text itself (default: inferred)")
	flags.StringVar(&f.unknown, "unknown-fields", "error", "a field that the schema lacks: error, extend or drop")
	flags.IntVar(&f.inferRows, "infer-rows", foreign.DefaultInferRows, "records that inference looks at")
	flags.BoolVar(&f.noHeader, "no-header", false, "CSV files have no header line")
	flags.StringVar(&f.comma, "comma", "", "separator of CSV fields (default: a comma, a tab for .tsv)")
	flags.StringVar(&f.guidOrder, "guid-order", "rfc", "bytes that the text of a guid stands for: rfc or microsoft")
}

// options turns the flags into options of a source.
func (f *sourceFlags) options(a *app) (foreign.SourceOptions, error) {
	o := foreign.SourceOptions{InferRows: f.inferRows, NoHeader: f.noHeader, Stdin: a.stdin, Warn: a.warn}
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
	if len(f.comma) > 1 {
		return o, usagef("invalid argument %q for --comma: one byte", f.comma)
	}
	if f.comma != "" {
		o.Comma = f.comma[0]
	}
	o.Schema, err = readSchema(f.schema)
	return o, err
}

func inputFormat(name string) (foreign.Format, error) {
	switch f := foreign.Format(name); f {
	case "", foreign.NDJSON, foreign.CSV, foreign.Parquet, foreign.Arrow, foreign.Lance, foreign.COLE, foreign.Layer:
		return f, nil
	}
	return "", usagef("invalid argument %q for --format: ndjson, csv, parquet, arrow, lance, cole or layer", name)
}

func unknownFields(name string) (foreign.UnknownFields, error) {
	switch u := foreign.UnknownFields(name); u {
	case foreign.ErrorOnUnknown, foreign.ExtendByUnknown, foreign.DropUnknown:
		return u, nil
	}
	return "", usagef("invalid argument %q for --unknown-fields: error, extend or drop", name)
}

func guidOrder(name string) (foreign.GuidOrder, error) {
	switch g := foreign.GuidOrder(name); g {
	case foreign.RFCOrder, foreign.MicrosoftOrder:
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

// openSource opens the files as one stream of records.
func (a *app) openSource(ctx context.Context, files []string, f *sourceFlags) (foreign.Source, error) {
	o, err := f.options(a)
	if err != nil {
		return nil, err
	}
	return foreign.OpenSource(ctx, a.client, files, o)
}
