package conformance

import (
	"fmt"
	"strings"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
)

// tables are the shards of all levels.
func tables() []*table {
	var all []*table
	for _, level := range [][]*table{plainTables(), encodingTables(), writerTables(), nestedTables(), indexTables(), bookTables()} {
		all = append(all, level...)
	}
	return all
}

// flat is a column of every type without children.
func flat() []column {
	return []column{
		{name: "flag", typ: "Boolean", value: boolean},
		{name: "i8", typ: "Int8", value: signed(8)}, {name: "i16", typ: "Int16", value: signed(16)},
		{name: "i32", typ: "Int32", value: signed(32)}, {name: "i64", typ: "Int64", value: signed(64)},
		{name: "u8", typ: "UInt8", value: unsigned(8)}, {name: "u16", typ: "UInt16", value: unsigned(16)},
		{name: "u32", typ: "UInt32", value: unsigned(32)}, {name: "u64", typ: "UInt64", value: unsigned(64)},
		{name: "f32", typ: "Float32", value: float(32)}, {name: "f64", typ: "Float64", value: float(64)},
		{name: "s", typ: "String", value: words}, {name: "b", typ: "Binary", value: blob(func(i int) int { return i % 7 })},
		{name: "fixed", typ: "FixedSizeBinary(5)", value: blob(sized(5))}, {name: "guid", typ: "Guid", value: guid},
		{name: "t", typ: "DateTime", value: datetime}, {name: "span", typ: "TimeSpan", value: timespan},
		{name: "price", typ: "Decimal", value: decimal}, {name: "dyn", typ: "Dynamic", value: dynamic},
		{name: "none", typ: "Unit", value: func(int) string { return "null" }},
	}
}

// withNulls are columns of which some values are null.
func withNulls(columns []column, null func(int, func(int) string) func(int) string, n int) []column {
	for i := range columns {
		columns[i].value = null(n, columns[i].value)
	}
	return columns
}

func plainTables() []*table {
	plain := shardwriter.Options{Profile: encode.Plain, Layout: shardwriter.Single}
	apart := plain
	apart.Layout, apart.StripeRows = shardwriter.TwoLevel, 300
	return []*table{
		{level: "l1", name: "every-type", what: "every type without children, no null", rows: 500, columns: flat(), o: plain},
		{level: "l1", name: "some-null", what: "one value in seven null", rows: 500, columns: withNulls(flat(), sometimes, 7), o: plain},
		{level: "l1", name: "mostly-null", what: "all but one value in forty null", rows: 500, columns: withNulls(flat(), mostly, 40), o: plain},
		{level: "l1", name: "three-stripes", what: "stripes in objects of their own", rows: 800, columns: withNulls(flat(), sometimes, 9), o: apart},
		{level: "l1", name: "text-forms", what: "values whose texts are longest, shortest or have another form", rows: 60, columns: []column{
			{name: "price", typ: "Decimal", value: few(`"1E+30"`, `"-0"`, `"NaN"`, `"Infinity"`, `"-Infinity"`, `"1.50"`, `"0.000001"`, `"1E-7"`, `"1.23E+7"`, `"0E+3"`, `"9.999999999999999999999999999999999E+6144"`)},
			{name: "span", typ: "TimeSpan", value: few(`"-10675199.02:48:05.4775808"`, `"10675199.02:48:05.4775807"`, `"00:00:00"`, `"-00:00:00.0000001"`)},
			{name: "t", typ: "DateTime", value: few(`"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59.9999999Z"`, `"1970-01-01T00:00:00.1Z"`)},
			{name: "f", typ: "Float32", value: few("3.4028235e38", "1e-45", "0.1", "-0.0", "16777216")},
			{name: "d", typ: "Float64", value: few("1.7976931348623157e308", "5e-324", "0.1", "-0.0")},
			{name: "id", typ: "Int64", value: few("-9223372036854775808", "9223372036854775807")}, {name: "u", typ: "UInt64", value: few("18446744073709551615", "0")}}, o: plain},
		{level: "l1", name: "internal-fields", what: "internal fields, which no record has", rows: 40, columns: []column{
			{name: "ingested", typ: "DateTime", value: datetime, internal: "Kusto.Amudai.IngestionTimestamp"},
			{name: "n", typ: "Int32", value: below(99)},
			{name: "identity", typ: "FixedSizeBinary(16)", value: blob(sized(16)), internal: "Kusto.Amudai.RecordIdentity"}}, o: plain},
		{level: "l1", name: "one-record", what: "one record", rows: 1, columns: flat(), o: plain},
		{level: "l1", name: "no-record", what: "no record", rows: 0, columns: flat(), o: plain},
		{level: "l1", name: "constants", what: "fields of one value, and of nulls alone, which have no buffers", rows: 70, columns: []column{
			{name: "n", typ: "Int32", value: few("7")}, {name: "s", typ: "String", value: few(`"same"`)}, {name: "empty", typ: "String", value: few(`""`)},
			{name: "none", typ: "Float64", value: few("null")}, {name: "t", typ: "DateTime", value: few(`"2024-05-01T00:00:00Z"`)},
			{name: "f", typ: "Float32", value: few("1.5")}, {name: "yes", typ: "Boolean", value: few("true")}, {name: "span", typ: "TimeSpan", value: few(`"00:00:01"`)},
			{name: "d", typ: "Decimal", value: few(`"1.50"`)}, {name: "id", typ: "Int64", value: steps(0, 1)}}, o: plain},
		{level: "l1", name: "blocks", what: "many blocks, of which some hold one value", rows: 20_000, columns: []column{
			{name: "n", typ: "Int16", value: func(i int) string { return fmt.Sprint(i / 8192) }}, {name: "k", typ: "Int64", value: signed(64)}}, o: plain},
	}
}

