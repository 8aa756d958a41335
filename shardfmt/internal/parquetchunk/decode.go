package parquetchunk

import (
	"bytes"
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Field gives the field of a shard that holds what a column of the file does. Types are determined by Parquet's own schema
// alone, not by the Arrow schema that a file may carry besides.
func (f *Footer) Field(column int) (*schema.Node, error) {
	c := f.meta.Schema.Column(column)
	if err := known(c); err != nil {
		return nil, err
	}
	types, err := arrowSchema(c)
	if err != nil {
		return nil, err
	}
	if c.Name() == "" {
		return nil, corrupt.Unsupported(-1, "column %q has no name: write the shard without --external-parquet, which names it, or select other columns with --external-columns", c.Path())
	}
	s, _, err := arrowtype.FromArrow(types)
	if err != nil {
		return nil, damaged(f.body, err)
	}
	n := s.Fields[0]
	n.Nullable = depthOf(c).nullable()
	return n, nil
}

// arrowSchema is the schema of a column alone, as Arrow's reader gives it.
func arrowSchema(c *pqschema.Column) (types *arrow.Schema, err error) {
	err = guarded(func() error {
		s, err := alone(c)
		if err == nil {
			types, err = pqarrow.FromParquet(s, nil, nil)
		}
		return err
	})
	if err != nil {
		return nil, damaged(-1, err)
	}
	field := types.Field(0)
	field.Metadata = arrowtype.MarkLogical(field.Metadata, c.LogicalType())
	return arrow.NewSchema([]arrow.Field{field}, nil), nil
}

// alone is a Parquet schema of one column.
func alone(c *pqschema.Column) (*pqschema.Schema, error) {
	leaf, err := leafOf(c)
	if err != nil {
		return nil, err
	}
	root, err := pqschema.NewGroupNode("schema", parquet.Repetitions.Required, pqschema.FieldList{leaf}, -1)
	if err != nil {
		return nil, err
	}
	return pqschema.NewSchema(root), nil
}

// Decoder makes arrays of the pages of a chunk. Not for concurrent use.
type Decoder struct {
	chunk  *Chunk
	types  *arrow.Schema
	into   *arrowtype.Importer
	column *pqschema.Schema
}

// NewDecoder makes a decoder into the canonical type of a field.
func NewDecoder(c *Chunk, node *schema.Node) (*Decoder, error) {
	types, err := arrowSchema(c.column)
	if err != nil {
		return nil, err
	}
	if c.column.PhysicalType() == parquet.Types.Int96 { // decoded here into ticks: Arrow's nanoseconds end in 2262
		types = arrow.NewSchema([]arrow.Field{{Name: types.Field(0).Name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	}
	field := *node
	field.Name, field.Aliases, field.Internal, field.Nullable = types.Field(0).Name, nil, "", true
	to := &schema.Schema{Fields: []*schema.Node{&field}}
	into, err := arrowtype.NewImporter(types, to, arrowtype.ImportOptions{})
	if err != nil {
		return nil, damaged(-1, err)
	}
	column, err := alone(c.column)
	return &Decoder{chunk: c, types: types, into: into, column: column}, err
}

// Decode gives the n values of a run of pages, an array of the canonical type; base is where the pages start in the file.
func (d *Decoder) Decode(dict, pages []byte, n int, base uint64, mem *budget.Account) (out arrow.Array, err error) {
	alloc := &charged{mem: mem}
	err = guarded(func() error {
		flat := !d.chunk.depth.nested && !d.chunk.delta
		if !flat {
			if pages, err = d.chunk.flatten(pages, mem); err != nil {
				return err
			}
		}
		alloc.take(2 * (len(dict) + len(pages)))
		if d.chunk.misflagged && flat { // flatten has read them right
			pages = parquetcodec.FixFlags(pages)
		}
		raw, err := d.read(dict, pages, n, alloc)
		if err != nil {
			return err
		}
		if raw.Len() != n {
			return corrupt.At(0, "column %q: %d values in pages of %d", d.chunk.column.Path(), raw.Len(), n)
		}
		alloc.take(int(min(2*sizeOf(raw.Data()), 1<<40)))
		batch, err := d.into.Import(array.NewRecordBatch(d.types, []arrow.Array{raw}, int64(n)))
		if err == nil {
			out = batch.Column(0)
		}
		return err
	})
	if alloc.refused != nil {
		return nil, alloc.refused
	}
	return out, d.chunk.located(err, int64(base))
}

// sizeOf is the number of bytes of an array's buffers.
func sizeOf(d arrow.ArrayData) (n uint64) {
	for _, b := range d.Buffers() {
		if b != nil {
			n += uint64(b.Len())
		}
	}
	return n
}

// read decodes pages as the only ones of a file.
func (d *Decoder) read(dict, pages []byte, n int, alloc *charged) (arrow.Array, error) {
	f, err := d.miniature(dict, pages, n, alloc)
	if err != nil {
		return nil, err
	}
	if d.chunk.column.PhysicalType() == parquet.Types.Int96 {
		return readInt96(f, n, alloc)
	}
	rows, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, alloc)
	if err != nil {
		return nil, err
	}
	all, err := rows.RowGroup(0).Column(0).Read(context.Background())
	if err != nil {
		return nil, err
	}
	if len(all.Chunks()) == 1 {
		return all.Chunk(0), nil
	}
	return array.Concatenate(all.Chunks(), alloc)
}

// miniature is a Parquet file of one column chunk that consists of the given pages.
func (d *Decoder) miniature(dict, pages []byte, n int, alloc *charged) (*file.Reader, error) {
	properties := parquet.NewWriterProperties(parquet.WithCompression(d.chunk.codec))
	b := metadata.NewFileMetadataBuilder(d.column, properties, nil)
	group := b.AppendRowGroup()
	group.SetNumRows(n)
	size := int64(len(dict) + len(pages))
	info := metadata.ChunkMetaInfo{NumValues: int64(n), IndexPageOffset: -1, DataPageOffset: int64(len(magic) + len(dict)), CompressedSize: size, UncompressedSize: size}
	if len(dict) > 0 {
		info.DictPageOffset = int64(len(magic))
	}
	if err := group.NextColumnChunk().Finish(info, len(dict) > 0, true, metadata.EncodingStats{}); err != nil {
		return nil, err
	}
	if err := group.Finish(size, 0); err != nil {
		return nil, err
	}
	m, err := b.Finish()
	if err != nil {
		return nil, err
	}
	bytes := &joined{parts: [][]byte{[]byte(magic), dict, pages}}
	return file.NewParquetReader(bytes, file.WithMetadata(m), file.WithReadProps(parquet.NewReaderProperties(alloc)))
}

// joined are byte slices one behind the other.
type joined struct {
	parts        [][]byte
	bytes.Reader // for Seek, which nobody calls
}

// ReadAt implements io.ReaderAt.
func (j *joined) ReadAt(b []byte, off int64) (n int, err error) {
	for _, p := range j.parts {
		if off >= int64(len(p)) {
			off -= int64(len(p))
			continue
		}
		k := copy(b[n:], p[off:])
		n, off = n+k, 0
		if n == len(b) {
			return n, nil
		}
	}
	return n, io.EOF
}
