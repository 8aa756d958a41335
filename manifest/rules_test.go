package manifest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/manifest/internal/avrofile"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/index"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// TestBytesOfBounds: the bytes of bounds at the ends of each type, and which values have none: those of another type or width, decimals, and
// extensions, whose order is not that of their bytes.
func TestBytesOfBounds(t *testing.T) {
	ext := func(n schema.Node, label string) *schema.Node { n.Ext = &schema.Extension{Label: label}; return &n }
	integer := func(b schema.Basic, signed bool) *schema.Node { return &schema.Node{Basic: b, Signed: signed} }
	fixed := func(n uint64) *schema.Node { return &schema.Node{Basic: schema.FixedSizeBinary, FixedSize: n} }
	sixteen := []byte("0123456789abcdef")
	for _, c := range []struct {
		name  string
		n     *schema.Node
		v     any
		upper bool
		want  []byte
	}{
		{"UInt64 0", integer(schema.Int64, false), uint64(0), false, []byte{0}},
		{"UInt64 127", integer(schema.Int64, false), uint64(127), false, []byte{0x7f}},
		{"UInt64 128", integer(schema.Int64, false), uint64(128), false, []byte{0, 0x80}},
		{"UInt64 256", integer(schema.Int64, false), uint64(256), false, []byte{1, 0}},
		{"UInt64 2^15-1", integer(schema.Int64, false), uint64(1<<15 - 1), false, []byte{0x7f, 0xff}},
		{"UInt64 2^15", integer(schema.Int64, false), uint64(1 << 15), false, []byte{0, 0x80, 0}},
		{"UInt64 most", integer(schema.Int64, false), uint64(math.MaxUint64), true, []byte{0, 255, 255, 255, 255, 255, 255, 255, 255}},
		{"UInt8", integer(schema.Int8, false), uint64(255), true, appendInt(255)},
		{"UInt16", integer(schema.Int16, false), uint64(math.MaxUint16), true, appendInt(math.MaxUint16)},
		{"UInt16 beyond", integer(schema.Int16, false), uint64(math.MaxUint16 + 1), true, nil},
		{"UInt32", integer(schema.Int32, false), uint64(math.MaxUint32), true, appendLong(math.MaxUint32)},
		{"UInt32 beyond", integer(schema.Int32, false), uint64(math.MaxUint32 + 1), true, nil},
		{"unsigned, negative", integer(schema.Int32, false), int64(-1), false, nil},
		{"unsigned of an int64", integer(schema.Int32, false), int64(0), false, appendLong(0)},
		{"Int32 least", integer(schema.Int32, true), int64(math.MinInt32), false, appendInt(math.MinInt32)},
		{"Int32 most", integer(schema.Int32, true), int64(math.MaxInt32), true, appendInt(math.MaxInt32)},
		{"Int32 below", integer(schema.Int32, true), int64(math.MinInt32 - 1), false, nil},
		{"Int32 above", integer(schema.Int32, true), int64(math.MaxInt32 + 1), true, nil},
		{"Int8 above", integer(schema.Int8, true), int64(math.MaxInt32 + 1), true, nil},
		{"Int64 of a uint64", integer(schema.Int64, true), uint64(math.MaxInt64), true, appendLong(math.MaxInt64)},
		{"Int64 of a uint64 above", integer(schema.Int64, true), uint64(math.MaxInt64 + 1), true, nil},
		{"time, last", &schema.Node{Basic: schema.DateTime}, uint64(math.MaxInt64), false, appendLong((math.MaxInt64 - epochTicks) / 10)},
		{"time beyond", &schema.Node{Basic: schema.DateTime}, uint64(math.MaxInt64 + 1), true, nil},
		{"Binary", &schema.Node{Basic: schema.Binary}, []byte{1, 2}, true, []byte{1, 2}},
		{"Binary, empty", &schema.Node{Basic: schema.Binary}, []byte{}, true, []byte{}},
		{"Binary of a number", &schema.Node{Basic: schema.Binary}, int64(1), true, nil},
		{"Dynamic", ext(schema.Node{Basic: schema.Binary}, schema.LabelDynamic), []byte{1, 2}, true, nil},
		{"Guid", &schema.Node{Basic: schema.Guid, FixedSize: 16}, sixteen, true, sixteen},
		{"Guid, cut", &schema.Node{Basic: schema.Guid, FixedSize: 16}, sixteen[:15], true, nil},
		{"fixed", fixed(4), []byte{1, 2, 3, 4}, true, []byte{1, 2, 3, 4}},
		{"fixed, another width", fixed(4), []byte{1, 2, 3}, true, nil},
		{"fixed of a number", fixed(4), int64(4), true, nil},
		{"fixed of nothing", fixed(0), int64(4), true, nil},
		{"Decimal", ext(*fixed(16), schema.LabelDecimal), sixteen, true, nil},
		{"a list", &schema.Node{Basic: schema.List}, []byte{1}, true, nil},
	} {
		got := encodeBound(c.n, c.v, c.upper)
		if string(got) != string(c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %x, want %x", c.name, got, c.want)
		}
	}
	for ticks, want := range map[int64][2]int64{0: {0, 0}, 1: {0, 1}, 9: {0, 1}, 10: {1, 1}, 11: {1, 2}, -1: {-1, 0}, -9: {-1, 0}, -10: {-1, -1}, -11: {-2, -1}} {
		if got := [2]int64{shardfmt.DateTime(epochTicks + ticks).UnixMicro(false), shardfmt.DateTime(epochTicks + ticks).UnixMicro(true)}; got != want {
			t.Errorf("tick %d: %v, want %v", ticks, got, want)
		}
	}
}

