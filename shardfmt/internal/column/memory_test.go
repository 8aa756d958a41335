package column

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// stripeOf encodes rows of texts with few distinct values, and gives the encoded field and how many bytes the encoder reported it held meanwhile.
func stripeOf(t *testing.T, o *Options, rows, distinct int) (field *Encoded, sizes []int) {
	t.Helper()
	n := &schema.Node{Name: "a", Basic: schema.String}
	(&schema.Schema{Fields: []*schema.Node{n}}).Number()
	e, err := NewEncoder(n, o)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < rows; at += 8192 {
		b := array.NewLargeStringBuilder(memory.DefaultAllocator)
		for i := at; i < min(at+8192, rows); i++ {
			b.Append(string(bytes.Repeat([]byte{'a' + byte(i*7%distinct)}, 1+i*7%distinct)))
		}
		if err := e.Add(b.NewArray()); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, e.Size())
	}
	err = e.Finish(func(e *Encoded) error {
		field = e
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return field, sizes
}

// storedOf are those of all buffers of a field.
func storedOf(t *testing.T, e *Encoded) (all []byte) {
	t.Helper()
	for i := range e.Buffers {
		err := e.Buffers[i].Pieces(func(b []byte) error {
			all = append(all, b...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// The stripes behind the first one have the memory of its codes: they take none, say to hold as much as they did without, so that stripes end where they did, and
// what is written is the same.
func TestMemoryOfCodes(t *testing.T) {
	const rows = 300_000
	m := new(Memory)
	with, without := &Options{Profile: encode.Balanced, Memory: m}, &Options{Profile: encode.Balanced}
	var stripes, same []*Encoded
	for stripe, distinct := range []int{20, 5, 26, 11} {
		if kept := len(m.codes); kept != min(stripe, 1) {
			t.Fatalf("memory of %d encoders", kept)
		}
		var first *uint32
		if stripe > 0 {
			first = &m.codes[0][:1][0]
		}
		got, sizes := stripeOf(t, with, rows-stripe*1000, distinct)
		if stripe > 0 && first != &m.codes[0][:1][0] {
			t.Error("other memory was taken")
		}
		want, right := stripeOf(t, without, rows-stripe*1000, distinct)
		stripes, same = append(stripes, got), append(same, want)
		for i := range sizes {
			if sizes[i] != right[i] {
				t.Fatalf("stripe %d: %d bytes are held, %d without", stripe, sizes[i], right[i])
			}
		}
	}
	for i := range stripes { // after the memory was used for others
		if got, want := storedOf(t, stripes[i]), storedOf(t, same[i]); len(got) < 1000 || !bytes.Equal(got, want) {
			t.Errorf("stripe %d: %d bytes, %d without, or others", i, len(got), len(want))
		}
	}
	a, b := m.take(), m.take()
	if cap(a) < rows || b != nil {
		t.Errorf("room for %d codes, and for %d", cap(a), cap(b))
	}
	m.give(make([]uint32, 0, 10))
	m.give(a)
	m.give(make([]uint32, 3, 20))
	if l := m.take(); cap(l) != cap(a) || len(m.take()) != 0 || cap(m.take()) != 10 {
		t.Error("not the largest first")
	}
}
