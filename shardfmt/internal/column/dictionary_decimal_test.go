package column

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func decimalNode() *schema.Node {
	return &schema.Node{Name: "d", Basic: schema.FixedSizeBinary, FixedSize: decimal.Size, Ext: &schema.Extension{Label: schema.LabelDecimal}, Nullable: true}
}

func decimalArray(n int, value func(i int) (v decimal.Value, null bool)) *array.FixedSizeBinary {
	b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: decimal.Size})
	for i := range n {
		if v, null := value(i); null {
			b.AppendNull()
		} else {
			b.Append(v[:])
		}
	}
	return b.NewArray().(*array.FixedSizeBinary)
}

// asDecimals are the values as an array of the canonical type.
func asDecimals(a *array.FixedSizeBinary) arrow.Array {
	return array.NewExtensionArrayWithStorage(arrowtype.Type(decimalNode()).(arrow.ExtensionType), a)
}

// oddDecimals repeat a few numbers in several spellings, beside zeros of both signs, infinities, NaN and nulls.
func oddDecimals(n int) *array.FixedSizeBinary {
	var few []decimal.Value
	for _, text := range []string{"1", "1.0", "1.00", "-1", "-1.0", "0", "-0", "0.00", "17.25", "17.250", "Infinity", "-Infinity", "NaN", "-3E+6"} {
		v, err := decimal.Parse(text)
		if err != nil {
			panic(err)
		}
		few = append(few, v)
	}
	return decimalArray(n, func(i int) (decimal.Value, bool) {
		if i/colstream.RangeIndexBlock == 3 {
			return decimal.NaN, i%2 == 0 // a block of the index without a value that has an order
		}
		return few[(i*7+i/100)%len(few)], i%9 == 4
	})
}

func buffersOf(f *object, kind metapb.BufferKind) (out [][]byte) {
	for _, b := range f.fields[0].Encodings[0].GetNative().Buffers {
		if b.Kind == kind {
			out = append(out, f.bytes[b.Buffer.Range.Start:b.Buffer.Range.End])
		}
	}
	return out
}

// Decimals of few distinct values are stored as codes of a dictionary, read back in the spelling that was written, and have
// the range index that they have without one.
func TestFewDecimalsHaveADictionary(t *testing.T) {
	const n = 5000
	want := oddDecimals(n)
	f := store(t, decimalNode(), want, &Options{}, 3)
	if got := len(buffersOf(f, metapb.BufferKind_VALUE_DICTIONARY)); got != 1 {
		t.Fatalf("%d dictionaries", got)
	}
	f.check(t, decimalNode(), asDecimals(want), colstream.Range{Start: 0, End: n})
	f.check(t, decimalNode(), asDecimals(want), colstream.Range{Start: 250, End: 1031})

	direct := new(decimalIndexBuilder)
	for i := range n {
		if want.IsNull(i) {
			direct.add(nil)
		} else {
			direct.add(want.Value(i))
		}
	}
	got := buffersOf(f, metapb.BufferKind_RANGE_INDEX)
	if len(got) != 1 {
		t.Fatalf("%d range indexes", len(got))
	}
	x, err := colstream.ParseRangeIndex(got[0], schema.FixedSizeBinary, decimal.Size, n, true)
	if err != nil {
		t.Fatal(err)
	}
	plain := direct.finish()
	if !bytes.Equal(x.Min, plain.Min) || !bytes.Equal(x.Max, plain.Max) || !slices.Equal(x.Invalid, plain.Invalid) {
		t.Error("the range index made of the dictionary is another than that made of the values")
	}
	// 1, 1.0 and 1.00 are one number: five finite ones but for spelling, two infinities and NaN.
	if c := f.fields[0].Field.GetCardinality(); c.GetCount() != 8 {
		t.Errorf("%d different numbers, want 8", c.GetCount())
	}
}

