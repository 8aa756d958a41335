package manifest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func parsed(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// columns are those of a table: id is required, note also goes by the name of remark.
func columns(t *testing.T) *TableSchema {
	t.Helper()
	field := func(id int, name string, typ iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: typ}
	}
	id := field(1, "id", iceberg.PrimitiveTypes.Int64)
	id.Required = true
	return NewTableSchema(iceberg.NewSchema(0, id,
		field(2, "note", iceberg.PrimitiveTypes.String),
		field(3, "tags", &iceberg.ListType{ElementID: 4, Element: iceberg.PrimitiveTypes.String}),
		field(5, "at", &iceberg.StructType{FieldList: []iceberg.NestedField{field(6, "x", iceberg.PrimitiveTypes.Float64), field(7, "y", iceberg.PrimitiveTypes.Float64)}}),
		field(8, "attrs", &iceberg.MapType{KeyID: 9, KeyType: iceberg.PrimitiveTypes.String, ValueID: 10, ValueType: iceberg.PrimitiveTypes.Int64, ValueRequired: false}),
	), TypeNotes{})
}

// mapTest is one shard schema, the ids that its nodes get, and what the refusal states, if there is one.
type mapTest struct {
	fields  string
	ids     []int
	refused string
}

// TestByNameAndCheck: an adopted shard's fields pair with columns of their name, children of structs by name and those of
// lists and maps by place; what the column can't hold and what lacks a required column is refused.
func TestByNameAndCheck(t *testing.T) {
	for _, c := range []mapTest{
		{"id: Int64, note: String", []int{1, 2}, ""},
		{"note: String, other: Int64, id: Int32", []int{2, 0, 1}, ""},
		{"id: Int64, tags: List<String>", []int{1, 3, 4}, ""},
		{"id: Int64, at: Struct<y: Float64, z: Int64, x: Float32>", []int{1, 5, 7, 0, 6}, ""},
		{"id: Int64, attrs: Map<String, Int32>", []int{1, 8, 9, 10}, ""},
		{"id: Int64, other: List<String>", []int{1, 0, 0}, ""},
		{"id: Int64, tags: Struct<tags: String>", []int{1, 3, 0}, `"tags" is Struct`},
		{"id: Int64, tags: String", []int{1, 3}, `"tags" is String`},
		{"id: Int64, tags: List<Int64>", []int{1, 3, 4}, "is Int64, the table's column is String"},
		{"id: Int64, at: Struct<x: String>", []int{1, 5, 6}, `"x" is String`},
		{"id: String", []int{1}, `"id" is String`},
		{"note: String", []int{2}, `required column "id"`},
	} {
		ts, s := columns(t), parsed(t, c.fields)
		ids := ts.ByName(s)
		if !slices.Equal(ids, c.ids) {
			t.Errorf("%s: ids %v, want %v", c.fields, ids, c.ids)
		}
		err := ts.Check(s, ids)
		if (c.refused == "") != (err == nil) || err != nil && (!errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v, want %q", c.fields, err, c.refused)
		}
	}
}

// TestAliasesPair: a field that was renamed is found by its former name, after those that have the name now.
func TestAliasesPair(t *testing.T) {
	s := parsed(t, "id: Int64, remark: String, memo: String")
	s.Fields[1].Aliases, s.Fields[2].Aliases = []string{"note"}, []string{"nothing"}
	if ids := columns(t).ByName(s); !slices.Equal(ids, []int{1, 2, 0}) {
		t.Errorf("ids %v", ids)
	}
}

