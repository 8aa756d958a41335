package mutant

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/shardfmt/verify"
)

func owned(t *testing.T) []*Shard {
	t.Helper()
	all, err := Own(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// findings verifies a shard and gives what it states about the first damage, "" if the shard is whole.
func findings(t *testing.T, s *Shard) string {
	t.Helper()
	r, err := verify.Shard(t.Context(), s.Store(), URL, verify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.OK {
		return ""
	}
	return r.Errors[0].What
}

// Statistics of nested fields, sizes, sketches, counts of a type: what contradicts the values is found, by name.
func TestLiesOfAnyFieldAreFound(t *testing.T) {
	s := owned(t)[0]
	if what := findings(t, s); what != "" {
		t.Fatal(what)
	}
	for _, c := range []struct {
		path, want string
		lie        func(d *metapb.FieldDescriptor)
	}{
		{"pos.y.z", "above the greatest", func(d *metapb.FieldDescriptor) { d.RangeStats.MaxValue = meta.Int(3) }},
		{"pos.y.z", "the descriptor says", func(d *metapb.FieldDescriptor) { *d.NullCount++ }},
		{"pos", "nulls, the descriptor says", func(d *metapb.FieldDescriptor) { *d.NullCount++ }},
		{"tags", "max_length", func(d *metapb.FieldDescriptor) { d.GetListStats().MaxLength++ }},
		{"name", "max_size", func(d *metapb.FieldDescriptor) { d.GetStringStats().MaxSize++ }},
		{"name", "sketch of distinct values", func(d *metapb.FieldDescriptor) { d.Cardinality.Count = nil; d.Cardinality.HllSketch.Counters[5]++ }},
		{"name", "different values, the descriptor says exactly", func(d *metapb.FieldDescriptor) { *d.Cardinality.Count++ }},
		{"name", "an estimate of", func(d *metapb.FieldDescriptor) { *d.Cardinality.Count++; d.Cardinality.IsEstimate = true }},
		{"name", "the constant value is a reference", func(d *metapb.FieldDescriptor) { d.ConstantValue = referring() }},
		{"pos.y.z", "the least value is a reference", func(d *metapb.FieldDescriptor) { d.RangeStats.MinValue = referring() }},
		{"name", "bytes of values", func(d *metapb.FieldDescriptor) { *d.RawDataSize = 1 }},
		{"f64", "nan_count", func(d *metapb.FieldDescriptor) { d.GetFloatingStats().NanCount++ }},
		{"flag", "true_count", func(d *metapb.FieldDescriptor) { d.GetBooleanStats().TrueCount++ }},
		{"price", "negative_count", func(d *metapb.FieldDescriptor) { d.GetDecimalStats().NegativeCount++ }},
		{"blob", "min_length", func(d *metapb.FieldDescriptor) { d.GetBinaryStats().MinLength = 0 }},
	} {
		if what := findings(t, told(t, s, c.path, c.lie)); !strings.Contains(what, c.want) {
			t.Errorf("%s, %s: %q", c.path, c.want, what)
		}
	}
}

// What the shard states about a field is compared with the values too, where its stripes report the truth.
func TestLiesOfTheShardAreFound(t *testing.T) {
	s := owned(t)[0]
	for _, c := range []struct {
		path, want string
		lie        func(d *metapb.FieldDescriptor)
	}{
		{"pos.y.z", "position 0 of the stripe is above the greatest value of the shard", func(d *metapb.FieldDescriptor) { d.RangeStats.MaxValue = meta.Int(-100) }},
		{"name", "below the least value of the shard", func(d *metapb.FieldDescriptor) { d.RangeStats.MinValue = textOf("\U0010FFFF") }},
		{"f64", `of the shard: nan_count`, func(d *metapb.FieldDescriptor) { d.GetFloatingStats().NanCount++ }},
		{"pos", `of the shard: `, func(d *metapb.FieldDescriptor) { *d.NullCount++ }},
	} {
		if what := findings(t, toldOfShard(t, s, c.path, c.lie)); !strings.Contains(what, c.want) {
			t.Errorf("%s, %s: %q", c.path, c.want, what)
		}
	}
}

func textOf(s string) *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_StringValue{StringValue: s}}
}

// toldOfShard is a shard that states another thing of a field of all its stripes.
func toldOfShard(t *testing.T, s *Shard, path string, lie func(d *metapb.FieldDescriptor)) *Shard {
	t.Helper()
	g, err := newGraft(rand.New(rand.NewPCG(1, 1)), s)
	if err != nil {
		t.Fatal(err)
	}
	n := lookup(t, g.nodes, path)
	d, err := g.root.ShardField(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	d = proto.CloneOf(d)
	lie(d)
	if err := g.setShardField(n.ID, d); err != nil {
		t.Fatal(err)
	}
	return g.finish()
}

// referring is a value that lies elsewhere.
func referring() *metapb.AnyValue {
	return &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: meta.SelfRef(8, 99)}}
}

