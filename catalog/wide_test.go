package catalog

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// manyColumns is a schema of so many columns.
func manyColumns(columns int) *schema.Schema {
	s := &schema.Schema{}
	for i := range columns {
		s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprintf("c%d", i), Basic: schema.Int64, Signed: true, Nullable: true})
	}
	s.Number()
	return s
}

// TestTooManyColumnsAreRefusedAtOnce: a table whose manifests could not be written is not made, nor does one grow so wide.
func TestTooManyColumnsAreRefusedAtOnce(t *testing.T) {
	c := newGround(t).open(nil, nil)
	if _, err := c.Create(t.Context(), Name{Table: "wide"}, CreateOptions{Schema: manyColumns(20_000), CreateNamespace: true}); !errors.Is(err, ErrInvalid) || !strings.Contains(fmt.Sprint(err), "too many columns") {
		t.Errorf("created: %v", err)
	}
	if _, err := c.Load(t.Context(), Name{Table: "wide"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("loaded: %v", err)
	}
	tbl, err := c.Create(t.Context(), Name{Table: "grows"}, CreateOptions{Schema: manyColumns(10), CreateNamespace: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := tbl.AddColumns(t.Context(), manyColumns(20_000)); !strings.Contains(fmt.Sprint(err), "too many columns") {
		t.Errorf("extended: %v", err)
	}
	if n := len(tbl.Schema().Fields); n != 10 {
		t.Errorf("%d columns", n)
	}
}

// TestProjectionGrowsWithTheColumns: what projecting a batch allocates is in proportion to its columns.
func TestProjectionGrowsWithTheColumns(t *testing.T) {
	allocated := func(columns int) uint64 {
		s := manyColumns(columns)
		ids := make([]int, columns)
		arrays := make([]arrow.Array, columns)
		for i := range ids {
			ids[i] = i + 1
			arrays[i] = array.MakeArrayOfNull(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64, 1)
		}
		to := arrowtype.Schema(s)
		b := array.NewRecordBatch(to, arrays, 1)
		p := &projection{target: s.Fields, ids: ids, shard: s, shardIDs: ids}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := p.apply(b, to)
		runtime.ReadMemStats(&after)
		if err != nil || out.NumCols() != int64(columns) {
			t.Fatal(err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := allocated(1000), allocated(4000); large > 8*small {
		t.Errorf("%d bytes for 1000 columns, %d for 4000", small, large)
	}
}
