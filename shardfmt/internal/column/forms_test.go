package column

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// form builds a field by hand, in forms that our writer does not write.
type form struct {
	object
	native *metapb.NativeDataEncoding
}

func newForm() *form {
	return &form{object: object{fields: make(map[uint32]*metapb.StripeFieldDescriptor)}, native: new(metapb.NativeDataEncoding)}
}

func (f *form) buffer(kind metapb.BufferKind, b []byte, mapStart int) *metapb.EncodedBuffer {
	for len(f.bytes)%colstream.Alignment != 0 {
		f.bytes = append(f.bytes, 0)
	}
	start := uint64(len(f.bytes))
	f.bytes = append(f.bytes, b...)
	m := &metapb.EncodedBuffer{Kind: kind, Buffer: meta.SelfRef(start, uint64(len(f.bytes))), BlockChecksums: true}
	if mapStart >= 0 {
		m.BlockMap = meta.SelfRef(start+uint64(mapStart), uint64(len(f.bytes)))
	}
	f.native.Buffers = append(f.native.Buffers, m)
	return m
}

func stream[T uint8 | uint32 | uint64 | int32](t *testing.T, f *form, kind metapb.BufferKind, vals []T) {
	t.Helper()
	var w colstream.StreamWriter
	if _, err := encode.CutNumbers(encode.NewEncoder(encode.Options{NoPresence: true}), vals, nil, true, w.Add); err != nil {
		t.Fatal(err)
	}
	e := w.Finish()
	f.buffer(kind, e.Bytes, e.MapStart)
}

func (f *form) set(id uint32, d *metapb.FieldDescriptor, encodings ...*metapb.DataEncoding) {
	if encodings == nil {
		encodings = []*metapb.DataEncoding{native(f.native)}
	}
	f.fields[id] = &metapb.StripeFieldDescriptor{Field: d, Encodings: encodings}
}

func native(n *metapb.NativeDataEncoding) *metapb.DataEncoding {
	return &metapb.DataEncoding{Kind: &metapb.DataEncoding_Native{Native: n}}
}

func (f *form) read(node *schema.Node, records uint64) (arrow.Array, error) {
	c, err := Open(context.Background(), Field{Source: f, Node: node, Records: records}, nil)
	if err != nil {
		return nil, err
	}
	r := colstream.Range{Start: 0, End: records}
	if err := f.fetch(c, []colstream.Range{r}, false); err != nil {
		return nil, err
	}
	d, err := c.Read(r)
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(d), nil
}

func (f *form) want(t *testing.T, node *schema.Node, records uint64, want string) {
	t.Helper()
	a, err := f.read(node, records)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(a); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func count(n uint64) *metapb.FieldDescriptor { return &metapb.FieldDescriptor{PositionCount: n} }

func TestSeparatePresence(t *testing.T) {
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []int32{1, 2, 3})
	stream(t, f, metapb.BufferKind_PRESENCE, []uint8{0b101})
	f.set(0, count(3))
	f.want(t, &schema.Node{Name: "i", Basic: schema.Int32, Signed: true}, 3, "[1 (null) 3]")
}

func TestSeparateOffsets(t *testing.T) {
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []uint8("onethree"))
	stream(t, f, metapb.BufferKind_OFFSETS, []uint64{0, 3, 3, 8})
	stream(t, f, metapb.BufferKind_PRESENCE, []uint8{0b111})
	f.set(0, count(3))
	f.want(t, &schema.Node{Name: "s", Basic: schema.String}, 3, `["one" "" "three"]`)
}

func TestNumberDictionary(t *testing.T) {
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []uint32{1, 0, 2, 1})
	d := &colstream.Dictionary{Type: schema.Int64, Fixed: 8, Count: 3, Null: 0}
	for _, v := range []int64{0, 77, -5} {
		d.Data = binary.LittleEndian.AppendUint64(d.Data, uint64(v))
	}
	f.buffer(metapb.BufferKind_VALUE_DICTIONARY, d.Append(nil), -1)
	f.set(0, count(4)) // the dictionary counts, not dictionary_size
	f.want(t, &schema.Node{Name: "i", Basic: schema.Int64, Signed: true}, 4, "[77 (null) -5 77]")
}

func TestDictionarySizeWithoutDictionary(t *testing.T) {
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []int32{4, 5})
	d := count(2)
	d.DictionarySize = new(uint64)
	f.set(0, d)
	f.want(t, &schema.Node{Name: "i", Basic: schema.Int32, Signed: true}, 2, "[4 5]")
}

func TestDictionaryCodeOutOfRange(t *testing.T) {
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []uint32{1})
	d := &colstream.Dictionary{Type: schema.Guid, Fixed: 16, Count: 1, Null: -1, Data: make([]byte, 16)}
	f.buffer(metapb.BufferKind_VALUE_DICTIONARY, d.Append(nil), -1)
	f.set(0, count(1))
	if _, err := f.read(&schema.Node{Name: "g", Basic: schema.Guid, FixedSize: 16}, 1); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Error(err)
	}
}

