package meta

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/urlresolve"
)

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFrames: the vectors of docs/format/container.md
func TestFrames(t *testing.T) {
	if want, got := uint32(0x15D514C7), Checksum(nil); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := uint32(0x59981402), Checksum([]byte("testdata")); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := unhex(t, "00000000 C714D515"), AppendFrame(nil, nil); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := unhex(t, "08000000 7465737464617461 02149859"), AppendFrame(nil, []byte("testdata")); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := unhex(t, "09000000 090A00000000000000 61FA390C"), (AppendFrame(nil, Marshal(&metapb.FieldDescriptor{PositionCount: 10}))); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	good := AppendFrame([]byte{}, []byte("testdata"))
	payload, err := Unframe(append(good, "behind"...))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(payload); got != "testdata" {
		t.Fatalf("got %v, want %v", got, "testdata")
	}
	for i := range good {
		_, err := Unframe(good[:i])
		if !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("%v: %v, want %v", i, err, corrupt.ErrCorrupt)
		}
		flipped := append([]byte(nil), good...)
		flipped[i] ^= 4
		_, err = Unframe(flipped)
		if !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("%v: %v, want %v", i, err, corrupt.ErrCorrupt)
		}
	}
	_, err = Unframe([]byte{255, 255, 255, 255, 0, 0, 0, 0})
	if !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
}

// TestMessages: single messages of section 18.1.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		hex string
		m   proto.Message
	}{
		{"1A 0A 0A 04 6E616D65 12 02 20 01", &metapb.ShardProperties{StandardProperties: []*metapb.NameValuePair{Pair("name", Int(1))}}},
		{"12 12 09 3600000000000000 11 D000000000000000", SelfRef(54, 208)},
		{"12 18 66696C653A2F2F2F742F782E616D756461692E7368617264 1A 08 0001000000000000 22 08 4001000000000000",
			RefsOf([]*metapb.DataRef{NewRef("file:///t/x.amudai.shard", 256, 320)})},
		{"09 0100000000000000 11 0200000000000000", &metapb.UInt64Range{Start: 1, End: 2}},
		{"0D 01000000 15 02000000", &metapb.UInt32Range{Start: 1, End: 2}},
		{"0A 10 0000000000000000 0300000000000000 12 03 616263", &metapb.BytesList{Offsets: []uint64{0, 3}, Data: []byte("abc")}},
		{"0A 00", Null()},
		{"20 00", Int(0)},
		{"20 FFFFFFFFFFFFFFFFFF01", Int(-1)},
		{"3A 09 09 FFFFFFFFFFFFFFFF", Span(-1)},
		{"32 09 09 0100000000000000", Time(1)},
		{"29 000000000000F03F", Double(1)},
		{"52 10 00000000000000000000000000000000", Decimal(make([]byte, 16))},
		{"A201 04 0A 02 10 01", ListOf(Bool(true))},
		{"AA01 09 0A 07 0A 01 61 12 02 18 01", StructOf(Pair("a", Uint(1)))},
		{"B201 14 12 12 09 3600000000000000 11 D000000000000000", &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: SelfRef(54, 208)}}},
		{"F201 01 62 42 01 61", &metapb.AnyValue{Kind: &metapb.AnyValue_StringValue{StringValue: "a"}, Annotation: proto.String("b")}},
		{"3A 00", &metapb.FieldDescriptor{Cardinality: &metapb.CardinalityInfo{}}},
		{"32 04 10 01 20 01", &metapb.FieldDescriptor{RangeStats: &metapb.RangeStats{MinInclusive: true, MaxInclusive: true}}},
	} {
		want := unhex(t, c.hex)
		if want, got := hex.EncodeToString(want), hex.EncodeToString(Marshal(c.m)); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		got := c.m.ProtoReflect().New().Interface()
		if err := unmarshal(want, got); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(c.m, got) {
			t.Fatalf("proto.Equal(c.m, got) is false")
		}
	}
}

