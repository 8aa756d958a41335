package main

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// outputFormats are the names that --format takes where rows are printed.
var outputFormats = map[string]fileio.Format{
	"table": fileio.Table, "ndjson": fileio.NDJSON, "csv": fileio.CSV, "arrow": fileio.Arrow,
	"arrows": fileio.ArrowStream, "parquet": fileio.Parquet,
}

// formatUsage is the help text of such a flag.
const formatUsage = "`format` of the rows: table, ndjson, csv, arrow (IPC file), arrows (IPC stream) or parquet (default: table on a terminal, else ndjson)"

// outputFormat is the format of rows on stdout: as requested, else a table for a person and NDJSON for a program.
func (a *app) outputFormat(name string) (fileio.Format, error) {
	f, ok := outputFormats[name]
	switch {
	case name == "" && a.stdoutIsTerminal() && !a.json:
		return fileio.Table, nil
	case name == "":
		return fileio.NDJSON, nil
	case !ok:
		return "", usagef("invalid argument %q for --format: table, ndjson, csv, arrow, arrows or parquet", name)
	case a.json && f != fileio.NDJSON:
		return "", usagef("--json prints rows as ndjson and can't be used with --format %s", name)
	case a.stdoutIsTerminal() && (f == fileio.Arrow || f == fileio.ArrowStream || f == fileio.Parquet):
		return "", usagef("--format %s can't be printed on a terminal; redirect the output to a file", name)
	}
	return f, nil
}

// rowFlags are the flags of how values are written.
type rowFlags struct {
	timeUnit, guidAs, guidOrder, dynamicAs, decimalAs string
	all                                               bool
}

const (
	// terminalRows is how many rows a terminal gets without a number: what one can look through.
	terminalRows = 1000
	// pageMargin is how many lines of a page are no rows: the names, the rule below them, the prompt.
	pageMargin = 3
)

func (f *rowFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.all, "all", false, "print all rows and columns on a terminal (default: the first 1000 rows and the columns that fit)")
	f.addTypes(cmd)
}

// addTypes declares the flags that matter to files too.
func (f *rowFlags) addTypes(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.timeUnit, "time-unit", "ns", "time unit in arrow and parquet: ns, us, ms or s")
	cmd.Flags().StringVar(&f.guidAs, "guid-as", "uuid", "type of guids in arrow and parquet: uuid or string")
	cmd.Flags().StringVar(&f.dynamicAs, "dynamic-as", "json", "type of dynamic values in arrow and parquet: json or variant")
	cmd.Flags().StringVar(&f.decimalAs, "decimal-as", "text", "type of decimals without a declared scale in arrow and parquet: text, or precision and scale such as 18,2")
	cmd.Flags().StringVar(&f.guidOrder, "guid-order", string(fileio.RFCOrder), "byte order of guids in text: rfc or microsoft")
}

// options turns the flags into options of a sink.
// columnarFlags have a meaning for formats with types of Arrow only.
var columnarFlags = []string{"time-unit", "guid-as", "dynamic-as", "decimal-as"}

// check refuses flags that a format has no use for.
func (f *rowFlags) check(cmd *cobra.Command, format fileio.Format) error {
	if i := slices.IndexFunc(columnarFlags, cmd.Flags().Changed); i >= 0 && !format.HoldsBatches() {
		return usagef("--%s applies to arrow, arrows and parquet, but the output is %s", columnarFlags[i], format)
	}
	if named := cmd.Flags().Lookup("format"); f.all && format != fileio.Table && named != nil && named.Changed {
		return usagef("--all needs --format table; %s is always complete", format)
	}
	return nil
}

