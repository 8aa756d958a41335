package meta

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
)

func TestRefArray(t *testing.T) {
	for name, urlOf := range map[string]func(i int) string{
		"none":       func(int) string { return "" },
		"all":        func(int) string { return "file:///t/x.amudai.shard" },
		"some":       func(i int) string { return fmt.Sprint("u", i)[:i%3] },
		"after many": func(i int) string { return []string{"", "later"}[i/9000] },
	} {
		for _, n := range []int{0, 1, 2, 63, 64, 65, 5000, 10_000} {
			refs := make([]*metapb.DataRef, n)
			for i := range refs {
				if i%5 != 4 {
					refs[i] = NewRef(urlOf(i), uint64(i), uint64(2*i+1))
				}
			}
			a, err := ParseRefArray(Marshal(RefsOf(refs)))
			if err != nil {
				t.Fatal(err)
			}
			if want, got := n, a.Len(); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			for i := range refs {
				got, err := a.Ref(i)
				if err != nil {
					t.Fatal(err)
				}
				if !proto.Equal(refs[i], got) {
					t.Fatalf("%s %d of %d: %v: proto.Equal(refs[i], got) is false", name, i, n, got)
				}
			}
			beyond, err := a.Ref(n)
			if err != nil {
				t.Fatal(err)
			}
			if got := beyond; got != nil {
				t.Fatalf("got %v, want nil", got)
			}
		}
	}
}

// TestRefArrayForms: the three arrays may come unpacked, in pieces, out of order and among unknown fields.
func TestRefArrayForms(t *testing.T) {
	var b []byte
	fixed := func(num protowire.Number, v uint64) {
		b = protowire.AppendFixed64(protowire.AppendTag(b, num, protowire.Fixed64Type), v)
	}
	fixed(4, 8)
	fixed(3, 1)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "a")
	b = protowire.AppendVarint(protowire.AppendTag(b, 99, protowire.VarintType), 7)
	fixed(3, 2)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "")
	fixed(4, 9)
	a, err := ParseRefArray(b)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := 2, a.Len(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	url, start, end, err := a.At(0)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(url, " ", start, " ", end); got != "a 1 8" {
		t.Fatalf("got %v, want %v", got, "a 1 8")
	}
	if want, got := ([]byte{0x98, 0x06, 7}), a.Unknown(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestRefArrayRefuses(t *testing.T) {
	for name, m := range map[string]*metapb.DataRefArray{
		"url missing":   {Start: []uint64{1, 2}, End: []uint64{1, 2}, Url: []string{""}},
		"start missing": {Start: []uint64{1}, End: []uint64{1, 2}, Url: []string{"", ""}},
		"end missing":   {Start: []uint64{1, 2}, Url: []string{"", "x"}},
		"only urls":     {Url: []string{"", ""}},
	} {
		_, err := ParseRefArray(Marshal(m))
		if !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("%v: %v, want %v", name, err, corrupt.ErrCorrupt)
		}
	}
	notUTF8 := bytes.Replace(Marshal(RefsOf([]*metapb.DataRef{NewRef("s", 1, 8)})), []byte("s"), []byte{0xFF}, 1)
	_, err := ParseRefArray(notUTF8)
	if !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
	a, err := ParseRefArray(Marshal(&metapb.DataRefArray{Start: []uint64{2, 0}, End: []uint64{1, 1 << 63}, Url: []string{"", ""}}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		_, _, _, err = a.At(i)
		if !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
		}
	}
}
