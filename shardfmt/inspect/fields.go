package inspect

import (
	"encoding/json"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Field is what the shard states about one field, nested ones included.
type Field struct {
	SchemaID uint32 `json:"schema_id"`
	Type     string `json:"type"`
	// NotNull: the shard reports that no value is null.
	NotNull bool `json:"not_null,omitempty"`
	// Shard holds the statistics of the whole shard, nil where it has none.
	Shard json.RawMessage `json:"shard"`
	// Stripes holds those of each stripe, with buffers from Encodings on; null where a stripe lacks the field.
	Stripes []*StripeField `json:"stripes,omitempty"`
}

// StripeField is a field in one stripe.
type StripeField struct {
	Statistics json.RawMessage `json:"statistics"`
	Encodings  []Encoding      `json:"encodings,omitempty"`
}

// Encoding is one form in which the field is stored, in order of preference.
type Encoding struct {
	Kind    string   `json:"kind"` // native or parquet
	Buffers []Buffer `json:"buffers,omitempty"`
	// Chunks are the column chunks of Parquet files, in the order of their values.
	Chunks []Chunk `json:"chunks,omitempty"`
}

// Chunk is one column chunk of a Parquet file.
type Chunk struct {
	// URL of the file, and of the file with the pages if that is another one.
	URL   string `json:"url"`
	Pages string `json:"pages_url,omitempty"`
	// RowGroup and Column are ordinals in the file, Storage its physical type.
	RowGroup uint32 `json:"row_group"`
	Column   uint32 `json:"column"`
	Storage  string `json:"storage"`
	// Start and Size are the bytes of the data pages, PageCount their number.
	Start     uint64 `json:"start"`
	Size      uint64 `json:"size"`
	PageCount uint64 `json:"page_count"`
	// Mapped means that the shard reports where each page is.
	Mapped bool `json:"mapped"`
}

// chunksOf lists the column chunks of an external encoding.
func (v *inspector) chunksOf(e *metapb.ExternalParquetDataEncoding, anchor string) (out []Chunk, err error) {
	for _, file := range e.GetFileColumnRefs() {
		url, err := v.r.Resolve(anchor, file.GetFileRef().GetUrl())
		if err != nil {
			return nil, err
		}
		for _, c := range file.ColumnChunks {
			pages := c.GetDataPagesRange()
			out = append(out, Chunk{
				URL: url, Pages: c.GetFileUrl(), RowGroup: c.RowGroupId, Column: c.ColumnChunkId, Storage: c.StorageType.String(),
				Start: pages.GetStart(), Size: pages.GetEnd() - pages.GetStart(), PageCount: c.DataPageCount, Mapped: c.DataPageMap != nil,
			})
		}
	}
	return out, nil
}

// Buffer is one encoded buffer.
type Buffer struct {
	Kind   string `json:"kind"`
	URL    string `json:"url"`
	Start  int64  `json:"start"`
	Size   int64  `json:"size"`
	Blocks *int   `json:"blocks,omitempty"`
	// ID is by what blocks name the buffer, 0 if they can't.
	ID uint32 `json:"buffer_id,omitempty"`
	// Packed: the blocks are the super-blocks of a packed group. Member is the place of a buffer in the group of its parent, where
	// it lies; it has no bytes of its own then.
	Packed bool    `json:"packed,omitempty"`
	Member *uint32 `json:"packed_group_index,omitempty"`
	// Plans counts the blocks by the tree of encodings that was chosen for them; Trees holds every block's.
	Plans map[string]int `json:"plans,omitempty"`
	Trees []Block        `json:"block_plans,omitempty"`
}

// fields describes every node of the schema. Buffers are visited at any level, for the sizes of the shard.
func (v *inspector) fields() error {
	if v.o.Detail >= Statistics {
		v.out.Fields = map[string]*Field{}
	}
	var visit func(n *schema.Node, name string) error
	visit = func(n *schema.Node, name string) error {
		if err := v.field(n, name); err != nil {
			return err
		}
		for i, c := range n.Children {
			if err := visit(c, name+childSuffix(n, i)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, n := range v.out.schema.Fields {
		if err := visit(n, schema.JoinPath(n.Name)); err != nil {
			return err
		}
	}
	return nil
}

// childSuffix is what the name of child i of n adds to that of n: ".name", or "[i]" for a variant of a union without a name.
func childSuffix(n *schema.Node, i int) string {
	if name := n.ChildName(i); name != "" {
		return "." + schema.JoinPath(name)
	}
	return fmt.Sprintf("[%d]", i)
}

func (v *inspector) field(n *schema.Node, name string) error {
	f := &Field{SchemaID: n.ID, Type: n.TypeName(), NotNull: !n.Nullable}
	if v.out.Fields != nil {
		v.out.Fields[name] = f
		v.out.order = append(v.out.order, name)
		d, err := v.r.ShardField(v.ctx, n.ID)
		if err != nil {
			return err
		}
		if d != nil {
			v.indexes("field:"+name, d.Indexes)
			f.Shard = messageJSON(d, n)
		}
	}
	for i := range v.out.Stripes {
		s, err := v.stripeField(i, n, name)
		if err != nil {
			return err
		}
		f.Stripes = append(f.Stripes, s)
	}
	return nil
}

func (v *inspector) stripeField(i int, n *schema.Node, name string) (*StripeField, error) {
	d, anchor, err := v.r.StripeField(v.ctx, i, n.ID)
	if err != nil || d == nil {
		return nil, err
	}
	if err := v.addProperties(fmt.Sprintf("stripe%d/field:%s", i, name), anchor, d.GetField()); err != nil {
		return nil, err
	}
	v.indexes(fmt.Sprintf("stripe%d/field:%s", i, name), d.GetField().GetIndexes())
	s := &StripeField{Statistics: messageJSON(d.GetField(), n)}
	for _, e := range d.GetEncodings() {
		enc := Encoding{Kind: "parquet"}
		if e.GetNative() != nil {
			enc.Kind = "native"
		}
		if enc.Chunks, err = v.chunksOf(e.GetParquet(), anchor); err != nil {
			return nil, err
		}
		for _, b := range e.GetNative().GetBuffers() {
			buf, err := v.buffer(b, anchor, n, e.GetNative())
			if err != nil {
				return nil, err
			}
			enc.Buffers = append(enc.Buffers, buf)
		}
		if v.o.Detail >= Encodings {
			s.Encodings = append(s.Encodings, enc)
		}
	}
	return s, nil
}

func (v *inspector) buffer(b *metapb.EncodedBuffer, anchor string, n *schema.Node, e *metapb.NativeDataEncoding) (Buffer, error) {
	if b.PackedGroupIndex != nil && b.Buffer == nil {
		return Buffer{Kind: b.Kind.String(), Member: b.PackedGroupIndex}, nil
	}
	url, err := v.r.Resolve(anchor, b.GetBuffer().GetUrl())
	if err != nil {
		return Buffer{}, err
	}
	start, end, err := meta.RefRange(b.GetBuffer())
	if err != nil {
		return Buffer{}, err
	}
	v.sizes.add(url, start, end)
	out := Buffer{Kind: b.Kind.String(), URL: b.GetBuffer().GetUrl(), Start: start, Size: end - start, ID: b.GetBufferId()}
	if b.BlockCount != nil && b.GetBlockMap() != nil {
		count := int(min(*b.BlockCount, 1<<31-1))
		out.Blocks = &count
	}
	if out.Packed = e.GetPackedGroup(); out.Packed {
		return out, nil
	}
	if v.o.Detail >= Blocks && b.GetBlockMap() != nil && hasBlocks(b.Kind) {
		err = v.blocks(&out, b, url, elementOf(n, b.Kind, e))
	}
	return out, err
}
