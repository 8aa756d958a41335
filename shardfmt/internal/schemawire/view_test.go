package schemawire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// TestLookupTable: the examples of docs/format/container.md
func TestLookupTable(t *testing.T) {
	buckets, entries := buildLookup([]string{"id", "source", "props"})
	if want, got := ([]uint32{0, 1, 3}), buckets; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := ([]uint32{2, 0, 1}), entries; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	props := make([]string, 20)
	for i := range props {
		props[i] = fmt.Sprintf("prop%d", i)
	}
	buckets, entries = buildLookup(props)
	if want, got := ([]uint32{0, 1, 2, 4, 4, 5, 7, 8, 11, 12, 14, 14, 16, 17, 18, 19, 20}), buckets; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := ([]uint32{7, 8, 1, 4, 14, 0, 10, 18, 3, 9, 12, 17, 2, 16, 5, 13, 6, 15, 19, 11}), entries; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}

	for n, want := range map[int]int{0: 2, 1: 2, 5: 2, 6: 4, 9: 4, 10: 8, 17: 8, 18: 16, 33: 16, 34: 32} {
		buckets, _ := buildLookup(make([]string, n))
		if got := buckets; len(got) != want+1 {
			t.Fatalf("%v: %d elements, want %d: %v", n, len(got), want+1, got)
		}
	}
}

// manyFields is a schema of n fields called f0, f1 …
func manyFields(n int) *schema.Schema {
	s := new(schema.Schema)
	for i := range n {
		s.Fields = append(s.Fields, &schema.Node{Name: fmt.Sprintf("f%d", i), Basic: schema.Int64, Signed: true, Nullable: true})
	}
	s.Number()
	return s
}