func TestPromotable(t *testing.T) {
	for pair, want := range map[string]bool{
		"Int32 Int64": true, "Int64 Int32": false, "Int64 Int64": true, "Int8 Int64": true,
		"UInt32 Int64": true, "UInt64 Int64": false, "UInt32 UInt64": true, "Int32 UInt64": false, "UInt64 UInt64": true,
		"Float32 Float64": true, "Float64 Float32": false, "Float64 Float64": true, "Float32 Float32": true, "Int32 Float64": false, "UInt32 Float64": false, "UInt8 Float32": false, "Float32 UInt64": false,
		"String String": true, "String Binary": false, "Binary Dynamic": false, "Dynamic Binary": false, "Dynamic Dynamic": true,
		"Guid Guid": true, "FixedSizeBinary(4) FixedSizeBinary(4)": true, "FixedSizeBinary(4) FixedSizeBinary(5)": false,
		"FixedSizeBinary(16) Decimal": false, "Decimal FixedSizeBinary(16)": false, "Decimal Decimal": true,
		"TimeSpan TimeSpan": true, "Int64 TimeSpan": true, "TimeSpan Int64": false, "DateTime DateTime": true, "DateTime Int64": false,
	} {
		from, to, _ := strings.Cut(pair, " ")
		s := parsed(t, "a: "+from+", b: "+to)
		if got := s.Fields[0].WidensTo(s.Fields[1]); got != want {
			t.Errorf("%s: %v", pair, got)
		}
	}
}

// shard writes a shard of two rows, one of them with nulls everywhere but in id.
func shard(t *testing.T, url, fields string, ids []int, rows string) *shardfmt.Shard {
	t.Helper()
	client := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { client.Close() })
	s := parsed(t, fields)
	w, err := shardfmt.NewWriter(t.Context(), client, url, s, shardfmt.WriterOptions{FieldIDs: ids})
	if err != nil {
		t.Fatal(err)
	}
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s), strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	opened, err := shardfmt.Open(t.Context(), client, url, shardfmt.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// TestShardsOfATableAreMappedAndDescribed: the ids of a shard's own property go before its names; without the property names
// decide. The entry has the counts and bounds of nested columns too, and reports about every object.
func TestShardsOfATableAreMappedAndDescribed(t *testing.T) {
	const fields, rows = "id: Int64, at: Struct<x: Float64, y: Float64>", `[{"id":1,"at":{"x":2.5,"y":0}},{"id":7,"at":null}]`
	for url, c := range map[string]struct{ stored, want []int }{
		"mem://mapped/own.amudai.shard":   {[]int{1, 5, 7, 6}, []int{1, 5, 7, 6}},
		"mem://mapped/names.amudai.shard": {nil, []int{1, 5, 6, 7}},
	} {
		root := shard(t, url, fields, c.stored, rows)
		ids, err := columns(t).MapShard(t.Context(), root)
		if err != nil || !slices.Equal(ids, c.want) {
			t.Fatalf("%s: ids %v, %v", url, ids, err)
		}
		e, objects, err := Describe(t.Context(), root, ids)
		if err != nil {
			t.Fatal(err)
		}
		if id := e.Columns[1]; id.Values != 2 || id.Nulls != 0 || long(id.Lower) != 1 || long(id.Upper) != 7 {
			t.Errorf("%s: id %+v", url, id)
		}
		if at := e.Columns[5]; at.Values != 2 || at.Nulls != 1 {
			t.Errorf("%s: at %+v", url, at)
		}
		if x := e.Columns[c.want[2]]; x.Bytes <= 0 || x.Lower == nil {
			t.Errorf("%s: x %+v", url, x)
		}
		if len(e.Columns) != 4 || e.Records != 2 || e.Objects != int64(len(objects)+1) || objects[url] != 0 || e.Flags&Foreign != 0 != (c.stored == nil) {
			t.Errorf("%s: entry %+v, objects %v", url, e, objects)
		}
		if _, _, err := Describe(t.Context(), root, ids[:3]); err == nil || !strings.Contains(err.Error(), "3 field IDs for the 4 nodes") {
			t.Errorf("%s: with too few ids: %v", url, err)
		}
	}
}

// TestMapShardRefuses: a property that is none, and fields that are not columns, are refused with the shard's name.
func TestMapShardRefuses(t *testing.T) {
	root := shard(t, "mem://mapped/other.amudai.shard", "id: String", nil, `[{"id":"a"}]`)
	if ids, err := columns(t).MapShard(t.Context(), root); ids != nil || !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), "other.amudai.shard") {
		t.Errorf("ids %v, %v", ids, err)
	}
}
