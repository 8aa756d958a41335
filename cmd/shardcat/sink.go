package main

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/shardcat/shardcat/shardfmt/foreign"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// outputFormat is the format of rows on stdout: as asked, else a table for a person and NDJSON for a program.
func (a *app) outputFormat(name string) (foreign.Format, error) {
	switch f := foreign.Format(name); f {
	case foreign.Table, foreign.NDJSON, foreign.CSV, foreign.Arrow, foreign.Parquet:
		return f, nil
	case "":
		if a.stdoutIsTerminal() && !a.json {
			return foreign.Table, nil
		}
		return foreign.NDJSON, nil
	}
	return "", usagef("invalid argument %q for --format: table, ndjson, csv, arrow or parquet", name)
}

// rowFlags are the flags of how values are written.
type rowFlags struct{ timeUnit, guidAs, guidOrder string }

func (f *rowFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.timeUnit, "time-unit", "ns", "unit of times in arrow and parquet: ns, us, ms or s")
	cmd.Flags().StringVar(&f.guidAs, "guid-as", "uuid", "guids in arrow and parquet: uuid or string")
	cmd.Flags().StringVar(&f.guidOrder, "guid-order", string(foreign.RFCOrder), "byte order that the text of a guid stands for: rfc or microsoft")
}

// options turns the flags into options of a sink.
func (f *rowFlags) options(a *app) (o foreign.SinkOptions, err error) {
	o = foreign.SinkOptions{Width: a.terminalWidth(), Warn: a.warn, TimeUnit: f.timeUnit, GuidAsString: f.guidAs == "string"}
	if !slices.Contains([]string{"ns", "us", "ms", "s"}, f.timeUnit) {
		return o, usagef("invalid argument %q for --time-unit: ns, us, ms or s", f.timeUnit)
	}
	if f.guidAs != "string" && f.guidAs != "uuid" {
		return o, usagef("invalid argument %q for --guid-as: uuid or string", f.guidAs)
	}
	o.GuidOrder, err = guidOrder(f.guidOrder)
	return o, err
}

// printRows writes batches to stdout, after leaving out the first offset rows and at most limit of them (negative:
// all), and returns how many were written.
func (a *app) printRows(ctx context.Context, f foreign.Format, s *schema.Schema, rows iter.Seq2[arrow.RecordBatch, error], offset, limit int64, o foreign.SinkOptions) (int64, error) {
	out := bufio.NewWriterSize(a.stdout, 1<<16)
	sink, err := foreign.NewSink(f, out, s, o)
	if err != nil {
		return 0, err
	}
	written, err := writeRows(ctx, sink, rows, offset, limit)
	if closeErr := sink.Close(); err == nil {
		err = closeErr
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	return written, err
}

func writeRows(ctx context.Context, sink foreign.Sink, rows iter.Seq2[arrow.RecordBatch, error], offset, limit int64) (written int64, err error) {
	if limit == 0 {
		return 0, nil
	}
	for batch, err := range rows {
		if err != nil {
			return written, err
		}
		if err := ctx.Err(); err != nil {
			return written, err
		}
		from := min(offset, batch.NumRows())
		offset -= from
		to := batch.NumRows()
		if limit >= 0 {
			to = min(to, from+limit-written)
		}
		if from < to {
			if err := sink.Write(batch.NewSlice(from, to)); err != nil {
				return written, err
			}
			written += to - from
		}
		if limit >= 0 && written >= limit {
			break
		}
	}
	return written, nil
}

// warn tells a person what could not be written as it is.
func (a *app) warn(message string) { fmt.Fprintln(a.stderr, "shardcat: note: "+message) }

// terminalWidth is the width of stdout in columns, 0 if it is no terminal.
func (a *app) terminalWidth() int {
	f, ok := a.stdout.(interface{ Fd() uintptr })
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
