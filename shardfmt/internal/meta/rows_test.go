package meta

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/schemawire"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const (
	rowFields  = 20
	rowStripes = 30
)

// rowDescriptor is what stripe i of byStripes states about a field: as many bytes as a sketch has, and a range.
func rowDescriptor(i, id int) *metapb.FieldDescriptor {
	return &metapb.FieldDescriptor{
		PositionCount: 1000, NullCount: proto.Uint64(0),
		RangeStats:       &metapb.RangeStats{MinValue: Int(int64(i)), MinInclusive: true, MaxValue: Int(int64(i + id)), MaxInclusive: true},
		CustomProperties: []*metapb.NameValuePair{Pair("sketch", Blob(bytes.Repeat([]byte{byte(i)}, 300)))},
	}
}

// byStripes is a root laid out by stripes; layout is what it states about that, and lie, if not nil, changes the bounds that it
// writes of field 3 in stripe 7.
func byStripes(layout string, lie func(*metapb.FieldDescriptor)) []byte {
	s := new(schema.Schema)
	for range rowFields {
		s.Fields = append(s.Fields, &schema.Node{Name: "f", Basic: schema.Int64, Signed: true})
	}
	s.Number()
	b, list, bounds := NewRootBuilder(), new(metapb.StripeList), new(BoundsBuilder)
	for i := range rowStripes {
		refs := make([]*metapb.DataRef, rowFields)
		for id := range refs {
			refs[id] = b.Add(&metapb.StripeFieldDescriptor{Field: rowDescriptor(i, id)})
		}
		list.Stripes = append(list.Stripes, &metapb.StripeDirectory{
			FieldListRef: b.Add(RefsOf(refs)), TotalRecordCount: 1000, ShardPosition: uint64(1000 * i),
		})
	}
	for id := range rowFields {
		for i := range rowStripes {
			d := rowDescriptor(i, id)
			if lie != nil && i == 7 && id == 3 {
				lie(d)
			}
			bounds.Add(d)
		}
	}
	bag := Properties{Pair(PropertyLayout, Text(layout)), Pair(PropertyBounds, bounds.Value())}
	dir := &metapb.ShardDirectory{TotalRecordCount: 1000 * rowStripes, StripeCount: rowStripes}
	dir.UrlListRef = b.Add(new(metapb.UrlList))
	dir.FieldListRef = b.Add(RefsOf(make([]*metapb.DataRef, rowFields)))
	dir.StripeListRef = b.Add(list)
	dir.PropertiesRef = b.Add(&metapb.ShardProperties{CustomProperties: bag})
	dir.SchemaRef = b.AddPayload(schemawire.Marshal(s))
	return b.Finish(dir)
}

