package column

import (
	"context"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/stats"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Column reads the values of one field of one stripe. Not for concurrent use; different columns may be read
// at the same time.
type Column interface {
	// Need gives the requests that are still to be made before the positions in ranges (ascending, disjoint)
	// can be read. After they were filled, it is retried; when it gives none, Read works. whole means that
	// ranges are all positions of the field.
	Need(ranges []colstream.Range, whole bool) ([]colstream.Request, error)
	// Read decodes the positions of r into an array of the canonical type.
	Read(r colstream.Range) (arrow.ArrayData, error)
	// Release lets go of what was fetched for positions before pos only.
	Release(pos uint64)
	// Size is the number of bytes that are stored for the field and its children.
	Size() uint64
}

// Source gives the descriptors of a stripe's fields; a *meta.Root is one.
type Source interface {
	// StripeField is the descriptor of a field and the object it was read from, nil if the stripe has none.
	StripeField(ctx context.Context, stripe int, id uint32) (*metapb.StripeFieldDescriptor, string, error)
	// Resolve gives the object that a reference in a message of anchor names.
	Resolve(anchor, ref string) (string, error)
}

// maxRead bounds the positions of one Read of a child that stores nothing, or next to nothing, for each:
// offsets may claim any number.
const maxRead = 1 << 26

// unknown is the number of positions of a field below a List: it is what its descriptor states.
const unknown = ^uint64(0)

// Field is a field of a stripe.
type Field struct {
	Source Source
	Stripe int
	// Node may be a part of the stored node's tree, with some children of structs left out.
	Node *schema.Node
	// Records is the number of records of the stripe.
	Records uint64
}

// Open opens a field for reading. What the column decodes is charged to mem, before memory is taken for it; a nil one charges nothing.
func Open(ctx context.Context, f Field, mem *budget.Account) (Column, error) {
	return OpenChoosing(ctx, f, mem, Choice{})
}

// OpenChoosing is Open with a choice among the encodings of the field itself; fields below it are read in the first that can be.
func OpenChoosing(ctx context.Context, f Field, mem *budget.Account, c Choice) (Column, error) {
	o := &opener{ctx: ctx, root: f.Node, src: f.Source, stripe: f.Stripe, mem: mem, skipped: c.Skipped, restored: c.Restored, audit: c.Audit}
	return o.open(f.Node, f.Records, c.Only)
}

type opener struct {
	ctx     context.Context
	root    *schema.Node // what Open was given
	src     Source
	stripe  int
	mem     *budget.Account
	skipped func(error)
	// restored and audit are those of Choice.
	restored func(error)
	audit    bool
}

// pathOf is the dotted path of a node below the root, for errors.
func (o *opener) pathOf(n *schema.Node) string {
	path := n.Name
	(&schema.Schema{Fields: []*schema.Node{o.root}}).Walk(func(at string, m *schema.Node) bool {
		if m.ID == n.ID {
			path = at
		}
		return m.ID != n.ID
	})
	return path
}

// skip is the end of an encoding that is passed over.
func (o *opener) skip(why error) {
	if o.skipped != nil {
		o.skipped(why)
	}
}

// open opens a node that must have count positions, in the one encoding of the number only, or in any if that is 0.
func (o *opener) open(node *schema.Node, count uint64, only int) (Column, error) {
	return o.openIn(nil, node, count, only)
}

// openIn is open for a child of a struct that is stored as a packed group.
func (o *opener) openIn(g *group, node *schema.Node, count uint64, only int) (Column, error) {
	d, anchor, err := o.src.StripeField(o.ctx, o.stripe, node.ID)
	if err != nil {
		return nil, err
	}
	if d.GetField() == nil && len(d.GetEncodings()) == 0 {
		return &nullColumn{arrowtype.Type(node), o.mem}, nil
	}
	f := &stored{o: o, group: g, node: node, desc: d.GetField(), anchor: anchor, typ: arrowtype.Type(node)}
	f.count = f.desc.GetPositionCount()
	if count != unknown && f.count != count && !f.short(count) {
		return nil, f.corrupt("%d positions, %d expected", f.count, count)
	}
	if n := f.desc.GetNullCount(); n > f.count {
		return nil, f.corrupt("%d nulls in %d positions", n, f.count)
	}
	c, err := f.choose(d.GetEncodings(), only)
	if err != nil {
		return nil, err
	}
	if count != unknown && f.count < count {
		return &shortColumn{Column: c, typ: f.typ, have: f.count, mem: o.mem}, nil
	}
	return c, nil
}

// short reports whether the field may have fewer positions than expected: the reference does not pad what is below a
// FixedSizeList whose last lists are null. What is missing is null.
func (f *stored) short(count uint64) bool {
	return f.count < count && f.o.inFixedSizeList(f.node)
}

// inFixedSizeList reports whether the positions of a node follow from those of a FixedSizeList above it.
func (o *opener) inFixedSizeList(n *schema.Node) bool {
	above := make(map[uint32]*schema.Node)
	(&schema.Schema{Fields: []*schema.Node{o.root}}).Walk(func(_ string, m *schema.Node) bool {
		above[m.ID] = m
		return m.ID != n.ID
	})
	for p := above[n.Parent]; p != nil; p = above[p.Parent] {
		switch p.Basic {
		case schema.FixedSizeList:
			return true
		case schema.List, schema.Map:
			return false
		}
	}
	return false
}

// column makes the reader that the type and the stored form request.
func (f *stored) column() (Column, error) {
	if what := stats.Contradiction(f.desc); what != "" && f.o.restored != nil && !f.o.audit {
		f.o.restored(f.corrupt("%s", what))
	}
	if c, ok, err := f.constant(); ok || err != nil {
		return c, err
	}
	if f.parquet != nil {
		return f.parquetColumn()
	}
	if f.buffer(metapb.BufferKind_VALUE_DICTIONARY) != nil {
		return f.dictionaryColumn()
	}
	switch f.node.Basic {
	case schema.Unit:
		return &nullColumn{f.typ, f.o.mem}, nil
	case schema.Boolean:
		return f.boolColumn()
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64, schema.Float32, schema.Float64, schema.DateTime:
		return f.numberColumn()
	case schema.String, schema.Binary, schema.FixedSizeBinary, schema.Guid:
		return f.bytesColumn()
	case schema.List, schema.Map:
		return f.listColumn()
	case schema.FixedSizeList:
		return f.fixedListColumn()
	case schema.Struct:
		return f.structColumn()
	case schema.Union:
		return f.unionColumn()
	}
	return nil, corrupt.Locate(corrupt.Unsupported(-1, "field %q: basic type %d", f.o.pathOf(f.node), f.node.Basic), f.anchor, 0)
}

// numberColumn opens a field of numbers.
func (f *stored) numberColumn() (Column, error) {
	signed := f.node.Signed
	switch f.node.Basic {
	case schema.Int8:
		return pick[int8, uint8](f, signed)
	case schema.Int16:
		return pick[int16, uint16](f, signed)
	case schema.Int32:
		return pick[int32, uint32](f, signed)
	case schema.Float32:
		return newNumbers[float32](f)
	case schema.Float64:
		return newNumbers[float64](f)
	default: // Int64, and DateTime, which is unsigned
		return pick[int64, uint64](f, signed)
	}
}

func pick[S, U block.Number](f *stored, signed bool) (Column, error) {
	if signed {
		return newNumbers[S](f)
	}
	return newNumbers[U](f)
}

// multiply gives a*b, or false if it does not fit.
func multiply(a, b uint64) (uint64, bool) {
	hi, lo := bits.Mul64(a, b)
	return lo, hi == 0
}
