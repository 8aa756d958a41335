package main

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/fileio/sysfield"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// shardFlags are those of writing shards; shard write and ingest share them.
type shardFlags struct {
	profile, creationTime, layout string
	stripeRows                    int
	bloom                         []string
	bags                          propertyFlags
	sparseUnions                  bool
	pack                          []string
	indexes                       indexFlags
	opaque, encodings, entries    []string
	// internal are the internal fields to add.
	internal sysfield.Options
}

func (f *shardFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.profile, "profile", shardfmt.Balanced.String(), "plain, minimal-compression, balanced, high-compression or minimal-size")
	flags.IntVar(&f.stripeRows, "stripe-rows", 0, "maximum number of rows per stripe (default 1048576)")
	flags.StringVar(&f.creationTime, "creation-time", "", "creation time of the records, RFC 3339 (default: now)")
	flags.StringArrayVar(&f.bloom, "bloom", nil, "Bloom filter of a column: COL or COL:FPP; a name that contains a colon goes in double quotes (repeatable)")
	f.indexes.add(flags, "every stripe")
	flags.StringArrayVar(&f.pack, "pack", nil, "store fields that are read together in one place, so that a record of all of them is one request: GROUP=a,b,c, or GROUP for all fields of a struct (repeatable; default: none). GROUP is a struct and a, b, c fields of it, or columns that become a new struct GROUP. Readers without support for packed groups refuse it")
	flags.StringSliceVar(&f.opaque, "opaque-dictionary", nil,
		"compress the blocks of a field of byte strings with a shared Zstd dictionary; readers may refuse it (repeatable; default: none)")
	flags.StringArrayVar(&f.entries, "dictionary-entries", nil,
		"start a new value dictionary for a field of byte strings after N distinct values, so that lookups read small ones: COL=N (repeatable; default: one dictionary per stripe). Readers that support one dictionary per field refuse it")
	flags.StringArrayVar(&f.encodings, "also-encode", nil,
		"store a field in a second encoding, for readers that cannot read the first one or find it damaged: COL=PROFILE (repeatable, in order of priority)")
	flags.StringVar(&f.layout, "layout", shardfmt.TwoLevel.String(), "two-level, single or auto (single below 8 MiB)")
	f.bags.add(flags)
	flags.BoolVar(&f.sparseUnions, "sparse-unions", false, "store union variants densely with offsets: smaller, but fewer readers support it")
	flags.BoolVar(&f.internal.IngestionTime, "ingestion-time", false, "add a system column with the ingestion time")
	flags.BoolVar(&f.internal.RecordID, "record-id", false, "add a system column with a unique ID per row")
}

// options turns the flags into options of a shard writer.
func (f *shardFlags) options() (shardfmt.WriterOptions, error) {
	var o shardfmt.WriterOptions
	var err error
	if err = o.Profile.Set(f.profile); err != nil {
		return o, usageError{err}
	}
	if f.stripeRows < 0 {
		return o, usagef("invalid argument %d for --stripe-rows", f.stripeRows)
	}
	o.StripeRows = f.stripeRows
	if f.creationTime != "" {
		ticks, _, err := literal.ParseDateTime(f.creationTime)
		if err != nil {
			return o, usagef("--creation-time: %w", err)
		}
		o.CreationMin, o.CreationMax = uint64(ticks), uint64(ticks)
	}
	if err = o.Layout.Set(f.layout); err != nil {
		return o, usageError{err}
	}
	if err = f.bags.set(&o); err != nil {
		return o, err
	}
	o.SparseUnions = f.sparseUnions
	f.internal.Now = literal.Ticks(time.Now())
	if o.Indexes, err = f.indexes.specs(); err != nil {
		return o, err
	}
	o.OpaqueDictionaries = f.opaque
	if o.DictionaryEntries, err = dictionaryEntries(f.entries); err != nil {
		return o, err
	}
	if o.Encodings, err = furtherEncodings(f.encodings); err != nil {
		return o, err
	}
	if o.Pack, err = packedGroups(f.pack); err != nil {
		return o, err
	}
	o.Bloom, err = bloomFields(f.bloom)
	return o, err
}

