package schemawire

import (
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The three buffers of docs/format/container.md, made by the reference's runtime.
var referenceBuffers = []struct {
	name   string
	size   int
	check  uint32
	hex    string
	schema func() *schema.Schema
}{
	{"one field", 146, 0xDF5EE4C2, `
04000000eeffffff440000000100000010000000 0000 0a001000040008000c00
f4ffffff180000000c000000 0800 0c00 0400 0800 0100000000000000
03000000000000000000000001000000 0100000004000000 f6ffffff0c000000 0000 060008000400
eeffffff ffffffff 20000000 18000000 0501 12001200100000000400080000000c001100 00000000 010000006100`,
		func() *schema.Schema {
			return &schema.Schema{Fields: []*schema.Node{{Name: "a", Basic: schema.Int64, Signed: true}}}
		}},
	{"two fields", 214, 0x7108CA46, `
04000000eeffffff48000000020000001000000000000a001000040008000c00f4ffffff1c0000000c00000008000c00
0400080002000000000000000100000003000000000000000000000002000000020000004400000004000000baffffff
04000000e8ffffff01000000ffffffff20000000180000000a000000100015001400040008000c000000100000000000
0100000062000000f6ffffff0c0000000000060008000400eeffffffffffffff20000000180000000501120012001000
00000400080000000c00110000000000010000006100`,
		func() *schema.Schema {
			return &schema.Schema{Fields: []*schema.Node{{Name: "a", Basic: schema.Int64, Signed: true}, {Name: "b", Basic: schema.String}}}
		}},
	{"nested, extension, internal", 422, 0xE5D19ED6, `
0800000000000000eeffffff40000000040000001000000000000a001000040008000c0054ffffff1400000004000000
0200000001000000000000000300000000000000010000000200000002000000ac0000000400000088ffffff30000000
040000005effffff040000001b0000004b7573746f2e416d756461692e5265636f72644964656e7469747900deffffff
100000000000000003000000ffffffff540000004c0000001c00000009001600210020000c0010001400000018000000
04001c00f4ffffff140000000c00000008000c0004000800000000000c0000004b7573746f446563696d616c00000000
000000000100000064000000f6ffffff0c0000000000060008000400ecffffffffffffff8c000000180000000f000000
10001100100000000400080000000c000100000004000000ecffffff0100000058000000180000000d00000010001100
100004000000080000000c000100000004000000eaffffff020000000100000020000000180000000501120016001400
040008000c000000100015000000000000000000000000000100000071000000010000007000`,
		func() *schema.Schema {
			return &schema.Schema{Fields: []*schema.Node{
				{Name: "p", Basic: schema.Struct, Children: []*schema.Node{
					{Name: "q", Basic: schema.List, Children: []*schema.Node{{Basic: schema.Int64, Signed: true}}},
				}},
				{Name: "d", Basic: schema.FixedSizeBinary, FixedSize: 16, Ext: &schema.Extension{Label: schema.LabelDecimal},
					Internal: schema.InternalRecordIdentity},
			}}
		}},
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReferenceBuffers(t *testing.T) {
	for _, c := range referenceBuffers {
		t.Run(c.name, func(t *testing.T) {
			want := unhex(t, c.hex)
			if got := want; len(got) != c.size {
				t.Fatalf("%d elements, want %d: %v", len(got), c.size, got)
			}
			h := xxh3.Hash(want)
			if want, got := c.check, uint32(h)^uint32(h>>32); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}

			s := c.schema()
			s.Number()
			got, err := Unmarshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if !s.Equal(got) {
				t.Fatalf("read %v, want %v: s.Equal(got) is false", got, s)
			}

			// What is written states the same, with the reference's own lookup tables.
			ours := schemafb.GetRootAsSchema(Marshal(s), 0)
			theirs := schemafb.GetRootAsSchema(want, 0)
			if want, got := lookupOf(theirs), lookupOf(ours); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
			again, err := Unmarshal(Marshal(got))
			if err != nil {
				t.Fatal(err)
			}
			if !s.Equal(again) {
				t.Fatalf("Equal(s, again) is false")
			}
			if want, got := Marshal(s), Marshal(got); !reflect.DeepEqual(got, want) {
				t.Fatalf("equal schemas are equal bytes: got %v, want %v", got, want)
			}
		})
	}
}

func lookupOf(s *schemafb.Schema) (numbers [2][]uint32) {
	l := s.FieldLookup(nil)
	for i := range l.BucketsLength() {
		numbers[0] = append(numbers[0], l.Buckets(i))
	}
	for i := range l.EntriesLength() {
		numbers[1] = append(numbers[1], l.Entries(i))
	}
	return numbers
}

// TestNumbersOfTheSchemaFile: types and kinds have the names and numbers of docs/format/schema.fbs.
func TestNumbersOfTheSchemaFile(t *testing.T) {
	if got := schemafb.EnumNamesBasicType; len(got) != int(schema.Union)+1 {
		t.Fatalf("%d elements, want %d: %v", len(got), int(schema.Union)+1, got)
	}
	for b := schema.Unit; b <= schema.Union; b++ {
		if want, got := schemafb.BasicType(b).String(), b.String(); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	if got := schemafb.EnumNamesPropertyValueKind; len(got) != int(schema.PropertyAnyValue)+1 {
		t.Fatalf("%d elements, want %d: %v", len(got), int(schema.PropertyAnyValue)+1, got)
	}
	if want, got := schemafb.PropertyValueKindNull, schemafb.PropertyValueKind(schema.PropertyNull); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := schemafb.PropertyValueKindString, schemafb.PropertyValueKind(schema.PropertyString); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := schemafb.PropertyValueKindJsonString, schemafb.PropertyValueKind(schema.PropertyJSON); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if want, got := schemafb.PropertyValueKindAnyValueProto, schemafb.PropertyValueKind(schema.PropertyAnyValue); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// A union needs a variant to choose from, and its number is a byte.
func TestUnionsOfNoAndTooManyVariants(t *testing.T) {
	for variants, fits := range map[int]bool{0: false, 1: true, 256: true, 257: false} {
		u := &schema.Node{Name: "u", Basic: schema.Union, Nullable: true}
		for range variants {
			u.Children = append(u.Children, &schema.Node{Basic: schema.Int64, Signed: true, Nullable: true})
		}
		s := &schema.Schema{Fields: []*schema.Node{u}}
		s.Number()
		for name, decode := range map[string]func() (*schema.Schema, error){
			"current": func() (*schema.Schema, error) { return Unmarshal(Marshal(s)) },
			"draft":   func() (*schema.Schema, error) { return UnmarshalDraft(MarshalDraft(s)) },
		} {
			if _, err := decode(); (err == nil) != fits || !fits && !errors.Is(err, corrupt.ErrUnsupported) {
				t.Errorf("%d variants, %s: %v", variants, name, err)
			}
		}
	}
}