// smallest is the smallest complete shard, one Int64 column without stripes: section 18.3.
func smallest(t testing.TB) []byte {
	// The schema as the reference's FlatBuffers runtime lays it out: section 18.2.
	oneField := unhex(t, `04000000 eeffffff440000000100000010000000 0000 0a001000040008000c00
		f4ffffff180000000c000000 0800 0c00 0400 0800 0100000000000000
		03000000000000000000000001000000 0100000004000000 f6ffffff0c000000 0000 060008000400
		eeffffff ffffffff 20000000 18000000 0501 12001200100000000400080000000c001100 00000000 010000006100`)
	b := NewRootBuilder()
	dir := &metapb.ShardDirectory{}
	dir.StripeListRef = b.Add(&metapb.StripeList{})
	dir.UrlListRef = b.Add(&metapb.UrlList{})
	dir.FieldListRef = b.Add(RefsOf(make([]*metapb.DataRef, 1)))
	dir.SchemaRef = b.AddPayload(oneField)
	return b.Finish(dir)
}

func TestSmallestShard(t *testing.T) {
	b := smallest(t)
	if got := b; len(got) != 316 {
		t.Fatalf("%d elements, want %d: %v", len(got), 316, got)
	}
	if want, got := unhex(t, `616D756400010000 00000000C714D515 00000000C714D515
		16000000 1200 1A08 0000000000000000 2208 0000000000000000 91E26587 92000000`), b[:58]; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := unhex(t, "C2E45EDF 58000000"), b[204:212]; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := unhex(t, `0A14 1212 093600000000000000 11D000000000000000 1A14 1212 091800000000000000 113600000000000000
		2214 1212 090800000000000000 111000000000000000 2A14 1212 091000000000000000 111800000000000000
		6D3C3600 58000000 616D756400010000`), b[212:]; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	dir, start, end, err := ParseTail(b, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if want, got := ([2]int64{208, 304}), ([2]int64{start, end}); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := uint64(54), dir.SchemaRef.Range.Start; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	r := openBytes(t, b)
	s, err := r.Schema(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.String(); got != "a: Int64" {
		t.Fatalf("got %v, want %v", got, "a: Int64")
	}
	f, err := r.ShardField(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := f; got != nil {
		t.Fatalf("got %v, want nil", got)
	}
}

const testURL = "mem://b/t/x.amudai.shard"

func openBytes(t testing.TB, b []byte) *Root {
	r, err := OpenRoot(context.Background(), &mapStore{objects: map[string][]byte{testURL: b}}, testURL, Options{Size: int64(len(b))})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDamage flips every byte of the smallest shard and cuts it at every length: what is read is either right
// or a typed error that names the object.
func TestDamage(t *testing.T) {
	ctx := context.Background()
	good := smallest(t)
	try := func(b []byte, size int64) error {
		st := &mapStore{objects: map[string][]byte{testURL: b}}
		r, err := OpenRoot(ctx, st, testURL, Options{Size: size})
		if err != nil {
			return err
		}
		if _, err := r.Schema(ctx); err != nil {
			return err
		}
		if _, err := r.Stripes(ctx); err != nil {
			return err
		}
		if _, err := r.URLList(ctx); err != nil {
			return err
		}
		_, err = r.ShardField(ctx, 0)
		return err
	}
	if err := try(good, 0); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for _, x := range []byte{1, 0x80, 0xFF} {
			b := append([]byte(nil), good...)
			b[i] ^= x
			err := try(b, int64(len(b)))
			if isVersion := i%308 >= 4 && i%308 < 7; isVersion && (i < 8 || i >= 308) {
				if err != nil {
					t.Fatalf("patch and minor version may differ: %v", err)
				}
				continue
			}
			if err == nil {
				t.Fatalf("byte %d: no error", i)
			}
			if !strings.Contains(err.Error(), testURL) {
				t.Fatalf("byte %d: %v: strings.Contains(err.Error(), testURL) is false", i, err)
			}
			if i != 315 && i != 7 {
				if !errors.Is(err, corrupt.ErrCorrupt) {
					t.Fatalf("byte %d: %v, want %v", i, err, corrupt.ErrCorrupt)
				}
			}
		}
		if i > 0 {
			if err := try(good[:i], int64(i)); !errors.Is(err, corrupt.ErrCorrupt) {
				t.Fatalf("%v: %v, want %v", i, err, corrupt.ErrCorrupt)
			}
			if err := try(good[:i], 0); !errors.Is(err, corrupt.ErrCorrupt) {
				t.Fatalf("%v: %v, want %v", i, err, corrupt.ErrCorrupt)
			}
		}
	}
}

// TestDirectoryRefuses: what the directory states about itself is checked before it is believed.
func TestDirectoryRefuses(t *testing.T) {
	full := func() *metapb.ShardDirectory {
		ref := func() *metapb.DataRef { return SelfRef(8, 16) }
		return &metapb.ShardDirectory{SchemaRef: ref(), FieldListRef: ref(), StripeListRef: ref(), UrlListRef: ref()}
	}
	for name, change := range map[string]func(d *metapb.ShardDirectory){
		"no schema":          func(d *metapb.ShardDirectory) { d.SchemaRef = nil },
		"no fields":          func(d *metapb.ShardDirectory) { d.FieldListRef = nil },
		"no stripes":         func(d *metapb.ShardDirectory) { d.StripeListRef = nil },
		"no urls":            func(d *metapb.ShardDirectory) { d.UrlListRef = nil },
		"backwards":          func(d *metapb.ShardDirectory) { d.SchemaRef.Range.End = 1 },
		"beyond the object":  func(d *metapb.ShardDirectory) { d.IndexesRef = SelfRef(8, 1<<40) },
		"beyond any object":  func(d *metapb.ShardDirectory) { d.PropertiesRef = NewRef("x", 8, 1<<63) },
		"too many deleted":   func(d *metapb.ShardDirectory) { d.DeletedRecordCount = 1 },
		"more than possible": func(d *metapb.ShardDirectory) { d.TotalRecordCount = 1 << 63 },
	} {
		d := full()
		change(d)
		b := NewRootBuilder()
		b.Add(&metapb.UrlList{})
		root := b.Finish(d)
		_, _, _, err := ParseTail(root, int64(len(root)))
		if !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("%v: %v, want %v", name, err, corrupt.ErrCorrupt)
		}
	}
	long := make([]byte, 40)
	copy(long[32:], Magic[:])
	binary.LittleEndian.PutUint32(long[28:], maxDirectory)
	_, err := TailSize(long, 1<<40)
	if !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
}

func TestStripesRefuse(t *testing.T) {
	dir := func(n, deleted, stripes uint64) *metapb.ShardDirectory {
		return &metapb.ShardDirectory{TotalRecordCount: n, DeletedRecordCount: deleted, StripeCount: stripes}
	}
	stripe := func(n, deleted, position uint64) *metapb.StripeDirectory {
		return &metapb.StripeDirectory{FieldListRef: SelfRef(0, 8), TotalRecordCount: n, DeletedRecordCount: deleted, ShardPosition: position}
	}
	if err := (checkStripes(dir(7, 1, 2), []*metapb.StripeDirectory{stripe(3, 0, 0), stripe(4, 1, 3)})); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir     *metapb.ShardDirectory
		stripes []*metapb.StripeDirectory
	}{
		"number":           {dir(3, 0, 2), []*metapb.StripeDirectory{stripe(3, 0, 0)}},
		"sum":              {dir(4, 0, 1), []*metapb.StripeDirectory{stripe(3, 0, 0)}},
		"overflow":         {dir(3, 0, 2), []*metapb.StripeDirectory{stripe(4, 0, 0), stripe(1<<64-1, 0, 4)}},
		"gap":              {dir(7, 0, 2), []*metapb.StripeDirectory{stripe(3, 0, 0), stripe(4, 0, 4)}},
		"overlap":          {dir(7, 0, 2), []*metapb.StripeDirectory{stripe(3, 0, 0), stripe(4, 0, 2)}},
		"deleted":          {dir(3, 0, 1), []*metapb.StripeDirectory{stripe(3, 1, 0)}},
		"too many deleted": {dir(3, 3, 1), []*metapb.StripeDirectory{stripe(3, 4, 0)}},
		"no field list":    {dir(3, 0, 1), []*metapb.StripeDirectory{{TotalRecordCount: 3}}},
	} {
		if err := checkStripes(c.dir, c.stripes); !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("%v: %v, want %v", name, err, corrupt.ErrCorrupt)
		}
	}
}

