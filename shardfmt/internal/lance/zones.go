package lance

import (
	"context"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/filter"
)

// zoneMap is what a column states about its zones.
type zoneMap struct {
	rows  uint64 // of a zone; the last one may have fewer
	zones []*filter.Stats
}

// prune leaves out the zones that can't match.
func (s *Source) prune(ctx context.Context) error {
	if s.o.MayMatch == nil {
		return nil
	}
	maps := map[int]*zoneMap{}
	cuts := []uint64{0, s.f.desc.rows}
	for i, l := range s.f.top {
		if l.column == nil || l.column.zones == nil || !hasZones(l.t) {
			continue
		}
		m, err := s.f.zoneMap(ctx, l)
		if err != nil {
			return err
		}
		maps[i] = m
		for z := range m.zones {
			cuts = append(cuts, uint64(z)*m.rows)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var kept []Rows
	for i, end := range cuts[1:] {
		start := cuts[i]
		if len(maps) > 0 && !s.o.MayMatch(func(column int) *filter.Stats { return maps[column].at(start) }) {
			continue
		}
		if n := len(kept); n > 0 && kept[n-1].End == start {
			kept[n-1].End = end
		} else {
			kept = append(kept, Rows{start, end})
		}
	}
	s.runs = both(s.runs, kept)
	return nil
}

// at is what is known of the zone of a row, or nil.
func (m *zoneMap) at(row uint64) *filter.Stats {
	if m == nil {
		return nil
	}
	return m.zones[row/m.rows]
}

// both are the rows that are in two lists of rising ranges.
func both(a, b []Rows) (out []Rows) {
	for len(a) > 0 && len(b) > 0 {
		if start, end := max(a[0].Start, b[0].Start), min(a[0].End, b[0].End); start < end {
			out = append(out, Rows{start, end})
		}
		if a[0].End < b[0].End {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// zoneMap reads the zones of a column: a file inside the file, without a schema.
func (f *File) zoneMap(ctx context.Context, l *layout) (*zoneMap, error) {
	c := l.column
	at := f.c.columns[c.index].at
	if c.zones.rows == 0 {
		return nil, corrupt.At(at, "column %d: zones of no rows", c.index)
	}
	x, err := (&builder{f: f, column: c}).resolve(c.zones.buffer)
	if err != nil {
		return nil, corrupt.Locate(err, "", at)
	}
	parts, err := f.c.fetch(ctx, f.src, []extent{x})
	if err != nil {
		return nil, err
	}
	in := &File{src: embedded(parts[0]), url: f.url}
	if err := in.openZones(ctx, l.t, (c.length-1)/c.zones.rows+1); err != nil {
		return nil, corrupt.Locate(err, "", x.at)
	}
	m := &zoneMap{rows: c.zones.rows}
	return m, corrupt.Locate(m.read(ctx, in), "", x.at)
}

// openZones is open for a file whose schema is known.
func (f *File) openZones(ctx context.Context, t arrow.DataType, zones uint64) (err error) {
	if f.c, err = openContainer(ctx, f.src); err != nil {
		return err
	}
	f.schema, f.desc.rows = zoneSchema(t), zones
	for _, field := range f.schema.Fields() {
		f.nodes = append(f.nodes, &Node{Field: Field{Name: field.Name, Nullable: field.Nullable}})
	}
	return f.describe(ctx)
}

func (m *zoneMap) read(ctx context.Context, f *File) error {
	s, err := f.NewSource(ctx, ReadOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	for uint64(len(m.zones)) < f.desc.rows {
		b, err := s.Next(ctx)
		if err != nil {
			return err
		}
		for i := range int(b.NumRows()) {
			z := &filter.Stats{Positions: m.rows, NullsKnown: true, Nulls: uint64(b.Column(2).(*array.Uint32).Value(i))}
			if v, ok := numberAt(b.Column(0), i); ok {
				z.Min = &v
			}
			if v, ok := numberAt(b.Column(1), i); ok {
				z.Max = &v
			}
			m.zones = append(m.zones, z)
		}
	}
	return nil
}

// numberAt is a number in the terms of the filter. It is none for nulls, and for NaN, which no bound covers.
func numberAt(a arrow.Array, i int) (v filter.Value, ok bool) {
	if a.IsNull(i) {
		return v, false
	}
	switch a := a.(type) {
	case *array.Int8:
		v.Int = int64(a.Value(i))
	case *array.Int16:
		v.Int = int64(a.Value(i))
	case *array.Int32:
		v.Int = int64(a.Value(i))
	case *array.Int64:
		v.Int = a.Value(i)
	case *array.Uint8:
		v.Uint = uint64(a.Value(i))
	case *array.Uint16:
		v.Uint = uint64(a.Value(i))
	case *array.Uint32:
		v.Uint = uint64(a.Value(i))
	case *array.Uint64:
		v.Uint = a.Value(i)
	case *array.Float32:
		v.Float = float64(a.Value(i))
	case *array.Float64:
		v.Float = a.Value(i)
	default:
		return v, false
	}
	return v, !math.IsNaN(v.Float)
}

// appendNumberTo is the opposite of numberAt.
func appendNumberTo(b array.Builder, v filter.Value) {
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v.Int))
	case *array.Int16Builder:
		b.Append(int16(v.Int))
	case *array.Int32Builder:
		b.Append(int32(v.Int))
	case *array.Int64Builder:
		b.Append(v.Int)
	case *array.Uint8Builder:
		b.Append(uint8(v.Uint))
	case *array.Uint16Builder:
		b.Append(uint16(v.Uint))
	case *array.Uint32Builder:
		b.Append(uint32(v.Uint))
	case *array.Uint64Builder:
		b.Append(v.Uint)
	case *array.Float32Builder:
		b.Append(float32(v.Float))
	case *array.Float64Builder:
		b.Append(v.Float)
	}
}

// lessNumber compares numbers of a type.
func lessNumber(t arrow.DataType, a, b filter.Value) bool {
	switch {
	case arrow.IsFloating(t.ID()):
		return a.Float < b.Float
	case arrow.IsUnsignedInteger(t.ID()):
		return a.Uint < b.Uint
	}
	return a.Int < b.Int
}
