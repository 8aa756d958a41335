package lance

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/filter"
)

// zoneSchema is that of a zone map: a file inside the file, which leaves the schema out, with a row a zone. A bound is null
// where a zone has no number.
func zoneSchema(t arrow.DataType) *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: "min", Type: t, Nullable: true}, {Name: "max", Type: t, Nullable: true}, {Name: "null_count", Type: arrow.PrimitiveTypes.Uint32}}, nil)
}

// hasZones reports whether zone maps are written of values of a type, and made use of.
func hasZones(t arrow.DataType) bool {
	return arrow.IsInteger(t.ID()) || t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64
}

// zoneBuilder gathers the smallest and greatest number of each zone.
type zoneBuilder struct {
	rows     int // of a zone
	n        int // of the zone available
	missing  uint32
	any      bool // number in the zone available
	min, max filter.Value
	t        arrow.DataType
	out      *array.RecordBuilder
}

// indexZones makes the zone maps that were requested.
func (w *Writer) indexZones() error {
	for _, name := range w.o.ZoneColumns {
		i := slices.IndexFunc(w.nodes, func(n *Node) bool { return n.Name == name })
		if i < 0 {
			return fmt.Errorf("zone map of unknown column %q", name)
		}
		leaf, ok := w.fields[i].(*leafField)
		t := logicalTypes[w.nodes[i].LogicalType]
		if !ok || t == nil || !hasZones(t) {
			return fmt.Errorf("zone map of column %q of type %s: only numbers have one", name, w.nodes[i].LogicalType)
		}
		leaf.zones = &zoneBuilder{rows: w.o.ZoneRows, t: t, out: array.NewRecordBuilder(memory.DefaultAllocator, zoneSchema(t))}
		w.report.Add(name, "a column with a zone map is refused by other readers of Lance", 0)
	}
	return nil
}

// add takes values [from, to) of an array.
func (z *zoneBuilder) add(a arrow.Array, from, to int) {
	for i := from; i < to; i++ {
		if a.IsNull(i) {
			z.missing++
		} else if v, ok := numberAt(a, i); ok {
			if !z.any || lessNumber(z.t, v, z.min) {
				z.min = v
			}
			if !z.any || lessNumber(z.t, z.max, v) {
				z.max = v
			}
			z.any = true
		}
		if z.n++; z.n == z.rows {
			z.end()
		}
	}
}

// end completes a zone.
func (z *zoneBuilder) end() {
	for i, v := range []filter.Value{z.min, z.max} {
		if !z.any {
			z.out.Field(i).AppendNull()
			continue
		}
		appendNumberTo(z.out.Field(i), v)
	}
	z.out.Field(2).(*array.Uint32Builder).Append(z.missing)
	z.n, z.missing, z.any = 0, 0, false
}

// finish writes the zone map into a buffer of the column.
func (z *zoneBuilder) finish(w *Writer, column int) error {
	if z.n > 0 {
		z.end()
	}
	var file bytes.Buffer
	in, err := NewWriter(&file, z.out.Schema(), WriteOptions{})
	if err != nil {
		return err
	}
	batch := z.out.NewRecordBatch()
	defer batch.Release()
	if err := in.Write(batch); err != nil {
		return err
	}
	if err := in.flush(); err != nil {
		return err
	}
	if err := in.out.finish(nil); err != nil {
		return err
	}
	x, err := w.out.put(file.Bytes())
	if err != nil {
		return err
	}
	c := w.out.columns[column]
	where := appendNumber(appendNumber(nil, 1, uint64(len(c.buffers))), 2, uint64(ofColumn))
	c.buffers = append(c.buffers, x)
	index := appendMessage(appendMessage(appendNumber(nil, 1, uint64(z.rows)), 2, where), 3, valuesEncoding)
	c.encoding = appendMessage(nil, 2, index)
	return nil
}