// nested wraps a value into n lists.
func nested(n int) []byte {
	v := Marshal(Int(1))
	for range n {
		list := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), v)
		v = protowire.AppendBytes(protowire.AppendTag(nil, 20, protowire.BytesType), list)
	}
	return v
}

// TestNesting: property lists may nest 49 levels, as with the reference, and no more; groups are counted too.
func TestNesting(t *testing.T) {
	property := func(v []byte) []byte {
		pair := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), v)
		return protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType), pair)
	}
	if err := unmarshal(property(nested(49)), new(metapb.ShardProperties)); err != nil {
		t.Fatal(err)
	}
	if err := unmarshal(property(nested(50)), new(metapb.ShardProperties)); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
	if err := unmarshal(property(nested(5_000)), new(metapb.ShardProperties)); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}

	groups := func(n int) []byte {
		var b []byte
		for range n {
			b = protowire.AppendTag(b, 99, protowire.StartGroupType)
		}
		for range n {
			b = protowire.AppendTag(b, 99, protowire.EndGroupType)
		}
		return b
	}
	if err := unmarshal(groups(maxDepth), new(metapb.UrlList)); err != nil {
		t.Fatal(err)
	}
	if err := unmarshal(groups(maxDepth+1), new(metapb.UrlList)); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
	if err := unmarshal(groups(5)[:9], new(metapb.UrlList)); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
	if err := unmarshal(protowire.AppendTag(nil, 99, protowire.EndGroupType), new(metapb.UrlList)); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
}