// encoded is a column for a tree of encodings.
type encoded struct {
	typ, tree string
	value     func(i int) string
}

// forms are the encodings of level 2, a shard for each.
var forms = []struct {
	name    string
	columns []encoded
}{
	{"flbitpack", []encoded{{"UInt8", "FLBitPack", below(100)}, {"UInt16", "FLBitPack", below(5)}, {"UInt32", "FLBitPack", below(1 << 20)}, {"UInt64", "FLBitPack", below(1 << 40)}}},
	{"for", []encoded{{"Int32", "FrameOfReference[FLBitPack]", around(1000)}, {"Int64", "FrameOfReference[Plain]", around(9)}, {"UInt8", "FrameOfReference[Sparse[raw, raw]]", rare(9, below(100))}}},
	{"ffor", []encoded{{"Int8", "FusedFrameOfReference", around(100)}, {"Int16", "FusedFrameOfReference", around(10)}, {"Int64", "FusedFrameOfReference", signed(64)}, {"DateTime", "FusedFrameOfReference", datetime}}},
	{"delta", []encoded{{"Int64", "Delta[SingleValue]", steps(5, 3)}, {"Int32", "Delta[FusedFrameOfReference]", around(50)}, {"UInt16", "Delta[Plain]", below(60_000)}, {"Int64", "TruncateU32[Delta[SingleValue]]", steps(-9, 2)}}},
	{"runlength", []encoded{{"Int32", "RunLength[raw, raw]", runs(9)}, {"UInt8", "RunLength[FLBitPack, raw]", runs(40)}, {"Float64", "RunLength[raw, FLBitPack]", runs(6)}, {"Int64", "RunLength[TruncateU8[raw], FLBitPack]", runs(11)}}},
	{"truncate", []encoded{{"Int64", "TruncateU8[raw]", around(100)}, {"Int32", "TruncateU16[raw]", around(1000)}, {"Int64", "TruncateU32[FusedFrameOfReference]", around(70_000)}, {"Int64", "TruncateU64[raw]", signed(64)}}},
	{"alp", []encoded{{"Float64", "Alp[FusedFrameOfReference]", hundredths}, {"Float64", "Alp[Plain]", float(64)}, {"Float32", "Alp[FusedFrameOfReference]", runs(3)}}},
	{"alprd", []encoded{{"Float64", "AlpRd[FLBitPack, FLBitPack]", near(64)}, {"Float32", "AlpRd[FLBitPack, FLBitPack]", near(32)}, {"Float64", "AlpRd[FLBitPack, FLBitPack]", float(64)}}},
	{"dictionary", []encoded{{"Int64", "BlockDictionary[FLBitPack, raw]", few("900000000000", "-1", "7")}, {"Int32", "BlockDictionary[Plain, raw]", few("5", "0", "-70000")}, {"String", "BlockDictionary[FLBitPack, raw]", words}, {"Binary", "BlockDictionary[Plain, FLBitPack]", few(`"AQ=="`, `"AgM="`, `""`)}, {"Float32", "BlockDictionary[FLBitPack, raw]", few("1.5", "2.5")}}},
	{"fsst", []encoded{{"String", "Fsst[raw]", logs}, {"String", "Fsst[Delta[FLBitPack]]", logs}, {"FixedSizeBinary(5)", "Fsst", few(`"AQIDBAU="`, `"AQIDBAY="`)}}},
	{"zstd", []encoded{{"String", "Zstd[raw]", logs}, {"Binary", "Zstd[FusedFrameOfReference]", blob(sized(9))}, {"Int32", "Zstd", below(40)}, {"Guid", "Zstd", guid}}},
	{"lz4", []encoded{{"String", "Lz4[raw]", logs}, {"Binary", "Lz4[FLBitPack]", blob(sized(3))}, {"Float64", "Lz4", runs(5)}, {"Decimal", "Lz4", decimal}}},
	{"zigzag", []encoded{{"Int32", "ZigZag[FLBitPack]", around(99)}, {"Int16", "ZigZag[raw]", around(9)}, {"Int64", "ZigZag[Lz4]", around(5)}}},
	{"sparse", []encoded{{"Int64", "Sparse[raw, raw]", rare(30, signed(40))}, {"UInt16", "Sparse[FLBitPack, FLBitPack]", rare(20, below(9))}, {"Float64", "Sparse[FLBitPack, raw]", rare(25, hundredths)}}},
}

