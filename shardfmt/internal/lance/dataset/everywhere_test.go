package dataset_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/fileio/convert"
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
		r, err := convert.File(ctx, c, url+"/", parent+out, convert.Options{Source: old})
		if err != nil || r.Rows != 54 {
			t.Errorf("%s: %+v, %v", out, r, err)
		}
	}
	if made, err := dataset.Open(ctx, c, parent+"c.lance", ""); err != nil || made.Rows() != 54 {
		t.Errorf("a dataset that was written: %v", err)
	}
	if _, err := dataset.Open(ctx, c, parent+"b.lance", ""); !errors.Is(err, dataset.ErrNoDataset) {
		t.Errorf("a file that was written: %v", err)
	}
	x, err := fileio.Inspect(ctx, c, url, "lance", 1, old.Settings)
	if err != nil || x.Records != 54 || x.Format != "lance" {
		t.Errorf("%+v, %v", x, err)
	}
	if r, err := fileio.Verify(ctx, c, url, "lance", nil, nil); err != nil || !r.OK || r.Objects < 5 {
		t.Errorf("%+v, %v", r, err)
	}
}