// TestManyMessages: two bytes on the wire may not become hundreds in memory without end.
func TestManyMessages(t *testing.T) {
	b := make([]byte, 0, 2*(maxMessages+1))
	for range maxMessages + 1 {
		b = append(b, 0x0A, 0)
	}
	if err := unmarshal(b, new(metapb.StripeList)); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
	// Messages count also where fields of other types precede theirs.
	for i := 0; i < len(b); i += 2 {
		b[i] = descriptorArtifacts<<3 | 2
	}
	if err := unmarshal(b, new(metapb.IndexDescriptor)); !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
}

// An annotation that the message of a value lacks is that of the reference.
func TestFollowAnnotations(t *testing.T) {
	b := NewRootBuilder()
	named := func(v *metapb.AnyValue, as string) *metapb.AnyValue {
		if as != "" {
			v.Annotation = &as
		}
		return v
	}
	cases := map[[2]string]string{{"", ""}: "", {"", "own"}: "own", {"of reference", ""}: "of reference", {"of reference", "own"}: "own"}
	refs := map[[2]string]*metapb.AnyValue{}
	for c := range cases {
		refs[c] = named(&metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: b.Add(named(Text("far"), c[1]))}}, c[0])
	}
	r := openBytes(t, b.Finish(&metapb.ShardDirectory{SchemaRef: SelfRef(0, 8), FieldListRef: SelfRef(0, 8), StripeListRef: SelfRef(0, 8), UrlListRef: SelfRef(0, 8)}))
	for c, want := range cases {
		got, err := r.Follow(context.Background(), r.URL(), refs[c])
		if err != nil {
			t.Fatal(err)
		}
		if got.GetStringValue() != "far" || got.GetAnnotation() != want {
			t.Errorf("%q: got %v, want the annotation %q", c, got, want)
		}
	}
}

