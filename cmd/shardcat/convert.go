package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
)

func (a *app) convertCommand() *cobra.Command {
	var from, to, schemaText string
	var o convert.Options
	var settings formatFlags
	var values rowFlags
	var dialect dialectFlags
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Convert a file to another format and report what is lost",
		Long: `Convert a file to another format and report what is lost. The formats are ` + formatNames() + `.
A name OUT that ends in .lance/ becomes a Lance dataset, a folder that must not exist yet.
A value that OUT cannot represent exactly is refused with its record; --allow-lossy converts and counts it. Losses of a
column's type are printed; --strict refuses them too.`,
		Example: `  shardcat convert sales.parquet sales.col
  shardcat convert events.ndjson s3://bucket/events.amudai.shard --strict
  shardcat convert sales.parquet s3://bucket/sales.lance/`,
		Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.From, err = conversionFormat("from", from); err != nil {
				return err
			}
			if o.To, err = conversionFormat("to", to); err != nil {
				return err
			}
			if to := cmp.Or(o.To, convert.Named(args[1])); to != "" {
				if err := values.check(cmd, to); err != nil {
					return err
				}
			}
			if o.Sink, err = values.options(a); err != nil {
				return err
			}
			if cmd.Flags().Changed("time-unit") {
				o.TimeUnit = o.Sink.TimeUnit
			}
			o.Source.GuidOrder, o.Sink.Warn = o.Sink.GuidOrder, nil
			if o.Source.Settings, o.Sink.Settings, err = settings.values(); err != nil {
				return err
			}
			if o.Source.Schema, err = readSchema(schemaText); err != nil {
				return err
			}
			if err := dialect.options(a, &o.Source); err != nil {
				return err
			}
			if len(o.Source.Types) > 0 && schemaText != "" {
				return errColumnOfSchema
			}
			o.MaxMemory, o.Source.MaxMemory = a.maxMemory, a.maxMemory
			if o.From == "" {
				if o.From, err = a.formatOf(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			if err := dialect.fit(o.From, o.Source); err != nil {
				return err
			}
			bar, told := a.inputBar("convert", inputUnit(o.From))
			o.Progress = told
			r, err := convert.File(cmd.Context(), a.client, args[0], args[1], o)
			bar.Finish()
			if err != nil {
				return asUsage(err, convert.ErrOptions)
			}
			a.warnOfReading(r.EncodingsSkipped, r.Contradictions, "shard verify")
			return a.printConverted(r)
		},
	}
	settings.add(cmd, true)
	dialect.add(cmd, true)
	values.addTypes(cmd)
	flags := cmd.Flags()
	flags.StringVar(&schemaText, "schema", "", "schema of text input: a JSON or YAML file, or inline text (default: inferred)")
	flags.StringVar(&from, "from", "", "format of IN (default: detected)")
	flags.StringVar(&to, "to", "", "format of OUT (default: by file extension)")
	flags.BoolVar(&o.Strict, "strict", false, "fail on any loss, including types, time zones and encodings (default: report losses of types)")
	flags.BoolVar(&o.AllowLossy, "allow-lossy", false, "convert values that OUT cannot represent, and count them (default: fail)")
	return cmd
}

// formatNames lists what convert reads and writes.
func formatNames() string {
	names := []string{}
	for _, f := range convert.Formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// formatOf reports the format of a file by its name or its bytes.
func (a *app) formatOf(ctx context.Context, file string) (fileio.Format, error) {
	url, err := a.mount(ctx, file)
	if err != nil {
		return "", err
	}
	return convert.Detect(ctx, a.client, strings.TrimSuffix(url, "/"))
}

// inputUnit is what the progress of reading a file counts.
func inputUnit(f fileio.Format) string {
	if f == convert.Amudai {
		return "rows"
	}
	return "B"
}

func conversionFormat(flag, name string) (fileio.Format, error) {
	f := fileio.Format(name)
	if name != "" && !slices.Contains(convert.Formats, f) {
		return "", usagef("invalid argument %q for --%s: %s", name, flag, formatNames())
	}
	return f, nil
}

func (a *app) printConverted(r *convert.Result) error {
	if a.json {
		return a.printJSON(r)
	}
	for _, n := range r.Losses {
		where := ""
		if n.Field != "" {
			where = "field " + n.Field + ": "
		}
		a.printf("lost: %s%s", where, n.What)
		if n.Count > 0 {
			a.printf(" (%s)", plural.Count(n.Count, "value"))
		}
		a.printf("\n")
	}
	a.printf("%s: %s, %s to %s\n", r.Out, plural.Count(r.Rows, "row"), r.From, r.To)
	return nil
}

// formatFlags are the options that the formats declare, one flag for each name.
type formatFlags struct {
	cmd  *cobra.Command
	text map[string]*string
}

// add declares the options of reading and, for a command that writes, those of writing.
func (f *formatFlags) add(cmd *cobra.Command, write bool) {
	f.cmd, f.text = cmd, map[string]*string{}
	for _, format := range fileio.Files {
		for _, o := range format.Options {
			if (o.Read || write) && f.text[o.Name] == nil && cmd.Flags().Lookup(o.Name) == nil {
				f.text[o.Name] = settingFlag(cmd, o.Name, o.Doc, o.Bool)
			}
		}
	}
}

// of are the flags that were given for reading a file of one format.
func (f *formatFlags) of(kind fileio.Format) (fileformat.Settings, error) {
	read, _, err := f.values()
	if err != nil {
		return nil, err
	}
	return read, kind.CheckSettings(read)
}

// values are the flags that were given, for the formats to read.
func (f *formatFlags) values() (read, write fileformat.Settings, err error) {
	read, write = fileformat.Settings{}, fileformat.Settings{}
	for _, format := range fileio.Files {
		for _, o := range format.Options {
			if f.text[o.Name] == nil || !f.cmd.Flags().Changed(o.Name) {
				continue
			}
			if o.Read {
				read[o.Name] = *f.text[o.Name]
			}
			if o.Write {
				write[o.Name] = *f.text[o.Name]
			}
		}
	}
	return read, write, nil
}