func TestViewFindsFields(t *testing.T) {
	s := manyFields(1000)
	s.Fields[700].Aliases = []string{"seven", "f3"}
	v, err := NewView(Marshal(s))
	if err != nil {
		t.Fatal(err)
	}
	if want, got := 1000, v.Len(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := uint32(1000), v.Count(); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range s.Fields {
		at, ok, err := v.Find(s.Fields[i].Name)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			t.Fatalf("ok is false")
		}
		if want, got := i, at; !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	n, err := v.FieldByName("seven")
	if err != nil {
		t.Fatal(err)
	}
	if want, got := s.Fields[700], n; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	n, err = v.FieldByName("f3") // a name comes before an alias
	if err != nil {
		t.Fatal(err)
	}
	if want, got := uint32(3), n.ID; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	n, err = v.FieldByName("f1000")
	if err != nil {
		t.Fatal(err)
	}
	if got := n; got != nil {
		t.Fatalf("got %v, want nil", got)
	}
	name, err := v.Name(999)
	if err != nil {
		t.Fatal(err)
	}
	if got := name; got != "f999" {
		t.Fatalf("got %v, want %v", got, "f999")
	}
}

// TestViewReadsTwoOfMany: what two fields cost does not grow with the others.
func TestViewReadsTwoOfMany(t *testing.T) {
	cost := func(n int) float64 {
		payload := Marshal(manyFields(n))
		names := []string{"f7", fmt.Sprintf("f%d", n-1)}
		return testing.AllocsPerRun(20, func() {
			v, err := NewView(payload)
			for _, name := range names {
				f, ferr := v.FieldByName(name)
				if err != nil || ferr != nil || f.Name != name {
					t.Fatal(err, ferr, f)
				}
			}
		})
	}
	if want, got := cost(5_000), cost(50_000); math.Abs(got-want) > 2 {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestNestedLookupTables(t *testing.T) {
	parent := &schema.Node{Name: "s", Basic: schema.Struct}
	for i := range 12 {
		parent.Children = append(parent.Children, &schema.Node{Name: fmt.Sprintf("c%d", i), Basic: schema.Boolean})
	}
	few := &schema.Node{Name: "few", Basic: schema.Struct, Children: parent.Children[:9]}
	unnamed := &schema.Node{Name: "u", Basic: schema.Union, Children: make([]*schema.Node, 12)}
	for i := range unnamed.Children {
		unnamed.Children[i] = &schema.Node{Basic: schema.Int8}
	}
	names, ok := lookupNames(parent)
	if !ok {
		t.Fatalf("ok is false")
	}
	if got := names; len(got) != 12 {
		t.Fatalf("%d elements, want %d: %v", len(got), 12, got)
	}
	_, ok = lookupNames(few)
	if ok {
		t.Fatalf("ok is true")
	}
	_, ok = lookupNames(unnamed)
	if ok {
		t.Fatalf("ok is true")
	}
}

// TestEveryFeatureOnTheWire reads back a schema that uses everything the format has.
func TestEveryFeatureOnTheWire(t *testing.T) {
	s := everyFeature()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(Marshal(s))
	if err != nil {
		t.Fatal(err)
	}
	if want, got := s, got; !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func everyFeature() *schema.Schema {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "", Basic: schema.Boolean, Internal: schema.InternalDeletedRecord, Nullable: true},
		{Name: "at", Basic: schema.DateTime, Internal: schema.InternalIngestionTimestamp, Nullable: true},
		{Name: "e", Basic: schema.FixedSizeList, FixedSize: 3, Nullable: true, Aliases: []string{"emb", "ж"},
			Ext: &schema.Extension{Label: "EmbeddingVec", Properties: []schema.ExtensionProperty{
				{Name: "null", Kind: schema.PropertyNull}, {Name: "s", Kind: schema.PropertyString, Data: []byte("x")},
				{Name: "j", Kind: schema.PropertyJSON, Data: []byte(`{"a":1}`)}, {Name: "v", Kind: schema.PropertyAnyValue, Data: []byte{0x20, 1}},
			}},
			Children: []*schema.Node{{Name: "item", Basic: schema.FixedSizeBinary, FixedSize: 2, Ext: &schema.Extension{Label: "bf16"}, Nullable: true}}},
		{Name: "u", Basic: schema.Union, Nullable: true, Children: []*schema.Node{
			{Basic: schema.Unit, Nullable: true}, {Name: "g", Basic: schema.Guid, FixedSize: 16, Nullable: true},
			{Name: "m", Basic: schema.Map, Nullable: true, Children: []*schema.Node{
				{Basic: schema.String, Nullable: true}, {Basic: schema.Int16, Nullable: true}}}}},
	}}
	s.Number()
	return s
}

func TestUnmarshalRefuses(t *testing.T) {
	deep := &schema.Node{Name: "l", Basic: schema.Struct}
	for range schemafb.MaxDepth {
		deep = &schema.Node{Name: "l", Basic: schema.Struct, Children: []*schema.Node{deep}}
	}
	change := func(f func(s *schema.Schema)) []byte {
		s := &schema.Schema{Fields: []*schema.Node{
			{Name: "a", Basic: schema.Struct, Children: []*schema.Node{{Name: "b", Basic: schema.Int8, Signed: true}}},
			{Name: "c", Basic: schema.Guid, FixedSize: 16},
		}}
		s.Number()
		f(s)
		return Marshal(s)
	}
	for name, c := range map[string]struct {
		payload []byte
		says    string
	}{
		"empty":            {nil, "outside"},
		"one byte":         {[]byte{4}, "outside"},
		"offset outside":   {[]byte{255, 0, 0, 0, 0, 0, 0, 0}, "leads to"},
		"vtable outside":   {[]byte{4, 0, 0, 0, 255, 255, 255, 127}, "vtable"},
		"id too large":     {change(func(s *schema.Schema) { s.Fields[1].ID = 3 }), "node number 3 of 3"},
		"id twice":         {change(func(s *schema.Schema) { s.Fields[1].ID = 1 }), "used twice"},
		"wrong parent":     {change(func(s *schema.Schema) { s.Fields[1].Parent = 0 }), "parent"},
		"count too large":  {change(func(s *schema.Schema) { s.Count = schemafb.MaxNodes }), "nodes in"},
		"count too small":  {change(func(s *schema.Schema) { s.Count = 1 }), "2 fields, but 1 nodes"},
		"guid of 15 bytes": {change(func(s *schema.Schema) { s.Fields[1].FixedSize = 15 }), "Guid"},
		"absurd size":      {change(func(s *schema.Schema) { s.Fields[1].Basic, s.Fields[1].FixedSize = schema.FixedSizeBinary, 1<<40 }), "fixed size"},
		"leaf with child":  {change(func(s *schema.Schema) { s.Fields[0].Basic = schema.Int8 }), "with 1 children"},
		"invalid UTF-8":    {change(func(s *schema.Schema) { s.Fields[1].Name = "\xff" }), "UTF-8"},
		"too deep": {change(func(s *schema.Schema) {
			s.Fields = []*schema.Node{deep}
			s.Number()
		}), "deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Unmarshal(c.payload)
			if !errors.Is(err, corrupt.ErrCorrupt) {
				t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want an error with %q", err, c.says)
			}
		})
	}
	_, err := Unmarshal(change(func(s *schema.Schema) { s.Fields[1].Basic = 18 }))
	if !errors.Is(err, corrupt.ErrUnsupported) {
		t.Fatalf("%v, want %v", err, corrupt.ErrUnsupported)
	}
}

