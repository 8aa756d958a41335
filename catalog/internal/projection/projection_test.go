package projection

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestProjectionGrowsWithTheColumns: what projecting a batch allocates is in proportion to its columns.
func TestProjectionGrowsWithTheColumns(t *testing.T) {
	allocated := func(columns int) uint64 {
		s, ids, arrays := &schema.Schema{}, make([]int, columns), make([]arrow.Array, columns)
		for i := range ids {
			s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprintf("c%d", i), Basic: schema.Int64, Signed: true, Nullable: true})
			ids[i] = i + 1
			arrays[i] = array.MakeArrayOfNull(memory.DefaultAllocator, arrow.PrimitiveTypes.Int64, 1)
		}
		s.Number()
		to := arrowtype.Schema(s)
		b := array.NewRecordBatch(to, arrays, 1)
		p := &Projection{Target: s.Fields, IDs: ids, Shard: s, ShardIDs: ids}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, err := p.Apply(b, to)
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
