package column

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// drifting are n values of which each run of a thousand shares forty, one in eleven null: those of a run with the next one's.
func drifting(n int) arrow.Array {
	b := array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i := range n {
		if i%11 == 7 {
			b.AppendNull()
			continue
		}
		b.Append(fmt.Sprintf("host-%04d.example.com", i/1000*20+i*7%40))
	}
	return b.NewArray()
}

func dictionariesOf(f *object) (out []*metapb.EncodedBuffer) {
	for _, b := range f.fields[0].Encodings[0].GetNative().Buffers {
		if b.Kind == metapb.BufferKind_VALUE_DICTIONARY {
			out = append(out, b)
		}
	}
	return out
}

// A field whose dictionaries have a bound gets several, each with an id, and reads back: as a whole, across the places where
// the dictionaries change, and value by value.
func TestSeveralValueDictionaries(t *testing.T) {
	const n = 6000
	want := drifting(n)
	f := store(t, textNode, want, &Options{DictionaryEntries: map[uint32]int{0: 64}}, 3)
	all := dictionariesOf(f)
	if len(all) < 2 {
		t.Fatalf("%d dictionaries of 140 distinct values, each of at most 64", len(all))
	}
	for i, b := range all {
		d, err := colstream.ParseDictionary(f.bytes[b.Buffer.Range.Start:b.Buffer.Range.End], schema.String, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		if entries := d.Count - 1; entries > 64 || b.GetBufferId() != uint32(i+1) {
			t.Errorf("dictionary %d has the id %d and %d values", i, b.GetBufferId(), entries)
		}
	}
	if f.fields[0].Field.DictionarySize != nil {
		t.Error("the dictionaries share values, and the descriptor says how many there are in all")
	}
	ranges := []colstream.Range{{Start: 0, End: n}, {Start: n, End: n}, {Start: 5, End: 5}}
	for at := uint64(0); at+300 < n; at += 277 {
		ranges = append(ranges, colstream.Range{Start: at, End: at + 300}, colstream.Range{Start: at, End: at + 1})
	}
	for _, r := range ranges {
		f.check(t, textNode, want, r)
	}
}

// A value alone takes its block and the one dictionary that the block names.
func TestLookupReadsOneDictionary(t *testing.T) {
	want := drifting(6000)
	f := store(t, textNode, want, &Options{DictionaryEntries: map[uint32]int{0: 64}}, 1)
	f.gets = 0
	f.check(t, textNode, want, colstream.Range{Start: 3000, End: 3001})
	if f.gets != 2 {
		t.Errorf("%d requests, want the codes and one dictionary", f.gets)
	}
	f.gets = 0
	f.check(t, textNode, want, colstream.Range{Start: 0, End: 6000})
	if all := len(dictionariesOf(f)); f.gets != 1+all {
		t.Errorf("%d requests for all codes and %d dictionaries", f.gets, all)
	}
}

// One dictionary that is never full is stored as ever: no id, and codes alone.
func TestOneDictionaryWithinTheBound(t *testing.T) {
	want := drifting(500)
	f := store(t, textNode, want, &Options{DictionaryEntries: map[uint32]int{0: 4096}}, 1)
	if all := dictionariesOf(f); len(all) != 1 || all[0].BufferId != nil || f.fields[0].Field.GetDictionarySize() == 0 {
		t.Errorf("dictionaries %v", all)
	}
	f.check(t, textNode, want, colstream.Range{Start: 0, End: 500})
}

// Values of which none comes twice are stored as they are: a dictionary that is full and does not pay is given up.
func TestBoundedDictionaryThatDoesNotPay(t *testing.T) {
	b := array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i := range 3 * dictionaryTrial {
		b.Append(fmt.Sprintf("%x", uint64(i)*0x9E3779B97F4A7C15))
	}
	want := b.NewArray()
	f := store(t, textNode, want, &Options{DictionaryEntries: map[uint32]int{0: 2 * dictionaryTrial}}, 1)
	if all := dictionariesOf(f); len(all) != 0 {
		t.Errorf("%d dictionaries", len(all))
	}
	f.check(t, textNode, want, colstream.Range{Start: 0, End: uint64(want.Len())})
}

// Values of one size have dictionaries as texts do, and codes that are kept as such are those of what Arrow calls a
// dictionary, across several.
func TestSeveralDictionariesOfGuids(t *testing.T) {
	node := &schema.Node{Name: "g", Basic: schema.Guid, FixedSize: 16, Nullable: true}
	b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: 16})
	for i := range 2000 {
		if i%13 == 0 {
			b.AppendNull()
			continue
		}
		b.Append([]byte(fmt.Sprintf("%016d", i/100+i%3)))
	}
	storage := b.NewArray()
	f := store(t, node, storage, &Options{DictionaryEntries: map[uint32]int{0: 8}}, 1)
	c, err := Open(context.Background(), Field{Source: f, Node: node, Records: 2000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := colstream.Range{Start: 0, End: 2000}
	if err := f.fetch(c, []colstream.Range{all}, true); err != nil {
		t.Fatal(err)
	}
	d, err := c.(Coded).ReadCoded(all)
	if err != nil {
		t.Fatal(err)
	}
	set := make([]byte, 250)
	var want []int
	for i := 0; i < 2000; i += 7 {
		set[i/8] |= 1 << (i % 8)
		want = append(want, i)
	}
	got, err := c.(Coded).Expand(Select(d, set))
	if err != nil {
		t.Fatal(err)
	}
	values := array.NewFixedSizeBinaryData(got.(*array.Data))
	for k, i := range want {
		if values.IsNull(k) != storage.IsNull(i) || !values.IsNull(k) && string(values.Value(k)) != string(storage.(*array.FixedSizeBinary).Value(i)) {
			t.Fatalf("row %d: %s, want %s", i, values.ValueStr(k), storage.ValueStr(i))
		}
	}
}

// What can't be right about ids is corrupt: blocks that name none, or one that is not there, and dictionaries without one.
func TestDamagedNamesOfDictionaries(t *testing.T) {
	fresh := func() *object {
		return store(t, textNode, drifting(6000), &Options{DictionaryEntries: map[uint32]int{0: 64}}, 1)
	}
	inBlock := func(change func(sub []byte)) func(*object) {
		return func(f *object) {
			data := f.fields[0].Encodings[0].GetNative().Buffers[0]
			m, err := colstream.ParseMap(f.bytes[data.BlockMap.Range.Start:data.BlockMap.Range.End])
			if err != nil {
				t.Fatal(err)
			}
			start, end := m.Range(0)
			b := f.bytes[data.Buffer.Range.Start+start : data.Buffer.Range.Start+end]
			frame, err := block.ParseFrame(b, true)
			if err != nil {
				t.Fatal(err)
			}
			change(frame.Values)
			binary.LittleEndian.PutUint32(b[len(b)-4:], meta.Checksum(b[:len(b)-4]))
		}
	}
	for name, damage := range map[string]func(*object){
		"unknown id":   inBlock(func(sub []byte) { sub[4] = 99 }),
		"no name":      inBlock(func(sub []byte) { sub[1] = 0 }),
		"not zero":     inBlock(func(sub []byte) { sub[2] = 1 }),
		"no id":        func(f *object) { dictionariesOf(f)[1].BufferId = nil },
		"the id 0":     func(f *object) { dictionariesOf(f)[1].BufferId = new(uint32) },
		"the same ids": func(f *object) { *dictionariesOf(f)[1].BufferId = 1 },
	} {
		f := fresh()
		damage(f)
		for _, r := range []colstream.Range{{Start: 0, End: 6000}, {Start: 3, End: 4}} {
			c, err := Open(context.Background(), Field{Source: f, Node: textNode, Records: 6000}, nil)
			if err == nil {
				err = f.fetch(c, []colstream.Range{r}, r.Len() == 6000)
			}
			if err == nil {
				_, err = c.Read(r)
			}
			if !errors.Is(err, corrupt.ErrCorrupt) {
				t.Errorf("%s, %v: %v", name, r, err)
			}
		}
	}
}

// A block that is too short to name a dictionary, or that has codes of none, reports where.
func TestTruncatedName(t *testing.T) {
	for _, sub := range [][]byte{nil, {0, 1}, {0, 1, 0, 0, 1, 0, 0}} {
		var w colstream.StreamWriter
		if err := w.Add(encode.Block{Values: 1, Sub: sub}); err != nil {
			t.Fatal(err)
		}
		e := w.Finish()
		s := colstream.Stream{End: uint64(len(e.Bytes)), MapStart: uint64(e.MapStart), Checksums: true, Named: true, Blocks: 1, Values: 1}
		q, err := s.Need(nil, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := q[0].Fill(e.Bytes); err != nil {
			t.Fatal(err)
		}
		var at *corrupt.Error
		if _, err := s.NameOf(0); !errors.As(err, &at) || at.Offset != 8 {
			t.Errorf("% x: %v", sub, err)
		}
	}
}
