package shardfmt_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

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
	if err != nil {
		t.Fatal(err)
	}
	e, err := filter.Parse("small < 900")
	if err != nil {
		t.Fatal(err)
	}
	all, err := shard.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	bound, err := filter.Bind(e, all)
	if err != nil {
		t.Fatal(err)
	}
	original := shortTexts(arrowtype.Schema(s))
	r := rand.New(rand.NewPCG(17, 18))
	for _, o := range []shardfmt.ScanOptions{{Workers: 1}, {Workers: 3}, {Workers: 2, Filter: bound}} {
		o.BatchRows = 1000
		kept := keptBatches(t, shard, o)
		var parts []part
		var exported []arrow.RecordBatch
		for range 3 {
			exporter, err := arrowtype.NewExporter(s, arrowtype.ExportOptions{Original: original})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for b, err := range shard.Scan(context.Background(), o) {
				if err != nil {
					t.Fatal(err)
				}
				if !sameBatch(kept[n], b) {
					t.Fatalf("batch %d: sameBatch(kept[n], b) is false", n)
				}
				out, err := exporter.Export(b)
				if err != nil {
					t.Fatal(err)
				}
				exported = append(exported, out)
				parts = append(parts, retainPart(r, b, kept[n]))
				b.Release()
				n++
			}
			if got := kept; len(got) != n {
				t.Fatalf("%d elements, want %d: %v", len(got), n, got)
			}
		}
		for i, p := range parts {
			if !array.ApproxEqual(p.want, p.retained, array.WithNaNsEqual(true), array.WithAbsTolerance(0)) {
				t.Fatalf("part %d: %v: array.ApproxEqual(p.want, p.retained, array.WithNaNsEqual(true), array.WithAbsTolerance(0)) is false", i, p.want.DataType())
			}
			p.retained.Release()
		}
		exporter, err := arrowtype.NewExporter(s, arrowtype.ExportOptions{Original: original})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range exported {
			want, err := exporter.Export(kept[i%len(kept)])
			if err != nil {
				t.Fatal(err)
			}
			if !sameBatch(want, got) {
				t.Fatalf("exported batch %d: sameBatch(want, got) is false", i)
			}
		}
	}
}