// TestPartsOfARoot: the end of a root laid out by stripes reports the bounds of all, and one more request brings all of the
// stripes that are needed, and nothing of the others.
func TestPartsOfARoot(t *testing.T) {
	ctx := context.Background()
	root := byStripes(LayoutStripes, nil)
	if a, b := len(root), partsRoot; a <= b {
		t.Fatalf("len(root) is %v, want more than %v", a, b)
	}
	st := &mapStore{objects: map[string][]byte{testURL: root}}
	r, err := OpenRoot(ctx, st, testURL, Options{Size: int64(len(root)), Parts: true})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Partial() {
		t.Fatalf("r.Partial() is false")
	}
	_, err = r.Stripes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := r.Bounds(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := rowFields, bounds.Fields(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	d, err := bounds.Field(7, 3)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := ([]int64{7, 10}), ([]int64{d.RangeStats.MinValue.GetI64Value(), d.RangeStats.MaxValue.GetI64Value()}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := 1, st.gets.Load(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := partsTail, st.bytes.Load(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	if err := (r.LoadFields(ctx, []int{4, 5}, []uint32{3})); err != nil {
		t.Fatal(err)
	}
	if err := (r.LoadFields(ctx, []int{4, 5}, []uint32{0, 7, 19})); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{4, 5} {
		for id := range rowFields {
			d, _, err := r.StripeField(ctx, i, uint32(id))
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(rowDescriptor(i, id), d.Field) {
				t.Fatalf("proto.Equal(rowDescriptor(i, id), d.Field) is false")
			}
		}
	}
	if want, got := 2, st.gets.Load(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if a, b := st.bytes.Load(), int64(partsTail+len(root)/rowStripes*2+100); a >= b {
		t.Fatalf("st.bytes.Load() is %v, want less than %v", a, b)
	}
}

// TestPartsOfOtherRoots: where a root does not report that it is laid out by stripes, the rest of it comes at once, and a small
// one is read whole in any case.
func TestPartsOfOtherRoots(t *testing.T) {
	ctx := context.Background()
	root := byStripes("", nil)
	for name, c := range map[string]struct {
		parts      bool
		gets, size int64
	}{"whole": {false, 1, 0}, "parts": {true, 2, 0}} {
		st := &mapStore{objects: map[string][]byte{testURL: root}}
		r, err := OpenRoot(ctx, st, testURL, Options{Size: int64(len(root)), Parts: c.parts})
		if err != nil {
			t.Fatal(err)
		}
		if r.Partial() {
			t.Fatalf("%v: r.Partial() is true", name)
		}
		d, _, err := r.StripeField(ctx, 29, 19)
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(rowDescriptor(29, 19), d.Field) {
			t.Fatalf("proto.Equal(rowDescriptor(29, 19), d.Field) is false")
		}
		if want, got := ([]int64{c.gets, int64(len(root))}), ([]int64{st.gets.Load(), st.bytes.Load()}); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v: got %v, want %v", name, got, want)
		}
	}
	small := wideRoot(10)
	st := &mapStore{objects: map[string][]byte{testURL: small}}
	_, err := OpenRoot(ctx, st, testURL, Options{Size: int64(len(small)), Parts: true})
	if err != nil {
		t.Fatal(err)
	}
	if want, got := 1, st.gets.Load(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestBoundsAreHeldToTheDescriptors: bounds that say something else than the stripes are damage.
func TestBoundsAreHeldToTheDescriptors(t *testing.T) {
	ctx := context.Background()
	check := func(root []byte) error {
		r, err := OpenRoot(ctx, &mapStore{objects: map[string][]byte{testURL: root}}, testURL, Options{Size: int64(len(root))})
		if err != nil {
			t.Fatal(err)
		}
		return r.CheckBounds(ctx)
	}
	if err := check(byStripes(LayoutStripes, nil)); err != nil {
		t.Fatal(err)
	}
	err := check(byStripes(LayoutStripes, func(d *metapb.FieldDescriptor) { d.RangeStats.MaxValue = Int(9) }))
	if err == nil || !strings.Contains(err.Error(), "field 3 in stripe 7") {
		t.Fatalf("%v, want an error with %q", err, "field 3 in stripe 7")
	}
	err = check(byStripes(LayoutStripes, func(d *metapb.FieldDescriptor) { *d.NullCount = 1 }))
	if err == nil || !strings.Contains(err.Error(), "field 3 in stripe 7") {
		t.Fatalf("%v, want an error with %q", err, "field 3 in stripe 7")
	}
}

// TestHostileBounds: what a property states about lengths is not believed.
func TestHostileBounds(t *testing.T) {
	for name, raw := range map[string][]byte{
		"too long":         {5, 1},
		"not all stripes":  {0, 0, 0},
		"length overflows": bytes.Repeat([]byte{0xff}, 11),
		"a bomb":           make([]byte, maxBounds+1),
	} {
		_, err := parseBounds(boundsEncoder().EncodeAll(raw, nil), 2)
		if err == nil {
			t.Fatalf("%v: no error", name)
		}
	}
	_, err := parseBounds([]byte("no frame"), 2)
	if err == nil {
		t.Fatalf("no error")
	}
}