// TestSlotsLieInTheirTable: a slot that leads past the end of its table is refused, though the buffer goes on there: what
// it would read belongs to something else.
func TestSlotsLieInTheirTable(t *testing.T) {
	s := &schema.Schema{Fields: []*schema.Node{{Name: "a", Basic: schema.Int8, Signed: true}, {Name: "b", Basic: schema.String}}}
	s.Number()
	for _, entry := range []int{4, 6} { // the field list, and a number
		b := Marshal(s)
		root := int(binary.LittleEndian.Uint32(b))
		vtable := root - int(int32(binary.LittleEndian.Uint32(b[root:])))
		extent := binary.LittleEndian.Uint16(b[vtable+2:])
		binary.LittleEndian.PutUint16(b[vtable+entry:], extent)
		_, err := Unmarshal(b)
		if !errors.Is(err, corrupt.ErrCorrupt) {
			t.Fatalf("%v, want %v", err, corrupt.ErrCorrupt)
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("of a table of %d bytes", extent)) {
			t.Fatalf("%v, want an error with %q", err, fmt.Sprintf("of a table of %d bytes", extent))
		}
	}
}

// TestSharedTextIsBounded: a buffer whose nodes all use one long name may not grow out of proportion.
func TestSharedTextIsBounded(t *testing.T) {
	s := &schema.Schema{Fields: []*schema.Node{{Name: "f", Basic: schema.List, Children: []*schema.Node{nil}}}}
	long := strings.Repeat("x", schemafb.MaxName)
	s.Fields[0] = &schema.Node{Name: "f", Basic: schema.Struct}
	for range 2000 {
		s.Fields[0].Children = append(s.Fields[0].Children, &schema.Node{Name: long, Basic: schema.Boolean})
	}
	s.Number()
	_, err := Unmarshal(Marshal(s))
	if err == nil || !strings.Contains(err.Error(), "outgrow") {
		t.Fatalf("%v, want an error with %q", err, "outgrow")
	}
}

// readAll reads a buffer by every way there is: an error or a value, never a panic.
func readAll(b []byte) {
	_, _ = Unmarshal(b)
	v, err := NewView(b)
	if err != nil {
		return
	}
	for i := range min(v.Len(), 8) {
		_, _ = v.Name(i)
		_, _ = v.Field(i)
	}
	for _, name := range []string{"", "a", "d", "f7", "alias"} {
		_, _ = v.FieldByName(name)
	}
}

// hostileBuffers are the reference's buffers and one of ours that uses every table.
func hostileBuffers(t testing.TB) (all [][]byte) {
	for _, c := range referenceBuffers {
		all = append(all, unhex(t, c.hex))
	}
	return append(all, Marshal(everyFeature()))
}

// TestDamagedAtEveryByte cuts a buffer at every byte, flips every byte, and puts numbers there that lead out of
// the buffer, around it, or to where they stand.
func TestDamagedAtEveryByte(t *testing.T) {
	numbers := []uint32{0, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF}
	for _, b := range hostileBuffers(t) {
		changed := make([]byte, len(b))
		for i := range b {
			readAll(b[:i])
			for _, x := range []byte{1, 0x80, 0xFF} {
				copy(changed, b)
				changed[i] ^= x
				readAll(changed)
			}
			for _, n := range append(numbers, uint32(-i), uint32(len(b)-i-4)) {
				if i+4 > len(b) {
					break
				}
				copy(changed, b)
				binary.LittleEndian.PutUint32(changed[i:], n)
				readAll(changed)
				copy(changed, b)
				binary.LittleEndian.PutUint16(changed[i:], uint16(n))
				readAll(changed)
			}
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, b := range hostileBuffers(f) {
		f.Add(b)
	}
	f.Add(Marshal(manyFields(20)))
	f.Fuzz(func(t *testing.T, b []byte) {
		readAll(b)
		s, err := Unmarshal(b)
		if err != nil {
			if !isTyped(err) {
				t.Fatalf("%v: isTyped(err) is false", err)
			}
			return
		}
		v, err := NewView(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range s.Fields {
			_, ok, err := v.Find(n.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				t.Fatalf("ok is false")
			}
		}
		if s.Count > 2*uint32(len(s.Fields)) {
			return // numbers with gaps: a count that large is refused when there are too few bytes
		}
		again, err := Unmarshal(Marshal(s))
		if err != nil {
			t.Fatal(err)
		}
		if !s.Equal(again) {
			t.Fatalf("s.Equal(again) is false")
		}
	})
}

func isTyped(err error) bool {
	return strings.Contains(err.Error(), corrupt.ErrCorrupt.Error()) || strings.Contains(err.Error(), corrupt.ErrUnsupported.Error())
}

func BenchmarkViewTwoOf10000(b *testing.B) {
	payload := Marshal(manyFields(10_000))
	b.ReportAllocs()
	for b.Loop() {
		v, _ := NewView(payload)
		_, _ = v.FieldByName("f77")
		_, _ = v.FieldByName("f9999")
	}
}

// TestSharedAliasesAreBounded: many fields that share a long list of aliases must not make a look-up slow.
func TestSharedAliasesAreBounded(t *testing.T) {
	s := manyFields(2000)
	aliases := make([]string, 2000)
	for i := range s.Fields {
		s.Fields[i].Aliases = aliases
	}
	v, err := NewView(Marshal(s))
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.FieldByName("missing")
	if err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Fatalf("%v, want an error with %q", err, "aliases")
	}
}