// TestBoundsReadBack: bytes that are not values of the column bound nothing.
func TestBoundsReadBack(t *testing.T) {
	integer := func(b schema.Basic, signed bool) *schema.Node { return &schema.Node{Basic: b, Signed: signed} }
	at := &schema.Node{Basic: schema.DateTime}
	const lastMicro, firstMicro = (math.MaxInt64 - epochTicks) / 10, -epochTicks / 10
	for _, c := range []struct {
		name string
		n    *schema.Node
		b    []byte
		want any
	}{
		{"nothing", integer(schema.Int64, true), nil, nil},
		{"Int64", integer(schema.Int64, true), appendLong(-1), filter.Value{Int: -1}},
		{"Int64 that was Int32", integer(schema.Int64, true), appendInt(-1), filter.Value{Int: -1}},
		{"Int64, cut", integer(schema.Int64, true), []byte{1, 2, 3}, nil},
		{"UInt32 0", integer(schema.Int32, false), appendLong(0), filter.Value{Uint: 0}},
		{"UInt32 negative", integer(schema.Int32, false), appendLong(-1), nil},
		{"UInt32, cut", integer(schema.Int32, false), []byte{1}, nil},
		{"UInt64", integer(schema.Int64, false), bigEndian(math.MaxUint64), filter.Value{Uint: math.MaxUint64}},
		{"UInt64, negative", integer(schema.Int64, false), []byte{0x80}, nil},
		{"UInt64, too wide", integer(schema.Int64, false), []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}, nil},
		{"UInt64, no bytes", integer(schema.Int64, false), []byte{}, nil},
		{"time, first", at, appendLong(firstMicro), filter.Value{Int: 0}},
		{"time, before the first", at, appendLong(firstMicro - 1), nil},
		{"time, last", at, appendLong(lastMicro), filter.Value{Int: lastMicro*10 + epochTicks}},
		{"time, after the last", at, appendLong(lastMicro + 1), nil},
		{"date", at, appendInt(1), filter.Value{Int: epochTicks + 24*60*60*10_000_000}},
		{"time, cut", at, []byte{1}, nil},
		{"NaN", &schema.Node{Basic: schema.Float64}, singleValue(math.NaN()), nil},
		{"Boolean", &schema.Node{Basic: schema.Boolean}, []byte{1}, filter.Value{Bool: true}},
		{"Boolean, two bytes", &schema.Node{Basic: schema.Boolean}, []byte{1, 0}, nil},
		{"Decimal", &schema.Node{Basic: schema.FixedSizeBinary, FixedSize: 16, Ext: &schema.Extension{Label: schema.LabelDecimal}}, make([]byte, 16), nil},
		{"fixed", &schema.Node{Basic: schema.FixedSizeBinary, FixedSize: 1}, []byte{7}, filter.Value{Bytes: []byte{7}}},
	} {
		got := boundValue(c.n, c.b)
		if want, ok := c.want.(filter.Value); (got != nil) != ok || ok && !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// ruleTable has columns of several types, a nested one and one that shards write without a name for it.
func ruleTable() *TableSchema {
	return NewTableSchema(iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 2, Name: "ts", Type: iceberg.PrimitiveTypes.TimestampTz},
		iceberg.NestedField{ID: 3, Name: "s", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 4, Name: "d", Type: iceberg.PrimitiveTypes.Date},
		iceberg.NestedField{ID: 5, Name: "f", Type: iceberg.PrimitiveTypes.Float64},
		iceberg.NestedField{ID: 6, Name: "at", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{{ID: 7, Name: "x", Type: iceberg.PrimitiveTypes.Int64}}}},
	), TypeNotes{})
}

// nodeOf is the node of a field id.
func nodeOf(ts *TableSchema, id int) uint32 { return ts.Node(id).ID }

