package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// times are ends of units, ticks between microseconds, sentinels, and times that nanoseconds since 1970 can't express.
var times = []string{
	"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.0000001Z", "1582-10-15T12:00:00Z", "1677-09-21T00:12:43Z", "1677-09-21T00:12:44Z",
	"1969-12-31T23:59:59.9999999Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.0000009Z", "2024-02-29T10:00:00.1234567Z",
	"2024-02-29T10:59:59.9999999Z", "2262-04-11T23:47:16Z", "2262-04-11T23:47:17Z", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59.9999999Z",
}

func ticksOf(t *testing.T, text string) int64 {
	t.Helper()
	ticks, cut, err := literal.ParseDateTime(text)
	if err != nil || cut {
		t.Fatal(text, cut, err)
	}
	return ticks
}

// partitioned is the tuple of the time ticks, as writers make it.
func partitioned(spec iceberg.PartitionSpec, ticks int64) map[int]any {
	tuple := map[int]any{}
	for _, f := range spec.Fields() {
		v := f.Transform.Apply(iceberg.Optional[iceberg.Literal]{Val: iceberg.TimestampLiteral(shardfmt.DateTime(ticks).UnixMicro(false)), Valid: true})
		tuple[f.FieldID] = nil
		if v.Valid {
			tuple[f.FieldID] = v.Val.Any()
		}
	}
	return tuple
}

// summaryOf is what a manifest states about the partition values of two entries.
func summaryOf(t *testing.T, f iceberg.PartitionField, a, b any) iceberg.FieldSummary {
	t.Helper()
	if a == nil || b == nil {
		return iceberg.FieldSummary{ContainsNull: true}
	}
	low, high := singleValue(a), singleValue(b)
	if _, ordered := f.Transform.(iceberg.BucketTransform); ordered && fmt.Sprint(a) > fmt.Sprint(b) {
		low, high = high, low
	}
	return iceberg.FieldSummary{LowerBound: &low, UpperBound: &high}
}

// TestPartitionsOfTimes: whatever the transform, no partition value and no summary of two excludes a time that lies there,
// and those of transforms that keep order exclude the other times.
func TestPartitionsOfTimes(t *testing.T) {
	ts := NewTableSchema(iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "ts", Type: iceberg.PrimitiveTypes.TimestampTz}), TypeNotes{})
	for _, c := range []struct {
		transform iceberg.Transform
		// unit is the beginning of the text of times which one partition shares, -1 for partitions that exclude nothing.
		unit int
	}{
		{iceberg.IdentityTransform{}, len("2006-01-02T15:04:05.000000")}, {iceberg.HourTransform{}, len("2006-01-02T15")}, {iceberg.DayTransform{}, len("2006-01-02")},
		{iceberg.MonthTransform{}, len("2006-01")}, {iceberg.YearTransform{}, len("2006")}, {iceberg.BucketTransform{NumBuckets: 8}, -1}, {iceberg.VoidTransform{}, -1},
	} {
		f := iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "p", Transform: c.transform}
		spec := iceberg.NewPartitionSpec(f)
		for i, text := range times {
			tuple := partitioned(spec, ticksOf(t, text))
			for j, other := range times {
				b := boundTo(t, ts, "ts = '"+other+"'")
				may := b.MayMatch(func(id uint32) *filter.Stats { return ts.PartitionStats(spec, tuple, id) })
				if want := c.unit < 0 || unitOf(text, c.unit) == unitOf(other, c.unit); may != want {
					t.Errorf("%s of %s: may match %s is %v, want %v", c.transform, text, other, may, want)
				}
				for k := i; k < len(times); k++ {
					last := partitioned(spec, ticksOf(t, times[k]))
					summaries := []iceberg.FieldSummary{summaryOf(t, f, tuple[f.FieldID], last[f.FieldID])}
					may := b.MayMatch(func(id uint32) *filter.Stats { return ts.SummaryStats(spec, summaries, id) })
					if want := c.unit < 0 || unitOf(other, c.unit) >= unitOf(text, c.unit) && unitOf(other, c.unit) <= unitOf(times[k], c.unit); may != want {
						t.Errorf("%s of %s to %s: may match %s (%d) is %v, want %v", c.transform, text, times[k], other, j, may, want)
					}
				}
			}
		}
	}
}

// unitOf cuts a time to the length of its unit.
func unitOf(text string, unit int) string {
	if unit < 0 {
		return ""
	}
	text = strings.TrimSuffix(text, "Z")
	if !strings.Contains(text, ".") {
		text += "."
	}
	return (text + "0000000")[:unit]
}

func boundTo(t *testing.T, ts *TableSchema, where string) *filter.Bound {
	t.Helper()
	e, err := filter.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	b, err := filter.Bind(e, ts.Shard)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSummariesOfSeveralFields: a summary belongs to the partition field of its place, and an earlier field of a column
// that excludes nothing hides no later one.
func TestSummariesOfSeveralFields(t *testing.T) {
	ts := NewTableSchema(iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "ts", Type: iceberg.PrimitiveTypes.TimestampTz},
		iceberg.NestedField{ID: 2, Name: "n", Type: iceberg.PrimitiveTypes.Int64}), TypeNotes{})
	field := func(id, source int, tr iceberg.Transform) iceberg.PartitionField {
		return iceberg.PartitionField{SourceIDs: []int{source}, FieldID: id, Name: fmt.Sprint("p", id), Transform: tr}
	}
	// Field 3 was dropped from the table.
	spec := iceberg.NewPartitionSpec(field(1000, 3, iceberg.VoidTransform{}), field(1001, 1, iceberg.BucketTransform{NumBuckets: 4}),
		field(1002, 2, iceberg.IdentityTransform{}), field(1003, 1, iceberg.DayTransform{}))
	five, day, bucket := appendLong(5), appendInt(19782), appendInt(1)
	summaries := []iceberg.FieldSummary{{ContainsNull: true}, {LowerBound: &bucket, UpperBound: &bucket}, {LowerBound: &five, UpperBound: &five}, {LowerBound: &day, UpperBound: &day}}
	var got []bool
	for _, where := range []string{"n = 5", "n = 4", "ts = '2024-02-29T23:59:59.9999999Z'", "ts = '2024-03-01T00:00:00Z'"} {
		got = append(got, boundTo(t, ts, where).MayMatch(func(id uint32) *filter.Stats { return ts.SummaryStats(spec, summaries, id) }))
	}
	if want := []bool{true, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("may match: %v, want %v", got, want)
	}
}