// What can't be read is passed over for what can, in order; if nothing can, the error names it all.
func TestAlternativeEncodings(t *testing.T) {
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []int32{1, 2})
	unknown := new(metapb.DataEncoding)
	unknown.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 1))
	parquet := &metapb.DataEncoding{Kind: &metapb.DataEncoding_Parquet{Parquet: new(metapb.ExternalParquetDataEncoding)}}
	packed := native(&metapb.NativeDataEncoding{PackedGroup: true})
	node := &schema.Node{Name: "i", Basic: schema.Int32, Signed: true}
	f.set(0, count(2), unknown, parquet, packed, native(f.native))
	f.want(t, node, 2, "[1 2]")
	f.set(0, count(2), unknown, packed)
	_, err := f.read(node, 2)
	if !errors.Is(err, corrupt.ErrUnsupported) {
		t.Fatal(err)
	}
	for _, name := range []string{"unknown data encoding", "packed group"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %q", err, name)
		}
	}
}

func TestDuplicateBufferIDs(t *testing.T) {
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []int32{1})
	stream(t, f, metapb.BufferKind_PRESENCE, []uint8{1})
	id := uint32(3)
	f.native.Buffers[0].BufferId, f.native.Buffers[1].BufferId = &id, &id
	f.set(0, count(1))
	if _, err := f.read(&schema.Node{Name: "i", Basic: schema.Int32, Signed: true}, 1); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Error(err)
	}
}

// A block count that disagrees with the block map is corruption.
func TestBlockCountDisagrees(t *testing.T) {
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []int32{1})
	two := uint64(2)
	f.native.Buffers[0].BlockCount = &two
	f.set(0, count(1))
	if _, err := f.read(&schema.Node{Name: "i", Basic: schema.Int32, Signed: true}, 1); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Error(err)
	}
}

// A field that a stripe lacks is null: as often as its parent states.
func TestAbsentFields(t *testing.T) {
	for _, node := range types(t) {
		f := newForm()
		a, err := f.read(node, 5)
		if err != nil {
			t.Fatal(err)
		}
		if a.Len() != 5 || node.Basic != schema.Union && a.NullN() != 5 {
			t.Errorf("%v: %v", node.Basic, a)
		}
	}
	member, item := &schema.Node{Name: "a", Basic: schema.String}, &schema.Node{Name: "item", Basic: schema.Boolean}
	fixed := &schema.Node{Name: "f", Basic: schema.FixedSizeList, FixedSize: 2, Children: []*schema.Node{item}}
	top := &schema.Node{Name: "s", Basic: schema.Struct, Children: []*schema.Node{member, fixed}}
	(&schema.Schema{Fields: []*schema.Node{top}}).Number()
	f := newForm()
	f.set(top.ID, count(2))
	f.set(fixed.ID, count(2))
	f.want(t, top, 2, "{[(null) (null)] [[(null) (null)] [(null) (null)]]}")
}

// The reference pads the child of a FixedSizeList too little when the last lists are null.
func TestShortChildOfFixedSizeList(t *testing.T) {
	item := &schema.Node{Name: "item", Basic: schema.Int32, Signed: true}
	node := &schema.Node{Name: "f", Basic: schema.FixedSizeList, FixedSize: 2, Children: []*schema.Node{item}}
	(&schema.Schema{Fields: []*schema.Node{node}}).Number()
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []int32{1, 2, 3})
	f.set(item.ID, count(3))
	f.native = new(metapb.NativeDataEncoding)
	stream(t, f, metapb.BufferKind_PRESENCE, []uint8{0b001})
	f.set(node.ID, count(3))
	f.want(t, node, 3, "[[1 2] (null) (null)]")
}

