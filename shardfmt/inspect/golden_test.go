package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/internal/valuejson"
)

func inspectGolden(t *testing.T, c *interop.Case, d Detail) *Inspection {
	t.Helper()
	x, err := Shard(context.Background(), blobio.NewClient(blobio.ClientOptions{}), "file://"+c.Shard(), Options{Detail: d})
	if err != nil {
		t.Fatal(c.Name, err)
	}
	return x
}

// Every golden shard can be inspected down to its blocks, and the encodings seen, by the kind of buffer and at every level of a
// cascade, are those that its description counts.
func TestGoldenShardsShowTheirEncodings(t *testing.T) {
	compared := 0
	for _, c := range interop.Cases(t) {
		x := inspectGolden(t, c, Blocks)
		if int(x.Records) != c.Rows || len(x.Stripes) != len(c.Stripes) {
			t.Errorf("%s: %d records in %d stripes", c.Name, x.Records, len(x.Stripes))
		}
		var text bytes.Buffer
		x.Print(&text)
		if text.Len() == 0 || !json.Valid(valuejson.Marshal(x)) {
			t.Errorf("%s: prints nothing, or no JSON", c.Name)
		}
		if len(c.Encodings) == 0 {
			continue // the description counts none
		}
		for kind, want := range c.Encodings {
			if got := encodingsSeen(x)[kind]; !maps.Equal(got, want) {
				t.Errorf("%s, %s: %v are shown, %v are there", c.Name, kind, got, want)
			}
			compared += len(want)
		}
	}
	if compared < 100 {
		t.Errorf("only %d counts compared", compared)
	}
}

// encodingsSeen counts encodings as the descriptions of golden shards do.
func encodingsSeen(x *Inspection) map[string]map[string]int {
	seen := map[string]map[string]int{}
	add := func(kind, name string) {
		if seen[kind] == nil {
			seen[kind] = map[string]int{}
		}
		seen[kind][name]++
	}
	for _, f := range x.Fields {
		for _, s := range f.Stripes {
			if s == nil || len(s.Encodings) == 0 {
				continue
			}
			buffers := s.Encodings[0].Buffers
			coded := slices.ContainsFunc(buffers, func(b Buffer) bool { return b.Kind == "VALUE_DICTIONARY" })
			for _, b := range buffers {
				kind := b.Kind
				switch {
				case b.Blocks == nil:
					add("OTHER_BUFFERS", kind)
				case kind == "DATA" && coded:
					kind = "DICTIONARY_CODES"
				case kind == "DATA" && f.Type == "Boolean":
					kind = "DATA_BITS"
				}
				for _, one := range b.Trees {
					one.Plan.Walk(func(t *block.Tree) {
						if t.Code != 0 {
							add(kind, t.Encoding)
						}
					})
				}
			}
		}
	}
	return seen
}

// TestGoldenProperties: every property of the shard, of its stripes and of their fields is shown with its kind and value.
func TestGoldenProperties(t *testing.T) {
	kinds := map[string]bool{}
	for _, c := range interop.Cases(t) {
		if len(c.Properties) == 0 {
			continue
		}
		x := inspectGolden(t, c, Outline)
		shown := map[string]Property{}
		for _, p := range x.Properties {
			shown[p.Scope+"/"+p.Name] = p
		}
		for key, want := range c.Properties {
			p, ok := shown[key]
			kinds[p.Kind] = true
			name := key[strings.LastIndexByte(key, '/')+1:]
			if kind := propertyKinds[name]; !ok || p.Kind != kind || p.Bag != "custom" || !sameJSON(t, p.Value, want) {
				t.Errorf("%s: property %s is %s %s in %s, want %s %s in custom", c.Name, key, p.Kind, p.Value, p.Bag, kind, want)
			}
		}
	}
	if len(kinds) != 6 {
		t.Errorf("only properties of the kinds %v", kinds)
	}
}

// propertyKinds are the kinds of the properties of the golden shards, by name.
var propertyKinds = map[string]string{
	"big": "u64", "blob": "bytes", "count": "i64", "hot": "bool", "ratio": "double", "table": "string",
	"unit": "string", "weight": "double", "seq": "u64", "source": "string",
}

// sameJSON reports whether two JSON values are the same, numbers digit by digit.
func sameJSON(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var compact [2]bytes.Buffer
	for i, v := range []json.RawMessage{a, b} {
		d := json.NewDecoder(bytes.NewReader(v))
		d.UseNumber()
		var any any
		if err := d.Decode(&any); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		compact[i].Write(valuejson.Marshal(any))
	}
	return bytes.Equal(compact[0].Bytes(), compact[1].Bytes())
}

func TestExtentsCountEachByteOnce(t *testing.T) {
	e := newExtents("root")
	e.add("root", 0, 100)
	e.add("a", 10, 20)
	e.add("a", 0, 15)
	e.add("a", 10, 20)
	e.add("b", 5, 6)
	if got := e.total(); got != 21 {
		t.Errorf("got %d, want 21", got)
	}
}
