package column

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Numbers that are encoded where they lie are the same blocks as those that were staged, and need no space of their own.
func TestUnstagedNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 61))
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	for range 2*encode.FlushValues + 5000 {
		b.Append(r.NormFloat64())
	}
	all := b.NewArray()
	node := &schema.Node{Name: "x", Basic: schema.Float64}
	blocks := func(step int) (out [][]byte, room int) {
		e := newNumberEncoder[float64](newBase(node, new(Options))).(*numberEncoder[float64])
		for at := 0; at < all.Len(); at += step {
			if err := e.Add(array.NewSlice(all, int64(at), int64(min(at+step, all.Len())))); err != nil {
				t.Fatal(err)
			}
		}
		room = cap(e.vals)
		err := e.Finish(func(f *Encoded) error {
			for _, b := range f.Buffers {
				if err := b.Pieces(func(p []byte) error { out = append(out, bytes.Clone(p)); return nil }); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out, room
	}
	at, room := blocks(all.Len())
	staged, _ := blocks(encode.FlushValues / 2)
	if !bytes.Equal(bytes.Join(at, nil), bytes.Join(staged, nil)) {
		t.Error("other bytes than of values that were staged")
	}
	if room >= encode.FlushValues {
		t.Errorf("room for %d values was made", room)
	}
}

// Texts that are staged many at once are the same blocks as those staged one by one, with nulls first, later or never, and whatever lies in their slots.
func TestTextsStagedAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(62, 62))
	node := &schema.Node{Name: "x", Basic: schema.String}
	blocks := func(arrays []arrow.Array, atOnce bool) (out []byte) {
		e := newBytesEncoder(newBase(node, new(Options)))
		e.dict = nil
		for _, a := range arrays {
			if atOnce {
				if err := e.Add(a); err != nil {
					t.Fatal(err)
				}
				continue
			}
			e.stats.Add(a)
			values := viewsOf(a)
			for i := range a.Len() {
				if err := e.keep(values.at(i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		err := e.Finish(func(f *Encoded) error {
			for _, b := range f.Buffers {
				if err := b.Pieces(func(p []byte) error { out = append(out, p...); return nil }); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, shares := range [][]float64{{0}, {0.5}, {0, 0.1, 0}, {0.01, 0, 0.9}, {0.999}} {
		var arrays []arrow.Array
		for _, share := range shares {
			arrays = append(arrays, textsWithNulls(r, encode.FlushValues/2+r.IntN(encode.FlushValues), share))
		}
		if at, one := blocks(arrays, true), blocks(arrays, false); len(one) == 0 || !bytes.Equal(at, one) {
			t.Errorf("%v null: %d bytes at once, %d one by one", shares, len(at), len(one))
		}
	}
}

// textsWithNulls makes texts of which a share is null; bytes lie in the slots of some of those.
func textsWithNulls(r *rand.Rand, n int, share float64) arrow.Array {
	b := array.NewLargeStringBuilder(memory.DefaultAllocator)
	valid := make([]byte, (n+9)/8)
	nulls := 0
	for i := range n + 2 {
		if null := r.Float64() < share; !null {
			valid[i/8] |= 1 << (i % 8)
		} else if i >= 2 {
			nulls++
		}
		b.Append([]string{"", "item ", "é"}[r.IntN(3)])
	}
	d := b.NewArray().Data()
	buffers := append(d.Buffers()[:0:0], d.Buffers()...)
	if nulls > 0 {
		buffers[0] = memory.NewBufferBytes(valid)
	}
	return array.NewLargeStringData(array.NewData(d.DataType(), n, buffers, nil, nulls, 2))
}
