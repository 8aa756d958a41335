package parquetref

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
	columnpkg "github.com/shardcat/shardcat/shardfmt/internal/column"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetchunk"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// path is a leaf of a field and the lists, maps and structs above it, from the top.
type path struct {
	leaf  *parquetchunk.Shape
	above []*parquetchunk.Shape
}

// pathsOf lists the leaves of a field.
func pathsOf(s *parquetchunk.Shape, above []*parquetchunk.Shape) (out []path) {
	if s.Column >= 0 {
		return []path{{s, slices.Clone(above)}}
	}
	for _, c := range s.Children {
		out = append(out, pathsOf(c, append(above, s))...)
	}
	return out
}

// nesting is what the levels of a column state about one list, map or struct: which are null, and where the elements of each list start.
type nesting struct {
	valid    []bool
	starts   []int64
	elements int64
}

// size in bytes.
func (n *nesting) size() uint64 { return uint64(cap(n.valid) + 8*cap(n.starts)) }

// structure collects the lists, maps and structs of a field, by the number of their nodes. Each column below one reports where its values are: the
// first is taken, and all others must agree.
type structure struct {
	of  map[uint32]*nesting
	mem *budget.Account
}

// collector takes the levels of one column of a structure.
type collector struct {
	s    *structure
	own  []nesting
	last uint64 // size of own
}

func (s *structure) collector(depth int) *collector {
	return &collector{s: s, own: make([]nesting, depth)}
}

// add takes the levels of a page of a column below the given nodes, and counts the records that begin there.
func (c *collector) add(above []*parquetchunk.Shape, levels parquetchunk.Levels, rows *uint64) error {
	for i, def := range levels.Def {
		rep := levels.Rep[i]
		if rep == 0 {
			*rows++
		} else if *rows == 0 {
			return corrupt.At(-1, "a column that begins within a list")
		}
		for k, node := range above {
			if !c.own[k].add(node, def, rep) {
				return corrupt.At(-1, "column %q: repetition level %d, definition level %d: an element of no list", node.Node.Name, rep, def)
			}
		}
	}
	size := uint64(0)
	for k := range c.own {
		size += c.own[k].size()
	}
	err := c.s.mem.Hold(size - c.last)
	if err == nil {
		c.last = size
	}
	return err
}

// add takes an entry, and reports whether it may follow those before.
func (n *nesting) add(node *parquetchunk.Shape, def, rep uint32) bool {
	list := node.Element > 0
	if rep <= node.Rep && def >= node.Position {
		n.valid = append(n.valid, def >= node.Present)
		if list {
			n.starts = append(n.starts, n.elements)
		}
	}
	switch {
	case !list || rep > node.Rep+1:
		return true
	case def >= node.Element:
		if rep > node.Rep && (len(n.starts) == 0 || n.starts[len(n.starts)-1] == n.elements) {
			return false
		}
		n.elements++
		return true
	}
	return rep <= node.Rep
}

// agree makes what a column reported that of the nodes above it, or compares the two.
func (c *collector) agree(above []*parquetchunk.Shape) error {
	for k, node := range above {
		own, have := &c.own[k], c.s.of[node.Node.ID]
		if have == nil {
			c.s.of[node.Node.ID] = own
			continue
		}
		if have.elements != own.elements || !slices.Equal(have.valid, own.valid) || !slices.Equal(have.starts, own.starts) {
			return corrupt.At(-1, "column %q: two of the columns below disagree about its values", node.Node.Name)
		}
	}
	return nil
}

// encode gives the encoded nodes of a field, children before their parents: leaves as they are given by their number, the others natively.
func (s *structure) encode(node *schema.Node, leaves map[uint32]*columnpkg.Encoded, o *columnpkg.Options) (out []*columnpkg.Encoded, err error) {
	if e := leaves[node.ID]; e != nil {
		return []*columnpkg.Encoded{e}, nil
	}
	for _, c := range node.Children {
		below, err := s.encode(c, leaves, o)
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	e, err := columnpkg.NewApart(node, o)
	if err != nil {
		return nil, err
	}
	n := s.of[node.ID]
	if n == nil {
		n = new(nesting)
	}
	if err := e.Add(n.array(node)); err != nil {
		return nil, err
	}
	err = e.Finish(func(e *columnpkg.Encoded) error {
		out = append(out, e)
		return nil
	})
	return out, err
}

// array gives the lists or structs without what is in them.
func (n *nesting) array(node *schema.Node) arrow.Array {
	nulls, bits := 0, make([]byte, len(n.valid)/8+1)
	for i, valid := range n.valid {
		if valid {
			bits[i/8] |= 1 << (i % 8)
		} else {
			nulls++
		}
	}
	buffers := []*memory.Buffer{nil}
	if nulls > 0 {
		buffers[0] = memory.NewBufferBytes(bits)
	}
	if node.Basic == schema.Struct {
		return array.MakeFromData(array.NewData(arrow.StructOf(), len(n.valid), buffers, nil, nulls, 0))
	}
	buffers = append(buffers, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(append(n.starts, n.elements))))
	items := array.NewNull(int(n.elements)).Data()
	return array.MakeFromData(array.NewData(arrow.LargeListOf(arrow.Null), len(n.valid), buffers, []arrow.ArrayData{items}, nulls, 0))
}