// TestWhatEntriesSay: a column that a shard lacks is null in all its rows, one that another file lacks or that is nested may be anything; counts and
// the absence of NaN are reported only where they are known.
func TestWhatEntriesSay(t *testing.T) {
	ts := ruleTable()
	e := &Entry{Path: "file:///v/a.amudai.shard", Format: Format, Records: 7, Columns: map[int]Column{
		1: {Values: 7, Nulls: 0, NaNs: Unknown, Lower: appendLong(1), Upper: appendLong(9)},
		2: {Values: 0, Nulls: 0, NaNs: Unknown},
		3: {Values: 7, Nulls: Unknown, NaNs: 0, Lower: []byte("b")},
		4: {Values: Unknown, Nulls: 3, NaNs: 1},
	}}
	one, nine, b := filter.Value{Int: 1}, filter.Value{Int: 9}, filter.Value{Bytes: []byte("b")}
	for id, want := range map[int]*filter.Stats{
		1: {Min: &one, Max: &nine, Positions: 7, NullsKnown: true},
		2: {NullsKnown: true},
		3: {Min: &b, NoNaNs: true},
		4: {},
		5: {Positions: 7, Nulls: 7, NullsKnown: true},
		6: {Positions: 7, Nulls: 7, NullsKnown: true},
		7: nil,
	} {
		if got := ts.Stats(e, nodeOf(ts, id)); !reflect.DeepEqual(got, want) {
			t.Errorf("column %d: %+v, want %+v", id, got, want)
		}
	}
	foreign := &Entry{Path: "file:///v/a.parquet", Format: "PARQUET", Records: 7}
	if got := ts.Stats(foreign, nodeOf(ts, 5)); got != nil {
		t.Errorf("of a file that is no shard: %+v", got)
	}
}

// specOf makes a partition spec of source ids and transforms; the fields have the ids 1000 and following.
func specOf(fields ...any) iceberg.PartitionSpec {
	var out []iceberg.PartitionField
	for i := 0; i < len(fields); i += 2 {
		out = append(out, iceberg.PartitionField{SourceIDs: []int{fields[i].(int)}, FieldID: 1000 + i/2, Name: fmt.Sprint("p", i), Transform: fields[i+1].(iceberg.Transform)})
	}
	return iceberg.NewPartitionSpec(out...)
}

