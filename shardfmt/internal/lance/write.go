package lance

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// WriteOptions determine how a file is written. The zero value is valid.
type WriteOptions struct {
	// PageBytes is the size at which a page of a column ends, DefaultPageBytes if 0.
	PageBytes int
	// Compression of the bytes of strings and binary values: zstd, lz4, or none if empty. A column's own metadata
	// (lance-encoding:compression) win over it.
	Compression string
	// CompressionLevel of what zstd compresses, 1 to 22 as zstd counts them, of which the encoder knows four steps; 0 is the
	// fastest, and names no level in the file.
	CompressionLevel int
	// PlainStrings stores strings as they come, also where few of them differ.
	PlainStrings bool
	// SharedDictionary stores the items of dictionaries once for as many pages of a column as have use for them, in buffers of
	// the column; without it each page has its own.
	SharedDictionary bool
	// PushDownNulls makes structs of nulls of null structs, which version 2.0 can't hold; without it they are refused.
	PushDownNulls bool
	// AllowLossy does so too, and counts them in the report.
	AllowLossy bool
	// ZoneColumns get a zone map: the smallest and greatest of each ZoneRows values. Other readers refuse such columns.
	ZoneColumns []string
	// ZoneRows is DefaultZoneRows if 0.
	ZoneRows int
}

func (o *WriteOptions) pushesDown() bool { return o.PushDownNulls || o.AllowLossy }

// Defaults of WriteOptions.
const (
	DefaultPageBytes = 8 << 20
	DefaultZoneRows  = 8192
)

// Writer writes a file in one pass: it holds a page of each column, and the places of those before.
type Writer struct {
	o      WriteOptions
	out    output
	nodes  []*Node
	fields []fieldWriter
	ids    []int32 // of the fields, by column
	nextID int32
	meta   map[string]string
	rows   uint64
	report arrowtype.Report
}

// NewWriter begins a file. Columns of types that the format can't hold are refused by name.
func NewWriter(w io.Writer, s *arrow.Schema, o WriteOptions) (*Writer, error) {
	if o.PageBytes <= 0 {
		o.PageBytes = DefaultPageBytes
	}
	if o.ZoneRows <= 0 {
		o.ZoneRows = DefaultZoneRows
	}
	out := &Writer{o: o, out: output{w: w}, meta: mapOf(s.Metadata())}
	known := map[string]bool{}
	for _, f := range s.Fields() {
		if known[f.Name] {
			return nil, fmt.Errorf("two columns are called %q, which a Lance file can't distinguish", f.Name)
		}
		known[f.Name] = true
		n, field, err := out.field(f, NoParent, f.Name)
		if err != nil {
			return nil, err
		}
		out.nodes, out.fields = append(out.nodes, n), append(out.fields, field)
	}
	return out, out.indexZones()
}

func mapOf(m arrow.Metadata) map[string]string {
	out := make(map[string]string, m.Len())
	for i, key := range m.Keys() {
		out[key] = m.Values()[i]
	}
	return out
}

// Fields are those of the file, as its schema lists them.
func (w *Writer) Fields() []Field { return Flatten(w.nodes) }

// Columns are the ids of the fields that the columns of the file belong to, in their order. Members of a packed struct have
// no column of their own.
func (w *Writer) Columns() []int32 { return w.ids }

// Report implements fileformat.Sink.
func (w *Writer) Report() *arrowtype.Report { return &w.report }

// Write implements fileformat.Sink.
func (w *Writer) Write(batch arrow.RecordBatch) error {
	for i, f := range w.fields {
		if err := f.add(batch.Column(i), 0, int(batch.NumRows())); err != nil {
			return err
		}
	}
	w.rows += uint64(batch.NumRows())
	return nil
}

// Close implements fileformat.Sink.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	d := descriptor{fields: w.Fields(), metadata: w.meta, rows: w.rows}
	return w.out.finish(d.append(nil))
}

func (w *Writer) flush() error {
	for _, f := range w.fields {
		if err := f.flush(); err != nil {
			return err
		}
	}
	return nil
}

// field declares a field, and makes what writes it.
func (w *Writer) field(f arrow.Field, parent int32, path string) (*Node, fieldWriter, error) {
	n := &Node{Field: Field{Name: f.Name, ID: w.nextID, Parent: parent, Nullable: f.Nullable, Metadata: mapOf(f.Metadata)}}
	w.nextID++
	t, err := w.storedType(f.Type, n, path)
	if err != nil {
		return nil, nil, fmt.Errorf("column %q: %w", path, err)
	}
	if n.LogicalType, err = logicalType(t); err != nil {
		return nil, nil, fmt.Errorf("column %q: %w", path, err)
	}
	column := len(w.out.columns)
	w.ids = append(w.ids, n.ID)
	w.out.columns = append(w.out.columns, &columnOutput{})
	switch t := t.(type) {
	case *arrow.StructType:
		if !n.packed() {
			out := &structField{w: w, name: path, column: column}
			return n, out, w.structFields(t, n, out, path)
		}
	case *arrow.ListType, *arrow.LargeListType:
		out := &listField{w: w, name: path, column: column}
		item := t.(arrow.ListLikeType).ElemField()
		child, items, err := w.field(item, n.ID, path+"."+item.Name)
		n.Children, out.items = []*Node{child}, items
		return n, out, err
	}
	out := &leafField{w: w, name: path, column: column}
	if of, ok := t.(*arrow.StructType); ok {
		err = w.packedFields(of, n)
	}
	if err == nil {
		out.builder, err = w.builder(t, n)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("column %q: %w", path, err)
	}
	return n, out, nil
}

// packedFields declares the fields of a packed struct, which have no columns of their own.
func (w *Writer) packedFields(t *arrow.StructType, n *Node) error {
	for _, f := range t.Fields() {
		logical, err := logicalType(f.Type)
		if err != nil {
			return err
		}
		n.Children = append(n.Children, &Node{Field: Field{
			Name: f.Name, ID: w.nextID, Parent: n.ID, LogicalType: logical, Nullable: f.Nullable, Metadata: mapOf(f.Metadata)}})
		w.nextID++
	}
	return nil
}

func (w *Writer) structFields(t *arrow.StructType, n *Node, out *structField, path string) error {
	for _, f := range t.Fields() {
		f.Nullable = f.Nullable || n.Nullable && w.o.pushesDown()
		child, field, err := w.field(f, n.ID, path+"."+f.Name)
		if err != nil {
			return err
		}
		n.Children, out.fields = append(n.Children, child), append(out.fields, field)
	}
	return nil
}

// packed reports whether a struct is to lie row by row.
func (n *Node) packed() bool {
	return n.Metadata[packedKey] == "true" || n.Metadata[packedOldKey] == "true"
}

func newSink(w io.Writer, s *arrow.Schema, o fileformat.SinkOptions) (fileformat.Sink, error) {
	write, err := WriteSettings(o)
	if err != nil {
		return nil, err
	}
	return NewWriter(w, s, write)
}
