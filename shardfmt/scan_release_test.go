package shardfmt_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// part is something of a batch that was retained, and what is the same of one that nobody released.
type part struct{ retained, want arrow.Array }

// retainPart retains one thing of a batch: a column, what lies in one, or a slice.
func retainPart(r *rand.Rand, b, kept arrow.RecordBatch) part {
	i := r.IntN(int(b.NumCols()))
	p := part{b.Column(i), kept.Column(i)}
	for r.IntN(3) > 0 {
		next := part{inside(p.retained), inside(p.want)}
		if next.want == nil {
			break
		}
		p = next
	}
	if n := int64(p.want.Len()); r.IntN(2) == 0 && n > 1 {
		from := r.Int64N(n)
		return part{array.NewSlice(p.retained, from, n), array.NewSlice(p.want, from, n)}
	}
	p.retained.Retain()
	return p
}

// inside is an array that another one holds, nil if it holds none.
func inside(a arrow.Array) arrow.Array {
	switch a := a.(type) {
	case *array.Struct:
		return a.Field(a.NumField() - 1)
	case *array.SparseUnion:
		return a.Field(0)
	case array.ListLike:
		return a.ListValues()
	case array.ExtensionArray:
		return a.Storage()
	}
	return nil
}

// shortTexts is a schema whose texts have offsets of 32 bits, as most Arrow programs have them.
func shortTexts(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	for i, f := range fields {
		if f.Type.ID() == arrow.LARGE_STRING {
			fields[i].Type = arrow.BinaryTypes.String
		}
	}
	return arrow.NewSchema(fields, nil)
}

// What is retained of a batch stays as it is when the batch is released, however many batches come after it in whatever memory
// there is: columns, arrays within them, slices. So does a batch that is exported to other types.
func TestRetainedPartsOfReleasedBatches(t *testing.T) {
	shard := pathShard(t)
	s, err := shard.Project(context.Background(), nil, false)
	require.NoError(t, err)
	e, err := filter.Parse("small < 900")
	require.NoError(t, err)
	all, err := shard.Schema(context.Background())
	require.NoError(t, err)
	bound, err := filter.Bind(e, all)
	require.NoError(t, err)
	original := shortTexts(arrowtype.Schema(s))
	r := rand.New(rand.NewPCG(17, 18))
	for _, o := range []shardfmt.ScanOptions{{Workers: 1}, {Workers: 3}, {Workers: 2, Filter: bound}} {
		o.BatchRows = 1000
		kept := keptBatches(t, shard, o)
		var parts []part
		var exported []arrow.RecordBatch
		for range 3 {
			exporter, err := arrowtype.NewExporter(s, arrowtype.ExportOptions{Original: original})
			require.NoError(t, err)
			n := 0
			for b, err := range shard.Scan(context.Background(), o) {
				require.NoError(t, err)
				require.True(t, sameBatch(kept[n], b), "batch %d", n)
				out, err := exporter.Export(b)
				require.NoError(t, err)
				exported = append(exported, out)
				parts = append(parts, retainPart(r, b, kept[n]))
				b.Release()
				n++
			}
			require.Len(t, kept, n)
		}
		for i, p := range parts {
			require.True(t, array.ApproxEqual(p.want, p.retained, array.WithNaNsEqual(true), array.WithAbsTolerance(0)), "part %d: %v", i, p.want.DataType())
			p.retained.Release()
		}
		exporter, err := arrowtype.NewExporter(s, arrowtype.ExportOptions{Original: original})
		require.NoError(t, err)
		for i, got := range exported {
			want, err := exporter.Export(kept[i%len(kept)])
			require.NoError(t, err)
			require.True(t, sameBatch(want, got), "exported batch %d", i)
		}
	}
}
