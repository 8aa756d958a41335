package meta

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

func dec(t *testing.T, s string) *metapb.AnyValue {
	v, err := decimal.Parse(s)
	require.NoError(t, err)
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
		require.True(t, ok, c)
		require.Equal(t, c.order, got, c)
		got, ok = Compare(c.b, c.a)
		require.True(t, ok)
		require.Equal(t, -c.order, got)
	}
	for _, c := range [][2]*metapb.AnyValue{
		{Int(1), Uint(1)}, {Double(math.NaN()), Double(1)}, {Double(math.NaN()), Double(math.NaN())}, {Null(), Null()}, {nil, nil},
		{nil, Int(1)}, {ListOf(), ListOf()}, {Decimal(nil), Decimal(nil)}, {dec(t, "NaN"), dec(t, "1")}, {Text("a"), Blob([]byte("a"))},
	} {
		_, ok := Compare(c[0], c[1])
		require.False(t, ok, c)
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
		require.True(t, Equal(c[0], c[1]), c)
	}
	for _, c := range [][2]*metapb.AnyValue{
		{nil, Null()}, {Null(), &metapb.AnyValue{}}, {Int(1), Uint(1)}, {Int(1), Int(2)}, {Double(math.NaN()), Double(math.NaN())},
		{ListOf(Int(1)), ListOf(Int(1), Int(1))}, {ListOf(Double(math.NaN())), ListOf(Double(math.NaN()))},
		{StructOf(Pair("a", Null())), StructOf(Pair("b", Null()))}, {StructOf(), ListOf()}, {ref("u"), ref("v")},
		{noted(Int(1), ""), Int(1)}, {dec(t, "1.50"), dec(t, "1.5")},
	} {
		require.False(t, Equal(c[0], c[1]), c)
		require.False(t, Equal(c[1], c[0]), c)
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
		require.Equal(t, c.iOK, ok, c)
		if ok {
			require.Equal(t, c.i, i)
		}
		u, ok := Uint64Of(c.v)
		require.Equal(t, c.uOK, ok, c)
		if ok {
			require.Equal(t, c.u, u)
		}
		require.Equal(t, c.nature, Kind(c.v))
	}
	b, ok := BytesOf(Text("ab"))
	require.True(t, ok)
	require.Equal(t, "ab", string(b))
}

func TestBag(t *testing.T) {
	b := Properties{Pair("a", Int(1)), Pair("b", Text("x")), Pair("a", Int(2))}
	n, ok := b.Int("a")
	require.True(t, ok)
	require.Equal(t, int64(1), n, "the first of a name counts")
	require.NoError(t, b.Check(), "a merged shard has names twice")
	require.Error(t, Properties{Pair("", Int(1))}.Check())
	require.Error(t, Properties{Pair("a\xff", Int(1))}.Check())
	b.Set("a", Int(3))
	b.Set("c", Bool(true))
	require.Len(t, b, 3)
	require.NoError(t, b.Check())
	require.Equal(t, "a", b[0].Name)
	_, ok = b.Text("a")
	require.False(t, ok)
	require.Nil(t, b.Get("d"))
	require.Error(t, Properties{Pair("", Int(1))}.Check())
	require.Error(t, Properties{Pair("\xff", Int(1))}.Check())

	min, max, known := Creation(&metapb.ShardProperties{CreationMin: &metapb.DateTimeUtc{Ticks: 1}})
	require.False(t, known, "one time alone is not known: %d %d", min, max)
	p := new(metapb.ShardProperties)
	SetCreation(p, 5, 9)
	min, max, known = Creation(p)
	require.Equal(t, []any{uint64(5), uint64(9), true}, []any{min, max, known})
}

func TestCheckValue(t *testing.T) {
	deep := Int(1)
	for range maxValueDepth {
		deep = StructOf(Pair("x", deep))
	}
	require.NoError(t, CheckValue(deep))
	require.NoError(t, unmarshal(Marshal(&metapb.ShardProperties{CustomProperties: Properties{Pair("p", deep)}}), new(metapb.ShardProperties)))
	for _, v := range []*metapb.AnyValue{
		ListOf(deep), Text("\xff"), Decimal(make([]byte, 15)), ListOf(Text("\xff")), StructOf(Pair("\xff", nil)),
		{Annotation: proto.String("\xff")},
	} {
		require.ErrorIs(t, CheckValue(v), corrupt.ErrCorrupt)
	}
}
