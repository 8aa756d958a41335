// Command formats compares Lance files of ours with those of Lance's own library, and with Parquet and Arrow IPC of arrow-go: sizes,
// and the time to write and to read all of the columns of package bench. It prints a table.
//
//	go run ./formats -rows 262144 -python /path/to/python    # one that has pylance
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/bench"
	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/foreign"
)

//go:embed pylance.py
var script string

func main() {
	rows := flag.Int("rows", 1<<18, "rows of the table")
	turns := flag.Int("turns", 3, "how often each is measured; the best turn counts")
	python := flag.String("python", "", "a Python with pylance; without it its rows are left out")
	flag.Parse()
	log.SetFlags(0)
	if err := run(*rows, *turns, *python); err != nil {
		log.Fatal(err)
	}
}

func run(rows, turns int, python string) error {
	dir, err := os.MkdirTemp("", "formats")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := table(rows)
	fmt.Printf("%d rows, %d bytes of values\n\n| file | bytes | write, s | read, s |\n| --- | ---: | ---: | ---: |\n", rows, t.bytes)
	for _, f := range []foreign.Format{foreign.Lance, foreign.Parquet, foreign.Arrow} {
		if err := t.measure(f, filepath.Join(dir, "table."+string(f)), turns); err != nil {
			return err
		}
	}
	if python == "" {
		return nil
	}
	cmd := exec.Command(python, "-c", script, filepath.Join(dir, "table.arrow"), filepath.Join(dir, "table.lance"), fmt.Sprint(turns))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// sample is a table of all columns of package bench.
type sample struct {
	schema *arrow.Schema
	batch  arrow.RecordBatch
	bytes  int
}

func table(rows int) *sample {
	out := &sample{}
	var fields []arrow.Field
	var arrays []arrow.Array
	for i, c := range append(bench.Columns(rows), bench.TextColumns(rows)...) {
		out.bytes += c.Bytes()
		var b array.Builder
		switch {
		case c.Ints != nil:
			ints := array.NewInt64Builder(memory.DefaultAllocator)
			ints.AppendValues(c.Ints, nil)
			b = ints
		case c.Floats != nil:
			floats := array.NewFloat64Builder(memory.DefaultAllocator)
			floats.AppendValues(c.Floats, nil)
			b = floats
		default:
			texts := array.NewStringBuilder(memory.DefaultAllocator)
			texts.AppendValues(c.Strings, nil)
			b = texts
		}
		a := b.NewArray()
		fields, arrays = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: a.DataType()}), append(arrays, a)
	}
	out.schema = arrow.NewSchema(fields, nil)
	out.batch = array.NewRecordBatch(out.schema, arrays, int64(rows))
	return out
}

// measure writes and reads a file of a format, and prints its line.
func (t *sample) measure(f foreign.Format, path string, turns int) error {
	ctx, c := context.Background(), blobio.NewClient()
	defer c.Close()
	url, err := c.Mount(ctx, path)
	if err != nil {
		return err
	}
	write, read := time.Hour, time.Hour
	for range turns {
		os.Remove(path)
		start := time.Now()
		sink, err := foreign.CreateBatches(ctx, c, url, f, t.schema, foreign.SinkOptions{})
		if err == nil {
			err = errors.Join(sink.Write(t.batch), sink.Close())
		}
		if err != nil {
			return err
		}
		write = min(write, time.Since(start))
		start = time.Now()
		if err := t.read(ctx, c, url, f); err != nil {
			return err
		}
		read = min(read, time.Since(start))
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	by := map[foreign.Format]string{foreign.Lance: "Lance 2.0, ours", foreign.Parquet: "Parquet with zstd, arrow-go", foreign.Arrow: "Arrow IPC, arrow-go"}[f]
	fmt.Printf("| %s | %d | %.3f | %.3f |\n", by, info.Size(), write.Seconds(), read.Seconds())
	return nil
}

// read reads all rows.
func (t *sample) read(ctx context.Context, c *blobio.Client, url string, f foreign.Format) error {
	src, err := foreign.OpenBatches(ctx, c, url, foreign.SourceOptions{Format: f})
	if err != nil {
		return err
	}
	defer src.Close()
	rows := int64(0)
	for {
		batch, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		rows += batch.NumRows()
	}
	if rows != t.batch.NumRows() {
		return fmt.Errorf("%s: %d rows of %d", url, rows, t.batch.NumRows())
	}
	return nil
}
