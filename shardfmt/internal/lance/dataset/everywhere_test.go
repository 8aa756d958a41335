package dataset_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance/dataset"
)

// rows counts the records of inputs.
func rows(t *testing.T, c *blobio.Client, o fileio.SourceOptions, args ...string) (n int64, names []string) {
	t.Helper()
	ctx := context.Background()
	s, err := fileio.OpenSource(ctx, c, args, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, f := range s.Schema().Fields {
		names = append(names, f.Name)
	}
	for {
		b, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return n, names
		}
		if err != nil {
			t.Fatal(err)
		}
		n += b.NumRows()
		b.Release()
	}
}

// copyTo writes the records of an input to a file or shard, as batches where its format holds them, and returns how many they are.
func copyTo(c *blobio.Client, in, out string, o fileio.SourceOptions) (n int64, err error) {
	ctx := context.Background()
	format, _ := fileio.FormatOf(strings.TrimSuffix(out, "/"))
	if format.HoldsBatches() {
		src, err := fileio.OpenBatches(ctx, c, strings.TrimSuffix(in, "/"), o)
		if err != nil {
			return 0, err
		}
		defer src.Close()
		sink, err := format.CreateBatches(ctx, c, out, src.Schema(), fileio.SinkOptions{})
		if err != nil {
			return 0, err
		}
		return copyBatches(src.Next, sink.Write, sink.Close)
	}
	src, err := fileio.OpenSource(ctx, c, []string{in}, o)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	next := func(ctx context.Context) (arrow.RecordBatch, error) { return src.Next(ctx) }
	if strings.HasSuffix(out, ".shard") {
		w, err := shardfmt.NewWriter(ctx, c, out, src.Schema(), shardfmt.WriterOptions{})
		if err != nil {
			return 0, err
		}
		return copyBatches(next, func(b arrow.RecordBatch) error { return w.Write(ctx, b) }, func() error {
			_, err := w.Close(ctx)
			return err
		})
	}
	sink, err := format.Create(ctx, c, out, src.Schema(), fileio.SinkOptions{})
	if err != nil {
		return 0, err
	}
	return copyBatches(next, sink.Write, sink.Close)
}

func copyBatches(next func(context.Context) (arrow.RecordBatch, error), write func(arrow.RecordBatch) error, end func() error) (n int64, err error) {
	for {
		b, err := next(context.Background())
		if errors.Is(err, io.EOF) {
			return n, end()
		}
		if err == nil {
			err = write(b)
		}
		if err != nil {
			return n, err
		}
		n += b.NumRows()
	}
}

// A dataset is a file like any other: a source of records by its name, with or without a slash, below a folder and by a
// pattern, never its data files by themselves; converted, inspected and verified, in any version.
func TestDatasetsAreFiles(t *testing.T) {
	ctx := context.Background()
	c, url, _ := dataset.Fixture(t, nil)
	lance := fileio.SourceOptions{Format: fileio.Format("lance")}
	newest, err := dataset.Open(ctx, c, url, "")
	if err != nil {
		t.Fatal(err)
	}
	parent := strings.TrimSuffix(url, "evolved.lance")
	for _, arg := range []string{url, url + "/", parent, parent + "*.lance", parent + "evo"} {
		if n, names := rows(t, c, lance, arg); n != int64(newest.Rows()) || strings.Join(names, " ") != "id at tags double" {
			t.Errorf("%s: %d rows of %v, want %d", arg, n, names, newest.Rows())
		}
	}
	old := lance
	old.Settings = fileformat.Settings{"version": "cleaned"}
	if n, names := rows(t, c, old, url); n != 54 || strings.Join(names, " ") != "id name at tags" {
		t.Errorf("a tag: %d rows of %v", n, names)
	}
	for _, out := range []string{"a.ndjson", "a.parquet", "a.amudai.shard", "b.lance", "c.lance/"} {
		if n, err := copyTo(c, url+"/", parent+out, old); err != nil || n != 54 {
			t.Errorf("%s: %d rows, %v", out, n, err)
		}
	}
	if made, err := dataset.Open(ctx, c, parent+"c.lance", ""); err != nil || made.Rows() != 54 {
		t.Errorf("a dataset that was written: %v", err)
	}
	if _, err := dataset.Open(ctx, c, parent+"b.lance", ""); !errors.Is(err, dataset.ErrNoDataset) {
		t.Errorf("a file that was written: %v", err)
	}
	x, err := fileio.Lance.Inspect(ctx, c, url, 1, old.Settings)
	if err != nil || x.Records != 54 || x.Format != "lance" {
		t.Errorf("%+v, %v", x, err)
	}
	if r, err := fileio.Lance.Verify(ctx, c, url, nil, nil); err != nil || !r.OK || r.Objects < 5 {
		t.Errorf("%+v, %v", r, err)
	}
}
