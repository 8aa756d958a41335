package column

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Options of the encoders of a stripe. The zero value is valid.
type Options struct {
	// Profile of the blocks.
	Profile encode.Profile
	// Stats gives the statistics options of a node; nil means the defaults.
	Stats func(node *schema.Node) stats.Options
	// SparseUnions stores the values of each variant of a union without gaps, found by OFFSETS.
	SparseUnions bool
	// Pack gives the children of a Struct that are stored as a packed group, by the struct's number, in the order of their
	// blocks. See Packable for those that can be.
	Pack map[uint32][]int
	// Opaque are the nodes of byte strings whose blocks are compressed with an opaque dictionary, by their number.
	Opaque map[uint32]bool
	// DictionaryEntries bounds the value dictionaries of nodes of byte strings, by their number: how many distinct values
	// each has at most. Values beyond that are in further ones.
	DictionaryEntries map[uint32]int
	// Encodings are the profiles of each further encoding of nodes without children, by their number.
	Encodings map[uint32][]encode.Profile
	// Hints are what is known of the values of nodes, by their number.
	Hints map[uint32]encode.Hint
	// Trees requests the encodings of the DATA blocks of nodes by their number, see encode.Options.
	Trees map[uint32]string
	// Spill, if not nil, takes the finished blocks of the stripe's buffers.
	Spill *colstream.Spill
	// NoRangeIndex leaves out the range indexes, for fields that nobody looks for values in.
	NoRangeIndex bool
	// LongBlocks is encode.Options.LongBlocks for all nodes.
	LongBlocks bool
	// Memory, if not nil, is what the encoders of a stripe leave to those of the next.
	Memory *Memory
	// Choices, if not nil, are what encoders of small stripes chose before.
	Choices *Choices
}

// Encoder takes the values of one field, and of all below it, for one stripe. Not for concurrent use.
type Encoder interface {
	// Add takes the next values, an array of the field's canonical type, or a coded column of them where the field is Codable and
	// no child. It keeps nothing of the array.
	Add(a arrow.Array) error
	// Finish encodes the rest and yields the field's nodes, children before their parents. The encoder
	// is used up.
	Finish(yield func(*Encoded) error) error
	// Size is about how many bytes the encoder holds.
	Size() int
}

// Encoded is a node of a stripe with its buffers.
type Encoded struct {
	Node *schema.Node
	// Descriptor states everything but where the buffers are.
	Descriptor *metapb.FieldDescriptor
	Buffers    []Buffer
	// Packed: the one buffer holds the super-blocks of a packed group.
	Packed bool
	// Alternatives are the buffers of further encodings of the same values, in the order in which they are to be tried.
	Alternatives [][]Buffer
	// External, if not nil, refers to the values instead of Buffers; Maps are the page maps of its chunks.
	External *metapb.ExternalParquetDataEncoding
	Maps     []PageMap
}

// PageMap is the page map of a column chunk, to be placed as a buffer is.
type PageMap struct {
	Chunk *metapb.ParquetColumnChunkRef
	Bytes []byte
}

// Buffer is a buffer of a node, to be placed at a multiple of colstream.Alignment.
type Buffer struct {
	// Kind, flags and counts of the buffer; its references are still to be filled in.
	Meta *metapb.EncodedBuffer
	// Head are its first bytes, nil if all of them are Bytes.
	Head *colstream.Tape
	// Bytes of the buffer, nil where it lies in the packed group of the parent; MapStart is where its block map starts, 0 if it
	// has none.
	Bytes    []byte
	MapStart int
}

// Size of the buffer in bytes.
func (b *Buffer) Size() int { return int(b.Head.Size()) + len(b.Bytes) }

// Pieces calls do with the bytes of the buffer, some at a time. What do is given is valid until it returns.
func (b *Buffer) Pieces(do func([]byte) error) error {
	if err := b.Head.Pieces(do); err != nil {
		return err
	}
	return do(b.Bytes)
}

