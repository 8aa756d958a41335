package catalog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestPartitionsOfEveryType: a partition that a table was made with takes rows, which are found, rewritten and deleted; what makes no
// partitions is refused when the table is made, and when it is altered.
func TestPartitionsOfEveryType(t *testing.T) {
	ctx := context.Background()
	made := 0
	for _, c := range []struct {
		typ, column, value, literal string
		refused                     bool
	}{
		{"Boolean", "x", `true`, "true", false},
		{"Int8", "x", `-5`, "-5", false}, {"UInt16", "x", `65535`, "65535", false}, {"UInt32", "x", `4294967295`, "4294967295", false},
		{"Int64", "x", `-9000000000000000000`, "-9000000000000000000", false}, {"UInt64", "x", `18000000000000000000`, "18000000000000000000", false},
		{"Float32", "x", `0`, "0", false}, {"Float64", "x", `-1.5`, "-1.5", false},
		{"String", "x", `""`, "''", false}, {"String", "x", `"a longer text than bounds have room for"`, "'a longer text than bounds have room for'", false},
		{"Binary", "x", `"AAEC"`, "X'000102'", false}, {"TimeSpan", "x", `-15`, "timespan '-00:00:00.0000015'", false},
		{"DateTime", "x", fmt.Sprint(int64(year2024) + 7), "'2024-01-01T00:00:00.0000007Z'", false},
		{"Struct<m: String, n: Int64>", "x.m", `{"m":"é","n":1}`, "'é'", false},
		{"Decimal", "x", "", "", true}, {"Dynamic", "x", "", "", true}, {"List<Int64>", "x", "", "", true}, {"List<Int64>", "x.item", "", "", true},
		{"Map<String, Int64>", "x.key", "", "", true}, {"Union<Int64, String>", "x", "", "", true}, {"Struct<m: Decimal>", "x.m", "", "", true},
		{"Struct<m: String>", "x", "", "", true},
	} {
		for _, transform := range []string{"%s", "bucket(4, %s)", "truncate(3, %s)", "year(%s)", "month(%s)", "day(%s)", "hour(%s)"} {
			partition := fmt.Sprintf(transform, c.column)
			s, err := schema.Parse("id: Int64, x: " + c.typ)
			if err != nil {
				t.Fatal(err)
			}
			cat := newGround(t).open(nil, nil)
			tbl, err := cat.Create(ctx, tableName, CreateOptions{Schema: s, CreateNamespace: true, Partition: []string{partition}})
			plain, plainErr := cat.Create(ctx, Name{"default", "plain"}, CreateOptions{Schema: s, CreateNamespace: true})
			if plainErr != nil {
				t.Fatal(plainErr)
			}
			if altered := plain.Repartition(ctx, []string{partition}); (altered == nil) != (err == nil) {
				t.Errorf("%s of %s: made: %v, altered: %v", partition, c.typ, err, altered)
			}
			if err != nil {
				if !errors.Is(err, ErrInvalid) {
					t.Errorf("%s of %s: %v", partition, c.typ, err)
				}
				continue
			}
			if c.refused {
				t.Errorf("%s of %s was accepted", partition, c.typ)
				continue
			}
			made++
			for i := range 2 {
				oneShard(t, tbl, "id: Int64, x: "+c.typ, fmt.Sprintf(`[{"id":%d,"x":%s},{"id":%d,"x":null}]`, i, c.value, i+10))
			}
			rebuildAll(t, tbl)
			filter := c.column + " = " + c.literal
			if c.typ == "Boolean" {
				filter = c.column
			}
			for filter, want := range map[string]int{filter: 2, c.column + " IS NULL": 2, c.column + " IS NOT NULL": 2} {
				if got, _ := scanIDs(t, tbl, ScanOptions{Where: where(t, filter)}); len(got) != want {
					t.Errorf("%s of %s: %s finds %v", partition, c.typ, filter, got)
				}
			}
			if d := remove(t, tbl, filter); d.Rows != 2 {
				t.Errorf("%s of %s: deleted %d rows", partition, c.typ, d.Rows)
			}
		}
	}
	if made < 35 {
		t.Errorf("only %d partitions were made", made)
	}
}

