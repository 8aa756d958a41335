package fileio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func goldenSchema(t *testing.T, sp *blobio.Client, c *interop.Case) *schema.Schema {
	t.Helper()
	url, err := sp.Mount(context.Background(), c.Shard())
	if err != nil {
		t.Fatal(err)
	}
	root, err := meta.OpenRoot(context.Background(), sp, url, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := root.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The rows of every golden shard are read by the schema of the shard and written again to the same bytes.
func TestGoldenRowsSurviveNDJSON(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	for _, c := range interop.Cases(t) {
		if c.Rows > 20_000 {
			continue // the same types as the smaller ones
		}
		o := fileio.SourceOptions{Schema: goldenSchema(t, sp, c), BatchRows: 700}
		src, err := fileio.OpenSource(context.Background(), sp, []string{filepath.Join(c.Dir, "rows.ndjson.gz")}, o)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		var got bytes.Buffer
		copyAll(t, c.Name, src, fileio.NDJSON, &got)
		c.ExpectedRows(t, func(row int, want []byte) {
			line, _ := got.ReadBytes('\n')
			// The sample rows were printed by another program, which writes small floats otherwise.
			if !bytes.Equal(line, want) && !(strings.HasPrefix(c.Name, "sample-") && sameJSON(t, line, want)) {
				at := 0
				for at < min(len(line), len(want)) && line[at] == want[at] {
					at++
				}
				t.Errorf("%s row %d, byte %d: got %.80s, want %.80s", c.Name, row, at, line[at:], want[at:])
			}
		})
		if got.Len() > 0 {
			t.Errorf("%s: %d bytes too many", c.Name, got.Len())
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Error(err)
	}
	return reflect.DeepEqual(x, y)
}

// copyAll writes everything a source has.
func copyAll(t *testing.T, name string, src fileio.Source, f fileio.Format, w io.Writer) {
	t.Helper()
	defer src.Close()
	sink, err := fileio.NewSink(f, w, src.Schema(), fileio.SinkOptions{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	each(t, name, src, func(b arrow.RecordBatch) {
		if err := sink.Write(b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	})
	if err := sink.Close(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func each(t *testing.T, name string, src fileio.Source, do func(arrow.RecordBatch)) {
	t.Helper()
	for {
		b, err := src.Next(context.Background())
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		do(b)
		b.Release()
	}
}
