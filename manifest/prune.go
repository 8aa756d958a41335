package manifest

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Stats are what an entry says of a field of the table, as filters take it; nil if it says nothing. A field that
// the shard lacks is null in all its rows.
func (t *TableSchema) Stats(e *Entry, node uint32) *filter.Stats {
	return t.StatsInto(e, node, &FieldStats{})
}

// FieldStats is memory for what an entry says of a field.
type FieldStats struct {
	stats     filter.Stats
	low, high filter.Value
}

// StatsInto is Stats in memory of the caller's, which is used again for the next entry.
func (t *TableSchema) StatsInto(e *Entry, node uint32, into *FieldStats) *filter.Stats {
	id := t.IDs[node]
	c, ok := e.Columns[id]
	if !ok {
		if !e.IsShard() || !t.topLevel(id) {
			return nil
		}
		into.stats = filter.Stats{Positions: uint64(e.Records), Nulls: uint64(e.Records), NullsKnown: true}
		return &into.stats
	}
	return t.stats(id, c, into)
}

func (t *TableSchema) topLevel(id int) bool {
	for _, f := range t.Shard.Fields {
		if t.IDs[f.ID] == id {
			return true
		}
	}
	return false
}

func (t *TableSchema) stats(id int, c Column, into *FieldStats) *filter.Stats {
	n := t.nodes[id]
	s := &into.stats
	*s = filter.Stats{NoNaNs: c.NaNs == 0}
	var ok bool
	if into.low, ok = Bound(n, c.Lower); ok {
		s.Min = &into.low
	}
	if into.high, ok = Bound(n, c.Upper); ok {
		s.Max = &into.high
	}
	if c.Values >= 0 && c.Nulls >= 0 {
		s.Positions, s.Nulls, s.NullsKnown = uint64(c.Values), uint64(c.Nulls), true
	}
	return s
}

// PartitionStats are what a partition tuple says of a field: the range of values that lie in the partition.
func (t *TableSchema) PartitionStats(spec iceberg.PartitionSpec, tuple map[int]any, node uint32) *filter.Stats {
	id := t.IDs[node]
	for _, f := range spec.Fields() {
		if f.SourceID() != id {
			continue
		}
		if _, void := f.Transform.(iceberg.VoidTransform); void {
			continue
		}
		v, ok := tuple[f.FieldID]
		switch {
		case !ok:
			continue
		case v == nil:
			return &filter.Stats{Positions: 1, Nulls: 1, NullsKnown: true}
		}
		if low, high := sourceRange(f.Transform, v); low != nil || high != nil {
			return &filter.Stats{Min: BoundValue(t.nodes[id], low), Max: BoundValue(t.nodes[id], high)}
		}
	}
	return nil
}

// SummaryStats are what a manifest's partition summaries say of a field, over all its entries.
func (t *TableSchema) SummaryStats(spec iceberg.PartitionSpec, summaries []iceberg.FieldSummary, node uint32) *filter.Stats {
	id := t.IDs[node]
	partition := spec.PartitionType(t.Iceberg).FieldList
	for i, f := range spec.FieldsBySourceID(id) {
		at := fieldIndex(partition, f.FieldID)
		if at < 0 || at >= len(summaries) || i > 0 {
			continue
		}
		s := summaries[at]
		if s.ContainsNull || s.ContainsNaN != nil && *s.ContainsNaN || s.LowerBound == nil || s.UpperBound == nil {
			return nil
		}
		low, _ := sourceRangeOf(f.Transform, partition[at].Type, *s.LowerBound)
		_, high := sourceRangeOf(f.Transform, partition[at].Type, *s.UpperBound)
		return &filter.Stats{Min: BoundValue(t.nodes[id], low), Max: BoundValue(t.nodes[id], high)}
	}
	return nil
}

func fieldIndex(fields []iceberg.NestedField, id int) int {
	for i, f := range fields {
		if f.ID == id {
			return i
		}
	}
	return -1
}

func sourceRangeOf(t iceberg.Transform, typ iceberg.Type, bound []byte) (low, high []byte) {
	lit, err := iceberg.LiteralFromBytes(typ, bound)
	if err != nil {
		return nil, nil
	}
	return sourceRange(t, lit.Any())
}

// sourceRange is the range of source values that a transform maps to v, in single-value form; nil where the
// transform does not keep order (buckets) or its range is not worked out (truncation).
func sourceRange(t iceberg.Transform, v any) (low, high []byte) {
	switch t.(type) {
	case iceberg.IdentityTransform:
		b := singleValue(v)
		return b, b
	case iceberg.DayTransform:
		return timeRange(v, func(n int64) time.Time { return epoch().AddDate(0, 0, int(n)) })
	case iceberg.MonthTransform:
		return timeRange(v, func(n int64) time.Time { return epoch().AddDate(0, int(n), 0) })
	case iceberg.YearTransform:
		return timeRange(v, func(n int64) time.Time { return epoch().AddDate(int(n), 0, 0) })
	case iceberg.HourTransform:
		return timeRange(v, func(n int64) time.Time { return epoch().Add(time.Duration(n) * time.Hour) })
	}
	return nil, nil
}

func epoch() time.Time { return time.Unix(0, 0).UTC() }

// maxPartitionUnit keeps year, month, day and hour numbers where time.Time and microseconds hold them: 200,000
// years would overflow, hours of year 9999 (about 7e7) do not.
const maxPartitionUnit = 100_000_000

// timeRange is the half-open range from unit n to the next one, closed at the last microsecond.
func timeRange(v any, start func(n int64) time.Time) (low, high []byte) {
	var n int64
	switch v := v.(type) {
	case int32:
		n = int64(v)
	case iceberg.Date:
		n = int64(v)
	default:
		return nil, nil
	}
	first, next := start(n), start(n+1)
	if n > maxPartitionUnit || n < -maxPartitionUnit || first.Year() < 1 || next.Year() > 10000 {
		return nil, nil
	}
	return appendLong(first.UnixMicro()), appendLong(next.UnixMicro())
}

// singleValue encodes a partition value as a bound.
func singleValue(v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return []byte{1}
		}
		return []byte{0}
	case int32:
		return appendInt(v)
	case int64:
		return appendLong(v)
	case iceberg.Date:
		return appendInt(int32(v))
	case iceberg.Timestamp:
		return appendLong(int64(v))
	case float32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))
	case float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	case string:
		return []byte(v)
	case []byte:
		return v
	case [16]byte:
		return v[:]
	case uuid.UUID:
		return v[:]
	case iceberg.Decimal:
		return singleValue(iceberg.DecimalLiteral(v))
	case iceberg.DecimalLiteral: // as iceberg-go reads it from a manifest
		if b, err := v.MarshalBinary(); err == nil {
			return b
		}
	}
	return nil
}
