package field

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Numbers that are encoded where they lie are the same blocks as those that were staged, and need no room of their own.
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
