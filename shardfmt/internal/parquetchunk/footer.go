package parquetchunk

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
)

const (
	// TailGuess is how much of the end of a file is read for its footer at first.
	TailGuess = 64 << 10
	// trailer is the length of the footer and the magic.
	trailer = 8
	// maxFooter bounds footers: those of known writers have about 100 bytes for each column chunk.
	maxFooter = 64 << 20
	// maxColumns bounds the columns of a file, as those of a shard.
	maxColumns = 50_000
	// footerExpansion is about what a byte of a footer takes once it is decoded.
	footerExpansion = 16
)

var magic, encryptedMagic = "PAR1", "PARE"

// Footer is the metadata of a Parquet file. Safe for concurrent use.
type Footer struct {
	meta *metadata.FileMetaData
	// body is where the footer starts: all pages lie before.
	body int64
	// elements is the ordinal of each column's leaf in the file's list of schema elements.
	elements []uint32
	// leaves are the columns by their nodes.
	leaves map[pqschema.Node]int
}

// ParseTail reads the footer from the last bytes of a file of size bytes. Where they hold less than the footer, more
// is how many are needed. Offsets of errors are those of the file.
func ParseTail(tail []byte, size int64, mem *budget.Account) (f *Footer, more int64, err error) {
	if len(tail) < trailer || size < int64(len(tail)) {
		return nil, 0, corrupt.At(0, "a Parquet file of %d bytes", size)
	}
	end := tail[len(tail)-trailer:]
	if string(end[4:]) == encryptedMagic {
		return nil, 0, corrupt.Unsupported(size-trailer, "a Parquet file with an encrypted footer")
	}
	if string(end[4:]) != magic {
		return nil, 0, corrupt.At(size-trailer, "not a Parquet file: missing footer magic")
	}
	length := int64(binary.LittleEndian.Uint32(end))
	at := size - trailer - length
	switch {
	case at < int64(len(magic)):
		return nil, 0, corrupt.At(size-trailer, "a Parquet footer of %d bytes in a file of %d", length, size)
	case length > maxFooter:
		return nil, 0, corrupt.Unsupported(size-trailer, "a Parquet footer of %d bytes, more than the limit of %d", length, maxFooter)
	case length+trailer > int64(len(tail)):
		return nil, length + trailer, nil
	}
	if err := mem.Hold(footerExpansion * uint64(length)); err != nil {
		return nil, 0, err
	}
	f = &Footer{body: at}
	footer := tail[int64(len(tail))-trailer-length : len(tail)-trailer]
	if known, ok := parquetcodec.WithoutUnknownTypes(footer); ok {
		footer = known
	}
	err = guarded(func() (err error) {
		f.meta, err = metadata.NewFileMetaData(footer, nil)
		return err
	})
	if err != nil {
		return nil, 0, damaged(at, err)
	}
	return f, 0, corrupt.Locate(f.number(), "", at)
}

// number finds the ordinals of the leaves, in the order in which a file lists its schema elements: the root, then each
// node before its children.
func (f *Footer) number() error {
	if f.meta.Schema == nil || f.meta.Schema.NumColumns() > maxColumns {
		return corrupt.Unsupported(0, "a Parquet file of more than %d columns", maxColumns)
	}
	f.leaves = make(map[pqschema.Node]int, f.Columns())
	for i := range f.Columns() {
		f.leaves[f.meta.Schema.Column(i).SchemaNode()] = i
	}
	next := uint32(0)
	var visit func(n pqschema.Node)
	visit = func(n pqschema.Node) {
		at := next
		next++
		group, ok := n.(*pqschema.GroupNode)
		if !ok {
			f.elements = append(f.elements, at)
			return
		}
		for i := range group.NumFields() {
			visit(group.Field(i))
		}
	}
	visit(f.meta.Schema.Root())
	if len(f.elements) != f.meta.Schema.NumColumns() {
		return corrupt.At(0, "a Parquet schema of %d columns and %d leaves", f.meta.Schema.NumColumns(), len(f.elements))
	}
	return nil
}

// Columns is the number of columns, RowGroups that of row groups, Rows that of the rows of a group.
func (f *Footer) Columns() int { return f.meta.Schema.NumColumns() }

// RowGroups is the number of row groups.
func (f *Footer) RowGroups() int { return len(f.meta.RowGroups) }

// Rows is the number of rows of a row group.
func (f *Footer) Rows(group int) int64 { return f.meta.RowGroup(group).NumRows() }

// Schema is the schema of the file.
func (f *Footer) Schema() *pqschema.Schema { return f.meta.Schema }

// known refuses columns without a type.
func known(c *pqschema.Column) error {
	if _, null := c.LogicalType().(pqschema.NullLogicalType); null {
		return corrupt.Unsupported(-1, "column %q has the type Null: external Parquet columns need a type of their own", c.Path())
	}
	return nil
}

// leafOf makes a node of its own for a column: a node belongs to one schema. That of a nested column is optional.
func leafOf(c *pqschema.Column) (*pqschema.PrimitiveNode, error) {
	n, ok := c.SchemaNode().(*pqschema.PrimitiveNode)
	if !ok {
		return nil, fmt.Errorf("column %q is not a leaf", c.Path())
	}
	length := 0
	if c.PhysicalType() == parquet.Types.FixedLenByteArray {
		length = c.TypeLength()
	}
	repetition := n.RepetitionType()
	if depthOf(c).nested {
		repetition = parquet.Repetitions.Optional
	}
	if t := c.LogicalType(); t != nil && t.IsValid() && !t.IsNone() {
		return pqschema.NewPrimitiveNodeLogical(n.Name(), repetition, t, c.PhysicalType(), length, -1)
	}
	return pqschema.NewPrimitiveNode(n.Name(), repetition, c.PhysicalType(), -1, int32(length))
}
