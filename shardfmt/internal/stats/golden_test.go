package stats_test

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The statistics of every field of every stripe of the golden shards, nested ones too, computed from the
// expected rows, are those that the reference stored: sketches and Bloom filters bit for bit.
func TestGoldenStatistics(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	fields := 0
	for _, c := range interop.Cases(t) {
		fields += compareCase(t, sp, c)
	}
	t.Logf("%d fields of stripes compared: %v", fields, comparedStatistics)
	for _, kind := range []string{
		"string_stats", "boolean_stats", "list_stats", "binary_stats", "decimal_stats", "floating_stats", "range_stats", "cardinality", "membership_filters", "constant_value",
	} {
		if comparedStatistics[kind] == 0 {
			t.Errorf("no %s were compared", kind)
		}
	}
}

// comparedStatistics counts the messages that compare compared, by the field of the descriptor that holds them.
var comparedStatistics = map[string]int{}

func compareCase(t *testing.T, sp *blobio.Client, c *interop.Case) (fields int) {
	ctx := context.Background()
	url, err := sp.Mount(ctx, c.Shard())
	if err != nil {
		t.Fatal(err)
	}
	root, err := meta.OpenRoot(ctx, sp, url, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := root.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	src, err := fileio.OpenSource(ctx, sp, []string{filepath.Join(c.Dir, "rows.ndjson.gz")}, fileio.SourceOptions{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var batch arrow.RecordBatch
	for stripe, rows := range c.Stripes {
		tree := make([]*collected, len(s.Fields))
		for i, f := range s.Fields {
			tree[i] = collect(f, stats.Options{Plain: c.Profile == "plain", Reference: true})
		}
		for rows > 0 {
			if batch == nil || batch.NumRows() == 0 {
				if batch, err = src.Next(ctx); err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
			}
			n := min(int64(rows), batch.NumRows())
			for i := range tree {
				tree[i].add(array.NewSlice(batch.Column(i), 0, n))
			}
			batch = batch.NewSlice(n, batch.NumRows())
			rows -= int(n)
		}
		for _, f := range tree {
			fields += f.compare(t, root, c.Name, stripe)
		}
	}
	if _, err := src.Next(ctx); err != io.EOF {
		t.Errorf("%s: rows beyond the stripes (%v)", c.Name, err)
	}
	return fields
}

// collected is the collector of a node and those of its children.
type collected struct {
	node     *schema.Node
	c        *stats.Collector
	children []*collected
}

func collect(n *schema.Node, o stats.Options) *collected {
	tree := &collected{node: n, c: stats.NewCollector(n, o)}
	for _, child := range n.Children {
		tree.children = append(tree.children, collect(child, o))
	}
	return tree
}

func (f *collected) add(a arrow.Array) {
	f.c.Add(a)
	switch a := a.(type) {
	case *array.Struct:
		for i, child := range f.children {
			child.add(a.Field(i))
		}
	case *array.Map:
		start, _ := a.ValueOffsets(0)
		_, end := a.ValueOffsets(a.Len() - 1)
		f.children[0].add(array.NewSlice(a.Keys(), start, end))
		f.children[1].add(array.NewSlice(a.Items(), start, end))
	case array.ListLike:
		start, _ := a.ValueOffsets(0)
		_, end := a.ValueOffsets(a.Len() - 1)
		f.children[0].add(array.NewSlice(a.ListValues(), start, end))
	}
}

func (f *collected) compare(t *testing.T, root *meta.Root, name string, stripe int) (fields int) {
	m, _, err := root.StripeField(context.Background(), stripe, f.node.ID)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	if m != nil {
		fields = 1
		got, want := f.c.Descriptor(), proto.Clone(m.Field).(*metapb.FieldDescriptor)
		want.DictionarySize, want.CustomProperties = nil, nil
		shortest(got)
		shortest(want)
		want.ProtoReflect().Range(func(d protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			comparedStatistics[string(d.Name())]++
			return true
		})
		if !proto.Equal(got, want) {
			t.Errorf("%s stripe %d, %s %q:\n got %v\nwant %v", name, stripe, f.node.TypeName(), f.node.Name, got, want)
		}
	}
	for _, child := range f.children {
		fields += child.compare(t, root, name, stripe)
	}
	return fields
}

// shortest replaces decimal bounds by the member of their cohort with the fewest digits: the expected rows
// don't always have the digits that were stored (100 for 100.00).
func shortest(d *metapb.FieldDescriptor) {
	for _, v := range []*metapb.AnyValue{d.GetRangeStats().GetMinValue(), d.GetRangeStats().GetMaxValue(), d.ConstantValue} {
		if k, ok := v.GetKind().(*metapb.AnyValue_DecimalValue); ok {
			b := stats.DecimalBytes(decimal.From(k.DecimalValue))
			k.DecimalValue = b[:]
		}
	}
}
