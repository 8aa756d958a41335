package meta

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// page is the text of a page of the format, its lines joined.
func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/format/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// found are the groups of the only match in a page.
func found(t *testing.T, text, pattern string) []string {
	t.Helper()
	all := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	if got := all; len(got) != 1 {
		t.Fatalf("%v: %d elements, want %d: %v", pattern, len(got), 1, got)
	}
	return all[0][1:]
}

// The examples of checksums on the page are those of the bytes that are written.
func TestChecksumsOfThePage(t *testing.T) {
	text := page(t, "container.md")
	of := found(t, text, "`(\\w+)` has the number 0x([0-9A-F]{8}), stored `([0-9A-F]{8})`")
	if want, got := of[1], fmt.Sprintf("%08X", Checksum([]byte(of[0]))); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	frame := AppendFrame(nil, []byte(of[0]))
	if want, got := of[2], strings.ToUpper(hex.EncodeToString(frame[len(frame)-4:])); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	empty := found(t, text, "frame of the empty message is `([0-9A-F]{8}) ([0-9A-F]{8})`")
	if want, got := strings.Join(empty, ""), strings.ToUpper(hex.EncodeToString(AppendFrame(nil, nil))); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// The codes of the basic types and the numbers of buckets on the page are those of schemas that are written.
func TestSchemaOfThePage(t *testing.T) {
	text := page(t, "schema.md")
	codes := found(t, text, `\| BasicType \(enum, one byte\) \| ([^|]+) \|`)[0]
	list := strings.Split(codes, " · ")
	if got := list; len(got) != int(schema.Union)+1 {
		t.Fatalf("%d elements, want %d: %v", len(got), int(schema.Union)+1, got)
	}
	for i, code := range list {
		if want, got := fmt.Sprintf("%d %s", i, schema.Basic(i)), code; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	buckets := regexp.MustCompile("([0-9]+) (?:children )?have ([0-9]+)").FindAllStringSubmatch(found(t, text, "at least 2: ([^.]+)\\.")[0], -1)
	if got := buckets; len(got) != 3 {
		t.Fatalf("%d elements, want %d: %v", len(got), 3, got)
	}
	for _, of := range buckets {
		n, _ := strconv.Atoi(of[1])
		s := new(schema.Schema)
		for i := range n {
			s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprint("f", i), Basic: schema.Boolean, Nullable: true})
		}
		s.Number()
		wire := schemafb.GetRootAsSchema(schemawire.Marshal(s), 0)
		if want, got := of[2], fmt.Sprint(wire.FieldLookup(nil).BucketsLength()-1); !reflect.DeepEqual(got, want) {
			t.Fatalf("%d fields: got %v, want %v", n, got, want)
		}
		if want, got := n, wire.FieldLookup(nil).EntriesLength(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// schemaBytes is the schema of a shard as it is stored.
func schemaBytes(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	st := &mapStore{objects: map[string][]byte{testURL: b}}
	r, err := OpenRoot(context.Background(), st, testURL, Options{Size: int64(len(b))})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := r.schemaPayload(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// The reference rounds as the page states.
func TestBucketsOfTheReference(t *testing.T) {
	seen := map[int]bool{}
	for _, path := range goldenShards(t) {
		wire := schemafb.GetRootAsSchema(schemaBytes(t, path), 0)
		n, table := wire.FieldsLength(), wire.FieldLookup(nil)
		if table == nil || n == 0 {
			continue
		}
		want := 2
		for want < n/2 {
			want *= 2
		}
		if want, got := want, table.BucketsLength()-1; !reflect.DeepEqual(got, want) {
			t.Fatalf("%d fields: got %v, want %v", n, got, want)
		}
		seen[n] = true
	}
	if a, b := len(seen), 3; a <= b {
		t.Fatalf("len(seen) is %v, want more than %v", a, b)
	}
}
