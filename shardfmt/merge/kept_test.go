package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/index/stripeindex"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// TestDeleteRefusesUnknownFields: a field that this program does not know may be about records that are deleted, in whatever message of the metadata
// it stands.
func TestDeleteRefusesUnknownFields(t *testing.T) {
	ctx := context.Background()
	unknown := func(m proto.Message) { m.ProtoReflect().SetUnknown([]byte{0x9a, 0x06, 1, 'a'}) }
	pair := func(v *metapb.AnyValue) []*metapb.NameValuePair {
		return []*metapb.NameValuePair{meta.Pair("first", meta.Text("x")), meta.Pair("second", v)}
	}
	bag := func(p *parts, own *metapb.StripeProperties) { p.bags = []*metapb.StripeProperties{nil, own} }
	for name, change := range map[string]func(p *parts){
		"":                        func(*parts) {},
		"ShardDirectory":          func(p *parts) { unknown(p.directory) },
		"ShardProperties":         func(p *parts) { unknown(p.properties) },
		"a property of the shard": func(p *parts) { v := meta.Text("x"); unknown(v); p.properties.CustomProperties = pair(v) },
		"StripeDirectory":         func(p *parts) { unknown(p.stripes[1]) },
		"StripeProperties":        func(p *parts) { own := new(metapb.StripeProperties); unknown(own); bag(p, own) },
		"a property of a stripe": func(p *parts) {
			v := meta.Text("x")
			unknown(v)
			bag(p, &metapb.StripeProperties{CustomProperties: pair(v)})
		},
		"StripeFieldDescriptor": func(p *parts) { unknown(p.fields[1][1]) },
		"a buffer":              func(p *parts) { unknown(p.fields[1][1].Encodings[0].GetNative().Buffers[0]) },
		"statistics":            func(p *parts) { unknown(p.fields[1][1].Field.RangeStats) },
		"FieldDescriptor":       func(p *parts) { p.ofField = new(metapb.IndexCollection); unknown(p.ofField) },
	} {
		sp, at := newSpace(t)
		in := spec{schema: "a: Int64, b: Int64", stripes: []uint64{5, 6}, change: change}.make(t, sp, at+"a.amudai.shard")
		_, err := DeleteRecords(ctx, sp, at+"b.amudai.shard", in, Deletion{Stripes: map[int][]byte{0: {1}}, Object: at + "data/b.amudai.stripe"})
		if known := name == ""; errors.Is(err, errUnknownFields) == known || known && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAttempts: every root carries the mark of its attempt, by which a writer knows its own object after a lost answer: the given one, or a new one.
func TestAttempts(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	in := []Input{
		spec{schema: "a: Int64", stripes: []uint64{5}}.make(t, sp, at+"x/a.amudai.shard"),
		spec{schema: "a: Int64", stripes: []uint64{5}}.make(t, sp, at+"y/a.amudai.shard"),
	}
	for _, folder := range []string{"x", "y"} { // what the buffers refer to
		if err := sp.Put(ctx, at+folder+"/data/0.amudai.stripe", make([]byte, 1<<10)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{"": true}
	for name, write := range map[string]func(out string, o Options) (*Result, error){
		"concat": func(out string, o Options) (*Result, error) { return Concat(ctx, sp, out, in, o) },
		"pack": func(out string, o Options) (*Result, error) {
			return Pack(ctx, sp, out, in, PackOptions{Options: o, Object: out + ".stripe", All: true})
		},
		"delete": func(out string, o Options) (*Result, error) {
			return DeleteRecords(ctx, sp, out, in[0], Deletion{Stripes: map[int][]byte{0: {1}}, Object: out + ".marker", Options: o})
		},
		"indexes": func(out string, o Options) (*Result, error) {
			return ReplaceIndexes(ctx, sp, out, in[0], IndexChange{Options: o})
		},
	} {
		for i, given := range []string{"mine", "", ""} {
			res, err := write(at+name+string(rune('0'+i)), Options{Attempt: given})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, _, err := open(t, sp, res.URL).OwnText(ctx, meta.PropertyAttempt)
			if err != nil || given != "" && got != given || given == "" && seen[got] {
				t.Errorf("%s: the attempt %q is %q, %v", name, given, got, err)
			}
			seen[got] = true
		}
	}
}

// TestLostInputs: what an input lacks, or what no reader may make sense of, is an error and never left out.
func TestLostInputs(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	plain := spec{schema: "a: Int64, b: Int64", stripes: []uint64{5}}
	damaged := plain
	damaged.change = func(p *parts) {
		p.fields[0][1].Field.ConstantValue = &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: meta.SelfRef(8, 16)}}
	}
	whole := plain.make(t, sp, at+"a.amudai.shard")
	for name, c := range map[string]struct {
		in  Input
		err error
	}{
		"gone":          {Input{URL: at + "gone.amudai.shard"}, blobio.ErrNotFound},
		"gone, of size": {Input{URL: at + "gone.amudai.shard", Size: 1000}, blobio.ErrNotFound},
		"a field":       {damaged.make(t, sp, at+"b.amudai.shard"), corrupt.ErrUnsupported},
	} {
		for _, in := range [][]Input{{whole, c.in}, {c.in}} {
			if _, err := Concat(ctx, sp, at+"out.amudai.shard", in, Options{}); !errors.Is(err, c.err) {
				t.Errorf("%s: %v, want %v", name, err, c.err)
			}
		}
		if _, err := DeleteRecords(ctx, sp, at+"out.amudai.shard", c.in, Deletion{Stripes: map[int][]byte{0: {1}}, Object: at + "marker"}); !errors.Is(err, c.err) {
			t.Errorf("%s: delete: %v, want %v", name, err, c.err)
		}
	}
}

// TestPropertiesOfInputs: what describes a shard itself occurs once in the merged one, other properties as often as inputs have them. A value that lies
// more than one reference away is copied; checksums are no such value. What an input lists of objects stays listed.
func TestPropertiesOfInputs(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	ref := func(name string, r *metapb.UInt64Range) *metapb.AnyValue {
		return &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: meta.NewRef(name, r.Start, r.End)}}
	}
	far, near := meta.NewRootBuilder(), meta.NewRootBuilder()
	text := far.Add(meta.Text("far")).GetRange()
	onwards := near.Add(ref("far.bin", text)).GetRange()
	for name, b := range map[string]*meta.RootBuilder{"far.bin": far, "near.bin": near} {
		if err := sp.Put(ctx, at+name, b.Finish(&metapb.ShardDirectory{})); err != nil {
			t.Fatal(err)
		}
	}
	input := func(name, own string) Input {
		return spec{schema: "a: Int64", stripes: []uint64{5}, custom: meta.Properties{
			meta.Pair("shardcat.x", meta.Text("same")), meta.Pair("shardcat.y", meta.Text(own)), meta.Pair(meta.PropertyArrowSchema, meta.Text("arrow")),
			meta.Pair(meta.PropertyObjects, ref("near.bin", onwards)), meta.Pair("user", meta.Text("same")), meta.Pair("value", ref("near.bin", onwards)),
		}, change: func(p *parts) { p.urls = []string{"listed-1", "", "listed-2"} }}.make(t, sp, at+name)
	}
	res, err := Concat(ctx, sp, at+"out.amudai.shard", []Input{input("a.amudai.shard", "a"), input("b.amudai.shard", "b")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := open(t, sp, res.URL).Properties(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, pair := range p.CustomProperties {
		text, ok := meta.TextOf(pair.Value)
		if !ok {
			text = pair.Value.GetDataRef().GetUrl()
		}
		got[pair.Name] = append(got[pair.Name], text)
	}
	for name, want := range map[string][]string{"shardcat.x": {"same"}, "shardcat.y": {"a", "b"}, meta.PropertyArrowSchema: {"arrow"},
		"user": {"same", "same"}, "value": {"far", "far"}} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if got := got[meta.PropertyObjects]; len(got) == 0 || slices.ContainsFunc(got, func(url string) bool { return url != "near.bin" }) {
		t.Errorf("the checksums are those of %q, want near.bin", got)
	}
	for _, name := range []string{"listed-1", "listed-2"} {
		if !slices.Contains(res.Objects, at+name) {
			t.Errorf("%v lacks %s", res.Objects, name)
		}
	}
}

// TestFieldIDsDecide: fields of the same names and types are different fields if their ids differ.
func TestFieldIDsDecide(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	index := func(id uint32) *metapb.IndexDescriptor {
		return &metapb.IndexDescriptor{IndexType: "t", Properties: []*metapb.NameValuePair{meta.Pair("position_base", meta.Text("stripe"))},
			IndexedFields: []*metapb.IndexedField{{SchemaIds: []uint32{id}}}}
	}
	in := func(name string, ids []int) Input {
		return spec{schema: "a: Int64, b: Int64", ids: ids, stripes: []uint64{5}, change: func(p *parts) {
			p.indexes = []*metapb.IndexCollection{{IndexDescriptors: []*metapb.IndexDescriptor{index(0), index(1)}}}
		}}.make(t, sp, at+name+".amudai.shard")
	}
	ordered, turned, without := in("ordered", []int{1, 2}), in("turned", []int{2, 1}), in("without", nil)
	const made = 0 // a field that the input lacks has no buffer
	for name, c := range map[string]struct {
		in      Input
		schema  string
		ids     []int
		buffers []uint64 // where the buffers of the fields start
		indexed []uint32 // the fields of the indexes
		err     error
	}{
		"the same":         {in: ordered, schema: "a: Int64, b: Int64", ids: []int{1, 2}, buffers: []uint64{64, 128}, indexed: []uint32{0, 1}},
		"turned":           {in: turned, schema: "a: Int64, b: Int64", ids: []int{1, 2}, buffers: []uint64{128, 64}, indexed: []uint32{1, 0}},
		"another":          {in: ordered, schema: "a: Int64, b: Int64", ids: []int{1, 3}, buffers: []uint64{64, made}, indexed: []uint32{0}},
		"fewer":            {in: ordered, schema: "a: Int64", ids: []int{1}, buffers: []uint64{64}, indexed: []uint32{0}},
		"the second":       {in: ordered, schema: "b: Int64", ids: []int{2}, buffers: []uint64{128}, indexed: []uint32{0}},
		"no ids":           {in: ordered, schema: "a: Int64, b: Int64", buffers: []uint64{64, 128}, indexed: []uint32{0, 1}},
		"an input without": {in: without, schema: "a: Int64, b: Int64", ids: []int{1, 2}, buffers: []uint64{64, 128}, indexed: []uint32{0, 1}},
		"neither":          {in: without, schema: "a: Int64, b: Int64", buffers: []uint64{64, 128}, indexed: []uint32{0, 1}},
		"others, no ids":   {in: without, schema: "a: Int64", ids: []int{1}, err: ErrSchema},
		"others without":   {in: ordered, schema: "a: Int64", err: ErrSchema},
		"too few ids":      {in: ordered, schema: "a: Int64, b: Int64", ids: []int{1}, err: ErrSchema},
		"too many ids":     {in: ordered, schema: "a: Int64, b: Int64", ids: []int{1, 2, 3}, err: ErrSchema},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := schema.Parse(c.schema)
			if err != nil {
				t.Fatal(err)
			}
			res, err := Concat(ctx, sp, at+"out-"+strings.ReplaceAll(name, " ", "-"), []Input{c.in}, Options{Schema: s, FieldIDs: c.ids})
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			r := open(t, sp, res.URL)
			for id, want := range c.buffers {
				d, _, err := r.StripeField(ctx, 0, uint32(id))
				if err != nil {
					t.Fatal(err)
				}
				start := uint64(made)
				for _, b := range d.Encodings[0].GetNative().GetBuffers() {
					start = b.Buffer.Range.Start
				}
				if start != want {
					t.Errorf("field %d starts at %d, want %d", id, start, want)
				}
			}
			indexes, err := r.StripeIndexes(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			var indexed []uint32
			for _, d := range indexes.IndexDescriptors {
				indexed = append(indexed, d.IndexedFields[0].SchemaIds...)
			}
			if !slices.Equal(indexed, c.indexed) {
				t.Errorf("the indexes are of %v, want %v", indexed, c.indexed)
			}
		})
	}
}

// TestRequiredOfInputs: a field holds no null if that is so in every input, whatever its number there.
func TestRequiredOfInputs(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	in := func(name, fields string, ids []int, required string) Input {
		s := spec{schema: fields, ids: ids, stripes: []uint64{5}}
		if required != "" {
			s.custom = meta.Properties{meta.Pair(meta.PropertyRequired, meta.Text(required))}
		}
		return s.make(t, sp, at+name)
	}
	both, first, turned, none := in("both", "a: Int64, b: Int64", []int{1, 2}, "0,1"), in("first", "a: Int64, b: Int64", []int{1, 2}, "0"),
		in("turned", "b: Int64, a: Int64", []int{2, 1}, "0"), in("none", "a: Int64, b: Int64", []int{1, 2}, "")
	fewer := in("fewer", "a: Int64", []int{1}, "0")
	for i, c := range []struct {
		in   []Input
		want []uint32
	}{
		{[]Input{both}, []uint32{0, 1}}, {[]Input{both, both}, []uint32{0, 1}}, {[]Input{both, first}, []uint32{0}}, {[]Input{both, turned}, []uint32{1}},
		{[]Input{first, turned}, nil}, {[]Input{both, none}, nil}, {[]Input{none, both}, nil}, {[]Input{both, fewer}, []uint32{0}}, {[]Input{none}, nil},
	} {
		res, err := Concat(ctx, sp, fmt.Sprint(at, "out-", i), c.in, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := open(t, sp, res.URL).Required(ctx); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%d: %v, %v, want %v", i, got, err, c.want)
		}
	}
}

// TestReplaceIndexesOfFields: an index of a field comes into the description of that field alone, and objects of a new index that the root must
// not refer to are refused.
func TestReplaceIndexesOfFields(t *testing.T) {
	ctx := context.Background()
	sp, at := newSpace(t)
	index := func(url, holder string, id uint32) *metapb.IndexDescriptor {
		return &metapb.IndexDescriptor{IndexType: url, Properties: []*metapb.NameValuePair{meta.Pair("position_base", meta.Text("stripe")), meta.Pair("shardcat.holder", meta.Text(holder))},
			IndexedFields: []*metapb.IndexedField{{SchemaIds: []uint32{id}}}, Artifacts: []*metapb.IndexArtifact{{DataRef: meta.NewRef(url, 0, 9)}}}
	}
	if _, ofField := stripeindex.FieldOf(index("", "field", 0)); !ofField {
		t.Fatal("the index is not of a field")
	}
	in := spec{schema: "a: Int64, b: Int64, c: Int64", stripes: []uint64{5}, change: func(p *parts) {
		p.fields[0][0].Field.Indexes = &metapb.IndexCollection{IndexDescriptors: []*metapb.IndexDescriptor{index("was", "field", 0)}}
	}}.make(t, sp, at+"a.amudai.shard")
	change := func(all ...*metapb.IndexDescriptor) IndexChange {
		return IndexChange{Add: map[int][]stripeindex.Descriptor{0: stripeindex.DescriptorsOf(all)}}
	}
	res, err := ReplaceIndexes(ctx, sp, at+"out.amudai.shard", in, change(index("of-b", "field", 1), index("of-stripe", "", 2), index("of-a", "field", 0)))
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, sp, res.URL)
	names := func(c *metapb.IndexCollection) (out []string) {
		for _, d := range c.GetIndexDescriptors() {
			out = append(out, d.IndexType)
		}
		return out
	}
	for id, want := range [][]string{{"was", "of-a"}, {"of-b"}, nil} {
		d, _, err := r.StripeField(ctx, 0, uint32(id))
		if err != nil {
			t.Fatal(err)
		}
		if got := names(d.Field.Indexes); !slices.Equal(got, want) {
			t.Errorf("field %d has %q, want %q", id, got, want)
		}
	}
	c, err := r.StripeIndexes(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(c); !slices.Equal(got, []string{"of-stripe"}) {
		t.Errorf("the stripe has %q", got)
	}
	for _, name := range []string{"was", "of-a", "of-b", "of-stripe"} {
		if !slices.Contains(res.Objects, at+name) {
			t.Errorf("%v lacks %s", res.Objects, name)
		}
	}
	for _, d := range []*metapb.IndexDescriptor{index("mem://elsewhere/x", "", 0), index("mem://elsewhere/x", "field", 0), index("../x", "", 0), index("out-2.amudai.shard", "", 0)} {
		for _, c := range []IndexChange{change(d), {AddShard: stripeindex.DescriptorsOf([]*metapb.IndexDescriptor{d})}} {
			if _, err := ReplaceIndexes(ctx, sp, at+"out-2.amudai.shard", in, c); err == nil {
				t.Errorf("an index at %s: no error", d.IndexType)
			}
		}
	}
	elsewhere, err := urlresolve.ParsePrefix("mem://elsewhere/")
	if err != nil {
		t.Fatal(err)
	}
	far := change(index("mem://elsewhere/x", "", 0))
	far.Options = Options{Policy: urlresolve.Policy{Allow: []urlresolve.Prefix{elsewhere}}}
	if _, err := ReplaceIndexes(ctx, sp, at+"out-2.amudai.shard", in, far); !errors.Is(err, urlresolve.ErrRefused) {
		t.Errorf("an index outside the folder of the root: %v", err)
	}
}