// told is a shard whose first stripe says another thing of a field.
func told(t *testing.T, s *Shard, path string, lie func(d *metapb.FieldDescriptor)) *Shard {
	t.Helper()
	g, err := newGraft(rand.New(rand.NewPCG(1, 1)), s)
	if err != nil {
		t.Fatal(err)
	}
	n := lookup(t, g.nodes, path)
	d, err := g.field(0, n.ID)
	if err != nil {
		t.Fatal(err)
	}
	lie(d.Field)
	list, err := g.stripes()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.setFields(list, 0, map[uint32]*metapb.StripeFieldDescriptor{n.ID: d}); err != nil {
		t.Fatal(err)
	}
	g.setStripes(list)
	return g.finish()
}

func lookup(t *testing.T, s *schema.Schema, path string) *schema.Node {
	t.Helper()
	n, err := s.Lookup(path)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A seed and a shard settle a mutant, and the changes of every kind are made.
func TestMutantsComeBack(t *testing.T) {
	shards := owned(t)
	kinds := map[string]bool{}
	for n := range uint64(1000) {
		s := shards[n%uint64(len(shards))]
		a, err := New(rand.New(rand.NewPCG(7, n)), s, shards)
		if err != nil {
			t.Fatal(err)
		}
		if kinds[a.Kind] = true; n > 150 {
			continue
		}
		b, err := New(rand.New(rand.NewPCG(7, n)), s, shards)
		if err != nil || a.Kind != b.Kind || a.What[:min(20, len(a.What))] != b.What[:min(20, len(b.What))] {
			t.Fatalf("%d: %s: %s, then %s: %s, %v", n, a.Kind, a.What, b.Kind, b.What, err)
		}
		for name, data := range a.Objects {
			if string(b.Objects[name]) != string(data) {
				t.Fatalf("%d (%s): %s differs", n, a.Kind, name)
			}
		}
	}
	for _, k := range Kinds() {
		if !kinds[k] {
			t.Errorf("no mutant of kind %q", k)
		}
	}
}

// Whatever else is read before a shard is admitted, columns whose work depends on values are: those with unions at offsets.
func TestUnionsAreReadBeforeAdmission(t *testing.T) {
	s := owned(t)[1] // with unions at offsets
	for path, refused := range map[string]bool{"u": true, "id": false} {
		st := garbled(t, s, path).Store()
		shard, err := shardfmt.Open(t.Context(), st, URL, shardfmt.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		err = verify.Admit(t.Context(), st, shard, verify.AdmitOptions{Read: verify.ReadLeast})
		shard.Close()
		if (err != nil) != refused || err != nil && !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// garbled is a shard with a flipped byte in the first buffer of a field.
func garbled(t *testing.T, s *Shard, path string) *Shard {
	t.Helper()
	g, err := newGraft(rand.New(rand.NewPCG(1, 1)), s)
	if err != nil {
		t.Fatal(err)
	}
	d, err := g.field(0, lookup(t, g.nodes, path).ID)
	if err != nil {
		t.Fatal(err)
	}
	ref := d.Encodings[0].GetNative().Buffers[0].Buffer
	start, _, err := meta.RefRange(ref)
	if err != nil {
		t.Fatal(err)
	}
	url, err := g.root.Resolve(URL, ref.Url)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(url, folder)
	b := bytes.Clone(s.Objects[name])
	b[start+9] ^= 0x10
	return s.with(name, b)
}
