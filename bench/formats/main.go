// Command formats compares the files that shardcat writes in each format with Parquet and Arrow IPC of arrow-go and with Lance
// files of Lance's own library: sizes, and the time to write and to read. It prints a table for all columns of package bench, one
// for those of integers and texts, which COLE files hold, and one of keys with a text each, which a layer file is.
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
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/bench"
	"github.com/shardcat/shardcat/shardfmt/fileio"
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
	for _, t := range []*sample{everything(rows), withoutFloats(rows), keyed(rows)} {
		fmt.Printf("%d rows of %s, %d bytes of values\n\n| file | bytes | write, s | read, s |\n| --- | ---: | ---: | ---: |\n", rows, t.what, t.bytes)
		for _, f := range t.formats {
			if err := t.measure(f, filepath.Join(dir, "table."+string(f)), turns); err != nil {
				return err
			}
		}
		if python != "" {
			cmd := exec.Command(python, "-c", script, filepath.Join(dir, "table.arrow"), filepath.Join(dir, "table.lance"), fmt.Sprint(turns))
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				return err
			}
		}
		fmt.Println()
	}
	return nil
}

// sample is one table, and the formats that hold it.
type sample struct {
	what    string
	formats []fileio.Format
	schema  *arrow.Schema
	batch   arrow.RecordBatch
	bytes   int
}

func everything(rows int) *sample {
	t := table(append(bench.Columns(rows), bench.TextColumns(rows)...), "c")
	t.what, t.formats = "all columns", []fileio.Format{fileio.Lance, fileio.Parquet, fileio.Arrow}
	return t
}

func withoutFloats(rows int) *sample {
	columns := slices.DeleteFunc(append(bench.Columns(rows), bench.TextColumns(rows)...), func(c *bench.Column) bool { return c.Floats != nil })
	t := table(columns, "c")
	t.what, t.formats = "integers and texts", []fileio.Format{fileio.COLE, fileio.Lance, fileio.Parquet, fileio.Arrow}
	return t
}

// keyed has rising keys and a text for each; its names are those that a layer file gives them.
func keyed(rows int) *sample {
	texts := bench.TextColumns(rows)
	t := table([]*bench.Column{bench.Columns(rows)[0], texts[len(texts)-1]}, "")
	t.what, t.formats = "a key and a text", []fileio.Format{fileio.Layer, fileio.COLE, fileio.Lance, fileio.Parquet, fileio.Arrow}
	return t
}

// table makes one batch of columns, whose names are a prefix and their number, or k0 and a0.
func table(columns []*bench.Column, prefix string) *sample {
	out := &sample{}
	names := []string{"k0", "a0"}
	var fields []arrow.Field
	var arrays []arrow.Array
	for i, c := range columns {
		if prefix != "" {
			names = append(names[:i], fmt.Sprint(prefix, i))
		}
		out.bytes += c.Bytes()
		a := values(c)
		fields, arrays = append(fields, arrow.Field{Name: names[i], Type: a.DataType()}), append(arrays, a)
	}
	out.schema = arrow.NewSchema(fields, nil)
	out.batch = array.NewRecordBatch(out.schema, arrays, int64(arrays[0].Len()))
	return out
}

func values(c *bench.Column) arrow.Array {
	switch {
	case c.Ints != nil:
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues(c.Ints, nil)
		return b.NewArray()
	case c.Floats != nil:
		b := array.NewFloat64Builder(memory.DefaultAllocator)
		b.AppendValues(c.Floats, nil)
		return b.NewArray()
	}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(c.Strings, nil)
	return b.NewArray()
}

// by reports what each format's line is called.
var by = map[fileio.Format]string{
	fileio.COLE: "COLE", fileio.Layer: "layer file without compression", fileio.Lance: "Lance 2.0, ours",
	fileio.Parquet: "Parquet with zstd, arrow-go", fileio.Arrow: "Arrow IPC, arrow-go",
}

// measure writes and reads a file of a format, and prints its line.
func (t *sample) measure(f fileio.Format, path string, turns int) error {
	ctx, c := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	url, err := c.Mount(ctx, path)
	if err != nil {
		return err
	}
	write, read := time.Hour, time.Hour
	for range turns {
		os.Remove(path)
		start := time.Now()
		sink, err := f.CreateBatches(ctx, c, url, t.schema, fileio.SinkOptions{})
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
	fmt.Printf("| %s | %d | %.3f | %.3f |\n", by[f], info.Size(), write.Seconds(), read.Seconds())
	return nil
}

// read reads all rows.
func (t *sample) read(ctx context.Context, c *blobio.Client, url string, f fileio.Format) error {
	src, err := fileio.OpenBatches(ctx, c, url, fileio.SourceOptions{Format: f, InProcess: true})
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