// encodingTables has a shard for each encoding, without and with nulls.
func encodingTables() []*table {
	var out []*table
	for _, f := range forms {
		t := &table{level: "l2", name: f.name, rows: 2100, o: shardwriter.Options{Profile: encode.Plain, Layout: shardwriter.Single}}
		var trees []string
		for i, c := range f.columns {
			t.columns = append(t.columns,
				column{name: fmt.Sprintf("c%d", i), typ: c.typ, value: c.value, tree: c.tree},
				column{name: fmt.Sprintf("n%d", i), typ: c.typ, value: sometimes(8, c.value), tree: c.tree})
			trees = append(trees, c.tree)
		}
		// Of the trees that hold one value throughout, a null would be another one.
		t.columns = keepColumns(t.columns, func(c column) bool { return c.name[0] == 'c' || !strings.Contains(c.tree, "SingleValue") })
		t.what = strings.Join(trees, ", ")
		out = append(out, t)
	}
	return out
}

func keepColumns(columns []column, keep func(column) bool) (out []column) {
	for _, c := range columns {
		if keep(c) {
			out = append(out, c)
		}
	}
	return out
}

// writerTables are what the writer makes of its own accord, by profile.
func writerTables() []*table {
	var out []*table
	for _, p := range []encode.Profile{encode.Balanced, encode.MinimalCompression, encode.HighCompression, encode.MinimalSize} {
		columns := append(withNulls(flat(), sometimes, 20), column{name: "log", typ: "String", value: logs},
			column{name: "word", typ: "String", value: sometimes(10, few(`"red"`, `"green"`, `"blue"`))}, column{name: "id", typ: "Int64", value: steps(1, 1)})
		out = append(out, &table{level: "l2", name: "profile-" + p.String(), what: "what the profile chooses, value dictionaries too", rows: 1500,
			columns: columns, o: shardwriter.Options{Profile: p, Layout: shardwriter.Single}})
	}
	return out
}

