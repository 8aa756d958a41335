package column

import (
	"github.com/shardcat/shardcat/shardfmt/internal/budget"
)

// cloner is a column whose fetched bytes several readers can decode at the same time.
type cloner interface {
	// clone gives another reader of what the column has fetched, which charges mem; nil if there can be none.
	clone(mem *budget.Account) Column
}

// Clone gives a column that reads what c has fetched and may be used at the same time as c, as long as nothing is fetched or
// released; it charges mem. It is nil for columns that can't be read so.
func Clone(c Column, mem *budget.Account) Column {
	if t, ok := c.(cloner); ok {
		return t.clone(mem)
	}
	return nil
}

func (c *nullColumn) clone(mem *budget.Account) Column { return &nullColumn{c.typ, mem} }

func (c *constantColumn) clone(mem *budget.Account) Column {
	presence, ok := c.presence.clone(mem)
	if !ok {
		return nil
	}
	return &constantColumn{nullColumn{c.typ, mem}, c.node, c.raw, presence}
}

// clone is nil for a member of a packed group, whose super-blocks the group takes apart one at a time.
func (c *numbers[T]) clone(mem *budget.Account) *numbers[T] {
	if !c.Alone() {
		return nil
	}
	return &numbers[T]{Stream: c.Stream, scratch: newScratch(mem, c.scratch.Opaque), mem: mem, cached: -1, sparse: -1}
}

// clone reports with false that there can be none.
func (b *bitReader) clone(mem *budget.Account) (*bitReader, bool) {
	if b == nil {
		return nil, true
	}
	n := b.n.clone(mem)
	return &bitReader{n: n, prefix: b.prefix}, n != nil
}

func (c *numberColumn[T]) clone(mem *budget.Account) Column {
	data := c.data.clone(mem)
	presence, ok := c.presence.clone(mem)
	if data == nil || !ok {
		return nil
	}
	return &numberColumn[T]{c.typ, data, presence}
}

func (c *boolColumn) clone(mem *budget.Account) Column {
	data, ok := c.data.clone(mem)
	presence, also := c.presence.clone(mem)
	if !ok || !also {
		return nil
	}
	return &boolColumn{c.typ, data, presence}
}

func (c *bytesColumn) clone(mem *budget.Account) Column {
	presence, ok := c.presence.clone(mem)
	if !ok || !c.data.Alone() {
		return nil
	}
	data := &byteStrings{Stream: c.data.Stream, scratch: newScratch(mem, c.data.scratch.Opaque), mem: mem, fixed: c.data.fixed,
		average: c.data.average, cached: -1, sparse: -1}
	return &bytesColumn{c.typ, data, presence}
}

func (c *dictionaryColumn) clone(mem *budget.Account) Column {
	codes := c.codes.clone(mem)
	presence, ok := c.presence.clone(mem)
	if codes == nil || !ok {
		return nil
	}
	t := *c
	t.codes, t.presence, t.of, t.used = codes, presence, make(map[int]*valueDictionary), nil
	return &t
}

func (c *structColumn) clone(mem *budget.Account) Column {
	presence, ok := c.presence.clone(mem)
	if !ok {
		return nil
	}
	t := &structColumn{typ: c.typ, presence: presence}
	for _, child := range c.children {
		other := Clone(child, mem)
		if other == nil {
			return nil
		}
		t.children = append(t.children, other)
	}
	return t
}

func (c *opaqueColumn) clone(mem *budget.Account) Column { return Clone(c.Column, mem) }
