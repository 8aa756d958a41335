package scan

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
)

// All tests of this package scan with memory that is spoiled when it is given back.
func init() { bufpool.Spoil(0xA5) }

// bytesArray is an array of bytes where they lie.
func bytesArray(b []byte) *array.Data {
	return array.NewData(arrow.PrimitiveTypes.Uint8, len(b), []*memory.Buffer{nil, memory.NewBufferBytes(b)}, nil, 0, 0)
}

// Fetched memory that a batch lies in, a dictionary of a column in a struct even, is not given back with the rest when the stripe
// has ended.
func TestFetchedMemoryOfABatchStays(t *testing.T) {
	f := &fetcher{}
	before, in, behind := f.lend(1000), f.lend(1000), f.lend(1000)
	codes := array.NewDataWithDictionary(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.PrimitiveTypes.Uint8}, 1,
		[]*memory.Buffer{nil, memory.NewBufferBytes([]byte{0})}, 0, 0, bytesArray(in[990:]))
	typ := arrow.StructOf(arrow.Field{Name: "codes", Type: codes.DataType()})
	s := array.NewData(typ, 1, []*memory.Buffer{nil}, []arrow.ArrayData{codes}, 0, 0)
	b := givenRecord(arrow.NewSchema([]arrow.Field{{Name: "s", Type: typ}}, nil), []arrow.ArrayData{s}, 1, &stripe{fetch: f, mem: budget.New(0).Account()})
	in[990] = 7
	f.settle()
	values := b.Column(0).(*array.Struct).Field(0).(*array.Dictionary).Dictionary().(*array.Uint8)
	if values.Value(0) != 7 {
		t.Error("the memory of a batch was given back")
	}
	if before[0] != 0xA5 || before[999] != 0xA5 || behind[0] != 0xA5 || behind[999] != 0xA5 {
		t.Error("other memory was not given back")
	}
}

// An array that is referred to twice, as bitmaps of nulls are, counts twice.
func TestSharedBufferIsGivenTwice(t *testing.T) {
	mem := budget.New(0).Account()
	mem.Reuse()
	lent := mem.Lend(100)
	one := memory.NewBufferBytes(lent)
	data := array.NewData(arrow.PrimitiveTypes.Uint8, 100, []*memory.Buffer{nil, one}, nil, 0, 0)
	types := arrow.NewSchema([]arrow.Field{{Name: "a", Type: data.DataType()}, {Name: "b", Type: data.DataType()}}, nil)
	b := givenRecord(types, []arrow.ArrayData{data, data}, 100, &stripe{fetch: &fetcher{}, mem: mem})
	kept := b.Column(1)
	kept.Retain()
	lent[3] = 9
	b.Release()
	mem.NextBatch(false)
	mem.Settle()
	if kept.(*array.Uint8).Value(3) != 9 {
		t.Error("the memory of a column that is referred to was given back")
	}
	kept.Release()
	if lent[3] != 0xA5 {
		t.Error("memory that nobody refers to was not given back")
	}
}

// What a batch of any shape was lent comes back when the batch is released.
func TestReleasedBatchGivesAllBack(t *testing.T) {
	mem := budget.New(0).Account()
	mem.Reuse()
	leaf := func() (*array.Data, []byte) {
		b := mem.Lend(100)
		return bytesArray(b), b
	}
	plain, first := leaf()
	inside, second := leaf()
	entries, third := leaf()
	typ := arrow.StructOf(arrow.Field{Name: "a", Type: inside.DataType()})
	nested := array.NewData(typ, 100, []*memory.Buffer{nil}, []arrow.ArrayData{inside}, 0, 0)
	codes := array.NewDataWithDictionary(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.PrimitiveTypes.Uint8}, 1,
		[]*memory.Buffer{nil, memory.NewBufferBytes([]byte{0})}, 0, 0, entries)
	types := arrow.NewSchema([]arrow.Field{{Name: "p", Type: plain.DataType()}, {Name: "n", Type: typ}, {Name: "c", Type: codes.DataType()}}, nil)
	givenRecord(types, []arrow.ArrayData{plain, nested, codes}, 1, &stripe{fetch: &fetcher{}, mem: mem}).Release()
	for i, b := range [][]byte{first, second, third} {
		if b[0] != 0xA5 {
			t.Errorf("memory %d of a batch that was released was not given back", i)
		}
	}
}
