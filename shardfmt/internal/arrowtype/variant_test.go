package arrowtype_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/variant"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// variantsOf makes a batch of one column of variants.
func variantsOf(t *testing.T, typ *extensions.VariantType, add func(b *extensions.VariantBuilder)) arrow.RecordBatch {
	t.Helper()
	b := extensions.NewVariantBuilder(memory.DefaultAllocator, typ)
	defer b.Release()
	add(b)
	column := b.NewArray()
	s := arrow.NewSchema([]arrow.Field{{Name: "v", Type: typ, Nullable: true}}, nil)
	return array.NewRecordBatch(s, []arrow.Array{column}, int64(column.Len()))
}

func imported(t *testing.T, batch arrow.RecordBatch, strict bool) ([]string, *arrowtype.Report, error) {
	t.Helper()
	s, _, err := arrowtype.FromArrow(batch.Schema())
	if err != nil {
		t.Fatal(err)
	}
	im, err := arrowtype.NewImporter(batch.Schema(), s, arrowtype.ImportOptions{Strict: strict})
	if err != nil {
		t.Fatal(err)
	}
	out, err := im.Import(batch)
	if err != nil {
		return nil, im.Report(), err
	}
	a := out.Column(0).(*arrowtype.DynamicArray)
	var texts []string
	for i := range a.Len() {
		if a.IsNull(i) {
			texts = append(texts, "NULL")
		} else {
			texts = append(texts, string(a.Value(i)))
		}
	}
	return texts, im.Report(), nil
}

// Variants become dynamic values and variants again, shredded or not, with every digit of their numbers.
func TestVariants(t *testing.T) {
	texts := []string{`{"a":1,"b":[true,null,"x\"<ü"],"n":-0.5}`, `12345678901234567.25`, `[]`, `{}`, `9223372036854775807`, `"text"`, `{"a":"another type","b":{"c":1.10}}`, `null`}
	shredded := extensions.NewShreddedVariantType(arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Float64, Nullable: true}))
	for name, typ := range map[string]*extensions.VariantType{"plain": extensions.NewDefaultVariantType(), "shredded": shredded} {
		batch := variantsOf(t, typ, func(b *extensions.VariantBuilder) {
			for _, text := range texts {
				v, err := variant.ParseJSON(text, false)
				if err != nil {
					t.Fatal(err)
				}
				b.Append(v)
			}
			b.AppendNull()
		})
		got, report, err := imported(t, batch, true)
		if err != nil || len(report.Notes) > 0 {
			t.Fatalf("%s: %v, %v", name, err, report)
		}
		for i, want := range append(texts, "NULL") {
			if got[i] != want {
				t.Errorf("%s: %s, want %s", name, got[i], want)
			}
		}
		s, _, _ := arrowtype.FromArrow(batch.Schema())
		im, _ := arrowtype.NewImporter(batch.Schema(), s, arrowtype.ImportOptions{})
		canonical, err := im.Import(batch)
		if err != nil {
			t.Fatal(err)
		}
		x, err := arrowtype.NewExporter(s, arrowtype.ExportOptions{Original: batch.Schema(), Strict: true, Parquet: true})
		if err != nil {
			t.Fatal(err)
		}
		back, err := x.Export(canonical)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, ok := back.Column(0).(*extensions.VariantArray); !ok {
			t.Fatalf("%s: %v", name, back.Schema())
		}
		again, _, err := imported(t, back, true)
		if err != nil || strings.Join(again, "\n") != strings.Join(got, "\n") {
			t.Errorf("%s: there and back: %v, %v", name, again, err)
		}
	}
}

// What JSON has no type for becomes text and is counted, or is refused with its row.
func TestVariantsBeyondJSON(t *testing.T) {
	batch := variantsOf(t, extensions.NewDefaultVariantType(), func(b *extensions.VariantBuilder) {
		for _, v := range []any{int64(1), []byte{1, 2, 255}, arrow.Date32(19000)} {
			var one variant.Builder
			if err := one.Append(v); err != nil {
				t.Fatal(err)
			}
			value, err := one.Build()
			if err != nil {
				t.Fatal(err)
			}
			b.Append(value)
		}
		var one variant.Builder
		if err := one.AppendTimestamp(1_700_000_000_123_456_789, false, true); err != nil {
			t.Fatal(err)
		}
		value, err := one.Build()
		if err != nil {
			t.Fatal(err)
		}
		b.Append(value)
	})
	got, report, err := imported(t, batch, false)
	if want := `1 "AQL/" "2022-01-08" "2023-11-14T22:13:20.123456789Z"`; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
	if len(report.Notes) != 1 || report.Notes[0].Count != 3 {
		t.Errorf("report %v", report)
	}
	var row *arrowtype.RowError
	if _, _, err := imported(t, batch, true); !errors.As(err, &row) || row.Row != 1 {
		t.Errorf("strictly: %v", err)
	}
}

// A field that is shredded and in the binary value too is refused, at the top and below it.
func TestVariantsWithAFieldTwice(t *testing.T) {
	inner := arrow.StructOf(arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	for _, c := range []struct {
		typed      arrow.DataType
		text, also string
		want       string
	}{
		{inner, `{"b":1,"c":2}`, `{"c":2}`, ""},
		{inner, `{"b":1,"c":2}`, `{"b":3,"c":2}`, `row 1: .*its field "b" is shredded, and in its value too`},
		{arrow.StructOf(arrow.Field{Name: "a", Type: inner, Nullable: true}), `{"a":{"b":1,"c":2}}`, "", ""},
	} {
		batch := variantsOf(t, extensions.NewShreddedVariantType(c.typed), func(b *extensions.VariantBuilder) {
			v, err := variant.ParseJSON(c.text, false)
			if err != nil {
				t.Fatal(err)
			}
			b.Append(v)
		})
		if c.also != "" {
			batch = withValue(t, batch, c.also)
		}
		_, _, err := imported(t, batch, false)
		if (err == nil) != (c.want == "") || err != nil && !regexp.MustCompile(c.want).MatchString(err.Error()) {
			t.Errorf("%s and %s: %v, want %q", c.text, c.also, err, c.want)
		}
	}
}

// withValue is a batch of one variant with another binary value, whose names are those of its metadata.
func withValue(t *testing.T, batch arrow.RecordBatch, text string) arrow.RecordBatch {
	t.Helper()
	v, err := variant.ParseJSON(text, false)
	if err != nil {
		t.Fatal(err)
	}
	a := batch.Column(0).(*extensions.VariantArray)
	s := a.Storage().(*array.Struct)
	fields := make([]arrow.ArrayData, s.NumField())
	for i, f := range s.DataType().(*arrow.StructType).Fields() {
		fields[i] = s.Field(i).Data()
		if bytes := map[string][]byte{"metadata": v.Metadata().Bytes(), "value": v.Bytes()}[f.Name]; bytes != nil {
			b := array.NewBuilder(memory.DefaultAllocator, f.Type).(array.BinaryLikeBuilder)
			b.Append(bytes)
			fields[i] = b.NewArray().Data()
		}
	}
	data := array.NewData(s.DataType(), 1, []*memory.Buffer{nil}, fields, 0, 0)
	column := array.NewExtensionArrayWithStorage(a.DataType().(arrow.ExtensionType), array.NewStructData(data))
	return array.NewRecordBatch(batch.Schema(), []arrow.Array{column}, 1)
}
