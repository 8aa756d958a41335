package tablescan_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// localTable makes a table on a local store, of which samples are read.
func localTable(t *testing.T, columns string) *catalog.Table {
	t.Helper()
	return tableAt(t, filepath.Join(t.TempDir(), "warehouse"), columns)
}

// remoteTable makes a table on a store that counts as far away.
func remoteTable(t *testing.T, columns string) *catalog.Table {
	t.Helper()
	return tableAt(t, "mem://"+strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))+"/wh", columns)
}

func tableAt(t *testing.T, warehouse, columns string) *catalog.Table {
	t.Helper()
	of, err := schema.Parse(columns)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Open(t.Context(), catalog.Options{URI: "sqlite:" + filepath.Join(t.TempDir(), "catalog.db"), Warehouse: warehouse})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	tbl, err := c.Create(t.Context(), catalog.Name{Namespace: "default", Table: "people"}, catalog.CreateOptions{Schema: of, CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// jsonRows is a source of one batch.
type jsonRows struct {
	schema *schema.Schema
	text   string
}

func (s *jsonRows) Schema() *schema.Schema { return s.schema }

func (s *jsonRows) Next(context.Context) (arrow.RecordBatch, error) {
	if s.text == "" {
		return nil, io.EOF
	}
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s.schema), strings.NewReader(s.text))
	s.text = ""
	return b, err
}

// oneShard ingests rows as one shard.
func oneShard(t *testing.T, tbl *catalog.Table, columns, json string) {
	t.Helper()
	s, err := schema.Parse(columns)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tbl.Ingest(context.Background(), &jsonRows{s, json}, catalog.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
}

func where(t *testing.T, text string) filter.Expr {
	t.Helper()
	e, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