// cutColumn splits COL SEP REST. A column in double quotes may hold anything, as in a selection; without them the last separator counts. The column is a path.
func cutColumn(flag string, sep byte) (column, rest string, found bool) {
	if strings.HasPrefix(flag, `"`) {
		quoted := false
		for i := range len(flag) {
			switch {
			case flag[i] == '"':
				quoted = !quoted
			case flag[i] == sep && !quoted:
				return pathOf(flag[:i]), flag[i+1:], true
			}
		}
		return pathOf(flag), "", false
	}
	if i := strings.LastIndexByte(flag, sep); i >= 0 {
		return flag[:i], flag[i+1:], true
	}
	return flag, "", false
}

// pathOf is the path that a selection of one column has, "" for another selection.
func pathOf(selection string) string {
	if paths := schema.ParsePaths(selection); len(paths) == 1 {
		return paths[0]
	}
	return ""
}

// dictionaryEntries reads COL=N.
func dictionaryEntries(flags []string) (map[string]int, error) {
	out := map[string]int{}
	for _, flag := range flags {
		column, count, _ := cutColumn(flag, '=')
		n, err := strconv.Atoi(count)
		if column == "" || err != nil || n < 1 {
			return nil, usagef("--dictionary-entries %s: expected COL=N with N of at least 1", flag)
		}
		out[column] = n
	}
	return out, nil
}

// furtherEncodings reads COL=PROFILE.
func furtherEncodings(flags []string) (map[string][]shardfmt.Profile, error) {
	out := map[string][]shardfmt.Profile{}
	for _, flag := range flags {
		column, profile, ok := cutColumn(flag, '=')
		if !ok || column == "" {
			return nil, usagef("--also-encode %s: expected COL=PROFILE", flag)
		}
		var p shardfmt.Profile
		err := p.Set(profile)
		if err != nil {
			return nil, usagef("--also-encode %s: %w", flag, err)
		}
		out[column] = append(out[column], p)
	}
	return out, nil
}

// packedGroups reads GROUP[=a,b,c].
func packedGroups(flags []string) (map[string][]string, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	out := map[string][]string{}
	for _, flag := range flags {
		var name, list string
		var named bool
		if strings.HasPrefix(flag, `"`) {
			name, list, named = cutColumn(flag, '=')
		} else {
			name, list, named = strings.Cut(flag, "=")
		}
		if _, twice := out[name]; twice || name == "" || named && list == "" {
			return nil, usagef("--pack %s: expected GROUP or GROUP=a,b,c, each group once", flag)
		}
		out[name] = nil
		if named {
			for _, path := range schema.ParsePaths(list) {
				out[name] = append(out[name], strings.Join(schema.SplitPath(path), "."))
			}
		}
	}
	return out, nil
}

// gatherGroups gathers the columns of packed groups that are not structs yet.
func gatherGroups(src fileio.Source, groups map[string][]string) (fileio.Source, error) {
	names := map[string][]string{}
	for path, members := range groups {
		if parts := schema.SplitPath(path); len(parts) == 1 {
			names[parts[0]] = members
		}
	}
	g, err := fileio.Group(src, names)
	if err != nil {
		return src, usagef("--pack: %w", err)
	}
	return g, nil
}

// bloomFields reads COL[:FPP].
func bloomFields(flags []string) (map[string]float64, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	out := map[string]float64{}
	for _, flag := range flags {
		column, text, ok := cutColumn(flag, ':')
		rate := 0.0
		if ok {
			var err error
			if rate, err = strconv.ParseFloat(text, 64); err != nil || rate <= 0 || rate >= 1 {
				return nil, usagef("--bloom %s: expected a rate between 0 and 1, after a column, which is in double quotes if it has a colon", flag)
			}
		}
		if column == "" {
			return nil, usagef("--bloom %s: expected COL or COL:FPP", flag)
		}
		out[column] = rate
	}
	return out, nil
}