func TestFollow(t *testing.T) {
	ctx := context.Background()
	b := NewRootBuilder()
	ref := func(r *metapb.DataRef) *metapb.AnyValue {
		return &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: r}}
	}
	v := ref(b.Add(Text("far")))
	var chain []*metapb.AnyValue
	for range maxHops + 1 {
		chain = append(chain, v)
		v = ref(b.Add(v))
	}
	// A value that refers to itself: its frame has the length of any self reference.
	at := uint64(b.Len())
	circle := ref(SelfRef(at, at+uint64(len(Marshal(ref(SelfRef(at, at+40)))))+FrameOverhead))
	b.Add(circle)
	dir := &metapb.ShardDirectory{SchemaRef: SelfRef(0, 8), FieldListRef: SelfRef(0, 8), StripeListRef: SelfRef(0, 8), UrlListRef: SelfRef(0, 8)}
	r := openBytes(t, b.Finish(dir))
	for i, v := range chain {
		got, err := r.Follow(ctx, r.URL(), v)
		if i == maxHops {
			if !errors.Is(err, corrupt.ErrCorrupt) {
				t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := got.GetStringValue(); got != "far" {
			t.Fatalf("got %v, want %v", got, "far")
		}
	}
	_, err := r.Follow(ctx, r.URL(), circle)
	if !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
	if err == nil || !strings.Contains(err.Error(), "circular") {
		t.Fatalf("%v, want an error with %q", err, "circular")
	}
	_, err = r.Follow(ctx, r.URL(), ref(NewRef("../x", 0, 8)))
	if err == nil || !strings.Contains(err.Error(), "unsafe reference") {
		t.Fatalf("%v, want an error with %q", err, "unsafe reference")
	}
}

// TestFollowIntoOtherObjects: a value may lie in another object, and refer onwards from there; every name is relative to the root
// that was opened, wherever it stands.
func TestFollowIntoOtherObjects(t *testing.T) {
	ctx := context.Background()
	ref := func(r *metapb.DataRef) *metapb.AnyValue {
		return &metapb.AnyValue{Kind: &metapb.AnyValue_DataRef{DataRef: r}}
	}
	far := NewRootBuilder()
	text := far.Add(Text("far")).GetRange()
	near := NewRootBuilder()
	onwards := near.Add(ref(NewRef("d/far", text.Start, text.End))).GetRange()
	root := smallest(t)
	st := &mapStore{objects: map[string][]byte{testURL: root,
		"mem://b/t/d/near": near.Finish(&metapb.ShardDirectory{SchemaRef: SelfRef(0, 8), FieldListRef: SelfRef(0, 8), StripeListRef: SelfRef(0, 8), UrlListRef: SelfRef(0, 8)}),
		"mem://b/t/d/far":  far.Finish(&metapb.ShardDirectory{SchemaRef: SelfRef(0, 8), FieldListRef: SelfRef(0, 8), StripeListRef: SelfRef(0, 8), UrlListRef: SelfRef(0, 8)})}}
	r, err := OpenRoot(ctx, st, testURL, Options{Size: int64(len(root))})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Follow(ctx, r.URL(), ref(NewRef("d/near", onwards.Start, onwards.End)))
	if err != nil {
		t.Fatal(err)
	}
	if got := got.GetStringValue(); got != "far" {
		t.Fatalf("got %v, want %v", got, "far")
	}
	_, err = r.Follow(ctx, r.URL(), ref(NewRef("d/nothing", onwards.Start, onwards.End)))
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%v, want %v", err, os.ErrNotExist)
	}
	// Two objects that refer to each other: the names have one length, so the values lie at the same place.
	at := NewRootBuilder().Add(ref(NewRef("d/one", 1, 2))).GetRange()
	for _, names := range [][2]string{{"d/one", "d/two"}, {"d/two", "d/one"}} {
		b := NewRootBuilder()
		b.Add(ref(NewRef(names[1], at.Start, at.End)))
		st.objects["mem://b/t/"+names[0]] = b.Finish(&metapb.ShardDirectory{SchemaRef: SelfRef(0, 8), FieldListRef: SelfRef(0, 8), StripeListRef: SelfRef(0, 8), UrlListRef: SelfRef(0, 8)})
	}
	_, err = r.Follow(ctx, r.URL(), ref(NewRef("d/one", at.Start, at.End)))
	if !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
	if err == nil || !strings.Contains(err.Error(), "circular") {
		t.Fatalf("%v, want an error with %q", err, "circular")
	}
}

