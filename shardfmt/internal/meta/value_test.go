package meta

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

func dec(t *testing.T, s string) *metapb.AnyValue {
	v, err := decimal.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return Decimal(v[:])
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b  *metapb.AnyValue
		order int
	}{
		{Int(-5), Int(3), -1}, {Uint(1 << 63), Uint(3), 1}, {Double(-1), Double(0), -1}, {Double(0), Double(math.Copysign(0, -1)), 0},
		{Text("a"), Text("ab"), -1}, {Text("é"), Text("z"), 1}, {Blob([]byte{1}), Blob(nil), 1}, {Bool(false), Bool(true), -1},
		{Time(1), Time(2), -1}, {Span(-1), Span(1), -1}, {dec(t, "1.50"), dec(t, "1.5"), 0}, {dec(t, "-2"), dec(t, "1e-9"), -1},
		{Double(math.Inf(-1)), Double(-math.MaxFloat64), -1},
	} {
		got, ok := Compare(c.a, c.b)
		if !ok {
			t.Fatalf("%v: ok is false", c)
		}
		if want, got := c.order, got; !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", c, got, want)
		}
		got, ok = Compare(c.b, c.a)
		if !ok {
			t.Fatalf("ok is false")
		}
		if want, got := -c.order, got; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	for _, c := range [][2]*metapb.AnyValue{
		{Int(1), Uint(1)}, {Double(math.NaN()), Double(1)}, {Double(math.NaN()), Double(math.NaN())}, {Null(), Null()}, {nil, nil},
		{nil, Int(1)}, {ListOf(), ListOf()}, {Decimal(nil), Decimal(nil)}, {dec(t, "NaN"), dec(t, "1")}, {Text("a"), Blob([]byte("a"))},
	} {
		_, ok := Compare(c[0], c[1])
		if ok {
			t.Fatalf("%v: ok is true", c)
		}
	}
}

func TestEqual(t *testing.T) {
	ref := func(url string) *metapb.AnyValue {
		return &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: NewRef(url, 1, 2)}}
	}
	noted := func(v *metapb.AnyValue, note string) *metapb.AnyValue {
		v.Annotation = &note
		return v
	}
	equal := [][2]*metapb.AnyValue{
		{nil, nil}, {Null(), Null()}, {Int(1), Int(1)}, {Double(0), Double(math.Copysign(0, -1))}, {Text(""), Text("")},
		{ListOf(Int(1), Text("x")), ListOf(Int(1), Text("x"))}, {StructOf(Pair("a", Null())), StructOf(Pair("a", Null()))},
		{ref("u"), ref("u")}, {noted(Int(1), "n"), noted(Int(1), "n")}, {&metapb.AnyValue{}, &metapb.AnyValue{}},
	}
	for _, c := range equal {
		if !Equal(c[0], c[1]) {
			t.Fatalf("%v: Equal(c[0], c[1]) is false", c)
		}
	}
	for _, c := range [][2]*metapb.AnyValue{
		{nil, Null()}, {Null(), &metapb.AnyValue{}}, {Int(1), Uint(1)}, {Int(1), Int(2)}, {Double(math.NaN()), Double(math.NaN())},
		{ListOf(Int(1)), ListOf(Int(1), Int(1))}, {ListOf(Double(math.NaN())), ListOf(Double(math.NaN()))},
		{StructOf(Pair("a", Null())), StructOf(Pair("b", Null()))}, {StructOf(), ListOf()}, {ref("u"), ref("v")},
		{noted(Int(1), ""), Int(1)}, {dec(t, "1.50"), dec(t, "1.5")},
	} {
		if Equal(c[0], c[1]) {
			t.Fatalf("%v: Equal(c[0], c[1]) is true", c)
		}
		if Equal(c[1], c[0]) {
			t.Fatalf("%v: Equal(c[1], c[0]) is true", c)
		}
	}
}

