package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// Amudai is the format of shards, which package fileio does not know.
const Amudai fileio.Format = "amudai"

// Formats are those that File converts between, in the order in which help texts name them.
var Formats = []fileio.Format{fileio.NDJSON, fileio.CSV, fileio.Parquet, fileio.Arrow, fileio.Lance, fileio.COLE, Amudai, fileio.Layer}

// Options of a conversion. The zero value converts by the names of the files and refuses to lose a value.
type Options struct {
	// From and To are the formats; if empty, the names tell them, or the first and last bytes of the input.
	From, To fileio.Format
	// Source and Sink determine how the two ends are read and written. Their Exact is set by AllowLossy.
	Source fileio.SourceOptions
	Sink   fileio.SinkOptions
	// Shard defines how a shard is written.
	Shard shardfmt.WriterOptions
	// Strict refuses whatever the report would name; AllowLossy changes values that can't be held, and counts
	// them. Only one of them may be set.
	Strict, AllowLossy bool
	// TimeUnit, if not empty, is the unit of all points in time and spans of the output, whatever unit the input has: ns, us, ms or s.
	TimeUnit string
	// MaxMemory bounds the memory of reading a shard as shardfmt.ScanOptions has it; Source has a bound of its own.
	MaxMemory int64
	// Progress, if not nil, is called with how much of the input was read and how much there is: rows of a shard, bytes of any
	// other file (fileio.SourceOptions).
	Progress func(done, total int64)
}

// Result is a finished conversion.
type Result struct {
	In   string        `json:"in"`
	Out  string        `json:"out"`
	From fileio.Format `json:"from"`
	To   fileio.Format `json:"to"`
	Rows int64         `json:"rows"`
	// Losses are what the output does not hold of the input.
	Losses []Loss `json:"losses"`
	// EncodingsSkipped and Contradictions are those of shardfmt.ScanStats, of an input that is a shard.
	EncodingsSkipped int64 `json:"encodings_skipped,omitempty"`
	Contradictions   int64 `json:"contradictions,omitempty"`
}

// Loss is one thing that the output does not hold.
type Loss struct {
	// Field is the dotted path of the field.
	Field string `json:"field"`
	// What changes, in a few words.
	What string `json:"what"`
	// Count of the values concerned, 0 where it is the type that changes.
	Count int64 `json:"values,omitempty"`
}

// ErrLossy matches the refusal of a conversion that would lose something.
var ErrLossy = errors.New("the conversion would lose information")

// ErrOptions matches options that contradict each other.
var ErrOptions = errors.New("bad options")

// LossError is what a refused conversion would have lost.
type LossError struct {
	Report *arrowtype.Report
	// Allow is the option that would allow it.
	Allow string
}

// Error implements error.
func (e *LossError) Error() string {
	return fmt.Sprintf("%v: %s (%s)", ErrLossy, strings.ReplaceAll(strings.TrimSpace(e.Report.String()), "\n", "; "), e.Allow)
}

// Unwrap gives ErrLossy.
func (e *LossError) Unwrap() error { return ErrLossy }

// job is one conversion at work.
type job struct {
	c        *blobio.Client
	o        Options
	in, out  string // canonical URLs
	from, to fileio.Format
	rows     int64
	// read is what reading a shard passed over.
	read shardfmt.ScanStats
}

// File converts the object or folder at in to a new one at out; both are paths or URLs. If it fails, out is not
// there.
func File(ctx context.Context, c *blobio.Client, in, out string, o Options) (*Result, error) {
	if o.Strict && o.AllowLossy {
		return nil, fmt.Errorf("%w: strict and allow-lossy exclude each other", ErrOptions)
	}
	o.Source.Exact, o.Sink.Exact = !o.AllowLossy, !o.AllowLossy
	if o.TimeUnit != "" {
		o.Sink.TimeUnit = o.TimeUnit
	}
	j := &job{c: c, o: o}
	if err := j.locate(ctx, in, out); err != nil {
		return nil, err
	}
	run := j.records
	if j.from.HoldsBatches() && j.to.HoldsBatches() && o.TimeUnit == "" {
		run = j.batches
	}
	report, err := run(ctx)
	if err != nil {
		return nil, err
	}
	r := &Result{In: j.in, Out: j.out, From: j.from, To: j.to, Rows: j.rows, Losses: make([]Loss, len(report.Notes)),
		EncodingsSkipped: j.read.EncodingsSkipped, Contradictions: j.read.Contradictions}
	for i, n := range report.Notes {
		r.Losses[i] = Loss(n)
	}
	return r, nil
}

