package catalog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// ExportOptions of Export.
type ExportOptions struct {
	ScanOptions
	// Format of the files: fileio.Parquet, CSV, NDJSON, Arrow or ArrowStream.
	Format fileio.Format
	// PartitionBy are top-level columns by whose values the rows are split into folders COLUMN=VALUE; the export
	// is one file if there are none.
	PartitionBy []string
	// Sink determines how values are written.
	Sink fileio.SinkOptions
	// Progress, if not nil, is called with the number of rows written so far.
	Progress func(rows int64)
}

// ExportResult is what Export wrote.
type ExportResult struct {
	Files []string `json:"files"`
	Rows  int64    `json:"rows"`
	// Damaged lists what SkipDamaged left out.
	Damaged []Damage `json:"damaged,omitempty"`
	// EncodingsSkipped and Contradictions are those of ScanStats.
	EncodingsSkipped int64 `json:"encodings_skipped"`
	Contradictions   int64 `json:"contradictions"`
}

// maxExportFiles bounds how many files of a partitioned export are open at a time; the one begun first is ended
// when another is needed, and its partition goes on in a further file.
const maxExportFiles = 32

// maxExportHeld bounds what the open files of an export hold together: two row groups of Parquet. The file that holds most ends its row group; with
// maxExportFiles open that has 4 MiB or more.
const maxExportHeld = 128 << 20

// Export writes rows of the table to out, the canonical URL of a file that must not exist, or with PartitionBy of a
// folder. If anything fails, what was written is deleted again, but for a file whose write has an unknown outcome, which the error names: it may be
// another's.
func (t *Table) Export(ctx context.Context, out string, o ExportOptions) (*ExportResult, error) {
	scan := o.ScanOptions
	scan.ReuseBatches = true // sinks keep no reference to what they are given
	scan.Runs = true
	p, err := t.Plan(ctx, scan)
	if err != nil {
		return nil, err
	}
	x := &exporter{client: t.cat.client, out: out, o: &o, fields: p.Fields(), done: &ExportResult{Files: []string{}, Damaged: p.Damaged}, limit: maxExportHeld}
	if err := x.prepare(); err != nil {
		return nil, err
	}
	var stats ScanStats
	for b, err := range p.Run(ctx, &stats) {
		if err == nil {
			err = x.write(ctx, b)
		}
		if err != nil {
			x.abort(ctx)
			return nil, err
		}
	}
	if err := x.close(ctx); err != nil {
		x.abort(ctx)
		return nil, err
	}
	x.done.EncodingsSkipped, x.done.Contradictions = stats.EncodingsSkipped, stats.Contradictions
	return x.done, nil
}

// exporter is an export at work.
type exporter struct {
	client *blobio.Client
	out    string
	o      *ExportOptions
	fields []*schema.Node
	// by are the columns to split by, rest those that go into the files.
	by, rest []int
	open     []*exportFile
	parts    map[string]int
	done     *ExportResult
	// limit is maxExportHeld.
	limit int64
}

// exportFile is one file on its way up.
type exportFile struct {
	folder, url string
	object      blobio.Writer
	buffer      *bufio.Writer
	sink        fileio.Sink
}

func (x *exporter) prepare() error {
	x.parts = map[string]int{}
	for i, f := range x.fields {
		if !slices.Contains(x.o.PartitionBy, f.Name) {
			x.rest = append(x.rest, i)
		}
	}
	for _, name := range x.o.PartitionBy {
		i := slices.IndexFunc(x.fields, func(f *schema.Node) bool { return f.Name == name })
		if i < 0 || len(x.fields[i].Children) > 0 {
			return fmt.Errorf("%w: the export can't be partitioned by %q; columns: %s", ErrInvalid, name, suggestNames(name, fieldNames(x.fields)))
		}
		x.by = append(x.by, i)
	}
	if len(x.by) > 0 && len(x.rest) == 0 {
		return fmt.Errorf("%w: an export can't be partitioned by all its columns", ErrInvalid)
	}
	return nil
}