func TestTypedValues(t *testing.T) {
	for _, c := range []struct {
		v      *metapb.AnyValue
		i      int64
		iOK    bool
		u      uint64
		uOK    bool
		nature string
	}{
		{Int(-5), -5, true, 0, false, "i64"}, {Int(5), 5, true, 5, true, "i64"}, {Uint(1 << 63), 0, false, 1 << 63, true, "u64"},
		{Time(7), 7, true, 7, true, "datetime"}, {Span(-7), -7, true, 0, false, "timespan"}, {Text("7"), 0, false, 0, false, "string"},
		{Null(), 0, false, 0, false, "null"}, {nil, 0, false, 0, false, ""},
	} {
		i, ok := Int64Of(c.v)
		if want, got := c.iOK, ok; !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", c, got, want)
		}
		if ok {
			if want, got := c.i, i; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
		u, ok := Uint64Of(c.v)
		if want, got := c.uOK, ok; !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", c, got, want)
		}
		if ok {
			if want, got := c.u, u; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
		if want, got := c.nature, Kind(c.v); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	b, ok := BytesOf(Text("ab"))
	if !ok {
		t.Fatalf("ok is false")
	}
	if got := string(b); got != "ab" {
		t.Fatalf("got %v, want %v", got, "ab")
	}
}

func TestBag(t *testing.T) {
	b := Properties{Pair("a", Int(1)), Pair("b", Text("x")), Pair("a", Int(2))}
	n, ok := b.Int("a")
	if !ok {
		t.Fatalf("ok is false")
	}
	if want, got := int64(1), n; !reflect.DeepEqual(got, want) {
		t.Fatalf("the first of a name counts: got %v, want %v", got, want)
	}
	if err := b.Check(); err != nil {
		t.Fatalf("a merged shard has names twice: %v", err)
	}
	if err := (Properties{Pair("", Int(1))}.Check()); err == nil {
		t.Fatalf("no error")
	}
	if err := (Properties{Pair("a\xff", Int(1))}.Check()); err == nil {
		t.Fatalf("no error")
	}
	b.Set("a", Int(3))
	b.Set("c", Bool(true))
	if got := b; len(got) != 3 {
		t.Fatalf("%d elements, want %d: %v", len(got), 3, got)
	}
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	if got := b[0].Name; got != "a" {
		t.Fatalf("got %v, want %v", got, "a")
	}
	_, ok = b.Text("a")
	if ok {
		t.Fatalf("ok is true")
	}
	if got := b.Get("d"); got != nil {
		t.Fatalf("got %v, want nil", got)
	}
	if err := (Properties{Pair("", Int(1))}.Check()); err == nil {
		t.Fatalf("no error")
	}
	if err := (Properties{Pair("\xff", Int(1))}.Check()); err == nil {
		t.Fatalf("no error")
	}

	min, max, known := Creation(&metapb.ShardProperties{CreationMin: &metapb.DateTimeUtc{Ticks: 1}})
	if known {
		t.Fatalf("one time alone is not known: %d %d: known is true", min, max)
	}
	p := new(metapb.ShardProperties)
	SetCreation(p, 5, 9)
	min, max, known = Creation(p)
	if want, got := ([]any{uint64(5), uint64(9), true}), ([]any{min, max, known}); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestCheckValue(t *testing.T) {
	deep := Int(1)
	for range maxValueDepth {
		deep = StructOf(Pair("x", deep))
	}
	if err := CheckValue(deep); err != nil {
		t.Fatal(err)
	}
	if err := (unmarshal(Marshal(&metapb.ShardProperties{CustomProperties: Properties{Pair("p", deep)}}), new(metapb.ShardProperties))); err != nil {
		t.Fatal(err)
	}
	for _, v := range []*metapb.AnyValue{
		ListOf(deep), Text("\xff"), Decimal(make([]byte, 15)), ListOf(Text("\xff")), StructOf(Pair("\xff", nil)),
		{Annotation: proto.String("\xff")},
	} {
		if err := CheckValue(v); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
		}
	}
}