// locate finds both ends and their formats.
func (j *job) locate(ctx context.Context, in, out string) (err error) {
	if j.in, err = j.c.Mount(ctx, in); err != nil {
		return err
	}
	if j.out, err = j.c.Mount(ctx, out); err != nil {
		return err
	}
	j.in, j.out = strings.TrimSuffix(j.in, "/"), strings.TrimSuffix(j.out, "/")
	j.o.Sink.Remote = !strings.HasPrefix(j.out, "file://")
	if j.from = j.o.From; j.from == "" {
		if j.from, err = Detect(ctx, j.c, j.in); err != nil {
			return err
		}
	}
	if j.to = j.o.To; j.to == "" {
		if j.to = Named(j.out); j.to == "" {
			return fmt.Errorf("%w: %s: unknown file extension: set the format with --to", ErrOptions, path.Base(j.out))
		}
	}
	for _, f := range []fileio.Format{j.from, j.to} {
		if err := check(f); err != nil {
			return err
		}
	}
	if j.o.Source.Settings, err = j.from.CheckConversion(j.to, j.o.Source.Settings, j.o.Sink.Settings); err != nil {
		return err
	}
	j.o.Source.Format, j.o.Source.Progress = j.from, j.o.Progress
	if f := j.to.File(); f != nil && f.CreateFolder != nil && namesFolder(out) {
		j.out += "/"
	}
	return nil
}

// namesFolder reports whether a path or URL ends in a slash.
func namesFolder(arg string) bool {
	if strings.Contains(arg, "://") {
		arg, _, _ = strings.Cut(arg, "?")
	}
	return strings.HasSuffix(filepath.ToSlash(arg), "/")
}

// check is nil for formats that this version can read and write.
func check(f fileio.Format) error {
	if file := f.File(); file != nil {
		return file.Check()
	}
	for _, known := range Formats {
		if f == known {
			return nil
		}
	}
	return fmt.Errorf("%w: format %q is not one of %v", ErrOptions, f, Formats)
}

// Named is the format that a name reports, or empty.
func Named(url string) fileio.Format {
	if strings.HasSuffix(url, ".shard") {
		return Amudai
	}
	f, _ := fileio.FormatOf(url)
	return f
}

// batches copies Arrow batches as they are.
func (j *job) batches(ctx context.Context) (*arrowtype.Report, error) {
	src, err := fileio.OpenBatches(ctx, j.c, j.in, j.o.Source)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	sink, err := j.to.CreateBatches(ctx, j.c, j.out, src.Schema(), j.o.Sink)
	if err != nil {
		return nil, err
	}
	write := func(b arrow.RecordBatch) error { return j.located(sink.Write(b)) }
	return j.copy(ctx, src.Next, write, sink, src.Report)
}

// located adds the row to an error of a value that the sink can't hold.
func (j *job) located(err error) error {
	var row *arrowtype.RowError
	if errors.As(err, &row) {
		return &fileio.RecordError{Input: path.Base(j.in), Row: j.rows + row.Row + 1, Field: row.Field, Err: row.Err}
	}
	return err
}

// output is what both kinds of sinks have beside Write.
type output interface {
	Close() error
	Abort()
	Report() *arrowtype.Report
}

// copy moves all batches, and commits the output if nothing is lost that may not be.
func (j *job) copy(ctx context.Context, next func(context.Context) (arrow.RecordBatch, error), write func(arrow.RecordBatch) error, out output, in func() *arrowtype.Report) (*arrowtype.Report, error) {
	losses := func() *arrowtype.Report {
		all := &arrowtype.Report{}
		all.Merge(in())
		all.Merge(out.Report())
		return all
	}
	if err := j.permit(losses()); err != nil {
		out.Abort()
		return nil, err
	}
	for {
		batch, err := next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = write(batch)
		}
		if err != nil {
			out.Abort()
			return nil, err
		}
		j.rows += batch.NumRows()
	}
	if err := j.permit(losses()); err != nil {
		out.Abort()
		return nil, err
	}
	if err := out.Close(); err != nil {
		out.Abort()
		return nil, err
	}
	return losses(), nil
}

// kept leaves out of a report what the output holds after all: a shard carries the original Arrow types.
func (j *job) kept(r *arrowtype.Report) *arrowtype.Report {
	if j.to != Amudai {
		return r
	}
	out := &arrowtype.Report{}
	for _, n := range r.Notes {
		if !n.Restorable() {
			out.Add(n.Field, n.What, n.Count)
		}
	}
	return out
}

// permit refuses what the options don't allow to be lost.
func (j *job) permit(r *arrowtype.Report) error {
	refused := &arrowtype.Report{}
	allow := "without --strict it is only reported"
	for _, n := range r.Notes {
		if j.o.Strict || n.Count > 0 && !j.o.AllowLossy {
			refused.Add(n.Field, n.What, n.Count)
			if !j.o.Strict {
				allow = "--allow-lossy permits it"
			}
		}
	}
	if len(refused.Notes) == 0 {
		return nil
	}
	return &LossError{refused, allow}
}