// TestDropOfPartitionedColumn: a column that partitions were made of can be dropped once neither the table nor a retained snapshot has them.
func TestDropOfPartitionedColumn(t *testing.T) {
	g, ctx := newGround(t), context.Background()
	c := g.open(nil, nil)
	tbl, err := c.Create(ctx, tableName, CreateOptions{Schema: people(), CreateNamespace: true, Partition: []string{"small", "day(ts)"}})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(when, why string) {
		t.Helper()
		if err := tbl.DropColumn(ctx, "small"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", when, err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused("the table's own", "is partitioned by it")
	ingest(t, tbl, IngestOptions{}, rows(0, 4))
	must(tbl.Repartition(ctx, []string{"day(ts)"}))
	refused("live shards", "has shards of it")
	rebuildAll(t, tbl)
	refused("older snapshots", "expire older snapshots")
	expireNow(t, tbl)
	if _, err := tbl.WriteShards(ctx, source(rows(4, 1)), "", IngestOptions{JobID: "waiting"}); err != nil {
		t.Fatal(err)
	}
	refused("written shards", "job waiting")
	if _, err := tbl.DiscardShards(ctx, "waiting"); err != nil {
		t.Fatal(err)
	}
	must(tbl.DropColumn(ctx, "small"))
	if n := len(tbl.ice.Metadata().PartitionSpecs()); n != 1 {
		t.Errorf("%d partition specs are left", n)
	}
	oneShard(t, tbl, "id: Int64, ts: DateTime", fmt.Sprintf(`[{"id":10,"ts":%d}]`, int64(year2024)+3_600_000_000*10))
	must(tbl.AddColumn(ctx, "small", typed(t, "Int64")))
	must(tbl.Repartition(ctx, []string{"small", "day(ts)"}))
	oneShard(t, tbl, "id: Int64, ts: DateTime, small: Int64", fmt.Sprintf(`[{"id":11,"ts":%d,"small":5}]`, int64(year2024)))
	if got, _ := scanIDs(t, tbl, ScanOptions{Where: where(t, "small = 5")}); len(got) != 1 {
		t.Errorf("rows %v", got)
	}
	if got := counted(t, tbl); got != 6 {
		t.Errorf("%d rows", got)
	}
}

// TestPartitionsOfEveryName: a partition of a column whose name Avro does not have takes rows, which are found, rewritten and deleted, also
// where two names are the same in Avro.
func TestPartitionsOfEveryName(t *testing.T) {
	ctx := context.Background()
	names := []string{"sp ace", "ü", "1st", `k"q`, "a-b", "a_x2Db", "日本", "😀", "x'y"}
	described := "id: Int64"
	var partition, values []string
	for _, name := range names {
		described += ", " + strconv.Quote(name) + ": String"
		partition = append(partition, name, "bucket(4, "+name+")")
		values = append(values, strconv.Quote(name)+`:"v`+strconv.Itoa(len(values))+`"`)
	}
	s, err := schema.Parse(described)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := newGround(t).open(nil, nil).Create(ctx, tableName, CreateOptions{Schema: s, CreateNamespace: true, Partition: partition})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		oneShard(t, tbl, described, fmt.Sprintf(`[{"id":%d,%s},{"id":%d}]`, i, strings.Join(values, ","), i+10))
	}
	rebuildAll(t, tbl)
	for i, name := range names {
		column := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		for filter, want := range map[string]int{fmt.Sprintf("%s = 'v%d'", column, i): 2, column + " = 'x'": 0, column + " IS NULL": 2} {
			if got, _ := scanIDs(t, tbl, ScanOptions{Where: where(t, filter)}); len(got) != want {
				t.Errorf("%s finds %v", filter, got)
			}
		}
	}
	if d := remove(t, tbl, `"sp ace" = 'v0'`); d.Rows != 2 {
		t.Errorf("deleted %d rows", d.Rows)
	}
}