// NewEncoder makes the encoder of a node.
func NewEncoder(node *schema.Node, o *Options) (Encoder, error) {
	if profiles := o.Encodings[node.ID]; len(profiles) > 0 {
		return newAlternativesEncoder(node, o, profiles)
	}
	b := newBase(node, o)
	switch node.Basic {
	case schema.Unit:
		return &unitEncoder{b}, nil
	case schema.Boolean:
		return &boolEncoder{base: b}, nil
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64, schema.Float32, schema.Float64, schema.DateTime:
		return numberEncoderOf(b), nil
	case schema.String, schema.Binary, schema.FixedSizeBinary, schema.Guid:
		return newBytesEncoder(b), nil
	}
	if members := o.Pack[node.ID]; len(members) > 0 {
		return newPackedEncoder(b, members)
	}
	children := make([]Encoder, len(node.Children))
	for i, n := range node.Children {
		var err error
		if children[i], err = NewEncoder(n, o); err != nil {
			return nil, err
		}
	}
	n := nest{base: b, children: children}
	switch node.Basic {
	case schema.List, schema.Map:
		return newListEncoder(n), nil
	case schema.FixedSizeList:
		return &fixedListEncoder{nest: n}, nil
	case schema.Struct:
		return &structEncoder{nest: n}, nil
	case schema.Union:
		return newUnionEncoder(n)
	}
	return nil, fmt.Errorf("field %q: no basic type %d", node.Name, node.Basic)
}

// base is what all encoders have.
type base struct {
	node  *schema.Node
	o     *Options
	stats *stats.Collector
}

func newBase(node *schema.Node, o *Options) base {
	so := stats.Options{Plain: o.Profile == encode.Plain}
	if o.Stats != nil {
		so = o.Stats(node)
	}
	return base{node, o, stats.NewCollector(node, so)}
}

// encoder makes a block encoder with the stripe's profile.
func (b *base) encoder(noPresence bool) *encode.Encoder {
	o := b.blocks(noPresence)
	if !noPresence {
		o.Tree, o.Hint = b.o.Trees[b.node.ID], b.o.Hints[b.node.ID]
		o.Choice = b.o.Choices.buffer(choiceKey{b.node.ID, b.o.Profile, false})
	}
	return encode.NewEncoder(o)
}

// codeEncoder makes an encoder of the codes of a value dictionary, which go by value or not.
func (b *base) codeEncoder(byValue bool) *encode.Encoder {
	o := b.blocks(true)
	o.Ordered = byValue
	o.Choice = b.o.Choices.buffer(choiceKey{b.node.ID, b.o.Profile, true})
	return encode.NewEncoder(o)
}

// blocks are the options of all of the stripe's blocks.
func (b *base) blocks(noPresence bool) encode.Options {
	return encode.Options{Profile: b.o.Profile, NoPresence: noPresence, LongBlocks: b.o.LongBlocks}
}

// stream makes the writer of a block stream.
func (b *base) stream() colstream.StreamWriter { return colstream.NewStreamWriter(b.o.Spill) }

// encoded starts the result.
func (b *base) encoded() *Encoded {
	return &Encoded{Node: b.node, Descriptor: b.stats.Descriptor()}
}

// add appends a block stream to the buffers.
func (e *Encoded) add(m *metapb.EncodedBuffer, s colstream.Encoded) {
	count := uint64(s.Blocks)
	m.BlockCount, m.BlockChecksums = &count, true
	e.Buffers = append(e.Buffers, Buffer{Meta: m, Head: s.Head, Bytes: s.Bytes, MapStart: s.MapStart})
}

// storage gives the array below an extension.
func storage(a arrow.Array) arrow.Array {
	if x, ok := a.(array.ExtensionArray); ok {
		return x.Storage()
	}
	return a
}

// unitEncoder stores nothing.
type unitEncoder struct{ base }

func (e *unitEncoder) Add(a arrow.Array) error {
	e.stats.AddNulls(a.Len())
	return nil
}

func (e *unitEncoder) Finish(yield func(*Encoded) error) error { return yield(e.encoded()) }
func (e *unitEncoder) Size() int                               { return 0 }
