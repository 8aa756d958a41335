package shardcat_test

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
)

// records makes an Arrow reader of one record per line of JSON; a program has its own.
func records(schema *arrow.Schema, lines ...string) array.RecordReader {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(lines, ",")+"]"))
	check(err)
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	check(err)
	return r
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// folder is an empty folder, deleted by the returned function.
func folder() (string, func()) {
	dir, err := os.MkdirTemp("", "lake")
	check(err)
	return dir, func() { os.RemoveAll(dir) }
}

// cities has a timestamp and a decimal of ordinary Arrow types.
var cities = arrow.NewSchema([]arrow.Field{
	{Name: "at", Type: arrow.FixedWidthTypes.Timestamp_us, Nullable: true},
	{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "price", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Nullable: true},
}, nil)

// The first program: open a folder, make a table, append, read back, compact.
func Example() {
	ctx := context.Background()
	dir, remove := folder()
	defer remove()

	lake, err := shardcat.Open(ctx, dir, shardcat.Options{})
	check(err)
	defer lake.Close()
	sales, err := lake.Create(ctx, shardcat.Name{Table: "sales"}, shardcat.CreateOptions{Arrow: cities})
	check(err)

	for _, line := range []string{
		`{"at": "2024-05-01T10:00:00Z", "city": "Bonn", "price": "12.50"}`,
		`{"at": "2024-05-02T11:30:00Z", "city": "Berlin", "price": "7.99"}`,
	} {
		_, err = sales.Append(ctx, records(cities, line), shardcat.AppendOptions{})
		check(err)
	}

	rows, err := sales.Read(ctx, shardcat.ReadOptions{ScanOptions: shardcat.ScanOptions{Ordered: true}})
	check(err)
	defer rows.Release()
	for rows.Next() {
		batch := rows.RecordBatch()
		for i := range int(batch.NumRows()) {
			fmt.Println(batch.Column(0).ValueStr(i), batch.Column(1).ValueStr(i), batch.Column(2).ValueStr(i))
		}
	}
	check(rows.Err())

	report, err := shardcat.Compact(ctx, sales)
	check(err)
	fmt.Println("shards:", report.ShardsBefore, "then", report.ShardsAfter, "- bytes moved:", report.BytesMoved)
	// Output:
	// 2024-05-01T10:00:00Z Bonn 12.5
	// 2024-05-02T11:30:00Z Berlin 7.99
	// shards: 2 then 1 - bytes moved: 0
}

// A filter, some columns, and no more than so many rows.
func ExampleWhere() {
	ctx := context.Background()
	lake, remove := salesLake(ctx)
	defer remove()
	sales, err := lake.Load(ctx, shardcat.Name{Table: "sales"})
	check(err)

	where, err := shardcat.Where(`price < 10 AND city LIKE 'B%'`)
	check(err)
	rows, err := sales.Read(ctx, shardcat.ReadOptions{ScanOptions: shardcat.ScanOptions{
		Where: where, Select: []string{"city"}, Limit: 1,
	}})
	check(err)
	defer rows.Release()
	for rows.Next() {
		fmt.Println(rows.RecordBatch().NumCols(), "column:", rows.RecordBatch().Column(0))
	}
	check(rows.Err())
	// Output: 1 column: ["Berlin"]
}

// Types of shards instead of Arrow's usual ones: nothing is out of their range.
func ExampleReadOptions() {
	ctx := context.Background()
	lake, remove := salesLake(ctx)
	defer remove()
	sales, err := lake.Load(ctx, shardcat.Name{Table: "sales"})
	check(err)
	for _, canonical := range []bool{false, true} {
		rows, err := sales.Read(ctx, shardcat.ReadOptions{Canonical: canonical})
		check(err)
		for _, f := range rows.Schema().Fields() {
			fmt.Printf("%-5s %T\n", f.Name, f.Type)
		}
		rows.Release()
	}
	// Output:
	// at    *arrow.TimestampType
	// city  *arrow.StringType
	// price *arrow.Decimal128Type
	// at    *arrowtype.DateTimeType
	// city  *arrow.LargeStringType
	// price *arrowtype.DecimalType
}

// An object store needs its driver, which the error names, and a catalog.
func ExampleOpen() {
	_, err := shardcat.Open(context.Background(), "s3://bucket/lake", shardcat.Options{Catalog: "sqlite:/tmp/lake.db"})
	fmt.Println(err)
	// Output: warehouse: open s3://bucket/lake: no driver for s3: import _ "github.com/shardcat/shardcat/blobio/s3blob"
}

// salesLake is a catalog with a table of two rows.
func salesLake(ctx context.Context) (*shardcat.Catalog, func()) {
	dir, remove := folder()
	lake, err := shardcat.Open(ctx, dir, shardcat.Options{})
	check(err)
	sales, err := lake.Create(ctx, shardcat.Name{Table: "sales"}, shardcat.CreateOptions{Arrow: cities})
	check(err)
	_, err = sales.Append(ctx, records(cities,
		`{"at": "2024-05-01T10:00:00Z", "city": "Bonn", "price": "12.50"}`,
		`{"at": "2024-05-02T11:30:00Z", "city": "Berlin", "price": "7.99"}`,
	), shardcat.AppendOptions{})
	check(err)
	return lake, func() { lake.Close(); remove() }
}
