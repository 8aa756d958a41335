package parquetchunk

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcodec"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcolumn"
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
	n.Nullable = depthOf(c).Nullable()
	return n, nil
}

// arrowSchema is the schema of a column alone, as Arrow's reader gives it.
func arrowSchema(c *pqschema.Column) (types *arrow.Schema, err error) {
	err = guarded(func() error {
		leaf, err := leafOf(c)
		if err != nil {
			return err
		}
		root, err := pqschema.NewGroupNode("schema", parquet.Repetitions.Required, pqschema.FieldList{leaf}, -1)
		if err == nil {
			types, err = pqarrow.FromParquet(pqschema.NewSchema(root), nil, nil)
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

// Decoder makes arrays of the pages of a chunk. Not for concurrent use.
type Decoder struct {
	chunk *Chunk
	types *arrow.Schema
	into  *arrowtype.Importer
	run   *parquetcolumn.Run
	mem   *budget.Account
	// known: run has the dictionary.
	known bool
}

// NewDecoder makes a decoder into the canonical type of a field, which charges an account for what it needs.
func NewDecoder(c *Chunk, node *schema.Node, mem *budget.Account) (*Decoder, error) {
	types, err := arrowSchema(c.column)
	if err != nil {
		return nil, err
	}
	if c.column.PhysicalType() == parquet.Types.Int96 { // as it is: Arrow's nanoseconds end in 2262
		types = arrow.NewSchema([]arrow.Field{{Name: types.Field(0).Name, Type: arrowtype.Int96, Nullable: true}}, nil)
	}
	field := *node
	field.Name, field.Aliases, field.Internal, field.Nullable = types.Field(0).Name, nil, "", true
	to := &schema.Schema{Fields: []*schema.Node{&field}}
	into, err := arrowtype.NewImporter(types, to, arrowtype.ImportOptions{})
	if err != nil {
		return nil, damaged(-1, err)
	}
	leaf := parquetcodec.Leaf{Type: c.column.PhysicalType(), Width: c.column.TypeLength()}
	run := parquetcolumn.NewRun(leaf, c.depth.Depth, types.Field(0).Type, mem)
	if run == nil {
		return nil, corrupt.Unsupported(-1, "column %q: values of the type %v are not read as %v", c.column.Path(), leaf.Type, types.Field(0).Type)
	}
	return &Decoder{chunk: c, types: types, into: into, run: run, mem: mem}, nil
}

// Decode gives the n values of a run of pages, an array of the canonical type; base is where the pages start in the file.
func (d *Decoder) Decode(dict, pages []byte, n int, base uint64) (arrow.Array, error) {
	if !d.known && len(dict) > 0 {
		hold := &parquetcodec.Unpacker{Take: d.run.Hold}
		if err := d.chunk.eachPage(dict, d.chunk.Dictionary.Start, hold, func(p *parquetcodec.Page, _ int) (more bool, err error) {
			return false, d.run.Dictionary(p)
		}); err != nil {
			return nil, err
		}
		d.known = true
	}
	if err := d.run.Begin(n); err != nil {
		return nil, err
	}
	take := &parquetcodec.Unpacker{Take: d.mem.Take}
	if err := d.chunk.eachPage(pages, base, take, func(p *parquetcodec.Page, _ int) (more bool, err error) {
		if p.Kind == parquetcodec.DictionaryPage {
			return false, errDictionary
		}
		return true, d.run.Add(p)
	}); err != nil {
		return nil, err
	}
	raw, err := d.run.Array()
	if err == nil {
		err = d.mem.Take(2 * sizeOf(raw.Data()))
	}
	if err != nil {
		return nil, d.chunk.located(err, int64(base))
	}
	batch, err := d.into.Import(array.NewRecordBatch(d.types, []arrow.Array{raw}, int64(n)))
	if err != nil {
		return nil, d.chunk.located(err, int64(base))
	}
	return batch.Column(0), nil
}

// Release gives back what the decoder holds of its account: the dictionary, which it takes again when it is needed.
func (d *Decoder) Release() {
	d.run.Release()
	d.known = false
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
