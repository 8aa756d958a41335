package compaction_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat"
	"github.com/shardcat/shardcat/compaction"
)

// A plan reports what a policy would merge; nothing is read but the table's manifests.
func ExampleNewPlan() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lake")
	must(err)
	defer os.RemoveAll(dir)
	lake, err := shardcat.Open(ctx, dir, shardcat.Options{})
	must(err)
	defer lake.Close()
	ids := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	table, err := lake.Create(ctx, shardcat.Name{Table: "ids"}, shardcat.CreateOptions{Arrow: ids, CreateNamespace: true})
	must(err)
	for i := range 3 {
		b, _, err := array.RecordFromJSON(memory.DefaultAllocator, ids, strings.NewReader(fmt.Sprintf(`[{"id": %d}]`, i)))
		must(err)
		r, err := array.NewRecordReader(ids, []arrow.RecordBatch{b})
		must(err)
		_, err = table.Append(ctx, r, shardcat.AppendOptions{})
		must(err)
	}

	for _, policy := range []compaction.Policy{{}, {MinInputs: 5}} {
		plan, err := compaction.NewPlan(ctx, table, policy)
		must(err)
		fmt.Println(plan.Shards, "shards,", len(plan.Groups), "groups to merge, left:", plan.Left)
	}
	// Output:
	// 3 shards, 1 groups to merge, left: map[]
	// 3 shards, 0 groups to merge, left: map[fewer than 5 adjacent shards:3]
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