func TestConstants(t *testing.T) {
	value := func(v *metapb.AnyValue) *metapb.FieldDescriptor {
		return &metapb.FieldDescriptor{PositionCount: 2, ConstantValue: v}
	}
	for _, c := range []struct {
		node *schema.Node
		v    *metapb.AnyValue
		want string // "" if refused
	}{
		{&schema.Node{Basic: schema.Int8, Signed: true}, meta.Int(-3), "[-3 -3]"},
		{&schema.Node{Basic: schema.Int8, Signed: true}, meta.Int(200), ""},
		{&schema.Node{Basic: schema.Int8}, meta.Uint(200), "[200 200]"},
		{&schema.Node{Basic: schema.Int8}, meta.Int(-1), ""},
		{&schema.Node{Basic: schema.Int64}, meta.Uint(1 << 63), "[9223372036854775808 9223372036854775808]"},
		{&schema.Node{Basic: schema.DateTime}, meta.Uint(5), "[5 5]"},
		{&schema.Node{Basic: schema.Float32}, meta.Double(0.5), "[0.5 0.5]"},
		{&schema.Node{Basic: schema.Boolean}, meta.Bool(true), "[true true]"},
		{&schema.Node{Basic: schema.String}, meta.Text("a"), `["a" "a"]`},
		{&schema.Node{Basic: schema.String}, meta.Text(""), `["" ""]`},
		{&schema.Node{Basic: schema.FixedSizeBinary, FixedSize: 2}, meta.Blob([]byte("ab")), `["ab" "ab"]`},
		{&schema.Node{Basic: schema.FixedSizeBinary, FixedSize: 2}, meta.Blob([]byte("abc")), ""},
		{&schema.Node{Basic: schema.String}, meta.Int(1), ""},
		{&schema.Node{Basic: schema.Float64}, meta.Null(), "[(null) (null)]"},
	} {
		f := newForm()
		f.set(0, value(c.v))
		a, err := f.read(c.node, 2)
		switch {
		case c.want == "" && !errors.Is(err, corrupt.ErrCorrupt):
			t.Errorf("%v = %v: %v, %v", c.node.Basic, c.v, a, err)
		case c.want != "" && (err != nil || fmt.Sprint(storage(a)) != c.want):
			t.Errorf("%v = %v: %v, %v", c.node.Basic, c.v, a, err)
		}
	}
}

// Damage in offsets is corruption, not a panic: falling ones, and those behind the child's end.
func TestBadOffsets(t *testing.T) {
	for _, offsets := range [][]uint64{{0, 2, 1, 3}, {1, 2, 3, 3}, {0, 1, 2, 1 << 40}, {0, 1, 2, 4}} {
		item := &schema.Node{Name: "item", Basic: schema.Int32, Signed: true}
		node := &schema.Node{Name: "l", Basic: schema.List, Children: []*schema.Node{item}}
		(&schema.Schema{Fields: []*schema.Node{node}}).Number()
		f := newForm()
		stream(t, f, metapb.BufferKind_DATA, []int32{1, 2, 3})
		f.set(item.ID, count(3))
		f.native = new(metapb.NativeDataEncoding)
		stream(t, f, metapb.BufferKind_OFFSETS, offsets)
		f.set(node.ID, count(3))
		if a, err := f.read(node, 3); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Errorf("%v: %v, %v", offsets, a, err)
		}
	}
}

func TestUnionVariantOutOfRange(t *testing.T) {
	a := &schema.Node{Name: "a", Basic: schema.Boolean}
	node := &schema.Node{Name: "u", Basic: schema.Union, Children: []*schema.Node{a}}
	(&schema.Schema{Fields: []*schema.Node{node}}).Number()
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []uint8{0, 1})
	f.set(node.ID, count(2))
	if _, err := f.read(node, 2); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Error(err)
	}
}

// Blocks without checksums are legal.
func TestBlocksWithoutChecksums(t *testing.T) {
	f := newForm()
	sub, err := encode.Numbers(nil, []int32{8, 9}, nil, &encode.Options{Profile: encode.Plain})
	if err != nil {
		t.Fatal(err)
	}
	var m colstream.MapBuilder
	b := block.AppendFrame(nil, nil, sub, false)
	m.Add(2, uint32(len(b)))
	f.buffer(metapb.BufferKind_DATA, m.Append(b), len(b)).BlockChecksums = false
	f.set(0, count(2))
	f.want(t, &schema.Node{Name: "i", Basic: schema.Int32, Signed: true}, 2, "[8 9]")
}

// A null union reads as its first variant, null.
func TestNullUnion(t *testing.T) {
	a, b := &schema.Node{Name: "a", Basic: schema.Boolean}, &schema.Node{Name: "b", Basic: schema.String}
	node := &schema.Node{Name: "u", Basic: schema.Union, Children: []*schema.Node{a, b}}
	(&schema.Schema{Fields: []*schema.Node{node}}).Number()
	f := newForm()
	stream(t, f, metapb.BufferKind_DATA, []uint8{1, 1, 0})
	stream(t, f, metapb.BufferKind_PRESENCE, []uint8{0b101})
	f.set(node.ID, count(3))
	f.set(a.ID, &metapb.FieldDescriptor{PositionCount: 3, ConstantValue: meta.Bool(true)}, native(new(metapb.NativeDataEncoding)))
	f.set(b.ID, &metapb.FieldDescriptor{PositionCount: 3, ConstantValue: meta.Text("x")}, native(new(metapb.NativeDataEncoding)))
	got, err := f.read(node, 3)
	if err != nil {
		t.Fatal(err)
	}
	u := got.(*array.SparseUnion)
	if u.ChildID(0) != 1 || u.ChildID(1) != 0 || !u.Field(0).IsNull(1) || u.Field(0).IsNull(2) {
		t.Errorf("%v", u)
	}
}
