package arrowtype

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/schema"
)

func node(b schema.Basic, size uint64, children ...*schema.Node) *schema.Node {
	return &schema.Node{Name: "f", Basic: b, FixedSize: size, Nullable: true, Children: children}
}

func labelled(n *schema.Node, label string) *schema.Node {
	n.Ext = &schema.Extension{Label: label}
	return n
}

func signed(n *schema.Node) *schema.Node { n.Signed = true; return n }

func TestSchemaIsCanonical(t *testing.T) {
	for _, c := range []struct {
		node *schema.Node
		want string
	}{
		{node(schema.Unit, 0), "null"},
		{node(schema.Boolean, 0), "bool"},
		{signed(node(schema.Int8, 0)), "int8"},
		{node(schema.Int8, 0), "uint8"},
		{signed(node(schema.Int64, 0)), "int64"},
		{node(schema.Int64, 0), "uint64"},
		{node(schema.Float32, 0), "float32"},
		{node(schema.String, 0), "large_utf8"},
		{node(schema.Binary, 0), "large_binary"},
		{node(schema.FixedSizeBinary, 5), "fixed_size_binary[5]"},
		{node(schema.FixedSizeBinary, 0), "fixed_size_binary[0]"},
		{node(schema.Guid, 16), "extension<arrow.uuid>"},
		{node(schema.DateTime, 0), "extension_type<storage=int64>"},
		{labelled(signed(node(schema.Int64, 0)), schema.LabelTimeSpan), "extension_type<storage=int64>"},
		{labelled(node(schema.FixedSizeBinary, 16), schema.LabelDecimal), "extension_type<storage=fixed_size_binary[16]>"},
		{labelled(node(schema.Binary, 0), schema.LabelDynamic), "extension_type<storage=large_binary>"},
		{labelled(node(schema.Binary, 0), "Variant"), "large_binary"},
		{node(schema.List, 0, node(schema.Boolean, 0)), "large_list<item: bool, nullable>"},
		{node(schema.FixedSizeList, 3, node(schema.Boolean, 0)), "fixed_size_list<item: bool, nullable>[3]"},
		{node(schema.Map, 0, node(schema.String, 0), node(schema.Boolean, 0)), "map<large_utf8, bool, items_nullable>"},
		{node(schema.Struct, 0), "struct<>"},
		{node(schema.Union, 0, node(schema.Boolean, 0), node(schema.Float64, 0)), "sparse_union<f: type=bool, nullable=0, f: type=float64, nullable=1>"},
	} {
		s := &schema.Schema{Fields: []*schema.Node{c.node}}
		if err := Check(s); err != nil {
			t.Errorf("%s: %v", c.want, err)
		}
		if got := Schema(s).Field(0).Type.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	deep := node(schema.Boolean, 0)
	for range MaxDepth {
		deep = node(schema.List, 0, deep)
	}
	for want, n := range map[string]*schema.Node{
		"nest deeper":        deep,
		"257 variants":       node(schema.Union, 0, make([]*schema.Node, 257)...),
		"one child":          node(schema.List, 0),
		"two children":       node(schema.Map, 0, node(schema.String, 0)),
		"no elements":        node(schema.FixedSizeList, 0, node(schema.String, 0)),
		"more than 2^31":     node(schema.FixedSizeBinary, 1<<31),
		"leaf type with 1":   node(schema.String, 0, node(schema.String, 0)),
		"type 99 is unknown": node(schema.Basic(99), 0),
	} {
		s := &schema.Schema{Fields: []*schema.Node{n}}
		if err := Check(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		Schema(s) // must not panic
	}
}

func TestExtensionArraysGiveTypedValues(t *testing.T) {
	b := array.NewBuilder(memory.DefaultAllocator, DateTime).(*array.ExtensionBuilder)
	b.StorageBuilder().(*array.Int64Builder).Append(7)
	b.AppendNull()
	a := b.NewArray().(*DateTimeArray)
	if a.Ticks()[0] != 7 || !a.IsNull(1) {
		t.Fatal(a)
	}
	for _, e := range []arrow.ExtensionType{DateTime, TimeSpan, Decimal, Dynamic} {
		if got := arrow.GetExtensionType(e.ExtensionName()); got != e {
			t.Errorf("%s is not registered", e.ExtensionName())
		}
		if _, err := e.Deserialize(arrow.PrimitiveTypes.Int8, ""); err == nil {
			t.Errorf("%s accepts int8 storage", e.ExtensionName())
		}
		if got, err := e.Deserialize(e.StorageType(), ""); err != nil || !arrow.TypeEqual(got, e) {
			t.Errorf("%s: %v", e.ExtensionName(), err)
		}
	}
}
