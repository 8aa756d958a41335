package catalog_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Shards that exist become part of a table where they lie; a plan reports which of them a filter leaves.
func ExampleTable_Plan() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lake")
	must(err)
	defer os.RemoveAll(dir)
	cat, err := catalog.Open(ctx, catalog.Options{
		URI: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"),
	})
	must(err)
	defer cat.Close()

	s, err := schema.Parse("id: Int64")
	must(err)
	table, err := cat.Create(ctx, catalog.Name{Table: "ids"}, catalog.CreateOptions{Schema: s, CreateNamespace: true})
	must(err)
	var shards []string
	for i, text := range []string{`[{"id": 1}, {"id": 2}]`, `[{"id": 30}]`} {
		url, err := cat.Client().Mount(ctx, filepath.Join(dir, fmt.Sprintf("%d.amudai.shard", i)))
		must(err)
		w, err := shardfmt.NewWriter(ctx, cat.Client(), url, s, shardfmt.WriterOptions{})
		must(err)
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s), strings.NewReader(text))
		must(err)
		must(w.Write(ctx, b))
		_, err = w.Close(ctx)
		must(err)
		shards = append(shards, url)
	}
	_, err = table.Register(ctx, shards, catalog.RegisterOptions{})
	must(err)

	where, err := filter.Parse("id > 10")
	must(err)
	plan, err := table.Plan(ctx, catalog.ScanOptions{Where: where})
	must(err)
	fmt.Println(plan.Total, "shards,", plan.PrunedBounds, "ruled out by bounds")
	for b, err := range plan.Run(ctx, nil) {
		must(err)
		fmt.Println(b.Column(0))
	}
	// Output:
	// 2 shards, 1 ruled out by bounds
	// [30]
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