func nestedTables() []*table {
	list := func(max int, item func(i int) string) func(i int) string {
		return func(i int) string {
			items := make([]string, noise(i)%uint64(max+1))
			for k := range items {
				items[k] = item(i*7 + k)
			}
			return "[" + strings.Join(items, ",") + "]"
		}
	}
	entries := func(i int) string {
		return list(3, func(k int) string { return fmt.Sprintf(`{"key":"k%d","value":%s}`, k%9, sometimes(4, below(99))(k)) })(i)
	}
	structs := func(i int) string {
		return fmt.Sprintf(`{"x":%s,"y":{"z":%s,"s":%s}}`, sometimes(5, hundredths)(i), sometimes(3, below(9))(i), words(i))
	}
	pair := func(i int) string { return fmt.Sprintf("[%s,%s]", sometimes(4, below(9))(i), below(9)(i+1)) }
	union := func(i int) string { return []string{"1", `"text"`, "null", "true"}[noise(i)%4] }
	columns := func() []column {
		return []column{
			{name: "tags", typ: "List<String>", value: sometimes(6, list(3, sometimes(5, words)))},
			{name: "deep", typ: "List<List<Int32>>", value: sometimes(9, list(2, sometimes(4, list(3, below(1000)))))},
			{name: "pos", typ: "Struct<x: Float64, y: Struct<z: Int32, s: String>>", value: sometimes(5, structs)},
			{name: "attrs", typ: "Map<String, Int64>", value: sometimes(7, entries)},
			{name: "pair", typ: "FixedSizeList(2)<Int16>", value: sometimes(6, pair)},
			{name: "rows", typ: "List<Struct<x: Float64, y: Struct<z: Int32, s: String>>>", value: list(2, sometimes(6, structs))},
			{name: "id", typ: "Int32", value: steps(0, 1)},
		}
	}
	unions := []column{{name: "u", typ: "Union<Int64, String, Boolean>", value: union},
		{name: "lu", typ: "List<Union<Int64, String, Boolean>>", value: list(3, union)}, {name: "id", typ: "Int32", value: steps(0, 1)}}
	plain := shardwriter.Options{Profile: encode.Plain, Layout: shardwriter.Single}
	return []*table{
		{level: "l3", name: "nested-plain", what: "lists, structs, maps, fixed lists, null at every depth", rows: 600, columns: columns(), o: plain},
		{level: "l3", name: "nested-stripes", what: "the same, encoded, in stripes", rows: 900, columns: columns(), o: shardwriter.Options{StripeRows: 400}},
		{level: "l3", name: "empty-lists", what: "lists that are all empty, or all null", rows: 90, columns: []column{
			{name: "e", typ: "List<Int32>", value: few("[]")}, {name: "n", typ: "List<Int32>", value: few("null")}, {name: "id", typ: "Int32", value: steps(0, 1)}}, o: plain},
		{level: "l3", name: "unions", what: "unions, null ones too", rows: 700, columns: unions, o: shardwriter.Options{Layout: shardwriter.Single}},
	}
}

func indexTables() []*table {
	columns := func() []column {
		return []column{{name: "id", typ: "Int64", value: steps(0, 1)}, {name: "text", typ: "String", value: sometimes(9, logs)}, {name: "n", typ: "Int32", value: below(50)}}
	}
	return []*table{
		{level: "l4", name: "text-and-hash", what: "indexes of two stripes, each a shard of its own, which a reader of records passes over", rows: 700, columns: columns(),
			o: shardwriter.Options{StripeRows: 400}, indexes: "text:text hash:id"},
		{level: "l4", name: "deleted", what: "one record in five is marked as deleted", rows: 700, columns: columns(), o: shardwriter.Options{StripeRows: 300},
			deleted: func(i int) bool { return noise(i)%5 == 0 }},
		{level: "l4", name: "deleted-stripe", what: "a stripe of which nothing is left", rows: 600, columns: columns(), o: shardwriter.Options{Layout: shardwriter.Single, StripeRows: 200},
			deleted: func(i int) bool { return i/200 == 1 }},
	}
}

