package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/term"

	"github.com/shardcat/shardcat/catalog"
	shardsql "github.com/shardcat/shardcat/clients/sql"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// formats are those of --format, as of scan.
var formats = map[string]fileio.Format{
	"": "", "table": fileio.Table, "ndjson": fileio.NDJSON, "csv": fileio.CSV, "arrow": fileio.Arrow, "arrows": fileio.ArrowStream, "parquet": fileio.Parquet,
}

// session answers statements one after another.
type session struct {
	*settings
	catalog  *catalog.Catalog
	engine   *shardsql.Engine
	out, log io.Writer
}

// script answers all statements of a text and ends at the first that fails.
func (s *session) script(ctx context.Context, text string) error {
	statements, rest := shardsql.Statements(text)
	for _, statement := range append(statements, rest) {
		if statement == "" {
			continue
		}
		if err := s.interruptible(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// interruptible answers a statement, which Ctrl-C ends.
func (s *session) interruptible(ctx context.Context, statement string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return s.answer(ctx, statement)
}

// answer prints the rows of a statement.
func (s *session) answer(ctx context.Context, statement string) error {
	began := time.Now()
	r, err := s.engine.Query(ctx, statement)
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := s.print(r)
	if err != nil {
		return err
	}
	r.Close()
	if terminal(s.out) {
		fmt.Fprintf(s.log, "%d rows, %s\n", n, time.Since(began).Round(time.Millisecond))
	}
	if s.explain {
		return json.NewEncoder(s.log).Encode(map[string]any{"scans": r.Scans()})
	}
	return nil
}

// print writes rows as scan does.
func (s *session) print(r *shardsql.Result) (rows int64, err error) {
	to, _, err := arrowtype.FromArrow(r.Schema())
	if err != nil {
		return 0, err
	}
	importer, err := arrowtype.NewImporter(r.Schema(), to, arrowtype.ImportOptions{})
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(s.out, 1<<16)
	sink, err := fileio.NewSink(s.formatOf(), out, to, fileio.SinkOptions{Width: width(s.out), TimeUnit: s.timeUnit, Original: r.Schema()})
	if err != nil {
		return 0, err
	}
	for err == nil && r.Next() {
		rows += r.RecordBatch().NumRows()
		err = write(importer, sink, r)
	}
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return rows, err // a file without its end is not a whole file
	}
	if err := sink.Close(); err != nil {
		return rows, err
	}
	return rows, out.Flush()
}

// write prints the batch at which a result stands.
func write(importer *arrowtype.Importer, sink fileio.Sink, r *shardsql.Result) error {
	batch, err := importer.Import(r.RecordBatch())
	if err != nil {
		return err
	}
	defer batch.Release()
	return sink.Write(batch)
}

func (s *session) formatOf() fileio.Format {
	if f := formats[s.format]; f != "" {
		return f
	}
	if terminal(s.out) {
		return fileio.Table
	}
	return fileio.NDJSON
}

// terminal reports whether a person sits at a stream.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is that of the terminal, 0 where there is none.
func width(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
