package shardfmt_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	_ "github.com/shardcat/shardcat/blobio/memblob"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/inspect"
	"github.com/shardcat/shardcat/shardfmt/internal/index/hashindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/index/textindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/merge"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

var propertySpaces atomic.Int64

func propertySpace(t *testing.T) (*blobio.Client, string) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	return sp, fmt.Sprintf("mem://properties-%d/", propertySpaces.Add(1))
}

// writeNumbers writes a shard of one column with n numbers in stripes of two.
func writeNumbers(t *testing.T, sp *blobio.Client, url string, n int, o shardfmt.WriterOptions, each func(w *shardfmt.Writer, row int)) {
	t.Helper()
	ctx := context.Background()
	s, err := schema.Parse("a: Int64, pos: Struct<x: Float64>")
	if err != nil {
		t.Fatal(err)
	}
	o.StripeRows = 2
	w, err := shardfmt.NewWriter(ctx, sp, url, s, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if each != nil {
			each(w, i)
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StructBuilder).Append(true)
		b.Field(1).(*array.StructBuilder).FieldBuilder(0).(*array.Float64Builder).Append(float64(i) / 2)
		if err := w.Write(ctx, b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = w.Close(ctx)
	if err != nil {
		t.Fatal(err)
	}
}

func text(name, value string) *metapb.NameValuePair { return meta.Pair(name, meta.Text(value)) }

// refTo is a property value that refers to a message.
func refTo(ref *metapb.DataRef) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: ref}}
}