func (a *app) shardWriteCommand() *cobra.Command {
	var in sourceFlags
	var out shardFlags
	var wire string
	var over externalFlags
	cmd := &cobra.Command{
		Use:   "write OUT.amudai.shard FILE...",
		Short: "Write files as one shard",
		Example: `  shardcat shard write a.amudai.shard a.ndjson
  shardcat shard write logs.amudai.shard logs.ndjson --text-index message --hash-index trace_id
  shardcat shard write a.amudai.shard a.ndjson --wire draft
  shardcat shard write a.amudai.shard a.csv --pack pos=x,y,z
  shardcat shard write a.amudai.shard a.csv --dictionary-entries host=4096
  shardcat shard write a.amudai.shard a.csv --property origin=web --field-property price:unit=EUR
  shardcat shard write a.amudai.shard a.csv --schema "id: Int64, t: DateTime" --profile high-compression
  shardcat shard write lake.amudai.shard year=2024/*.parquet --external-parquet --bloom trace_id`,
		Long: "Write files as one shard. Files are paths, URLs, folders, patterns or - for standard input; gzip and zstd are decompressed.",
		Args: atLeast(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := out.options()
			if err != nil {
				return err
			}
			if err = o.Wire.Set(wire); err != nil {
				return usageError{err}
			}
			if over.parquet && o.Wire != shardfmt.CurrentWire {
				return usagef("--wire %s can't be used with --external-parquet: such roots are written on the current wire", wire)
			}
			if over.parquet {
				return a.writeExternal(cmd, args[0], args[1:], o, over)
			}
			if err := over.unused(); err != nil {
				return err
			}
			read, err := in.options(a)
			if err != nil {
				return err
			}
			if in.dryRun {
				return a.dryRun(cmd.Context(), args[1:], read)
			}
			return a.writeShard(cmd.Context(), args[0], shardRecords{args[1:], read, out.internal}, o)
		},
	}
	in.add(cmd)
	out.add(cmd)
	over.add(cmd)
	cmd.Flags().StringVar(&wire, "wire", "current", "wire format of the metadata: current, which the reference implementation reads, or draft, as the specification prints it")
	return cmd
}

// shardRecords are the records of files, and the fields that are added to them.
type shardRecords struct {
	files []string
	read  fileio.SourceOptions
	add   sysfield.Options
}

// writeShard copies records to a new shard and reports what it wrote.
func (a *app) writeShard(ctx context.Context, out string, in shardRecords, o shardfmt.WriterOptions) error {
	url, err := a.mount(ctx, out)
	if err != nil {
		return err
	}
	bar, told := a.inputBar("write", "B")
	in.read.Progress = told
	src, err := a.openSource(ctx, in.files, in.read)
	if err != nil {
		return err
	}
	defer src.Close()
	if src, err = gatherGroups(src, o.Pack); err != nil {
		return err
	}
	if err := convert.KeepSchema(fileio.OriginalSchema(src), &o.Properties); err != nil {
		return err
	}
	src = sysfield.Source(src, in.add)
	s := src.Schema()
	s.Number()
	if err := o.Indexes.Check(s); err != nil {
		return usageError{err}
	}
	started := time.Now()
	w, err := shardfmt.NewWriter(ctx, a.client, url, s, o)
	if err != nil {
		return err
	}
	if err = copyRows(ctx, w, src); err != nil {
		w.Abort(ctx)
		return err
	}
	bar.Finish()
	written, err := w.Close(ctx)
	if err != nil {
		w.Abort(ctx)
		return err
	}
	return a.printWritten(written, time.Since(started))
}

// copyRows moves all batches of a source into a writer.
func copyRows(ctx context.Context, w *shardfmt.Writer, src fileio.Source) error {
	for {
		batch, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = w.Write(ctx, batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
}

// writtenJSON is the JSON form of a written shard.
type writtenJSON struct {
	URL     string   `json:"url"`
	Records uint64   `json:"records"`
	Bytes   int64    `json:"size_bytes"`
	Root    int64    `json:"root_bytes"`
	Objects []string `json:"objects"`
}

func (a *app) printWritten(w *shardfmt.Written, took time.Duration) error {
	out := writtenJSON{URL: w.URL, Records: w.Records, Root: w.Size}
	for _, o := range w.Objects {
		out.Bytes += o.Size
		out.Objects = append(out.Objects, o.URL)
	}
	if a.json {
		return a.printJSON(out)
	}
	a.printf("%s: %s, %s in %s, %s\n", out.URL, plural.Count(out.Records, "record"), plural.Count(out.Bytes, "byte"), plural.Count(len(out.Objects), "object"), took.Round(time.Millisecond))
	return nil
}
