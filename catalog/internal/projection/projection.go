// Package projection turns columns of shards into those of a table's schema: batches, and the nodes of which they are read.
package projection

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog/internal/arrowint"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Projection turns the batches of one shard into the table's columns. Fields are matched by Iceberg field id,
// never by name: a column the shard lacks is null, a narrower number is widened, members come in the table's
// order.
type Projection struct {
	// Target are the columns wanted, by the table's schema, and IDs their field ids by node number.
	Target []*schema.Node
	IDs    []int
	// Shard is the shard's schema and ShardIDs the field ids of its nodes.
	Shard    *schema.Schema
	ShardIDs []int
}

// Apply projects a batch that has the shard's top-level fields by name.
func (p *Projection) Apply(b arrow.RecordBatch, to *arrow.Schema) (arrow.RecordBatch, error) {
	rows := int(b.NumRows())
	columns := make([]arrow.Array, len(p.Target))
	fields := make(map[int]*schema.Node, len(p.Shard.Fields))
	for _, f := range p.Shard.Fields {
		if id := p.ShardIDs[f.ID]; id != 0 && fields[id] == nil {
			fields[id] = f
		}
	}
	for i, n := range p.Target {
		source := fields[p.IDs[n.ID]]
		at := -1
		if source != nil {
			at = ColumnIndex(b, source.Name)
		}
		if at < 0 {
			columns[i] = nulls(n, rows)
			continue
		}
		a, err := p.adapt(b.Column(at), source, n)
		if err != nil {
			return nil, err
		}
		columns[i] = a
	}
	return arrowtype.BatchOf(to, columns, int64(rows)), nil
}

// ColumnIndex is the place of a column of a batch, -1 if there is none of the name.
func ColumnIndex(b arrow.RecordBatch, name string) int {
	if at := b.Schema().FieldIndices(name); len(at) > 0 {
		return at[0]
	}
	return -1
}

// source finds the node among candidates that has n's field id.
func (p *Projection) source(n *schema.Node, candidates []*schema.Node) *schema.Node {
	for _, c := range candidates {
		if id := p.ShardIDs[c.ID]; id != 0 && id == p.IDs[n.ID] {
			return c
		}
	}
	return nil
}

func nulls(n *schema.Node, rows int) arrow.Array {
	return array.MakeArrayOfNull(memory.DefaultAllocator, arrowtype.Type(n), rows)
}

// adapt turns the values of a shard's field into those of the table's.
func (p *Projection) adapt(a arrow.Array, from, to *schema.Node) (arrow.Array, error) {
	want := arrowtype.Type(to)
	if d, ok := a.DataType().(*arrow.DictionaryType); ok && arrow.TypeEqual(d.ValueType, want) {
		return a, nil // coded
	}
	if arrow.TypeEqual(a.DataType(), want) {
		return a, nil
	}
	a = arrowtype.Plain(a)
	switch {
	case from.Basic == schema.Struct && to.Basic == schema.Struct:
		return p.adaptStruct(a.(*array.Struct), from, to)
	case from.Basic == schema.List && to.Basic == schema.List, from.Basic == schema.Map && to.Basic == schema.Map,
		from.Basic == schema.FixedSizeList && to.Basic == schema.FixedSizeList:
		return p.adaptList(a, from, to)
	case from.Basic == schema.Union || to.Basic == schema.Union || !from.WidensTo(to):
		return nil, fmt.Errorf("%w: field %q of type %s as %s", manifest.ErrSchema, from.Name, from.BareType(), to.BareType())
	}
	return widen(a, want)
}

func (p *Projection) adaptStruct(a *array.Struct, from, to *schema.Node) (arrow.Array, error) {
	children := make([]arrow.ArrayData, len(to.Children))
	for i, n := range to.Children {
		child := nulls(n, a.Len())
		if source := p.source(n, from.Children); source != nil {
			if at, ok := a.DataType().(*arrow.StructType).FieldIdx(source.Name); ok {
				var err error
				if child, err = p.adapt(a.Field(at), source, n); err != nil {
					return nil, err
				}
			}
		}
		children[i] = child.Data()
	}
	// Field has applied the offset of a to its children, so the new array begins at 0 with a bitmap of its own.
	bitmap := validity(a)
	data := array.NewData(arrowtype.Type(to), a.Len(), []*memory.Buffer{bitmap}, children, a.NullN(), 0)
	return array.NewStructData(data), nil
}

