package column

import (
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The buffers of lists, many of them null behind many that are not, are the same where their blocks wait in a file.
func TestSpilledLists(t *testing.T) {
	s, err := schema.Parse("l: List<UInt64>")
	if err != nil {
		t.Fatal(err)
	}
	s.Number()
	// part is n lists of one number, every third null if nulls is set.
	part := func(n int, nulls bool) arrow.Array {
		offsets, items, valid := make([]int64, n+1), make([]uint64, n), make([]byte, (n+7)/8)
		for i := range n {
			offsets[i+1], items[i] = int64(i+1), uint64(i*i%1000)
			if i%3 > 0 {
				valid[i/8] |= 1 << (i % 8)
			}
		}
		buffers := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets))}
		count := 0
		if nulls {
			buffers[0], count = memory.NewBufferBytes(valid), (n+2)/3
		}
		values := array.NewData(arrow.PrimitiveTypes.Uint64, n, []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Uint64Traits.CastToBytes(items))}, nil, 0, 0)
		return array.NewLargeListData(array.NewData(arrow.LargeListOf(arrow.PrimitiveTypes.Uint64), n, buffers, []arrow.ArrayData{values}, count, 0))
	}
	encoded := func(spill *colstream.Spill) (all [][]byte, held int) {
		e, err := NewEncoder(s.Fields[0], &Options{Profile: encode.MinimalCompression, Spill: spill})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if err := e.Add(part(131_072, i > 6)); err != nil {
				t.Fatal(err)
			}
		}
		err = e.Finish(func(f *Encoded) error {
			for _, b := range f.Buffers {
				var data []byte
				if b.Head != nil {
					if data, err = io.ReadAll(b.Head.Reader()); err != nil {
						return err
					}
				}
				all, held = append(all, append(data, b.Bytes...)), held+len(b.Bytes)
				if len(all[len(all)-1]) != b.Size() {
					t.Errorf("a buffer of %d bytes says %d", len(all[len(all)-1]), b.Size())
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all, held
	}
	spill := colstream.NewSpill(1 << 10)
	defer spill.Close()
	want, _ := encoded(nil)
	got, held := encoded(spill)
	whole := 0
	for _, b := range want {
		whole += len(b)
	}
	if !slices.EqualFunc(got, want, slices.Equal[[]byte]) || len(want) < 4 {
		t.Errorf("%d buffers, %d", len(got), len(want))
	}
	if held > whole/20 {
		t.Errorf("%d bytes held of %d", held, whole)
	}
}
