package column

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// codedOf makes a coded column of n rows of some of the values from..to; entries come in any order, some twice, some for no row.
func codedOf(r *rand.Rand, n, from, to int, nulls float64, value func(i int) []byte, kind arrow.DataType) *array.Dictionary {
	order := r.Perm(to - from)
	order = append(order, order[:len(order)/3]...)
	storage := kind
	if e, ok := kind.(arrow.ExtensionType); ok {
		storage = e.StorageType()
	}
	b := array.NewBuilder(memory.DefaultAllocator, storage)
	for _, i := range order {
		switch b := b.(type) {
		case *array.LargeStringBuilder:
			b.Append(string(value(from + i)))
		case *array.FixedSizeBinaryBuilder:
			b.Append(value(from + i))
		}
	}
	entries := b.NewArray()
	if e, ok := kind.(arrow.ExtensionType); ok {
		entries = array.NewExtensionArrayWithStorage(e, entries)
	}
	codes := array.NewUint16Builder(memory.DefaultAllocator)
	for range n {
		if r.Float64() < nulls {
			codes.AppendNull()
		} else {
			codes.Append(uint16(r.IntN(len(order))))
		}
	}
	t := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: kind}
	return array.NewDictionaryArray(t, codes.NewArray(), entries)
}

// A field whose values come coded is stored as it is if they come plain: the same bytes and the same statistics. Dictionaries differ from array
// to array, and some arrays are plain; the field's dictionary pays, or is given up at the first trial or later.
func TestCodedBytesAreThoseOfValues(t *testing.T) {
	text := func(i int) []byte { return []byte(fmt.Sprint("value ", i*i)) }
	number := func(i int) []byte {
		v, err := decimal.Parse(fmt.Sprintf("%d.%02d", i*31, i%100))
		if err != nil {
			panic(err)
		}
		return v[:]
	}
	for name, c := range map[string]struct {
		node    *schema.Node
		value   func(i int) []byte
		grows   int // different values that each array adds
		nulls   float64
		options Options
	}{
		"few texts":          {textNode, text, 0, 0, Options{}},
		"nulls":              {textNode, text, 1, 0.3, Options{}},
		"all null":           {textNode, text, 0, 1, Options{}},
		"many texts":         {textNode, text, 3000, 0, Options{}},
		"few decimals":       {decimalNode(), number, 1, 0.01, Options{}},
		"many decimals":      {decimalNode(), number, 2500, 0, Options{}},
		"bounded":            {textNode, text, 5, 0, Options{DictionaryEntries: map[uint32]int{textNode.ID: 64}}},
		"plain":              {textNode, text, 5, 0, Options{Profile: encode.Plain}},
		"several encodings":  {textNode, text, 5, 0.1, Options{Encodings: map[uint32][]encode.Profile{textNode.ID: {encode.Plain}}}},
		"decimals, smallest": {decimalNode(), number, 40, 0.2, Options{Profile: encode.HighCompression}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			arrays := []arrow.Array{}
			for i := range 6 {
				n := []int{1, 17, 8192, dictionaryTrial, 3*dictionaryTrial + 5, 8000}[i]
				whole := codedOf(r, n+10, i*c.grows, i*c.grows+7+c.grows, c.nulls, c.value, arrowtype.Type(c.node))
				arrays = append(arrays, array.NewSlice(whole, 10, int64(n+10)))
				if i == 3 {
					arrays = append(arrays, arrowtype.Plain(arrays[2]))
				}
			}
			coded, plain := encodedOf(t, c.node, &c.options, arrays, false), encodedOf(t, c.node, &c.options, arrays, true)
			if !bytes.Equal(coded, plain) {
				t.Errorf("%d bytes where plain values make %d", len(coded), len(plain))
			}
		})
	}
}

// encodedOf is all that is stored of a field.
func encodedOf(t *testing.T, node *schema.Node, o *Options, arrays []arrow.Array, plain bool) (all []byte) {
	t.Helper()
	e, err := NewEncoder(node, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range arrays {
		if plain {
			a = arrowtype.Plain(a)
		}
		if err := e.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	err = e.Finish(func(x *Encoded) error {
		d, err := proto.MarshalOptions{Deterministic: true}.Marshal(x.Descriptor)
		all = append(all, d...)
		for _, buffers := range append([][]Buffer{x.Buffers}, x.Alternatives...) {
			for _, b := range buffers {
				err = errors.Join(err, b.Pieces(func(p []byte) error { all = append(all, p...); return nil }))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
