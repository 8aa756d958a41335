package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/fileblob"
	"github.com/shardcat/shardcat/internal/interop"
)

func inspectGolden(t *testing.T, c *interop.Case, d Detail) *Inspection {
	t.Helper()
	x, err := Shard(context.Background(), blobio.NewClient(), "file://"+c.Shard(), Options{Detail: d})
	if err != nil {
		t.Fatal(c.Name, err)
	}
	return x
}

// Every golden shard can be inspected down to its blocks, and the encodings seen are those that its description
// counts.
func TestGoldenShardsShowTheirEncodings(t *testing.T) {
	names := map[string]bool{}
	for _, c := range interop.Cases(t) {
		x := inspectGolden(t, c, Blocks)
		if int(x.Records) != c.Rows || len(x.Stripes) != len(c.Stripes) {
			t.Errorf("%s: %d records in %d stripes", c.Name, x.Records, len(x.Stripes))
		}
		seen := map[string]int{}
		for _, f := range x.Fields {
			for _, s := range f.Stripes {
				if s == nil {
					continue
				}
				for _, b := range s.Encodings[0].Buffers {
					for _, tree := range b.Trees {
						seen[tree.Plan.Encoding]++
						names[tree.Plan.Encoding] = true
					}
				}
			}
		}
		blocks := 0
		for _, n := range seen {
			blocks += n
		}
		if blocks == 0 && len(c.Encodings["DATA"]) > 0 {
			t.Errorf("%s: no blocks seen", c.Name)
		}
		var text bytes.Buffer
		x.Print(&text)
		if text.Len() == 0 || !json.Valid(mustJSON(x)) {
			t.Errorf("%s: prints nothing, or no JSON", c.Name)
		}
	}
	if len(names) < 12 {
		t.Errorf("only %d different encodings seen at the top: %v", len(names), names)
	}
}

func TestGoldenProperties(t *testing.T) {
	checked := 0
	for _, c := range interop.Cases(t) {
		if len(c.Properties) == 0 {
			continue
		}
		x := inspectGolden(t, c, Outline)
		seen := map[string]bool{}
		for _, p := range x.Properties {
			seen[p.Scope+"/"+p.Name] = true
		}
		for key := range c.Properties {
			if !strings.Contains(key, "creation") && !seen[key] {
				t.Errorf("%s: property %s is not shown: %v", c.Name, key, x.Properties)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("no shard with properties")
	}
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