func openProperties(t *testing.T, sp *blobio.Client, url string) *meta.Root {
	t.Helper()
	r, err := meta.OpenRoot(context.Background(), sp, url, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPropertyBagsOfEveryScope: standard and custom bags of shard, stripes and fields are written, read, listed, and kept by a
// merge: those of stripes and fields where they were, those of shards one behind the other.
func TestPropertyBagsOfEveryScope(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	for _, name := range []string{"one", "two"} {
		o := shardfmt.WriterOptions{
			Properties: shardfmt.RawProperties(text("origin", name)), StandardProperties: shardfmt.RawProperties(text("drop-by", "2024")),
			StripeProperties: shardfmt.RawBags(meta.Bags{Standard: meta.Properties{text("tier", name)}, Custom: meta.Properties{text("batch", "0")}}),
			FieldProperties: map[string]shardfmt.Properties{
				"a":     shardfmt.RawBags(meta.Bags{Standard: meta.Properties{text("unit", "m")}, Custom: meta.Properties{text("from", name), text("from", "twice")}}),
				"pos.x": shardfmt.RawBags(meta.Bags{Custom: meta.Properties{meta.Pair("frame", meta.ListOf(meta.Int(-1), meta.Null()))}}),
			},
		}
		writeNumbers(t, sp, at+name+".amudai.shard", 4, o, func(w *shardfmt.Writer, row int) {
			if row == 2 {
				if err := (w.SetStripeProperties(shardfmt.RawBags(meta.Bags{Custom: meta.Properties{text("batch", "1")}}))); err != nil {
					t.Fatal(err)
				}
				if err := (w.SetStripeProperties(shardfmt.RawBags(meta.Bags{Custom: meta.Properties{text("", "x")}}))); err == nil {
					t.Fatalf("no error")
				}
			}
		})
	}
	_, err := merge.Concat(ctx, sp, at+"both.amudai.shard", []merge.Input{{URL: at + "one.amudai.shard"}, {URL: at + "two.amudai.shard"}}, merge.Options{AllowStandard: true})
	if err != nil {
		t.Fatal(err)
	}
	r := openProperties(t, sp, at+"both.amudai.shard")
	shard, err := r.ReadProperties(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := shard.Standard; len(got) != 2 {
		t.Fatalf("concatenated, duplicates kept: %d elements, want %d: %v", len(got), 2, got)
	}
	origin, _ := shard.Custom.Text("origin")
	if got := origin; got != "one" {
		t.Fatalf("the first of a name counts: got %v, want %v", got, "one")
	}
	for i, want := range []struct{ tier, batch, from string }{{"one", "0", "one"}, {"", "1", "one"}, {"two", "0", "two"}, {"", "1", "two"}} {
		stripe, err := r.ReadStripeProperties(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		tier, _ := stripe.Standard.Text("tier")
		batch, _ := stripe.Custom.Text("batch")
		a, err := r.ReadFieldProperties(ctx, i, 0)
		if err != nil {
			t.Fatal(err)
		}
		from, _ := a.Custom.Text("from")
		unit, _ := a.Standard.Text("unit")
		if want, got := ([]string{want.tier, want.batch, want.from, "m"}), ([]string{tier, batch, from, unit}); !reflect.DeepEqual(got, want) {
			t.Fatalf("stripe %d: got %v, want %v", i, got, want)
		}
		if got := a.Custom; len(got) != 2 {
			t.Fatalf("%d elements, want %d: %v", len(got), 2, got)
		}
		x, err := r.ReadFieldProperties(ctx, i, 2)
		if err != nil {
			t.Fatal(err)
		}
		if !meta.Equal(meta.ListOf(meta.Int(-1), meta.Null()), x.Custom.Get("frame")) {
			t.Fatalf("meta.Equal(meta.ListOf(meta.Int(-1), meta.Null()), x.Custom.Get(\"frame\")) is false")
		}
	}
	of, err := r.ShardField(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := of.StandardProperties; len(got) != 1 {
		t.Fatalf("the shard as a whole carries those of its first stripe: %d elements, want %d: %v", len(got), 1, got)
	}
	report, err := verify.Shard(ctx, sp, at+"both.amudai.shard", verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !(report.OK) {
		t.Fatalf("%v: report.OK is false", report.Errors)
	}
	x, err := inspect.Shard(ctx, sp, at+"both.amudai.shard", inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range x.Properties {
		seen[p.Scope+" "+p.Bag+" "+p.Name+"="+string(p.Value)] = true
	}
	for _, want := range []string{`shard standard drop-by="2024"`, `stripe2 standard tier="two"`, `stripe3 custom batch="1"`,
		`stripe0/field:a standard unit="m"`, `stripe2/field:a custom from="two"`, `stripe1/field:pos.x custom frame=[-1,null]`} {
		if !(seen[want]) {
			t.Fatalf("%s among %v: seen[want] is false", want, seen)
		}
	}
}

// TestPropertiesOfAnEmptyShard: a shard without records keeps what is reported of its fields.
func TestPropertiesOfAnEmptyShard(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	o := shardfmt.WriterOptions{FieldProperties: map[string]shardfmt.Properties{"a": shardfmt.RawBags(meta.Bags{Custom: meta.Properties{text("unit", "m")}})}}
	writeNumbers(t, sp, at+"a.amudai.shard", 0, o, nil)
	d, err := openProperties(t, sp, at+"a.amudai.shard").ShardField(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	unit, _ := meta.Properties(d.GetCustomProperties()).Text("unit")
	if got := unit; got != "m" {
		t.Fatalf("got %v, want %v", got, "m")
	}
	o.FieldProperties = map[string]shardfmt.Properties{"nix": {}}
	_, err = shardfmt.NewWriter(ctx, sp, at+"b.amudai.shard", &schema.Schema{Fields: []*schema.Node{{Name: "a", Basic: schema.Int64, Signed: true}}}, o)
	if !errors.Is(err, schema.ErrNoField) {
		t.Fatalf("%v, want %v", err, schema.ErrNoField)
	}
}

// values writes messages to an object of its own, each in a frame, and gives references to them.
func putValues(t *testing.T, sp *blobio.Client, at, name string, make ...func(at *metapb.DataRef) *metapb.AnyValue) (refs []*metapb.DataRef) {
	t.Helper()
	data := append([]byte(nil), meta.Magic[:]...)
	var last *metapb.DataRef
	for _, f := range make {
		start := len(data)
		data = meta.AppendFrame(data, meta.Marshal(f(last)))
		last = meta.NewRef(name, uint64(start), uint64(len(data)))
		refs = append(refs, last)
	}
	if err := sp.Put(context.Background(), at+name, append(data, meta.Magic[:]...)); err != nil {
		t.Fatal(err)
	}
	return refs
}

func fixed(v *metapb.AnyValue) func(*metapb.DataRef) *metapb.AnyValue {
	return func(*metapb.DataRef) *metapb.AnyValue { return v }
}

func onwards(last *metapb.DataRef) *metapb.AnyValue { return refTo(last) }

// TestPropertiesBehindReferences: a property that refers to a value elsewhere is read as that value, up to four references away
// and in lists and structs, by every reader; its objects belong to the shard; and a merge in another folder keeps what it means.
func TestPropertiesBehindReferences(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	near := putValues(t, sp, at+"in/", "d/near.bin", fixed(meta.Text("near")))
	far := putValues(t, sp, at+"in/", "d/far.bin", fixed(meta.Int(7)), onwards, onwards, onwards)
	hidden := putValues(t, sp, at+"in/", "d/hidden.bin", fixed(meta.Text("near")))
	deep := putValues(t, sp, at+"in/", "d/deep.bin", fixed(meta.ListOf(refTo(hidden[0]), meta.StructOf(meta.Pair("n", refTo(far[1]))))))
	told := refTo(near[0])
	told.Annotation = proto.String("name")
	o := shardfmt.WriterOptions{
		Properties:       shardfmt.RawProperties(meta.Pair("near", told), meta.Pair("far", refTo(far[3])), meta.Pair("deep", refTo(deep[0]))),
		StripeProperties: shardfmt.RawBags(meta.Bags{Custom: meta.Properties{meta.Pair("near", refTo(near[0]))}}),
		FieldProperties:  map[string]shardfmt.Properties{"a": shardfmt.RawBags(meta.Bags{Standard: meta.Properties{meta.Pair("far", refTo(far[2]))}})},
	}
	writeNumbers(t, sp, at+"in/a.amudai.shard", 2, o, nil)
	check := func(url string) {
		r := openProperties(t, sp, url)
		shard, err := r.ReadProperties(ctx)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := shard.Custom.Text("near")
		seven, _ := shard.Custom.Int("far")
		if got := text; got != "near" {
			t.Fatalf("got %v, want %v", got, "near")
		}
		if got := shard.Custom.Get("near").GetAnnotation(); got != "name" {
			t.Fatalf("got %v, want %v", got, "name")
		}
		if want, got := int64(7), seven; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if !meta.Equal(meta.ListOf(meta.Text("near"), meta.StructOf(meta.Pair("n", meta.Int(7)))), shard.Custom.Get("deep")) {
			t.Fatalf("meta.Equal(meta.ListOf(meta.Text(\"near\"), meta.StructOf(meta.Pair(\"n\", meta.Int(7)))), shard.Custom.Get(\"deep\")) is false")
		}
		stripe, err := r.ReadStripeProperties(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		text, _ = stripe.Custom.Text("near")
		if got := text; got != "near" {
			t.Fatalf("got %v, want %v", got, "near")
		}
		field, err := r.ReadFieldProperties(ctx, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		seven, _ = field.Standard.Int("far")
		if want, got := int64(7), seven; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		report, err := verify.Shard(ctx, sp, url, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !(report.OK) {
			t.Fatalf("%v: report.OK is false", report.Errors)
		}
	}
	check(at + "in/a.amudai.shard")
	urls, err := openProperties(t, sp, at+"in/a.amudai.shard").URLList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{"d/near.bin", "d/far.bin", "d/deep.bin"} {
		if !slices.Contains(urls.Urls, one) {
			t.Errorf("%v lacks %s", urls.Urls, one)
		}
	}
	objects, _, err := openProperties(t, sp, at+"in/a.amudai.shard").Reach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{at + "in/d/near.bin", at + "in/d/far.bin", at + "in/d/deep.bin", at + "in/d/hidden.bin"} {
		if !slices.Contains(objects, one) {
			t.Errorf("%v lacks %s", objects, one)
		}
	}
	x, err := inspect.Shard(ctx, sp, at+"in/a.amudai.shard", inspect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := ([]string{"string", `"near"`}), ([]string{x.Properties[0].Kind, string(x.Properties[0].Value)}); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if all, one := string(x.Properties[0].Ref), "d/near.bin"; !strings.Contains(all, one) {
		t.Fatalf("%v lacks %v", all, one)
	}

	done, err := merge.Concat(ctx, sp, at+"out.amudai.shard", []merge.Input{{URL: at + "in/a.amudai.shard"}}, merge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if all, one := done.Objects, at+"in/d/near.bin"; !slices.Contains(all, one) {
		t.Fatalf("a value without references stays where it is: %v lacks %v", all, one)
	}
	stored, err := openProperties(t, sp, at+"out.amudai.shard").Properties(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := meta.Properties(stored.CustomProperties).Get("near").GetDataRef().GetUrl(); got != "in/d/near.bin" {
		t.Fatalf("got %v, want %v", got, "in/d/near.bin")
	}
	if got := meta.Properties(stored.CustomProperties).Get("far").GetDataRef(); got != nil {
		t.Fatalf("what is further away was copied: got %v, want nil", got)
	}
	if meta.Properties(stored.CustomProperties).Get("deep").GetListValue() == nil {
		t.Fatalf("meta.Properties(stored.CustomProperties).Get(\"deep\").GetListValue() is nil")
	}
	check(at + "out.amudai.shard")
	_, err = merge.Pack(ctx, sp, at+"packed.amudai.shard", []merge.Input{{URL: at + "in/a.amudai.shard"}}, merge.PackOptions{Object: at + "packed.amudai.stripe", All: true, Copy: true})
	if err != nil {
		t.Fatal(err)
	}
	check(at + "packed.amudai.shard")
}

// TestHostileReferences: circles, ways of more than four references, ranges beyond the object and endless lists of references end in
// an error that is reported, and cost a bounded number of requests.
func TestHostileReferences(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	chain := putValues(t, sp, at, "d/chain.bin", fixed(meta.Int(1)), onwards, onwards, onwards, onwards)
	size := uint64(len(meta.Marshal(refTo(meta.NewRef("d/circle.bin", 8, 99)))) + meta.FrameOverhead)
	circle := putValues(t, sp, at, "d/circle.bin", fixed(refTo(meta.NewRef("d/circle.bin", 8, 8+size))))
	many := make([]*metapb.AnyValue, 2000)
	for i := range many {
		many[i] = refTo(chain[0])
	}
	for name, c := range map[string]struct {
		value *metapb.AnyValue
		what  string
	}{
		"far":    {refTo(chain[4]), "more than 4 references away"},
		"circle": {refTo(circle[0]), "circle"},
		"beyond": {refTo(meta.NewRef("d/chain.bin", 8, 1<<20)), "ends before"},
		"gone":   {refTo(meta.NewRef("d/none.bin", 8, 99)), "missing"},
		"many":   {meta.ListOf(many...), "more than 1024 references"},
		"large":  {refTo(meta.NewRef("d/chain.bin", 8, 64<<20)), "more than 16777216 bytes"},
	} {
		url := at + name + ".amudai.shard"
		writeNumbers(t, sp, url, 2, shardfmt.WriterOptions{Properties: shardfmt.RawProperties(meta.Pair("p", c.value))}, nil)
		r := openProperties(t, sp, url)
		before := sp.Counters().Gets
		_, err := r.ReadProperties(ctx)
		if err == nil || !strings.Contains(err.Error(), c.what) {
			t.Fatalf("%v: %v, want an error with %q", name, err, c.what)
		}
		if a, b := sp.Counters().Gets-before, int64(1026); a > b {
			t.Fatalf("%v: sp.Counters().Gets-before is %v, want at most %v", name, a, b)
		}
		report, err := verify.Shard(ctx, sp, url, verify.Options{})
		if err != nil {
			t.Fatalf("%v: %v", name, err)
		}
		if report.OK {
			t.Fatalf("%v: report.OK is true", name)
		}
		x, err := inspect.Shard(ctx, sp, url, inspect.Options{})
		if err != nil {
			t.Fatalf("%v: %v", name, err)
		}
		if all, one := x.Properties[0].Error, c.what; !strings.Contains(all, one) {
			t.Fatalf("%v: %v lacks %v", name, all, one)
		}
		if name == "far" {
			if !strings.Contains(report.Errors[0].What, c.what) {
				t.Fatalf("%v: strings.Contains(report.Errors[0].What, c.what) is false", report.Errors)
			}
		}
	}
}

// TestReferencesElsewhere: where a reference has no meaning it is refused by name, by who would have to know the value, and where one
// of the program's own properties is a reference it is followed.
func TestReferencesElsewhere(t *testing.T) {
	ctx := context.Background()
	sp, at := propertySpace(t)
	own := putValues(t, sp, at, "d/own.bin", fixed(meta.Text("1,2,3")))
	o := shardfmt.WriterOptions{
		Properties:       shardfmt.RawProperties(meta.Pair(meta.PropertyFieldIDs, refTo(own[0]))),
		StripeProperties: shardfmt.RawBags(meta.Bags{Custom: meta.Properties{meta.Pair(meta.PropertyObjects, refTo(own[0]))}}),
	}
	writeNumbers(t, sp, at+"a.amudai.shard", 2, o, nil)
	r := openProperties(t, sp, at+"a.amudai.shard")
	ids, ok, err := r.OwnText(ctx, meta.PropertyFieldIDs)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Fatalf("ok is false")
	}
	if got := ids; got != "1,2,3" {
		t.Fatalf("got %v, want %v", got, "1,2,3")
	}
	report, err := verify.Shard(ctx, sp, at+"a.amudai.shard", verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if all, one := fmt.Sprint(report.Errors), "property shardcat.objects is a reference"; !strings.Contains(all, one) {
		t.Fatalf("%v lacks %v", all, one)
	}
	if err := (meta.NoReferences(meta.Properties{meta.Pair("fields", meta.ListOf(refTo(own[0])))})); err == nil || !strings.Contains(err.Error(), "property fields holds a reference") {
		t.Fatalf("%v, want an error with %q", err, "property fields holds a reference")
	}
	for _, d := range []*metapb.IndexDescriptor{{IndexType: textindex.Type}, {IndexType: hashindex.Type}} {
		d.Properties = []*metapb.NameValuePair{meta.Pair("collation", refTo(own[0]))}
		_, err := textindex.Parse(d)
		if d.IndexType == hashindex.Type {
			_, err = hashindex.Parse(d)
		}
		if err == nil || !strings.Contains(err.Error(), "property collation holds a reference") {
			t.Fatalf("%v, want an error with %q", err, "property collation holds a reference")
		}
		change := merge.IndexChange{Add: map[int][]stripeindex.Descriptor{0: {stripeindex.DescriptorOf(d)}}}
		url := fmt.Sprintf("%s%s.amudai.shard", at, d.IndexType)
		writeNumbers(t, sp, at+"plain-"+d.IndexType+".amudai.shard", 2, shardfmt.WriterOptions{}, nil)
		_, err = merge.ReplaceIndexes(ctx, sp, url, merge.Input{URL: at + "plain-" + d.IndexType + ".amudai.shard"}, change)
		if err != nil {
			t.Fatal(err)
		}
		_, failed := stripeindex.NewReader(ctx, sp, stripeindex.Asked{Root: openProperties(t, sp, url)}, 0, nil)
		if failed == nil || !strings.Contains(failed.Error(), "property collation holds a reference") {
			t.Fatalf("%v, want an error with %q", failed, "property collation holds a reference")
		}
	}
}