// TestWhatPartitionsSay: the first field of a spec that states something of a column counts, whatever fields stand before it.
func TestWhatPartitionsSay(t *testing.T) {
	ts := ruleTable()
	id, voidT, bucket, trunc := iceberg.IdentityTransform{}, iceberg.VoidTransform{}, iceberg.BucketTransform{NumBuckets: 4}, iceberg.TruncateTransform{Width: 2}
	at := func(v int64) *filter.Value { return &filter.Value{Int: v} }
	null := &filter.Stats{Positions: 1, Nulls: 1, NullsKnown: true}
	five := &filter.Stats{Min: at(5), Max: at(5)}
	for name, c := range map[string]struct {
		spec  iceberg.PartitionSpec
		tuple map[int]any
		of    int
		want  *filter.Stats
	}{
		"its own":                           {specOf(1, id), map[int]any{1000: int64(5)}, 1, five},
		"another column's":                  {specOf(1, id), map[int]any{1000: int64(5)}, 5, nil},
		"behind another column":             {specOf(3, id, 1, id), map[int]any{1000: "a", 1001: int64(5)}, 1, five},
		"behind void":                       {specOf(1, voidT, 1, id), map[int]any{1000: nil, 1001: int64(5)}, 1, five},
		"void alone":                        {specOf(1, voidT), map[int]any{1000: nil}, 1, nil},
		"behind a bucket":                   {specOf(1, bucket, 1, id), map[int]any{1000: int32(3), 1001: int64(5)}, 1, five},
		"behind a truncation":               {specOf(1, trunc, 1, id), map[int]any{1000: int64(4), 1001: int64(5)}, 1, five},
		"behind one that the tuple lacks":   {specOf(1, bucket, 1, id), map[int]any{1001: int64(5)}, 1, five},
		"none in the tuple":                 {specOf(1, id), map[int]any{}, 1, nil},
		"null":                              {specOf(1, id), map[int]any{1000: nil}, 1, null},
		"null of a bucket":                  {specOf(1, bucket), map[int]any{1000: nil}, 1, null},
		"a time":                            {specOf(2, id), map[int]any{1000: iceberg.Timestamp(0)}, 2, &filter.Stats{Min: at(epochTicks), Max: at(epochTicks + 10), MaxExclusive: true}},
		"the last time":                     {specOf(2, id), map[int]any{1000: iceberg.Timestamp(math.MaxInt64)}, 2, nil},
		"a date":                            {specOf(4, id), map[int]any{1000: iceberg.Date(0)}, 4, &filter.Stats{Min: at(epochTicks), Max: at(epochTicks + 10*microsPerDay), MaxExclusive: true}},
		"the last date":                     {specOf(4, id), map[int]any{1000: iceberg.Date(math.MaxInt32)}, 4, nil},
		"the last hour of all":              {specOf(2, iceberg.HourTransform{}), map[int]any{1000: int32(math.MaxInt32)}, 2, nil},
		"a day as a number":                 {specOf(2, iceberg.DayTransform{}), map[int]any{1000: int32(1)}, 2, &filter.Stats{Min: at(epochTicks + 10*microsPerDay), Max: at(epochTicks + 20*microsPerDay), MaxExclusive: true}},
		"a year of another type than years": {specOf(2, iceberg.YearTransform{}), map[int]any{1000: "2024"}, 2, nil},
	} {
		if got := ts.PartitionStats(c.spec, c.tuple, nodeOf(ts, c.of)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	bounds := func(low, high any) iceberg.FieldSummary {
		l, h := singleValue(low), singleValue(high)
		return iceberg.FieldSummary{LowerBound: &l, UpperBound: &h}
	}
	no, yes := false, true
	nan := func(s iceberg.FieldSummary, v *bool) iceberg.FieldSummary { s.ContainsNaN = v; return s }
	nulls := bounds(int64(1), int64(2))
	nulls.ContainsNull = true
	oneSided := bounds(int64(1), int64(2))
	oneSided.UpperBound = nil
	range19 := &filter.Stats{Min: at(1), Max: at(9)}
	for name, c := range map[string]struct {
		spec      iceberg.PartitionSpec
		summaries []iceberg.FieldSummary
		of        int
		want      *filter.Stats
	}{
		"a range":               {specOf(1, id), []iceberg.FieldSummary{bounds(int64(1), int64(9))}, 1, range19},
		"no summaries":          {specOf(1, id), nil, 1, nil},
		"with nulls":            {specOf(1, id), []iceberg.FieldSummary{nulls}, 1, nil},
		"behind one with nulls": {specOf(1, bucket, 1, id), []iceberg.FieldSummary{nulls, bounds(int64(1), int64(9))}, 1, range19},
		"behind another column": {specOf(3, id, 1, id), []iceberg.FieldSummary{bounds("a", "b"), bounds(int64(1), int64(9))}, 1, range19},
		"behind a bucket":       {specOf(1, bucket, 1, id), []iceberg.FieldSummary{bounds(int32(1), int32(2)), bounds(int64(1), int64(9))}, 1, range19},
		"one end":               {specOf(1, id), []iceberg.FieldSummary{oneSided}, 1, nil},
		"with NaN":              {specOf(5, id), []iceberg.FieldSummary{nan(bounds(1.0, 2.0), &yes)}, 5, nil},
		"without NaN":           {specOf(5, id), []iceberg.FieldSummary{nan(bounds(1.0, 2.0), &no)}, 5, &filter.Stats{Min: &filter.Value{Float: 1}, Max: &filter.Value{Float: 2}}},
		"up to the last time":   {specOf(2, id), []iceberg.FieldSummary{bounds(iceberg.Timestamp(0), iceberg.Timestamp(math.MaxInt64))}, 2, &filter.Stats{Min: at(epochTicks)}},
	} {
		if got := ts.SummaryStats(c.spec, c.summaries, nodeOf(ts, c.of)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestPartitionOfBounds: an entry lies in a partition only if its bounds and counts prove it of every row.
func TestPartitionOfBounds(t *testing.T) {
	ts := ruleTable()
	id, day, bucket := iceberg.IdentityTransform{}, iceberg.DayTransform{}, iceberg.BucketTransform{NumBuckets: 4}
	column := func(low, high []byte) Column {
		return Column{Values: 5, Nulls: 0, NaNs: Unknown, Lower: low, Upper: high}
	}
	with := func(c Column, change func(*Column)) Column { change(&c); return c }
	five := column(appendLong(5), appendLong(5))
	lastMicro := microsPerDay - int64(1)
	float := column(singleValue(1.0), singleValue(1.0))
	bucketOf5 := bucket.Apply(iceberg.Optional[iceberg.Literal]{Val: iceberg.Int64Literal(5), Valid: true}).Val.Any()
	for name, c := range map[string]struct {
		source    int
		transform iceberg.Transform
		column    *Column
		latest    []byte
		want      any
		refused   bool
	}{
		"one value":                        {1, id, &five, nil, int64(5), false},
		"two values":                       {1, id, ptr(column(appendLong(5), appendLong(6))), nil, nil, true},
		"no column":                        {1, id, nil, nil, nil, false},
		"nulls only":                       {1, id, ptr(Column{Values: 5, Nulls: 5, NaNs: Unknown}), nil, nil, false},
		"some nulls":                       {1, id, ptr(with(five, func(c *Column) { c.Nulls = 1 })), nil, nil, true},
		"unknown nulls":                    {1, id, ptr(with(five, func(c *Column) { c.Nulls = Unknown })), nil, nil, true},
		"unknown nulls and values":         {1, id, ptr(with(five, func(c *Column) { c.Nulls, c.Values = Unknown, Unknown })), nil, nil, true},
		"no lower bound":                   {1, id, ptr(column(nil, appendLong(5))), nil, nil, true},
		"no upper bound":                   {1, id, ptr(column(appendLong(5), nil)), nil, nil, true},
		"void":                             {1, iceberg.VoidTransform{}, ptr(column(nil, nil)), nil, nil, false},
		"a day":                            {2, day, ptr(column(appendLong(0), appendLong(lastMicro))), nil, iceberg.Date(0), false},
		"two days":                         {2, day, ptr(column(appendLong(0), appendLong(lastMicro+1))), nil, nil, true},
		"a day up to its last tick":        {2, day, ptr(column(appendLong(0), appendLong(lastMicro+1))), appendLong(lastMicro), iceberg.Date(0), false},
		"bucket of one value":              {1, bucket, &five, nil, bucketOf5, false},
		"bucket of two values":             {1, bucket, ptr(column(appendLong(5), appendLong(6))), nil, nil, true},
		"a float without NaN":              {5, id, ptr(with(float, func(c *Column) { c.NaNs = 0 })), nil, 1.0, false},
		"a float and NaN":                  {5, id, ptr(with(float, func(c *Column) { c.NaNs = 1 })), nil, nil, true},
		"a float, it is unknown about NaN": {5, id, &float, nil, nil, true},
	} {
		e := &Entry{Path: "file:///v/a.amudai.shard", Format: Format, Records: 5, Columns: map[int]Column{}, latest: map[int][]byte{}}
		if c.column != nil {
			e.Columns[c.source] = *c.column
		}
		if c.latest != nil {
			e.latest[c.source] = c.latest
		}
		tuple, err := PartitionOf(e, specOf(c.source, c.transform), ts.Iceberg)
		if (err != nil) != c.refused || err != nil && !errors.Is(err, ErrPartition) || err == nil && tuple[1000] != c.want {
			t.Errorf("%s: %v, %v; want %v", name, tuple, err, c.want)
		}
	}
}

// TestPartitionOfBoundsThatAreNone: bounds that are no value of their column prove nothing, and least of all that the partition is that of nulls.
func TestPartitionOfBoundsThatAreNone(t *testing.T) {
	ts := ruleTable()
	good, bad := appendLong(5), []byte{1, 2, 3}
	for name, c := range map[string]Column{
		"lower": {Values: 5, NaNs: Unknown, Lower: bad, Upper: good},
		"upper": {Values: 5, NaNs: Unknown, Lower: good, Upper: bad},
		"both":  {Values: 5, NaNs: Unknown, Lower: bad, Upper: bad},
	} {
		for _, transform := range []iceberg.Transform{iceberg.IdentityTransform{}, iceberg.BucketTransform{NumBuckets: 4}} {
			e := &Entry{Path: "file:///v/a.amudai.shard", Format: Format, Records: 5, Columns: map[int]Column{1: c}}
			if tuple, err := PartitionOf(e, specOf(1, transform), ts.Iceberg); err == nil || tuple != nil {
				t.Errorf("%s, %s: %v, %v", name, transform, tuple, err)
			}
		}
	}
}

// TestDataFilesOfNoEntry: what can't be an entry of a manifest is an error, not an entry of nothing.
func TestDataFilesOfNoEntry(t *testing.T) {
	ts, spec := ruleTable(), *iceberg.UnpartitionedSpec
	for name, c := range map[string]struct {
		e  Entry
		ok bool
	}{
		"an entry":     {Entry{Path: "file:///v/a.amudai.shard", Format: Format, Records: 5, RootBytes: 100}, true},
		"without path": {Entry{Format: Format, Records: 5, RootBytes: 100}, false},
	} {
		f, err := c.e.DataFile(spec, ts.Iceberg)
		if (err == nil) != c.ok || (f != nil) != c.ok || f != nil && (f.FilePath() != c.e.Path || f.FileFormat() != Format) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// cursorOf reads a block of these bytes.
func cursorOf(t *testing.T, body []byte) *avrofile.Cursor {
	t.Helper()
	f, err := avrofile.Open(avro(`{"type":"record","name":"r","fields":[{"name":"x","type":"int"}]}`, false, nil, 1, body))
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range f.Blocks() {
		if err != nil {
			t.Fatal(err)
		}
		return &b.Cursor
	}
	t.Fatal("no block")
	return nil
}

// TestPartitionValueTypes: which types of partition values are read, as what; the others are left to iceberg-go.
func TestPartitionValueTypes(t *testing.T) {
	type typ = avrofile.Type
	for name, c := range map[string]struct {
		t    typ
		day  bool
		body []byte
		want any // nil: left
	}{
		"int":                {typ{Kind: avrofile.Int}, false, []byte{2}, int32(1)},
		"int of a day":       {typ{Kind: avrofile.Int}, true, []byte{2}, iceberg.Date(1)},
		"date":               {typ{Kind: avrofile.Int, Logical: "date"}, false, []byte{2}, iceberg.Date(1)},
		"long of a day":      {typ{Kind: avrofile.Long}, true, []byte{2}, int64(1)},
		"long":               {typ{Kind: avrofile.Long}, false, []byte{2}, int64(1)},
		"time":               {typ{Kind: avrofile.Long, Logical: "timestamp-micros"}, false, []byte{2}, iceberg.Timestamp(1)},
		"nanoseconds":        {typ{Kind: avrofile.Long, Logical: "timestamp-nanos"}, false, []byte{2}, nil},
		"int of a time":      {typ{Kind: avrofile.Int, Logical: "timestamp-micros"}, false, []byte{2}, nil},
		"bytes":              {typ{Kind: avrofile.Bytes}, false, []byte{2, 7}, []byte{7}},
		"decimal in bytes":   {typ{Kind: avrofile.Bytes, Logical: "decimal"}, false, []byte{2, 7}, nil},
		"fixed":              {typ{Kind: avrofile.Fixed, Size: 16}, false, make([]byte, 16), nil},
		"uuid":               {typ{Kind: avrofile.Fixed, Logical: "uuid", Size: 16}, false, []byte("0123456789abcdef"), uuid.UUID([]byte("0123456789abcdef"))},
		"uuid of 15":         {typ{Kind: avrofile.Fixed, Logical: "uuid", Size: 15}, false, make([]byte, 15), nil},
		"string of a uuid":   {typ{Kind: avrofile.String, Logical: "uuid"}, false, []byte{2, 'a'}, nil},
		"string":             {typ{Kind: avrofile.String}, false, []byte{2, 'a'}, "a"},
		"decimal":            {typ{Kind: avrofile.Fixed, Logical: "decimal", Size: 2, Scale: 1}, false, []byte{1, 0}, iceberg.DecimalLiteral{Scale: 1, Val: decimal128.FromI64(256)}},
		"decimal 0":          {typ{Kind: avrofile.Fixed, Logical: "decimal", Size: 1}, false, []byte{0}, iceberg.DecimalLiteral{Val: decimal128.FromI64(0)}},
		"negative decimal":   {typ{Kind: avrofile.Fixed, Logical: "decimal", Size: 1}, false, []byte{0x80}, iceberg.DecimalLiteral{Val: decimal128.FromI64(-128)}},
		"decimal of 16":      {typ{Kind: avrofile.Fixed, Logical: "decimal", Size: 16}, false, append(make([]byte, 15), 9), iceberg.DecimalLiteral{Val: decimal128.FromI64(9)}},
		"decimal of 17":      {typ{Kind: avrofile.Fixed, Logical: "decimal", Size: 17}, false, make([]byte, 17), nil},
		"bytes of a uuid":    {typ{Kind: avrofile.Bytes, Logical: "uuid", Size: 16}, false, []byte{0}, nil},
		"decimal of no size": {typ{Kind: avrofile.Fixed, Logical: "decimal", Size: 0}, false, []byte{0}, iceberg.DecimalLiteral{}},
	} {
		read, ok := partitionValueReader(&c.t, c.day)
		if ok != (c.want != nil) {
			t.Errorf("%s: read: %v", name, ok)
		}
		if !ok || c.want == nil {
			continue
		}
		if got := read(cursorOf(t, c.body)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, want %#v", name, got, c.want)
		}
	}
	record := &typ{Kind: avrofile.Record, Fields: []avrofile.Field{{Name: "p0", ID: 1000, Type: &typ{Kind: avrofile.Int}}, {Name: "p2", ID: 1001, Type: &typ{Kind: avrofile.Int}}}}
	for spec, want := range map[string]map[int]any{
		`[{"source-id":2,"field-id":1000,"name":"p0","transform":"day"},{"source-id":2,"field-id":1001,"name":"p2","transform":"hour"}]`: {1000: iceberg.Date(1), 1001: int32(2)},
		"no JSON": {1000: int32(1), 1001: int32(2)},
	} {
		r, err := newPartitionReader(record, []byte(spec))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.read(cursorOf(t, []byte{2, 4}), record); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, want %#v", spec, got, want)
		}
	}
}

// TestRequiredFieldsOfFiles: fields are found by name, else by a field id other than 0, at every depth.
func TestRequiredFieldsOfFiles(t *testing.T) {
	text, number := &avrofile.Type{Kind: avrofile.String}, &avrofile.Type{Kind: avrofile.Long}
	record := func(fields ...avrofile.Field) *avrofile.Type {
		return &avrofile.Type{Kind: avrofile.Record, Fields: fields}
	}
	inner := []requiredField{{id: 100, name: "path", kinds: textual}}
	want := []requiredField{{id: 0, name: "status", kinds: numeric}, {id: 2, name: "file", kinds: []avrofile.Kind{avrofile.Record}, of: inner}}
	status := avrofile.Field{Name: "status", Type: number}
	path := avrofile.Field{Name: "path", ID: 100, Type: text}
	for name, c := range map[string]struct {
		t  *avrofile.Type
		ok bool
	}{
		"by name":                        {record(status, avrofile.Field{Name: "file", ID: 2, Type: record(path)}), true},
		"by id":                          {record(status, avrofile.Field{Name: "x", ID: 2, Type: record(avrofile.Field{Name: "y", ID: 100, Type: text})}), true},
		"by id, behind others":           {record(status, avrofile.Field{Name: "w", ID: 5, Type: text}, avrofile.Field{Name: "x", ID: 2, Type: record(path)}, avrofile.Field{Name: "z", ID: 7, Type: text}), true},
		"the id 0 names nothing":         {record(avrofile.Field{Name: "state", Type: number}, avrofile.Field{Name: "file", ID: 2, Type: record(path)}), false},
		"another id":                     {record(status, avrofile.Field{Name: "x", ID: 3, Type: record(path)}), false},
		"another name and id below":      {record(status, avrofile.Field{Name: "file", ID: 2, Type: record(avrofile.Field{Name: "y", ID: 101, Type: text})}), false},
		"another type":                   {record(avrofile.Field{Name: "status", Type: text}, avrofile.Field{Name: "file", ID: 2, Type: record(path)}), false},
		"another type below":             {record(status, avrofile.Field{Name: "file", ID: 2, Type: record(avrofile.Field{Name: "path", ID: 100, Type: number})}), false},
		"no record below":                {record(status, avrofile.Field{Name: "file", ID: 2, Type: text}), false},
		"no record":                      {text, false},
		"nothing":                        {nil, false},
		"by name though an id says so":   {record(avrofile.Field{Name: "other", ID: 2, Type: text}, status, avrofile.Field{Name: "file", ID: 9, Type: record(path)}), true},
		"the one with the id has a kind": {record(status, avrofile.Field{Name: "x", ID: 2, Type: number}), false},
	} {
		if err := checkFields(c.t, want); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n, ok := range map[int64]bool{-1: false, 0: true, 1: true} {
		if err := checkNumbers("a", 5, n); (err == nil) != ok {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// TestTermFiltersOfAnEntry: a filter that is refused, of columns that are gone, or of stripes that the shard lacks hides no other, and filters are one run
// only where nothing but the place differs.
func TestTermFiltersOfAnEntry(t *testing.T) {
	ts := ruleTable()
	m := index.Matrix{ID: 1 << 63, Rows: 64, Columns: 8}
	words := []TermField{{ID: 3, Type: "String", Tokenizer: "unicode-log"}}
	hashes := []TermField{{ID: 1, Type: "Int64", Prefix: "n:"}}
	good := func(stripe, count int) TermFilter {
		return TermFilter{Object: "data/x.amudai.filter", Matrix: m, Stripe: stripe, Count: count, Column: stripe, Fields: words}
	}
	change := func(f TermFilter, do func(*TermFilter)) TermFilter { do(&f); return f }
	for name, c := range map[string]struct {
		filters []TermFilter
		stripes int64
		want    []int // filters of each stripe
	}{
		"one of each stripe":     {[]TermFilter{good(0, 3)}, 3, []int{1, 1, 1}},
		"of the last stripe":     {[]TermFilter{good(2, 1)}, 3, []int{0, 0, 1}},
		"of a stripe too many":   {[]TermFilter{good(2, 2), good(0, 1)}, 3, []int{1, 0, 0}},
		"refused":                {[]TermFilter{change(good(0, 1), func(f *TermFilter) { f.Object = "file:///elsewhere/x" }), good(0, 2)}, 3, []int{1, 1, 0}},
		"of a column that went":  {[]TermFilter{change(good(0, 1), func(f *TermFilter) { f.Fields = []TermField{{ID: 99, Type: "String", Tokenizer: "unicode-log"}} }), good(0, 1)}, 2, []int{1, 0}},
		"an unknown tokenizer":   {[]TermFilter{change(good(0, 1), func(f *TermFilter) { f.Fields = []TermField{{ID: 3, Type: "String", Tokenizer: "no such"}} }), good(0, 1)}, 2, []int{1, 0}},
		"terms of a number":      {[]TermFilter{change(good(0, 1), func(f *TermFilter) { f.Fields = []TermField{{ID: 1, Type: "String", Tokenizer: "unicode-log"}} }), good(0, 1)}, 2, []int{1, 0}},
		"hashes of a number":     {[]TermFilter{change(good(0, 1), func(f *TermFilter) { f.Hash, f.Fields = true, hashes })}, 1, []int{1}},
		"hashes of a text":       {[]TermFilter{change(good(0, 1), func(f *TermFilter) { f.Hash = true; f.Fields = []TermField{{ID: 3, Type: "String"}} })}, 1, []int{1}},
		"no stripes":             {[]TermFilter{good(0, 1)}, 0, nil},
		"as many as may be":      {[]TermFilter{good(0, 1)}, maxSiftedStripes, append([]int{1}, make([]int, maxSiftedStripes-1)...)},
		"more than may be":       {[]TermFilter{good(0, 1)}, maxSiftedStripes + 1, nil},
		"no filters":             {nil, 3, nil},
		"two of the same stripe": {[]TermFilter{good(1, 1), change(good(1, 1), func(f *TermFilter) { f.Object = "data/y.amudai.filter" })}, 2, []int{0, 2}},
	} {
		e := &Entry{Path: termsRoot, Format: Format, Terms: encodeTerms(termsRoot, c.filters), Private: Private{Stripes: c.stripes}}
		var got []int
		for _, f := range ts.TermFilters(e, urlresolve.Policy{}) {
			got = append(got, len(f))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got[:min(9, len(got))], c.want[:min(9, len(c.want))])
		}
	}
	// A field that this table does not have hides none behind it.
	fields := ts.filterFields(&TermFilter{Fields: slices.Concat([]TermField{{ID: 99, Tokenizer: "unicode-log"}, {ID: 1, Tokenizer: "unicode-log"}}, words)})
	if len(fields) != 1 || fields[0].Node != nodeOf(ts, 3) {
		t.Errorf("%+v", fields)
	}
	a := good(0, 1)
	for name, b := range map[string]TermFilter{
		"behind":         good(1, 1),
		"a gap":          change(good(2, 1), func(f *TermFilter) { f.Column = 1 }),
		"another column": change(good(1, 1), func(f *TermFilter) { f.Column = 2 }),
		"another object": change(good(1, 1), func(f *TermFilter) { f.Object = "data/y.amudai.filter" }),
		"another place":  change(good(1, 1), func(f *TermFilter) { f.Start = 64 }),
		"another matrix": change(good(1, 1), func(f *TermFilter) { f.ID++ }),
		"hashes":         change(good(1, 1), func(f *TermFilter) { f.Hash = true }),
		"other fields":   change(good(1, 1), func(f *TermFilter) { f.Fields = hashes }),
	} {
		got := joinRuns([]TermFilter{a, b})
		if want := 2; name == "behind" {
			if len(got) != 1 || got[0].Count != 2 {
				t.Errorf("%s: %+v", name, got)
			}
		} else if len(got) != want || got[0].Count != 1 {
			t.Errorf("%s: one run of filters that are not: %+v", name, got)
		}
	}
	// What a shard has of fields that are not columns is left out, not what comes after it.
	f := &index.TermFilter{Object: "file:///vault/t/data/x.amudai.filter", Matrix: m, Hash: true, Fields: []index.TermField{{Node: 0, Type: "Int64"}, {Node: 7, Type: "Int64"}, {Node: 1, Type: "Int64"}}}
	if got := termFilters(termsRoot, [][]*index.TermFilter{{f}}, []int{0, 1}); len(got) != 1 || len(got[0].Fields) != 1 || got[0].Fields[0].ID != 1 {
		t.Errorf("%+v", got)
	}
	if got := termFilters(termsRoot, [][]*index.TermFilter{{f}}, []int{0, 0}); len(got) != 0 {
		t.Errorf("of no column: %+v", got)
	}
}

// TestChangesAcrossSpecs: one change adds entries of several partition specs and removes others, whatever their order and whatever lies between them.
func TestChangesAcrossSpecs(t *testing.T) {
	b := newBench(t, ptr(specOf(1, iceberg.IdentityTransform{})))
	second := specOf(2, iceberg.DayTransform{})
	meta, err := table.UpdateTableMetadata(b.meta, []table.Update{table.NewAddPartitionSpecUpdate(&second, false)}, "")
	if err != nil {
		t.Fatal(err)
	}
	b.meta = meta
	var specs []int
	for s := range meta.PartitionSpecs() {
		specs = append(specs, meta.PartitionSpecs()[s].ID())
	}
	if len(specs) != 2 {
		t.Fatalf("specs %v", specs)
	}
	entry := func(i, spec int) *Entry {
		e := fake(i)
		e.SpecID, e.Partition = specs[spec], map[int]any{}
		for _, f := range meta.PartitionSpecByID(specs[spec]).Fields() {
			e.Partition[f.FieldID] = nil
		}
		return e
	}
	paths := func() (out []string) {
		for _, e := range b.live() {
			out = append(out, strings.TrimLeft(strings.TrimSuffix(e.Path[strings.LastIndexByte(e.Path, '/')+1:], ".amudai.shard"), "0"))
		}
		return out
	}
	b.commit(Change{Operation: table.OpAppend, Add: []*Entry{entry(1, 0), entry(2, 1), entry(3, 0), entry(4, 1), entry(5, 0), entry(6, 1)}})
	if got := paths(); !slices.Equal(got, []string{"1", "2", "3", "4", "5", "6"}) {
		t.Fatalf("%v", got)
	}
	// Each manifest has an entry that went before those that go now.
	b.commit(Change{Operation: table.OpDelete, Remove: []string{fake(1).Path, fake(2).Path}})
	b.commit(Change{Operation: table.OpReplace, Remove: []string{fake(3).Path, fake(6).Path}, Add: []*Entry{entry(7, 0), entry(8, 1)}})
	if got := paths(); !slices.Equal(got, []string{"4", "5", "7", "8"}) {
		t.Errorf("%v", got)
	}
	if got := b.meta.CurrentSnapshot().Summary.Properties["total-data-files"]; got != "4" {
		t.Errorf("total-data-files %s", got)
	}
}
