package column

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/block"
	"github.com/shardcat/shardcat/shardfmt/internal/colstream"
	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

const (
	// packedPositions is how many positions a super-block has: one chunk of FastLanes, so that a row costs little to read.
	packedPositions = 1024
	// packedBytes ends a super-block before that, 4 MiB of values.
	packedBytes = 4 << 20
	// packedPiece is how many positions are staged before packedBytes is looked at.
	packedPiece = 128
)

// Packable reports whether the values of a node can be a member of a packed group: it needs one stream of blocks, and a position
// for each of its parent's.
func Packable(n *schema.Node) bool { return !nested(n.Basic) && n.Basic != schema.Unit }

// packedEncoder is a field of structs whose members are stored side by side; other children are stored as usual.
type packedEncoder struct {
	nest
	// of reports for each child which encoder of nest takes it, -1 for a member.
	of      []int
	members []*packedMember
	staged  int
	plain   bool
	out     colstream.StreamWriter
	blocks  []byte
	sizes   []int
}

// packedMember is a child whose blocks lie in the group.
type packedMember struct {
	child int
	memberValues
}

// memberValues stages the values of a member.
type memberValues interface {
	// add takes the values of an array; note takes them for the statistics.
	add(a arrow.Array)
	note(a arrow.Array)
	// block appends what is staged as one block.
	block(dst []byte) ([]byte, error)
	encoded() *Encoded
	staged() int
	size() int
}

// newPackedEncoder makes the encoder of a struct, of which some children are members.
func newPackedEncoder(b base, members []int) (*packedEncoder, error) {
	e := &packedEncoder{nest: nest{base: b}, of: make([]int, len(b.node.Children)), plain: b.o.Profile == encode.Plain}
	for _, i := range members {
		e.of[i] = -1
		e.members = append(e.members, &packedMember{i, memberOf(newBase(b.node.Children[i], b.o))})
	}
	for i, n := range b.node.Children {
		if e.of[i] < 0 {
			continue
		}
		c, err := NewEncoder(n, b.o)
		if err != nil {
			return nil, err
		}
		e.of[i] = len(e.children)
		e.children = append(e.children, c)
	}
	return e, nil
}

func memberOf(b base) memberValues {
	switch b.node.Basic {
	case schema.Boolean:
		return &packedBools{packedNumbers[uint8]{base: b, enc: b.encoder(false)}}
	case schema.Int8:
		return signedMember[int8, uint8](b)
	case schema.Int16:
		return signedMember[int16, uint16](b)
	case schema.Int32:
		return signedMember[int32, uint32](b)
	case schema.Int64, schema.DateTime:
		return signedMember[int64, uint64](b)
	case schema.Float32:
		return &packedNumbers[float32]{base: b, enc: b.encoder(false)}
	case schema.Float64:
		return &packedNumbers[float64]{base: b, enc: b.encoder(false)}
	}
	m := &packedStrings{base: b, enc: b.encoder(false)}
	if b.node.Basic == schema.FixedSizeBinary || b.node.Basic == schema.Guid {
		m.fixed = int(b.node.FixedSize)
	}
	m.drop()
	return m
}

func signedMember[S, U block.Number](b base) memberValues {
	if b.node.Signed {
		return &packedNumbers[S]{base: b, enc: b.encoder(false)}
	}
	return &packedNumbers[U]{base: b, enc: b.encoder(false)}
}

func (e *packedEncoder) Add(a arrow.Array) error {
	s, ok := a.(*array.Struct)
	if !ok || s.NumField() != len(e.of) {
		return fmt.Errorf("field %q: structs of type %v", e.node.Name, a.DataType())
	}
	e.stats.Add(a)
	e.n += a.Len()
	for i, c := range e.of {
		if c >= 0 {
			if err := e.children[c].Add(s.Field(i)); err != nil {
				return err
			}
		}
	}
	for _, m := range e.members {
		m.note(s.Field(m.child))
	}
	for at := 0; at < a.Len(); {
		n := min(packedPiece, packedPositions-e.staged, a.Len()-at)
		if err := e.stage(s, at, n); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// stage takes n positions from at on, and ends the super-block when it is full.
func (e *packedEncoder) stage(s *array.Struct, at, n int) error {
	e.valid.add(s, at, n, e.staged)
	e.staged += n
	held := 0
	for _, m := range e.members {
		piece := array.NewSlice(s.Field(m.child), int64(at), int64(at+n))
		m.add(piece)
		piece.Release()
		held += m.staged()
	}
	if e.staged < packedPositions && held < packedBytes {
		return nil
	}
	return e.flush()
}

// flush makes a super-block of what is staged.
func (e *packedEncoder) flush() (err error) {
	if e.staged == 0 {
		return nil
	}
	e.blocks, e.sizes = e.blocks[:0], e.sizes[:0]
	for _, m := range e.members {
		start := len(e.blocks)
		if e.blocks, err = m.block(e.blocks); err != nil {
			return err
		}
		e.sizes = append(e.sizes, len(e.blocks)-start)
	}
	start := len(e.blocks)
	var present []byte
	if valid := e.valid.bytes(); valid != nil {
		present = encode.Presence(nil, valid, e.staged, e.plain)
	}
	e.blocks = block.AppendFrame(e.blocks, present, nil, true)
	e.sizes = append(e.sizes, len(e.blocks)-start)
	if err := e.out.AddSuper(e.staged, e.sizes, e.blocks); err != nil {
		return err
	}
	e.valid.drop(e.staged)
	e.staged = 0
	return nil
}

func (e *packedEncoder) Finish(yield func(*Encoded) error) error {
	if err := e.finishChildren(yield); err != nil {
		return err
	}
	if err := e.flush(); err != nil {
		return err
	}
	for i, m := range e.members {
		index := uint32(i)
		out := m.encoded()
		out.Buffers = []Buffer{{Meta: &metapb.EncodedBuffer{Kind: metapb.BufferKind_DATA, PackedGroupIndex: &index,
			EmbeddedPresence: true, EmbeddedOffsets: hasLengths(out.Node)}}}
		if err := yield(out); err != nil {
			return err
		}
	}
	out := e.encoded()
	out.Packed = true
	out.add(&metapb.EncodedBuffer{Kind: metapb.BufferKind_DATA, EmbeddedPresence: true}, e.out.Finish())
	return yield(out)
}

// hasLengths reports whether the lengths of a node's values are inside its blocks.
func hasLengths(n *schema.Node) bool {
	switch n.Basic {
	case schema.String, schema.Binary, schema.FixedSizeBinary, schema.Guid:
		return true
	}
	return false
}

func (e *packedEncoder) Size() int {
	n := e.nest.Size() + e.out.Len() + cap(e.blocks)
	for _, m := range e.members {
		n += m.size()
	}
	return n
}
