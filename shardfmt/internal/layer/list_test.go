package layer

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

const listTypes = "i64,()/string,list<opt<i64>,i32>"

// Three levels in two layers: (V, [(T, R)]) comes back as it went, and to a reader of byte vectors it is one.
func TestListsOfPairs(t *testing.T) {
	ctx := context.Background()
	pairs, err := ParseTypes(listTypes)
	if err != nil || TypesText(pairs) != listTypes {
		t.Fatalf("%q, %v", TypesText(pairs), err)
	}
	_, s := parts(pairs)
	text := `[{"k0":1,"k1":"x","a1":[{"k":null,"a":-7},{"k":-3,"a":1},{"k":9,"a":2}]},{"k0":1,"k1":"y","a1":[]},{"k0":5,"k1":"a","a1":[{"k":0,"a":0}]}]`
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sink, err := newSink(&out, s, fileformat.SinkOptions{Settings: fileformat.Settings{optionTypes: listTypes}})
	if err == nil {
		err = errors.Join(sink.Write(batch), sink.Close())
	}
	if err != nil || len(sink.Report().Notes) > 0 {
		t.Fatalf("%v, %v", err, sink.Report())
	}
	f, _ := mustOpen(t, out.Bytes(), "") // it states its types
	if r, err := f.Verify(ctx, fileformat.VerifyOptions{}); err != nil || !r.OK {
		t.Fatalf("%+v, %v", r, err)
	}
	src, err := f.Read(ctx, fileformat.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	back, err := src.Next(ctx)
	if err != nil || !array.RecordEqual(batch, back) {
		t.Errorf("%v\nwant %v\n%v", back, batch, err)
	}
	// The keys of a list must rise.
	batch, _, err = array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[{"k0":1,"k1":"x","a1":[{"k":2,"a":0},{"k":2,"a":1}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	sink, _ = newSink(&out, s, fileformat.SinkOptions{Settings: fileformat.Settings{optionTypes: listTypes}})
	var row *arrowtype.RowError
	if err := sink.Write(batch); !errors.As(err, &row) || row.Row != 0 || row.Field != "a1" {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"list<i64,i64>,()", "i64,list<i64>", "i64,list<i64,list<i64,()>>", "i64,opt<list<i64,i64>>", "i64,list<i64,i64"} {
		if _, err := ParseTypes(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// A list whose bytes make no sense is corrupt, whatever they are.
func TestListsLie(t *testing.T) {
	pairs, _ := ParseTypes("i64,list<string,opt<char>>")
	list := pairs[0].Aux
	good := list.Elem.Aux.appendElement(list.Elem.Key.appendElement(nil, Value{Bytes: []byte("key")}), Value{Uint: 'x'})
	none := func(_, _ Value) error { return nil }
	if err := list.elements(good, none); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(good); n++ {
		if err := list.elements(good[:n], none); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	for _, bad := range [][]byte{{0xFF, 0xFF, 0xFF, 0xFF, 0x0F}, {0, 2}, {0, 1, 0, 0, 0, 0x7F}, append(bytes.Clone(good), good...)} {
		if err := list.elements(bad, none); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("% x: %v", bad, err)
		}
	}
	if want := arrow.LIST; list.arrowType().ID() != want {
		t.Errorf("%v", list.arrowType())
	}
}
