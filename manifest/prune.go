package manifest

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/shardfmt/filter"
)

// Stats are what an entry states about a field of the table, as filters take it; nil if it states nothing. A field that
// the shard lacks is null in all its rows.
func (t *TableSchema) Stats(e *Entry, node uint32) *filter.Stats {
	return t.StatsInto(e, node, &FieldStats{})
}

// FieldStats is memory for what an entry states about a field.
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

// PartitionStats are what a partition tuple states about a field: the range of values that lie in the partition.
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
		if s := t.sourceStats(id, sourceRange(f.Transform, v)); s != nil {
			return s
		}
	}
	return nil
}

// SummaryStats are what a manifest's partition summaries state about a field, over all its entries.
func (t *TableSchema) SummaryStats(spec iceberg.PartitionSpec, summaries []iceberg.FieldSummary, node uint32) *filter.Stats {
	id := t.IDs[node]
	i := 0
	for _, f := range spec.Fields() {
		at := i
		i++
		if f.SourceID() != id || at >= len(summaries) {
			continue
		}
		source, ok := t.Iceberg.FindTypeByID(id)
		s := summaries[at]
		if !ok || s.ContainsNull || s.ContainsNaN != nil && *s.ContainsNaN || s.LowerBound == nil || s.UpperBound == nil {
			continue
		}
		low := sourceRangeOf(f.Transform, source, *s.LowerBound)
		high := sourceRangeOf(f.Transform, source, *s.UpperBound)
		if s := t.sourceStats(id, valueRange{low.low, high.high, high.open}); s != nil {
			return s
		}
	}
	return nil
}

// valueRange is a range of source values in single-value form, nil where it has no end. An open range ends
// before high.
type valueRange struct {
	low, high []byte
	open      bool
}

// sourceStats are the statistics of values of a column that lie in r, nil if r excludes none.
func (t *TableSchema) sourceStats(id int, r valueRange) *filter.Stats {
	low, high := boundValue(t.nodes[id], r.low), boundValue(t.nodes[id], r.high)
	if low == nil && high == nil {
		return nil
	}
	return &filter.Stats{Min: low, Max: high, MaxExclusive: r.open}
}

func sourceRangeOf(t iceberg.Transform, source iceberg.Type, bound []byte) valueRange {
	lit, err := iceberg.LiteralFromBytes(t.ResultType(source), bound)
	if err != nil {
		return valueRange{}
	}
	return sourceRange(t, lit.Any())
}

// sourceRange is the range of source values that a transform maps to v; without ends where the transform does
// not keep order (buckets) or its range is not worked out (truncation).
func sourceRange(t iceberg.Transform, v any) valueRange {
	switch t.(type) {
	case iceberg.IdentityTransform:
		return identityRange(v)
	case iceberg.DayTransform:
		return timeRange(v, func(n int64) time.Time { return epoch().AddDate(0, 0, int(n)) })
	case iceberg.MonthTransform:
		return timeRange(v, func(n int64) time.Time { return epoch().AddDate(0, int(n), 0) })
	case iceberg.YearTransform:
		return timeRange(v, func(n int64) time.Time { return epoch().AddDate(int(n), 0, 0) })
	case iceberg.HourTransform:
		return timeRange(v, func(n int64) time.Time { return time.Unix(n*secondsPerHour, 0).UTC() })
	}
	return valueRange{}
}

// identityRange: Iceberg's times are rounded down to microseconds or days, while the column's have ticks of 100 ns.
func identityRange(v any) valueRange {
	switch v := v.(type) {
	case iceberg.Timestamp:
		if v == math.MaxInt64 {
			return valueRange{low: appendLong(int64(v))}
		}
		return valueRange{appendLong(int64(v)), appendLong(int64(v) + 1), true}
	case iceberg.Date:
		if v == math.MaxInt32 {
			return valueRange{low: appendInt(int32(v))}
		}
		return valueRange{appendInt(int32(v)), appendInt(int32(v) + 1), true}
	}
	b := singleValue(v)
	return valueRange{low: b, high: b}
}

func epoch() time.Time { return time.Unix(0, 0).UTC() }

const secondsPerHour = 60 * 60

// maxPartitionUnit keeps year, month, day and hour numbers where time.Time and microseconds hold them: 200,000
// years would overflow, hours of year 9999 (about 7e7) do not.
const maxPartitionUnit = 100_000_000

// timeRange is the range from unit n to the next one. Iceberg's hours and days are counted from 1970 and floored,
// years 1 to 9999 are those that a DateTime has.
func timeRange(v any, start func(n int64) time.Time) valueRange {
	var n int64
	switch v := v.(type) {
	case int32:
		n = int64(v)
	case iceberg.Date:
		n = int64(v)
	default:
		return valueRange{}
	}
	if n > maxPartitionUnit || n < -maxPartitionUnit {
		return valueRange{}
	}
	first, next := start(n), start(n+1)
	if first.Year() < 1 || next.Year() > 10000 {
		return valueRange{}
	}
	return valueRange{appendLong(first.UnixMicro()), appendLong(next.UnixMicro()), true}
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