// write adds the rows of a batch to the files of their partitions.
func (x *exporter) write(ctx context.Context, b arrow.RecordBatch) error {
	if len(x.by) == 0 {
		return x.add(ctx, "", b)
	}
	groups, order := map[string][]byte{}, []string{}
	for row := range int(b.NumRows()) {
		folder := x.folder(b, row)
		if groups[folder] == nil {
			groups[folder] = make([]byte, (b.NumRows()+7)/8)
			order = append(order, folder)
		}
		groups[folder][row/8] |= 1 << (row % 8)
	}
	columns := make([]arrow.Array, len(x.rest))
	fields := make([]arrow.Field, len(x.rest))
	for i, c := range x.rest {
		columns[i], fields[i] = b.Column(c), b.Schema().Field(c)
	}
	rest := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, b.NumRows())
	for _, folder := range order {
		if err := x.add(ctx, folder, shardfmt.SelectRows(rest, groups[folder])); err != nil {
			return err
		}
	}
	return nil
}

// folder names the partition of a row as Hive does, as part of a URL.
func (x *exporter) folder(b arrow.RecordBatch, row int) string {
	var path strings.Builder
	for _, c := range x.by {
		a := b.Column(c)
		path.WriteString(fileio.PartitionFolder(x.fields[c].Name, a.ValueStr(row), !a.IsValid(row)) + "/")
	}
	return urlresolve.EscapeKey(path.String())
}

func (x *exporter) add(ctx context.Context, folder string, b arrow.RecordBatch) error {
	i := slices.IndexFunc(x.open, func(f *exportFile) bool { return f.folder == folder })
	if i < 0 {
		if len(x.open) == maxExportFiles {
			if err := x.end(ctx, 0); err != nil {
				return err
			}
		}
		if err := x.begin(ctx, folder); err != nil {
			return err
		}
		i = len(x.open) - 1
	}
	if err := x.open[i].sink.Write(b); err != nil {
		return fmt.Errorf("%s: %w", x.open[i].url, err)
	}
	if err := x.fit(); err != nil {
		return err
	}
	if x.done.Rows += b.NumRows(); x.o.Progress != nil {
		x.o.Progress(x.done.Rows)
	}
	return nil
}

// fit ends row groups until the open files hold no more than the limit.
func (x *exporter) fit() error {
	for held, most := x.held(); held > x.limit && most != nil; held, most = x.held() {
		if err := most.sink.(fileio.GroupedSink).EndGroup(); err != nil {
			return fmt.Errorf("%s: %w", most.url, err)
		}
	}
	return nil
}

// held is what the open files hold together, and which of them holds most; nil if none holds anything.
func (x *exporter) held() (all int64, most *exportFile) {
	largest := int64(0)
	for _, f := range x.open {
		if s, ok := f.sink.(fileio.GroupedSink); ok {
			n := s.Held()
			if all += n; n > largest {
				largest, most = n, f
			}
		}
	}
	return all, most
}

// begin starts a file.
func (x *exporter) begin(ctx context.Context, folder string) error {
	at := x.out
	if len(x.by) > 0 {
		x.parts[folder]++
		at = fmt.Sprintf("%s/%spart-%05d.%s", strings.TrimSuffix(x.out, "/"), folder, x.parts[folder], x.o.Format)
	}
	object, err := x.client.Create(ctx, at, blobio.CreateOptions{})
	if err != nil {
		return err
	}
	f := &exportFile{folder: folder, url: at, object: object, buffer: bufio.NewWriterSize(object, 1<<20)}
	s := &schema.Schema{}
	for _, c := range x.rest {
		s.Fields = append(s.Fields, x.fields[c])
	}
	if f.sink, err = fileio.NewSink(x.o.Format, f.buffer, s, x.o.Sink); err != nil {
		object.Abort()
		return err
	}
	x.open = append(x.open, f)
	return nil
}

// end finishes an open file.
func (x *exporter) end(_ context.Context, i int) error {
	f := x.open[i]
	x.open = slices.Delete(x.open, i, i+1)
	if err := errors.Join(f.sink.Close(), f.buffer.Flush()); err != nil {
		f.object.Abort()
		return fmt.Errorf("%s: %w", f.url, err)
	}
	if err := f.object.Close(); err != nil {
		return err
	}
	x.done.Files = append(x.done.Files, f.url)
	return nil
}

// close finishes all files; an export without rows still makes its one file.
func (x *exporter) close(ctx context.Context) error {
	if len(x.by) == 0 && len(x.open) == 0 && len(x.done.Files) == 0 {
		if err := x.begin(ctx, ""); err != nil {
			return err
		}
	}
	for len(x.open) > 0 {
		if err := x.end(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// abort gives everything up. The context may have ended, so it is not asked.
func (x *exporter) abort(ctx context.Context) {
	for _, f := range x.open {
		f.object.Abort()
	}
	for _, url := range x.done.Files {
		_ = x.client.Delete(context.WithoutCancel(ctx), url, "")
	}
}
