package schema

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseForms(t *testing.T) {
	const short = `ts: DateTime, tags: List<String>, attrs: Map<String, Union<Int64, String>>, pos: Struct<x: Float64, y: Float64>`
	want, err := Parse(short)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := uint32(11), want.Count; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

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
			if err != nil {
				t.Fatal(err)
			}
			if want, got := want, got; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		})
	}
	if want, got := short, want.String(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestParseTypes(t *testing.T) {
	for text, typ := range map[string]string{
		"unit": "Unit", "bool": "Boolean", "boolean": "Boolean", "int8": "Int8", "uint8": "UInt8", "int": "Int32",
		"long": "Int64", "UINT64": "UInt64", "real": "Float64", "Float32": "Float32", "guid": "Guid", "uuid": "Guid",
		"decimal": "Decimal", "dynamic": "Dynamic", "timespan": "TimeSpan", "time": "TimeSpan", "date": "DateTime",
		"FixedSizeBinary(7)": "FixedSizeBinary(7)", "binary": "Binary", "string": "String",
	} {
		s, err := Parse("a: " + text)
		if err != nil {
			t.Fatalf("%v: %v", text, err)
		}
		if want, got := typ, s.Fields[0].TypeName(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", text, got, want)
		}
	}
	s, err := Parse("v: FixedSizeList(3)<Float32 not null> not null")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.String(); got != "v: FixedSizeList(3)<Float32 not null> not null" {
		t.Fatalf("got %v, want %v", got, "v: FixedSizeList(3)<Float32 not null> not null")
	}
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
		if err != nil {
			t.Fatalf("%v: %v", text, err)
		}
		printed, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(string(printed))
		if err != nil {
			t.Fatalf("%v: %v", string(printed), err)
		}
		twice, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := string(printed), string(twice); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		again.Number()
		if !s.Equal(again) {
			t.Fatalf("%v: s.Equal(again) is false", text)
		}
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
		"list of two":       {"a: List<Int64, Int64>", "has 1 children, not 2"},
		"map of one":        {"a: Map<Int64>", "has 2 children"},
		"leaf with child":   {"a: Int64<String>", "has 0 children"},
		"same name twice":   {"a: Int64, a: String", "two children called"},
		"unnamed child":     {"a: Struct<Int64>", "has no name"},
		"unclosed":          {"(a: Int64", "expected a comma or the end"},
		"unknown key":       {`{"fields":[{"name":"a","typ":"Int64"}]}`, "typ"},
		"text behind":       {`{"fields":[]} x`, "unexpected text"},
		"too deep":          {"a: " + strings.Repeat("List<", 200) + "Int64" + strings.Repeat(">", 200), "deeper"},
		"too deep in json":  {`[{"name":"a","type":"Struct","children":` + strings.Repeat(`[{"name":"a","type":"Struct","children":`, 150) + "[]" + strings.Repeat("}]", 150) + "}]", "deeper"},
		"nested internal":   {`[{"name":"a","type":"Struct","children":[{"name":"b","type":"Int64","internal":"x"}]}]`, "internal"},
		"yaml without list": {"fields: x\nmore: y", "unknown type"},
		"no variants":       {"a: Union<>", "0 variants"},
		"257 variants":      {"a: Union<" + strings.TrimSuffix(strings.Repeat("Int64,", 257), ",") + ">", "257 variants"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.text)
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("%v, want %v", err, ErrInvalid)
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want an error with %q", err, c.says)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	s, err := Parse(`[{"name":"a.b","type":"Int64"},{"name":"s","type":"Struct","aliases":["old","x"],"children":[
		{"name":"l","type":"List","children":[{"type":"Struct<k: String>"}]},{"name":"c\\d","type":"Int8"}]},
		{"name":"m","type":"Map<String, Int64>"},{"name":"n","type":"Map","children":[{"name":"K","type":"String"},{"name":"V","type":"Int64"}]},
		{"name":"x","type":"Int16"}]`)
	if err != nil {
		t.Fatal(err)
	}
	for path, id := range map[string]uint32{
		`a\.b`: 0, "s": 1, "s.l": 2, "s.l.item": 3, "s.l.anything.k": 4, `s.c\\d`: 5, "m.key": 7, "m.values": 8,
		"n.K": 10, "old.l": 2, "x": 12,
	} {
		n, err := s.Lookup(path)
		if err != nil {
			t.Fatalf("%v: %v", path, err)
		}
		if want, got := id, n.ID; !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", path, got, want)
		}
	}
	for _, path := range []string{"", "a", "a.b", "s.z", "n.key", "m.foo", "x.y", "s."} {
		_, err := s.Lookup(path)
		if !errors.Is(err, ErrNoField) {
			t.Fatalf("%v: %v, want %v", path, err, ErrNoField)
		}
	}
	_, err = s.Lookup("ss")
	if err == nil || !strings.Contains(err.Error(), "did you mean") {
		t.Fatalf("%v, want an error with %q", err, "did you mean")
	}
	s.Walk(func(path string, n *Node) bool {
		got, err := s.Lookup(path)
		if err != nil {
			t.Fatalf("%v: %v", path, err)
		}
		if want, got := n, got; got != want {
			t.Fatalf("got %p, want %p", got, want)
		}
		if want, got := n, s.Node(n.ID); got != want {
			t.Fatalf("got %p, want %p", got, want)
		}
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
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(string(printed))
		if err != nil {
			t.Fatal(err)
		}
		twice, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := string(printed), string(twice); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