// TestOtherObjects: directory elements may lie in other objects; those that are missing or too short are reported
// apart from those that must not be read.
func TestOtherObjects(t *testing.T) {
	ctx := context.Background()
	whole := smallest(t)
	dir, _, _, err := ParseTail(whole, int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	open := func(url string, other []byte) *Root {
		d := proto.CloneOf(dir)
		RewriteURLs(d, func(string) string { return url })
		b := NewRootBuilder().Finish(d)
		st := &mapStore{objects: map[string][]byte{testURL: b, "mem://b/t/d/old": other}}
		r, err := OpenRoot(ctx, st, testURL, Options{Size: int64(len(b))})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open("d/old", whole)
	s, err := r.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.String(); got != "a: Int64" {
		t.Fatalf("got %v, want %v", got, "a: Int64")
	}
	_, err = r.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}

	_, err = open("d/old", whole[:200]).Schema(ctx)
	if !errors.Is(err, corrupt.ErrCorrupt) {
		t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
	}
	if err == nil || !strings.Contains(err.Error(), "mem://b/t/d/old at offset 54") {
		t.Fatalf("%v, want an error with %q", err, "mem://b/t/d/old at offset 54")
	}
	_, err = open("../old", whole).Schema(ctx)
	if !errors.Is(err, urlresolve.ErrRefused) {
		t.Fatalf("%v, want %v", err, urlresolve.ErrRefused)
	}
	_, err = open("s3://other/x", whole).Schema(ctx)
	if !errors.Is(err, urlresolve.ErrRefused) {
		t.Fatalf("%v, want %v", err, urlresolve.ErrRefused)
	}
	_, err = open("d/gone", whole).Schema(ctx)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v, want %v", err, fs.ErrNotExist)
	}

	// A shard whose size was given wrongly.
	for _, size := range []int64{315, 317} {
		st := &mapStore{objects: map[string][]byte{testURL: whole}}
		_, err := OpenRoot(ctx, st, testURL, Options{Size: size})
		if !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
		}
	}
}

// movedShard is a shard whose descriptors are referred to by an absolute URL, as the reference does.
func movedShard(t *testing.T, urls ...string) *Root {
	b := NewRootBuilder()
	dir := &metapb.ShardDirectory{StripeListRef: b.Add(&metapb.StripeList{}), UrlListRef: b.Add(&metapb.UrlList{})}
	refs := make([]*metapb.DataRef, len(urls))
	for i, u := range urls {
		refs[i] = b.Add(&metapb.FieldDescriptor{PositionCount: uint64(i)})
		refs[i].Url = u
	}
	dir.FieldListRef, dir.SchemaRef = b.Add(RefsOf(refs)), b.AddPayload(nil)
	return openBytes(t, b.Finish(dir))
}