// validity copies the validity of a to a bitmap that begins at its first value; nil if nothing is null.
func validity(a arrow.Array) *memory.Buffer {
	if a.NullN() == 0 {
		return nil
	}
	bits := make([]byte, (a.Len()+7)/8)
	for i := range a.Len() {
		if a.IsValid(i) {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return memory.NewBufferBytes(bits)
}

// adaptList keeps offsets and validity and adapts what lies in the lists.
func (p *Projection) adaptList(a arrow.Array, from, to *schema.Node) (arrow.Array, error) {
	data := a.Data()
	inner := array.MakeFromData(data.Children()[0])
	var adapted arrow.Array
	var err error
	if from.Basic == schema.Map {
		entries := inner.(*array.Struct)
		adapted, err = p.adaptEntries(entries, from, to)
	} else {
		adapted, err = p.adapt(inner, from.Children[0], to.Children[0])
	}
	if err != nil {
		return nil, err
	}
	out := array.NewData(arrowtype.Type(to), data.Len(), data.Buffers(), []arrow.ArrayData{adapted.Data()}, data.NullN(), data.Offset())
	return array.MakeFromData(out), nil
}

// adaptEntries adapts keys and values of a map, which pair by place.
func (p *Projection) adaptEntries(entries *array.Struct, from, to *schema.Node) (arrow.Array, error) {
	var children []arrow.ArrayData
	for i := range 2 {
		child, err := p.adapt(entries.Field(i), from.Children[i], to.Children[i])
		if err != nil {
			return nil, err
		}
		children = append(children, child.Data())
	}
	typ := arrowtype.Type(to).(*arrow.MapType).Elem()
	return array.NewStructData(array.NewData(typ, entries.Len(), []*memory.Buffer{nil}, children, 0, 0)), nil
}

// widen converts integers and floats to a type that holds all their values, or gives the bytes a new meaning.
func widen(a arrow.Array, to arrow.DataType) (arrow.Array, error) {
	if ext, ok := to.(arrow.ExtensionType); ok {
		storage := a
		if from, ok := a.(array.ExtensionArray); ok {
			storage = from.Storage()
		}
		if !arrow.TypeEqual(storage.DataType(), ext.StorageType()) {
			return nil, fmt.Errorf("%w: %s as %s", manifest.ErrSchema, a.DataType(), to)
		}
		return array.NewExtensionArrayWithStorage(ext, storage), nil
	}
	b := array.NewBuilder(memory.DefaultAllocator, to)
	b.Reserve(a.Len())
	get, err := numbers(a)
	if err != nil {
		return nil, err
	}
	put, err := appender(b)
	if err != nil {
		return nil, err
	}
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		put(get(i))
	}
	return b.NewArray(), nil
}

// wide is a number of any type: an integer (signed ones in two's complement), or a float.
type wide struct {
	bits  uint64
	float float64
}

func numbers(a arrow.Array) (func(int) wide, error) {
	if value, _, ok := arrowint.Values(a); ok {
		return func(i int) wide { return wide{bits: value(i)} }, nil
	}
	if a, ok := a.(*array.Float32); ok {
		return func(i int) wide { return wide{float: float64(a.Value(i))} }, nil
	}
	return nil, fmt.Errorf("%w: %s is not a number", manifest.ErrSchema, a.DataType())
}

func appender(b array.Builder) (func(wide), error) {
	switch b := b.(type) {
	case *array.Int16Builder:
		return func(w wide) { b.UnsafeAppend(int16(w.bits)) }, nil
	case *array.Int32Builder:
		return func(w wide) { b.UnsafeAppend(int32(w.bits)) }, nil
	case *array.Int64Builder:
		return func(w wide) { b.UnsafeAppend(int64(w.bits)) }, nil
	case *array.Uint16Builder:
		return func(w wide) { b.UnsafeAppend(uint16(w.bits)) }, nil
	case *array.Uint32Builder:
		return func(w wide) { b.UnsafeAppend(uint32(w.bits)) }, nil
	case *array.Uint64Builder:
		return func(w wide) { b.UnsafeAppend(w.bits) }, nil
	case *array.Float64Builder:
		return func(w wide) { b.UnsafeAppend(w.float) }, nil
	}
	return nil, fmt.Errorf("%w: no type can be widened to %s", manifest.ErrSchema, b.Type())
}