func bookTables() []*table {
	union := func(i int) string { return []string{"1", `"text"`, "null", "true"}[noise(i)%4] }
	return []*table{
		{level: "l5", optional: true, name: "sparse-unions", what: "unions whose variants have no gaps: OFFSETS beside DATA", rows: 700,
			columns: []column{{name: "u", typ: "Union<Int64, String, Boolean>", value: union}, {name: "id", typ: "Int32", value: steps(0, 1)}},
			o:       shardwriter.Options{Layout: shardwriter.Single, SparseUnions: true}},
		draftTable("draft-wire", "messages as the format's book prints them, in one object", shardwriter.Options{Layout: shardwriter.Single, Draft: true}),
		draftTable("draft-wire-stripes", "messages as the book prints them, stripes in objects of their own",
			shardwriter.Options{Layout: shardwriter.TwoLevel, StripeRows: 300, Draft: true}),
		packedTable("packed-group", "a struct of every type without children as a packed group", 2100, func(int) bool { return false }, func(int) bool { return false }),
		packedTable("packed-group-nulls", "a packed group of a struct that may be null, with fields that may be null", 2500,
			func(i int) bool { return i%5 == 1 }, func(i int) bool { return noise(i)%6 == 2 }),
		packedTable("packed-group-null", "a packed group of which most super-blocks have nulls only", 3000,
			func(i int) bool { return i > 20 }, func(i int) bool { return i > 9 }),
		{level: "l5", optional: true, name: "opaque-dictionaries", what: "text whose blocks Zstd compressed with a dictionary that they share", rows: 700,
			columns: []column{{name: "log", typ: "String", value: sometimes(8, logs)}, {name: "id", typ: "Int32", value: steps(0, 1)}},
			o:       shardwriter.Options{Layout: shardwriter.Single, Opaque: []string{"log"}}},
		{level: "l5", optional: true, name: "several-dictionaries", what: "fields of which every block names one of several value dictionaries by its id", rows: 3000,
			columns: []column{{name: "host", typ: "String", value: sometimes(11, drifting)}, {name: "id", typ: "Int32", value: steps(0, 1)},
				{name: "code", typ: "FixedSizeBinary(4)", value: driftingCodes}},
			o: shardwriter.Options{Layout: shardwriter.Single, StripeRows: 2000, DictionaryEntries: map[string]int{"host": 40, "code": 24}}},
		{level: "l5", optional: true, name: "several-encodings", what: "fields that are stored three times, the first time with an opaque dictionary", rows: 500,
			columns: []column{{name: "log", typ: "String", value: sometimes(8, logs)}, {name: "n", typ: "Int64", value: sometimes(5, around(1000))}},
			o: shardwriter.Options{Layout: shardwriter.Single, Opaque: []string{"log"}, Encodings: map[string][]encode.Profile{
				"log": {encode.Balanced, encode.Plain}, "n": {encode.HighCompression, encode.Plain}}}},
	}
}

// draftTable has every type without children, some constants and nested types.
func draftTable(name, what string, o shardwriter.Options) *table {
	columns := withNulls(flat(), sometimes, 8)
	columns = append(columns, column{name: "same", typ: "Decimal", value: few(`"1.50"`)}, column{name: "nothing", typ: "String", value: few("null")},
		column{name: "tags", typ: "List<String>", value: func(i int) string { return fmt.Sprintf(`["a","b%d"]`, i%9) }},
		column{name: "m", typ: "Map<String, Struct<a: Int32>>", value: func(i int) string { return fmt.Sprintf(`[{"key":"k","value":{"a":%d}}]`, i) }})
	return &table{level: "l5", optional: true, name: name, what: what, rows: 700, columns: columns, o: o}
}

// packedTable has a packed group of all its fields but one, which is a list; none and null report where the struct and its fields are
// null.
func packedTable(name, what string, rows int, none, null func(i int) bool) *table {
	var fields []string
	members := flat()
	members = members[:len(members)-1] // Unit stores nothing
	for _, c := range members {
		fields = append(fields, c.name+": "+c.typ)
	}
	value := func(i int) string {
		if none(i) {
			return "null"
		}
		var text []string
		for k, c := range members {
			v := c.value(i)
			if null(i + 7*k) {
				v = "null"
			}
			text = append(text, fmt.Sprintf("%q:%s", c.name, v))
		}
		return "{" + strings.Join(append(text, fmt.Sprintf(`"list":[%d,null]`, i)), ",") + "}"
	}
	return &table{level: "l5", optional: true, name: name, what: what, rows: rows,
		columns: []column{{name: "id", typ: "Int32", value: steps(0, 1)},
			{name: "g", typ: "Struct<" + strings.Join(fields, ", ") + ", list: List<Int64>>", value: value}},
		o: shardwriter.Options{Layout: shardwriter.Single, StripeRows: 2048, Pack: map[string][]string{"g": nil}}}
}
