package shardfmt_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

// rowsOf are records of a schema, given as an array of JSON objects in Arrow's form.
func rowsOf(t *testing.T, s *schema.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowtype.Schema(s), strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// writeRows writes a shard whose schema is numbered in between; late may change what the schema states about nulls before it is stored.
func writeRows(t *testing.T, sp *blobio.Client, url, text, rows string, o shardfmt.WriterOptions, late func(s *schema.Schema)) error {
	t.Helper()
	ctx := context.Background()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := shardfmt.NewWriter(ctx, sp, url, s, o)
	if err != nil {
		t.Fatal(err)
	}
	loose, err := schema.Parse(strings.ReplaceAll(text, " not null", ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, rowsOf(t, loose, rows)); err != nil {
		w.Abort(ctx)
		return err
	}
	if late != nil {
		late(s)
	}
	_, err = w.Close(ctx)
	return err
}

const (
	requiredText = "id: Int64 not null, pos: Struct<x: Float64 not null, y: Float64>, tags: List<String not null>, m: Map<String, Int64 not null>"
	requiredRows = `[{"id":1,"pos":{"x":1,"y":null},"tags":["a"],"m":[{"key":"k","value":1}]},
		{"id":2,"pos":null,"tags":null,"m":null},{"id":3,"pos":{"x":2,"y":2},"tags":[],"m":[]}]`
)

func schemaOf(t *testing.T, sp *blobio.Client, url string) string {
	t.Helper()
	s, err := openProperties(t, sp, url).Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// TestRequiredIsKept: what a schema states about nulls is in the shard, in the schema and in every projection of it, in the Arrow types of
// what is read, and in what a merge of such shards makes; a null below a null struct or list is none.
func TestRequiredIsKept(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	for _, wire := range []shardfmt.Wire{shardfmt.CurrentWire, shardfmt.DraftWire} {
		url := fmt.Sprintf("%sa%d.amudai.shard", at, wire)
		o := shardfmt.WriterOptions{Wire: wire, Properties: shardfmt.RawProperties(text(meta.PropertyRequired, "8"))}
		if err := writeRows(t, sp, url, requiredText, requiredRows, o, nil); err != nil {
			t.Fatal(err)
		}
		if want, got := requiredText, schemaOf(t, sp, url); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		shard, err := shardfmt.Open(ctx, sp, url, shardfmt.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		part, err := shard.Project(ctx, []string{"pos.x", "id"}, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := part.String(); got != "pos: Struct<x: Float64 not null>, id: Int64 not null" {
			t.Fatalf("got %v, want %v", got, "pos: Struct<x: Float64 not null>, id: Int64 not null")
		}
		for b, err := range shard.Scan(ctx, shardfmt.ScanOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Schema().Field(0).Nullable {
				t.Fatalf("b.Schema().Field(0).Nullable is true")
			}
			if !(b.Schema().Field(1).Nullable) {
				t.Fatalf("b.Schema().Field(1).Nullable is false")
			}
			if want, got := int64(3), b.NumRows(); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
		report, err := verify.Shard(ctx, sp, url, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !(report.OK) {
			t.Fatalf("%v: report.OK is false", report.Errors)
		}
	}
	if err := (writeRows(t, sp, at+"b.amudai.shard", strings.Replace(requiredText, "id: Int64 not null", "id: Int64", 1), requiredRows, shardfmt.WriterOptions{}, nil)); err != nil {
		t.Fatal(err)
	}
	merged := func(name string, from ...string) string {
		var in []merge.Input
		for _, f := range from {
			in = append(in, merge.Input{URL: at + f + ".amudai.shard"})
		}
		_, err := merge.Concat(ctx, sp, at+name+".amudai.shard", in, merge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return schemaOf(t, sp, at+name+".amudai.shard")
	}
	if want, got := requiredText, merged("same", "a0", "a0"); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := requiredText, merged("wires", "a0", "a1"); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := strings.Replace(requiredText, "id: Int64 not null", "id: Int64", 1), merged("some", "a0", "b"); !reflect.DeepEqual(got, want) {
		t.Fatalf("only what all inputs say: got %v, want %v", got, want)
	}
}

// TestRequiredIsRenumbered: a merge into a wider schema finds the fields by their ids, and drops what a field lacks in an input.
func TestRequiredIsRenumbered(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	if err := (writeRows(t, sp, at+"a.amudai.shard", "b: Int64 not null", `[{"b":1}]`, shardfmt.WriterOptions{FieldIDs: []int{2}}, nil)); err != nil {
		t.Fatal(err)
	}
	if err := (writeRows(t, sp, at+"ab.amudai.shard", "a: Int64 not null, b: Int64 not null", `[{"a":1,"b":1}]`, shardfmt.WriterOptions{FieldIDs: []int{1, 2}}, nil)); err != nil {
		t.Fatal(err)
	}
	_, err := merge.Concat(ctx, sp, at+"all.amudai.shard", []merge.Input{{URL: at + "a.amudai.shard"}, {URL: at + "ab.amudai.shard"}}, merge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := schemaOf(t, sp, at+"all.amudai.shard"); got != "a: Int64, b: Int64 not null" {
		t.Fatalf("got %v, want %v", got, "a: Int64, b: Int64 not null")
	}
}

// TestRequiredIsHeld: a writer refuses a null where the schema has none; a shard that lies is corrupt for who reads it and for verify,
// and so is a property that makes no sense.
func TestRequiredIsHeld(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	for i, c := range []struct{ text, rows, what string }{
		{"id: Int64 not null", `[{"id":1},{"id":null}]`, `row 1 of the batch, field "id"`},
		{"pos: Struct<x: Float64 not null>", `[{"pos":null},{"pos":{"x":null}}]`, `row 1 of the batch, field "pos.x"`},
		{"t: List<String not null>", `[{"t":["a"]},{"t":null},{"t":["b",null]}]`, `row 2 of the batch, field "t.item"`},
		{"t: List<Struct<x: Int64 not null>>", `[{"t":[null]},{"t":[{"x":1},{"x":null}]}]`, `row 1 of the batch, field "t.item.x"`},
		{"t: FixedSizeList(2)<Int64 not null>", `[{"t":null},{"t":[1,null]}]`, `row 1 of the batch, field "t.item"`},
		{"m: Map<String, Int64 not null>", `[{"m":[{"key":"k","value":null}]}]`, `row 0 of the batch, field "m.value"`},
	} {
		err := writeRows(t, sp, fmt.Sprintf("%sr%d.amudai.shard", at, i), c.text, c.rows, shardfmt.WriterOptions{}, nil)
		if err == nil || !strings.Contains(err.Error(), c.what) {
			t.Fatalf("%v, want an error with %q", err, c.what)
		}

		url := fmt.Sprintf("%sl%d.amudai.shard", at, i)
		said, err := schema.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		said.Number()
		if err := (writeRows(t, sp, url, strings.ReplaceAll(c.text, " not null", ""), c.rows, shardfmt.WriterOptions{},
			func(s *schema.Schema) {
				if err := schemawire.MarkRequired(s.Fields, said.Required()); err != nil {
					t.Fatal(err)
				}
			})); err != nil {
			t.Fatal(err)
		}
		shard, err := shardfmt.Open(ctx, sp, url, shardfmt.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var failed error
		for _, failed = range shard.Scan(ctx, shardfmt.ScanOptions{}) {
		}
		if !errors.Is(failed, corrupt.ErrCorrupt) {
			t.Fatalf("%v, want %v", failed, corrupt.ErrCorrupt)
		}
		if failed == nil || !strings.Contains(failed.Error(), "has a null, contrary to the property shardcat.required") {
			t.Fatalf("%v, want an error with %q", failed, "has a null, contrary to the property shardcat.required")
		}
		report, err := verify.Shard(ctx, sp, url, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if report.OK {
			t.Fatalf("report.OK is true")
		}
		if all, one := fmt.Sprint(report.Errors), "contrary to the property shardcat.required"; !strings.Contains(all, one) {
			t.Fatalf("%v lacks %v", all, one)
		}
	}
	for _, bad := range []struct{ text, what string }{{"1", "bad node number"}, {"x", "bad node number"}, {"0,0", "2 numbers for 1 nodes"}} {
		_, err := meta.ParseRequired(bad.text, 1)
		if err == nil || !strings.Contains(err.Error(), bad.what) {
			t.Fatalf("%v, want an error with %q", err, bad.what)
		}
	}
}

// TestRequiredCostsNoRequest: the property lies beside the schema, also where the schema lies before the end of the root that an
// open reads.
func TestRequiredCostsNoRequest(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	s := new(schema.Schema)
	for i := range 3000 {
		s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprintf("a_field_of_a_wide_schema_with_the_number_%d", i), Basic: schema.Int64, Signed: true, Nullable: i%2 == 0})
	}
	w, err := shardfmt.NewWriter(ctx, sp, at+"wide.amudai.shard", s, shardfmt.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cold := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { cold.Close() })
	root := openProperties(t, cold, at+"wide.amudai.shard")
	before := cold.Counters()
	got, err := root.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := int64(1), cold.Counters().Sub(before).Gets; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := s.Required(), got.Required(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if got := got.Required(); len(got) != 1500 {
		t.Fatalf("%d elements, want %d: %v", len(got), 1500, got)
	}
}