// Decimals that hardly repeat are stored as they are, with their index: those that were in the dictionary first, too.
func TestManyDecimalsHaveNone(t *testing.T) {
	const n = 3 * dictionaryTrial
	want := decimalArray(n, func(i int) (decimal.Value, bool) {
		v, _ := decimal.FromInt64(int64(i)*7919%n, 2)
		return v, i%50 == 3
	})
	f := store(t, decimalNode(), want, &Options{}, 4)
	if got := len(buffersOf(f, metapb.BufferKind_VALUE_DICTIONARY)); got != 0 {
		t.Fatalf("%d dictionaries", got)
	}
	f.check(t, decimalNode(), asDecimals(want), colstream.Range{Start: 0, End: n})
	x, err := colstream.ParseRangeIndex(buffersOf(f, metapb.BufferKind_RANGE_INDEX)[0], schema.FixedSizeBinary, decimal.Size, n, true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		k := i / colstream.RangeIndexBlock * decimal.Size
		low, high := decimal.From(x.Min[k:]), decimal.From(x.Max[k:])
		if v := decimal.From(want.Value(i)); want.IsValid(i) && (decimal.Compare(v, low) < 0 || decimal.Compare(v, high) > 0) {
			t.Fatalf("row %d: %s is not in %s to %s", i, v, low, high)
		}
	}
}

// The profile plain has neither dictionary nor surprise.
func TestPlainDecimalsHaveNoDictionary(t *testing.T) {
	f := store(t, decimalNode(), oddDecimals(3000), &Options{Profile: encode.Plain}, 1)
	if got := len(buffersOf(f, metapb.BufferKind_VALUE_DICTIONARY)); got != 0 {
		t.Errorf("%d dictionaries", got)
	}
}

// quantities are decimals of two digits behind the point with fifty distinct values, a stripe of them.
func quantities() *array.FixedSizeBinary {
	return decimalArray(32<<10, func(i int) (decimal.Value, bool) {
		v, _ := decimal.FromInt64(int64(i*i%50+1)*100, 2)
		return v, false
	})
}

// A batch of known decimals costs no allocation for each value, and codes of a byte at most.
func TestKnownDecimalsAllocateNothing(t *testing.T) {
	batch := quantities()
	e, err := NewEncoder(decimalNode(), &Options{})
	if err != nil {
		t.Fatal(err)
	}
	add := func() {
		if err := e.Add(batch); err != nil {
			t.Fatal(err)
		}
	}
	add()
	if got := testing.AllocsPerRun(5, add); got > 20 {
		t.Errorf("%.0f allocations for a batch of %d", got, batch.Len())
	}
	size, rows := 0, 7*batch.Len()
	err = e.Finish(func(out *Encoded) error {
		for _, b := range out.Buffers {
			size += b.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > rows {
		t.Errorf("%d bytes for %d decimals of 50", size, rows)
	}
}

func BenchmarkFewDecimals(b *testing.B) {
	batch := quantities()
	b.SetBytes(int64(batch.Len()) * decimal.Size)
	b.ReportAllocs()
	for b.Loop() {
		e, err := NewEncoder(decimalNode(), &Options{Profile: encode.Balanced})
		if err != nil {
			b.Fatal(err)
		}
		for range 8 {
			if err := e.Add(batch); err != nil {
				b.Fatal(err)
			}
		}
		if err := e.Finish(func(*Encoded) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// Where all entries differ, and none is null, extremes are found by places alone: the same as one by one.
func TestExtremesByPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	d := newDictionaryBuilder(decimal.Size)
	for i := range 300 {
		v, _ := decimal.FromInt64(int64(i*7919%300)-100, 2)
		d.add(v[:])
	}
	ranks, order := d.ranks()
	if len(order) != 300 {
		t.Fatalf("%d entries in order", len(order))
	}
	for range 200 {
		codes := make([]uint32, 1+r.IntN(40))
		for i := range codes {
			codes[i] = uint32(r.IntN(300))
		}
		least, greatest, _ := extremes(codes, ranks, order)
		low, high, invalid := extremes(codes, ranks, nil)
		if least != low || greatest != high || invalid != 0 {
			t.Fatalf("%d to %d by place, else %d to %d", least, greatest, low, high)
		}
	}
	d.add(nil)
	if _, order := d.ranks(); order != nil {
		t.Error("a null has a place")
	}
}