func (f *rowFlags) options(a *app) (o fileio.SinkOptions, err error) {
	width, height := a.terminalSize()
	o = fileio.SinkOptions{Width: width, PageRows: max(0, height-pageMargin), Whole: f.all, Warn: a.warn, TimeUnit: f.timeUnit, GuidAsString: f.guidAs == "string"}
	if !slices.Contains([]string{"ns", "us", "ms", "s"}, f.timeUnit) {
		return o, usagef("invalid argument %q for --time-unit: ns, us, ms or s", f.timeUnit)
	}
	if f.guidAs != "string" && f.guidAs != "uuid" {
		return o, usagef("invalid argument %q for --guid-as: uuid or string", f.guidAs)
	}
	if f.dynamicAs != "json" && f.dynamicAs != "variant" {
		return o, usagef("invalid argument %q for --dynamic-as: json or variant", f.dynamicAs)
	}
	o.Variants = f.dynamicAs == "variant"
	if o.Decimal, err = decimalType(f.decimalAs); err != nil {
		return o, err
	}
	o.GuidOrder, err = guidOrder(f.guidOrder)
	return o, err
}

// original is the Arrow schema that what is printed came with, with times in the unit that was requested, if one was.
func (f *rowFlags) original(cmd *cobra.Command, s *arrow.Schema) (*arrow.Schema, error) {
	if !cmd.Flags().Changed("time-unit") {
		return s, nil
	}
	return arrowtype.InUnit(s, f.timeUnit)
}

// decimalType reads --decimal-as; text is nil.
func decimalType(as string) (*arrow.Decimal128Type, error) {
	if as == "text" {
		return nil, nil
	}
	t := &arrow.Decimal128Type{}
	digits, scale, ok := strings.Cut(as, ",")
	precision, err := strconv.ParseInt(digits, 10, 32)
	behind, scaleErr := strconv.ParseInt(scale, 10, 32)
	t.Precision, t.Scale = int32(precision), int32(behind)
	if !ok || err != nil || scaleErr != nil || precision < 1 || precision > 38 || behind < 0 || behind > precision {
		return nil, usagef("invalid argument %q for --decimal-as: must be text, or precision (1 to 38) and scale, such as 18,2", as)
	}
	return t, nil
}

// printing is how rows are printed, and which: without the first offset ones, and at most limit of them (negative: all, or as many as a terminal
// gets unasked).
type printing struct {
	format        fileio.Format
	offset, limit int64
	sink          fileio.SinkOptions
}

// printRows writes batches to stdout and returns how many rows were written.
func (a *app) printRows(ctx context.Context, s *schema.Schema, rows iter.Seq2[arrow.RecordBatch, error], p printing) (int64, error) {
	capped := p.limit < 0 && p.format == fileio.Table && a.stdoutIsTerminal() && !p.sink.Whole
	if capped {
		p.limit = terminalRows
	}
	out := bufio.NewWriterSize(a.stdout, 1<<16)
	sink, err := fileio.NewSink(p.format, out, s, p.sink)
	if err != nil {
		return 0, err
	}
	written, more, err := writeRows(ctx, sink, rows, p.offset, p.limit)
	if closeErr := sink.Close(); err == nil {
		err = closeErr
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if capped && more && err == nil {
		a.warn(fmt.Sprintf("printed the first %s; --all prints all, --limit N prints N", plural.Count(terminalRows, "row")))
	}
	return written, err
}

// writeRows is printRows without the frame; more means that the limit left out rows that were read.
func writeRows(ctx context.Context, sink fileio.Sink, rows iter.Seq2[arrow.RecordBatch, error], offset, limit int64) (written int64, more bool, err error) {
	if limit == 0 {
		return 0, false, nil
	}
	for batch, err := range rows {
		if err != nil {
			return written, false, err
		}
		if err := ctx.Err(); err != nil {
			return written, false, err
		}
		from := min(offset, batch.NumRows())
		offset -= from
		to := batch.NumRows()
		if limit >= 0 {
			to = min(to, from+limit-written)
		}
		more = to < batch.NumRows()
		if from < to {
			if err := sink.Write(batch.NewSlice(from, to)); err != nil {
				return written, more, err
			}
			written += to - from
		}
		if limit >= 0 && written >= limit {
			break
		}
	}
	return written, more, nil
}
