package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCases(t *testing.T) {
	cases := Cases(t)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		if _, err := os.Stat(c.Shard()); err != nil {
			t.Error(err)
		}
		rows := 0
		if c.Rows > 2000 {
			continue
		}
		c.ExpectedRows(t, func(int, []byte) { rows++ })
		if rows != c.Rows {
			t.Errorf("%s: %d rows, %d announced", c.Name, rows, c.Rows)
		}
	}
}

// TestShippedCasesCoverTheFormat: the shards of the repository have every encoding, type, layout and profile, merged roots with
// what they were made of, and an index of each kind. That they hold what they are reported to hold is tested where they are read.
func TestShippedCasesCoverTheFormat(t *testing.T) {
	dir := Shipped(t)
	seen := map[string]bool{}
	names := map[string]bool{}
	for _, c := range CasesIn(t, dir) {
		names[c.Name] = true
		seen[c.Profile+" "+c.Layout] = true
		seen["stripes "+string(rune('0'+min(len(c.Stripes), 3)))] = true
		seen["properties"] = seen["properties"] || len(c.Properties) > 0
		for _, f := range c.Features {
			seen[f] = true
		}
		for _, col := range c.Columns {
			typ := col.Type
			for i, r := range typ {
				if r == '<' || r == '(' || r == ',' {
					typ = typ[:i]
					break
				}
			}
			seen[typ] = true
		}
		for kind, n := range c.Encodings {
			seen[kind] = true
			for name := range n {
				seen[name] = true
			}
		}
	}
	for _, want := range []string{
		"Plain", "FLBitPack", "FrameOfReference", "FusedFrameOfReference", "Delta", "RunLength", "SingleValue", "TruncateU8", "TruncateU16",
		"TruncateU32", "TruncateU64", "Alp", "AlpRd", "BlockDictionary", "Fsst", "Zstd", "Lz4", "ZigZag", "Sparse",
		"DATA", "DATA_BITS", "DICTIONARY_CODES", "OFFSETS", "PRESENCE", "VALUE_DICTIONARY", "RANGE_INDEX",
		"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "string", "binary", "fixed_size_binary", "guid", "datetime",
		"timespan", "decimal", "list", "fixed_size_list", "map", "struct",
		"plain single", "plain two-level", "minimal-compression single", "minimal-compression two-level", "balanced single", "balanced two-level",
		"high-compression single", "high-compression two-level", "minimal-size single", "minimal-size two-level",
		"stripes 1", "stripes 2", "stripes 3", "properties", "nulls:all", "nulls:deep", "nulls:p10", "nulls:p90", "nulls:p997",
	} {
		if !seen[want] {
			t.Errorf("no shipped shard has %s", want)
		}
	}
	merged, err := filepath.Glob(filepath.Join(dir, "merged", "*", "case.json"))
	if err != nil || len(merged) < 5 {
		t.Errorf("merged roots: %v, %v", merged, err)
	}
	for _, name := range merged {
		var m struct {
			MergedFrom []struct{ Case string } `json:"merged_from"`
		}
		if b, err := os.ReadFile(name); err != nil || json.Unmarshal(b, &m) != nil {
			t.Fatal(name, err)
		}
		for _, from := range m.MergedFrom {
			if !names[from.Case] {
				t.Errorf("%s was made of %s, which is not shipped", name, from.Case)
			}
		}
	}
	indexes, err := filepath.Glob(filepath.Join(dir, "indexes", "*", "index.rel.pb"))
	for i, name := range indexes {
		indexes[i] = filepath.Base(filepath.Dir(name))
	}
	if want := []string{"fieldhash-300", "hashmap-small", "text-small-ci", "text-small-cp"}; err != nil || !slices.Equal(indexes, want) {
		t.Errorf("indexes %v, %v", indexes, err)
	}
}