// TestMovedShard: descriptors that lie under the old URL of the root are those of the root, as long as its
// bytes bear it out; what can't be reached is absent.
func TestMovedShard(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		urls  []string
		found bool
	}{
		"here":              {[]string{"", ""}, true},
		"moved":             {[]string{"file:///old/place/x.amudai.shard", "file:///old/place/x.amudai.shard"}, true},
		"renamed":           {[]string{"mem://b/t/old.amudai.shard", "mem://b/t/old.amudai.shard"}, true},
		"two old places":    {[]string{"file:///old/a", "file:///old/b"}, false},
		"relative, missing": {[]string{"gone", "gone"}, false},
		"climbing":          {[]string{"../x", "../x"}, false},
	} {
		r := movedShard(t, c.urls...)
		f, err := r.ShardField(ctx, 1)
		if err != nil {
			t.Fatalf("%v: %v", name, err)
		}
		if want, got := c.found, f != nil; !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: got %v, want %v", name, got, want)
		}
		if c.found {
			if want, got := uint64(1), f.PositionCount; !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	}
}

// TestLargeNumbers: a shard may describe ten thousand million records in a terabyte, and megabytes of
// properties.
func TestLargeNumbers(t *testing.T) {
	ctx := context.Background()
	b := NewRootBuilder()
	dir := &metapb.ShardDirectory{TotalRecordCount: 1e10, StripeCount: 2, RawDataSize: proto.Uint64(1 << 40)}
	list := &metapb.StripeList{}
	for i := range uint64(2) {
		d := b.Add(&metapb.StripeFieldDescriptor{Field: &metapb.FieldDescriptor{PositionCount: 5e9}, Encodings: []*metapb.DataEncoding{
			{Kind: &metapb.DataEncoding_Native{Native: &metapb.NativeDataEncoding{Buffers: []*metapb.EncodedBuffer{{Buffer: NewRef("s", i<<39, (i+1)<<39)}}}}}}})
		list.Stripes = append(list.Stripes, &metapb.StripeDirectory{TotalRecordCount: 5e9, ShardPosition: i * 5e9, FieldListRef: b.Add(RefsOf([]*metapb.DataRef{d}))})
	}
	list.Stripes[1].PropertiesRef = b.Add(&metapb.StripeProperties{CustomProperties: []*metapb.NameValuePair{Pair("of", Text("the second"))}})
	list.Stripes[1].IndexesRef = b.Add(&metapb.IndexCollection{IndexDescriptors: []*metapb.IndexDescriptor{{IndexType: "t"}}})
	var bag Properties
	for i := range 60_000 {
		bag = append(bag, Pair(fmt.Sprint("property ", i), Text(strings.Repeat("v", 60))))
	}
	dir.StripeListRef, dir.UrlListRef, dir.FieldListRef = b.Add(list), b.Add(&metapb.UrlList{Urls: []string{"s"}}), b.Add(RefsOf(make([]*metapb.DataRef, 1)))
	dir.PropertiesRef = b.Add(&metapb.ShardProperties{CustomProperties: bag})
	dir.SchemaRef = b.AddPayload(nil)
	r := openBytes(t, b.Finish(dir))
	if a, b := r.Size(), int64(4<<20); a <= b {
		t.Fatalf("r.Size() is %v, want more than %v", a, b)
	}
	stripes, err := r.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := uint64(5e9), stripes[1].ShardPosition; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	d, _, err := r.StripeField(ctx, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := uint64(1<<40), d.Encodings[0].GetNative().Buffers[0].Buffer.Range.End; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	p, err := r.Properties(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.CustomProperties; len(got) != 60_000 {
		t.Fatalf("%d elements, want %d: %v", len(got), 60_000, got)
	}
	for i, has := range []int{0, 1} {
		own, err := r.StripeProperties(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if got := own.CustomProperties; len(got) != has {
			t.Fatalf("%d elements, want %d: %v", len(got), has, got)
		}
		indexes, err := r.StripeIndexes(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		if got := indexes.IndexDescriptors; len(got) != has {
			t.Fatalf("%d elements, want %d: %v", len(got), has, got)
		}
	}
}
