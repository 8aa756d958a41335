package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseForms(t *testing.T) {
	const short = `ts: DateTime, tags: List<String>, attrs: Map<String, Union<Int64, String>>, pos: Struct<x: Float64, y: Float64>`
	want, err := Parse(short)
	require.NoError(t, err)
	require.Equal(t, uint32(11), want.Count)

	for name, text := range map[string]string{
		"parentheses": "(" + short + ")",
		"json": `{"fields":[{"name":"ts","type":"DateTime"},{"name":"tags","type":"List","children":[{"type":"String"}]},
			{"name":"attrs","type":"Map","children":[{"type":"String"},{"type":"Union","children":[{"type":"Int64"},{"type":"String"}]}]},
			{"name":"pos","type":"Struct","children":[{"name":"x","type":"Float64"},{"name":"y","type":"Float64"}]}]}`,
		"json list, short types": `[{"name":"ts","type":"datetime"},{"name":"tags","type":"List<String>"},
			{"name":"attrs","type":"Map<String, Union<Int64, String>>"},{"name":"pos","type":"Struct<x: Float64, y: Float64>"}]`,
		"yaml": "fields:\n- name: ts\n  type: DateTime\n- {name: tags, type: List, children: [{type: String}]}\n" +
			"- name: attrs\n  type: Map<String, Union<Int64, String>>\n- name: pos\n  type: Struct\n  children:\n" +
			"  - {name: x, type: Float64}\n  - {name: y, type: Float64, nullable: true}\n",
		"kusto": `(ts: datetime, tags: List<string>, attrs: Map<string, Union<long, string>>, ['pos']: Struct<x: real, y: double>)`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(text)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
	require.Equal(t, short, want.String())
}

func TestParseTypes(t *testing.T) {
	for text, typ := range map[string]string{
		"unit": "Unit", "bool": "Boolean", "boolean": "Boolean", "int8": "Int8", "uint8": "UInt8", "int": "Int32",
		"long": "Int64", "UINT64": "UInt64", "real": "Float64", "Float32": "Float32", "guid": "Guid", "uuid": "Guid",
		"decimal": "Decimal", "dynamic": "Dynamic", "timespan": "TimeSpan", "time": "TimeSpan", "date": "DateTime",
		"FixedSizeBinary(7)": "FixedSizeBinary(7)", "binary": "Binary", "string": "String",
	} {
		s, err := Parse("a: " + text)
		require.NoError(t, err, text)
		require.Equal(t, typ, s.Fields[0].TypeName(), text)
	}
	s, err := Parse("v: FixedSizeList(3)<Float32 not null> not null")
	require.NoError(t, err)
	require.Equal(t, "v: FixedSizeList(3)<Float32 not null> not null", s.String())
}

func TestParsePrintsWhatItReads(t *testing.T) {
	for _, text := range []string{
		`{"fields":[]}`,
		`{"fields":[{"name":"a","type":"Int64","nullable":false,"aliases":["b","c"],"doc":"the a"}]}`,
		`{"fields":[{"name":"","type":"Boolean","internal":"Kusto.Amudai.DeletedRecord"}]}`,
		`{"fields":[{"name":"g","type":"Struct","extension":{"label":"GeoPoint"},"children":[{"name":"x","type":"Float64"}]}]}`,
		`{"fields":[{"name":"e","type":"FixedSizeList(4)","extension":{"label":"EmbeddingVec","properties":[
			{"name":"model","kind":"string","value":"m-1"},{"name":"opts","kind":"json","value":{"a":[1,null]}},
			{"name":"none","kind":"null"},{"name":"v","kind":"anyvalue","value":"IAE="}]},
			"children":[{"name":"item","type":"FixedSizeBinary(2)","extension":{"label":"bf16"}}]}]}`,
		`"odd name: \"x\"": String, d: Decimal, t: TimeSpan, y: Dynamic, u: Union<Int64, s: String>`,
	} {
		s, err := Parse(text)
		require.NoError(t, err, text)
		printed, err := json.Marshal(s)
		require.NoError(t, err)
		again, err := Parse(string(printed))
		require.NoError(t, err, string(printed))
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(printed), string(twice))
		again.Number()
		require.True(t, Equal(s, again), text)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"empty type":        {"a:", "expected a type, found the end"},
		"unknown type":      {"a: Strnig", "did you mean String"},
		"no colon":          {"a String", "expected a colon"},
		"size missing":      {"a: FixedSizeBinary", "needs a size"},
		"size given":        {"a: Int64(4)", "takes no size"},
		"size zero":         {"a: FixedSizeBinary(0)", "size 0"},
		"list of two":       {"a: List<Int64, Int64>", "takes 1 children, not 2"},
		"map of one":        {"a: Map<Int64>", "takes 2 children"},
		"leaf with child":   {"a: Int64<String>", "takes 0 children"},
		"same name twice":   {"a: Int64, a: String", "two children called"},
		"unnamed child":     {"a: Struct<Int64>", "has no name"},
		"unclosed":          {"(a: Int64", "expected a comma or the end"},
		"unknown key":       {`{"fields":[{"name":"a","typ":"Int64"}]}`, "typ"},
		"text behind":       {`{"fields":[]} x`, "more text"},
		"too deep":          {"a: " + strings.Repeat("List<", 200) + "Int64" + strings.Repeat(">", 200), "deeper"},
		"too deep in json":  {`[{"name":"a","type":"Struct","children":` + strings.Repeat(`[{"name":"a","type":"Struct","children":`, 150) + "[]" + strings.Repeat("}]", 150) + "}]", "deeper"},
		"nested internal":   {`[{"name":"a","type":"Struct","children":[{"name":"b","type":"Int64","internal":"x"}]}]`, "internal"},
		"yaml without list": {"fields: x\nmore: y", "unknown type"},
		"257 variants":      {"a: Union<" + strings.TrimSuffix(strings.Repeat("Int64,", 257), ",") + ">", "257 variants"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.text)
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestLookup(t *testing.T) {
	s, err := Parse(`[{"name":"a.b","type":"Int64"},{"name":"s","type":"Struct","aliases":["old","x"],"children":[
		{"name":"l","type":"List","children":[{"type":"Struct<k: String>"}]},{"name":"c\\d","type":"Int8"}]},
		{"name":"m","type":"Map<String, Int64>"},{"name":"n","type":"Map","children":[{"name":"K","type":"String"},{"name":"V","type":"Int64"}]},
		{"name":"x","type":"Int16"}]`)
	require.NoError(t, err)
	for path, id := range map[string]uint32{
		`a\.b`: 0, "s": 1, "s.l": 2, "s.l.item": 3, "s.l.anything.k": 4, `s.c\\d`: 5, "m.key": 7, "m.values": 8,
		"n.K": 10, "old.l": 2, "x": 12,
	} {
		n, err := s.Lookup(path)
		require.NoError(t, err, path)
		require.Equal(t, id, n.ID, path)
	}
	for _, path := range []string{"", "a", "a.b", "s.z", "n.key", "m.foo", "x.y", "s."} {
		_, err := s.Lookup(path)
		require.ErrorIs(t, err, ErrNoField, path)
	}
	_, err = s.Lookup("ss")
	require.ErrorContains(t, err, "did you mean")
	s.Walk(func(path string, n *Node) bool {
		got, err := s.Lookup(path)
		require.NoError(t, err, path)
		require.Same(t, n, got)
		require.Same(t, n, s.Node(n.ID))
		return true
	})
}

func FuzzParse(f *testing.F) {
	f.Add(`ts: DateTime, tags: List<String>, attrs: Map<String, Union<Int64, String>> not null`)
	f.Add(`(id: guid, ['t']: datetime, "n": long)`)
	f.Add(`{"fields":[{"name":"e","type":"FixedSizeList(4)","children":[{"type":"Int8"}]}]}`)
	f.Add("fields:\n- {name: a, type: Int64}\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		printed, err := json.Marshal(s)
		require.NoError(t, err)
		again, err := Parse(string(printed))
		require.NoError(t, err)
		twice, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(printed), string(twice))
	})
}
