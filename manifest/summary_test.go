package manifest

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// partitionCases are, by type and transform, values of a partition field, the empty and zero ones first.
func partitionCases() map[string][]any {
	return map[string][]any{
		"boolean/identity":       {false, true},
		"int/identity":           {int32(0), int32(-5), int32(7)},
		"int/truncate[10]":       {int32(0), int32(-10)},
		"int/bucket[4]":          {int32(0), int32(3)},
		"long/identity":          {int64(0), int64(math.MinInt64), int64(math.MaxInt64)},
		"long/truncate[10]":      {int64(0), int64(20)},
		"float/identity":         {float32(0), float32(-1.5), float32(math.NaN())},
		"double/identity":        {float64(0), math.Inf(1), math.NaN()},
		"string/identity":        {"", "a", "ü"},
		"string/truncate[2]":     {"", "ab"},
		"string/bucket[4]":       {int32(0), int32(2)},
		"binary/identity":        {[]byte{}, []byte{0}, []byte{255}},
		"binary/truncate[2]":     {[]byte{}, []byte{0, 0}},
		"uuid/identity":          {uuid.UUID{}, uuid.UUID{1}},
		"fixed[2]/identity":      {[]byte{0, 0}, []byte{1, 2}},
		"date/identity":          {iceberg.Date(0), iceberg.Date(-1)},
		"timestamptz/identity":   {iceberg.Timestamp(0), iceberg.Timestamp(-1)},
		"timestamptz/year":       {int32(0), int32(54)},
		"timestamptz/month":      {int32(0), int32(-1)},
		"timestamptz/day":        {iceberg.Date(0), iceberg.Date(19000)},
		"timestamptz/hour":       {int32(0), int32(7)},
		"decimal(20,0)/identity": {iceberg.Decimal{}, iceberg.Decimal{Val: decimal128.FromU64(math.MaxUint64)}},
		"decimal(9,2)/identity":  {iceberg.Decimal{Scale: 2}, iceberg.Decimal{Val: decimal128.FromI64(-5), Scale: 2}},
	}
}

func typeNamed(t *testing.T, name string) iceberg.Type {
	t.Helper()
	f := iceberg.NestedField{}
	if err := f.UnmarshalJSON(fmt.Appendf(nil, `{"id":1,"name":"x","required":false,"type":%q}`, name)); err != nil {
		t.Fatal(err)
	}
	return f.Type
}

// TestSummariesOfEveryPartitionValue: whatever the value of a partition, the manifest's summary reports it: other
// engines skip the manifests whose summaries exclude what they look for.
func TestSummariesOfEveryPartitionValue(t *testing.T) {
	for name, values := range partitionCases() {
		t.Run(name, func(t *testing.T) {
			typ, transform, _ := strings.Cut(name, "/")
			for _, v := range append(values, nil) {
				checkSummary(t, typeNamed(t, typ), transform, v)
			}
		})
	}
}

func checkSummary(t *testing.T, typ iceberg.Type, transform string, v any) {
	t.Helper()
	apply, err := iceberg.ParseTransform(transform)
	if err != nil {
		t.Fatal(err)
	}
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "x", Type: typ})
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: apply})
	meta, err := table.NewMetadata(sc, &spec, table.UnsortedSortOrder, "file://"+filepath.ToSlash(t.TempDir()), iceberg.Properties{"format-version": "2"})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, meta: meta}
	e := fake(1)
	e.Columns = map[int]Column{1: {Bytes: 1, Values: 100, Nulls: Unknown, NaNs: Unknown}}
	e.Partition = map[int]any{1000: v}
	manifests, err := b.commit(Change{Operation: table.OpAppend, Add: []*Entry{e}}).Manifests(io.LocalFS{})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.live()[0].Partition[1000]; !equalValue(got, v) {
		t.Errorf("the partition %#v came back as %#v", v, got)
	}
	s := manifests[0].Partitions()[0]
	want := singleValue(v)
	isNaN := fmt.Sprint(v) == "NaN"
	switch {
	case s.ContainsNull != (v == nil), s.ContainsNaN == nil || *s.ContainsNaN != isNaN:
		t.Errorf("%#v: null %v, NaN %v", v, s.ContainsNull, *s.ContainsNaN)
	case v == nil || isNaN:
		if s.LowerBound != nil || s.UpperBound != nil {
			t.Errorf("%#v has bounds", v)
		}
	case s.LowerBound == nil || s.UpperBound == nil:
		t.Errorf("%#v has no bounds", v)
	case !bytes.Equal(*s.LowerBound, want) || !bytes.Equal(*s.UpperBound, want):
		t.Errorf("%#v: bounds %x and %x, want %x", v, *s.LowerBound, *s.UpperBound, want)
	}
}

func equalValue(a, b any) bool {
	if x, ok := b.([]byte); ok {
		y, ok := a.([]byte)
		return ok && bytes.Equal(x, y)
	}
	if x, ok := a.(iceberg.DecimalLiteral); ok {
		a = iceberg.Decimal(x)
	}
	return reflect.DeepEqual(a, b) || fmt.Sprint(a) == "NaN" && fmt.Sprint(b) == "NaN"
}

// TestDecimalScaleIsWritten: readers of other languages want a decimal's scale in the Avro schema, 0 too.
func TestDecimalScaleIsWritten(t *testing.T) {
	sc := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "x", Type: uint64Type})
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: iceberg.IdentityTransform{}})
	meta, err := table.NewMetadata(sc, &spec, table.UnsortedSortOrder, "file://"+filepath.ToSlash(t.TempDir()), iceberg.Properties{"format-version": "2"})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, meta: meta}
	e := fake(1)
	e.Columns, e.Partition = nil, map[int]any{1000: iceberg.Decimal{Val: decimal128.FromU64(7)}}
	s := b.commit(Change{Operation: table.OpAppend, Add: []*Entry{e}})
	manifests, err := s.Manifests(io.LocalFS{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(strings.TrimPrefix(manifests[0].FilePath(), "file://"))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(raw)) != manifests[0].Length() {
		t.Errorf("the manifest has %d bytes, its list says %d", len(raw), manifests[0].Length())
	}
	i := bytes.Index(raw, []byte(`"logicalType":"decimal"`))
	if i < 0 {
		t.Fatal("no decimal in the manifest's schema")
	}
	start, end := bytes.LastIndexByte(raw[:i], '{'), i+bytes.IndexByte(raw[i:], '}')
	if !bytes.Contains(raw[start:end], []byte(`"scale":0`)) {
		t.Errorf("no scale in %s", raw[start:end+1])
	}
}
