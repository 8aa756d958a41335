package lance

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// nesting is the path from a column to the field at the top: innermost first, whether each layer is a list. Layer 0 are
// the values themselves; a layer of structs or values is an item.
//
// A page has entries, one for each value and one for each list without values. The repetition level of an entry is the
// number of layers of lists, counted from the innermost, that begin with it: as many as there are begin a row. The definition
// level reports what is null or empty. Pages number them as they need; here they have one numbering: 0 for a value, 2i+1 for a
// null at layer i, 2i+2 for an empty list at layer i.
type nesting []bool

// lists is the number of layers of lists inside of layer i, or of all with i = len(n).
func (n nesting) lists(i int) (count uint16) {
	for _, isList := range n[:i] {
		if isList {
			count++
		}
	}
	return count
}

// codes maps the definition levels of a page to those of this package.
func (n nesting) codes(layers []layerKind) ([]uint16, error) {
	if len(layers) != len(n) {
		return nil, corrupt.At(-1, "page of %d layers for a field of %d", len(layers), len(n))
	}
	codes := []uint16{0}
	for i, k := range layers {
		if k.isList() != n[i] {
			return nil, corrupt.At(-1, "page with %s as layer %d of a field", layerNames[k], i)
		}
		null, empty := uint16(2*i+1), uint16(2*i+2)
		switch k {
		case nullableItem, nullableList:
			codes = append(codes, null)
		case emptyableList:
			codes = append(codes, empty)
		case nullOrEmptyList:
			codes = append(codes, null, empty)
		}
	}
	return codes, nil
}

// hidden reports, by definition level, whether an entry has no element at layer i, as a list outside of the layer is null
// or empty, or a struct outside of such a list.
func (n nesting) hidden(i int) []bool {
	out := make([]bool, 2*len(n)+1)
	inside := false
	for at := i + 1; at < len(n); at++ {
		inside = inside || n[at]
		out[2*at+1], out[2*at+2] = inside, inside
	}
	return out
}

// entries are some rows of one column.
type entries struct {
	n        int
	rep, def []uint16 // nil where all are 0, that is without lists or without nulls and empty lists
	values   arrow.ArrayData
}

// check compares the levels with the values: every entry that has an element at layer 0 has a value.
func (e *entries) check(n nesting, rows int) error {
	lists := n.lists(len(n))
	if e.rep != nil && len(e.rep) != e.n || e.def != nil && len(e.def) != e.n {
		return corrupt.At(-1, "%d repetition levels and %d definition levels of %d entries", len(e.rep), len(e.def), e.n)
	}
	if lists > 0 && e.rep == nil && e.n > 0 {
		return corrupt.At(-1, "lists without repetition levels")
	}
	begun := e.n
	if e.rep != nil {
		begun = 0
		for _, rep := range e.rep {
			if rep > lists {
				return corrupt.At(-1, "repetition level %d of a field with %d layers of lists", rep, lists)
			}
			if rep == lists {
				begun++
			}
		}
		if e.n > 0 && e.rep[0] != lists {
			return corrupt.At(-1, "rows that begin with repetition level %d", e.rep[0])
		}
	}
	if begun != rows {
		return corrupt.At(-1, "levels of %d rows, expected %d", begun, rows)
	}
	if visible := e.visible(n, 0, e.n); visible != e.values.Len() {
		return corrupt.At(-1, "levels of %d values, expected %d", visible, e.values.Len())
	}
	return nil
}

// visible is how many of the entries [from, to) have a value.
func (e *entries) visible(n nesting, from, to int) int {
	if e.def == nil {
		return to - from
	}
	hidden, count := n.hidden(0), 0
	for _, def := range e.def[from:to] {
		if !hidden[def] {
			count++
		}
	}
	return count
}

// validity is the bitmap of the elements of layer i, which is one of items, or nil if all are valid.
func (e *entries) validity(n nesting, i int) (valid []byte, missing, count int) {
	if e.def == nil && e.rep == nil {
		return nil, 0, e.n
	}
	begins, hidden := n.lists(i), n.hidden(i)
	for at := range e.n {
		if e.rep != nil && e.rep[at] < begins {
			continue
		}
		code := uint16(0)
		if e.def != nil {
			code = e.def[at]
		}
		if hidden[code] {
			continue
		}
		if code > 0 && int(code-1)/2 >= i {
			missing++
		} else {
			valid = setBit(valid, count)
		}
		count++
	}
	if missing == 0 {
		return nil, 0, count
	}
	for len(valid) < (count+7)/8 {
		valid = append(valid, 0)
	}
	return valid, missing, count
}

func setBit(bits []byte, i int) []byte {
	for len(bits) <= i/8 {
		bits = append(bits, 0)
	}
	bits[i/8] |= 1 << (i % 8)
	return bits
}

// offsets are those of the lists of layer i, one more than there are lists, and the bitmap of those that are not null.
func (e *entries) offsets(n nesting, i int) (offsets []uint64, valid []byte, missing int) {
	begins, inner := n.lists(i)+1, n.lists(i)
	hidden, innerHidden := n.hidden(i), n.hidden(i-1)
	items := uint64(0)
	for at := range e.n {
		rep, code := uint16(0), uint16(0)
		if e.rep != nil {
			rep = e.rep[at]
		}
		if e.def != nil {
			code = e.def[at]
		}
		if rep >= begins && !hidden[code] {
			if layer := int(code-1) / 2; code > 0 && (layer > i || layer == i && code%2 == 1) {
				missing++
			} else {
				valid = setBit(valid, len(offsets))
			}
			offsets = append(offsets, items)
		}
		if rep >= inner && !innerHidden[code] {
			items++
		}
	}
	offsets = append(offsets, items)
	if missing == 0 {
		return offsets, nil, 0
	}
	for len(valid) < (len(offsets)+6)/8 {
		valid = append(valid, 0)
	}
	return offsets, valid, missing
}

// leaf is a column of a field, with the rows of it that are being assembled.
type leaf struct {
	nesting nesting
	column  *structuralColumn
	rows    entries
}

// assemble makes the data of a field from those of its leaves. depth is the number of layers outside of the field.
func (l *layout) assemble(leaves []*leaf, depth int) (arrow.ArrayData, error) {
	first := leaves[0]
	i := len(first.nesting) - 1 - depth
	storage := l.t
	if ext, ok := storage.(arrow.ExtensionType); ok {
		storage = ext.StorageType()
	}
	if len(l.children) == 0 {
		valid, missing, _ := first.rows.validity(first.nesting, 0)
		data := first.rows.values
		if missing > 0 && storage.ID() != arrow.NULL {
			data = mask(data, memory.NewBufferBytes(valid))
		}
		return data, nil
	}
	var children []arrow.ArrayData
	rest := leaves
	for _, c := range l.children {
		n := c.leaves()
		child, err := c.assemble(rest[:n], depth+1)
		if err != nil {
			return nil, err
		}
		if len(children) > 0 && child.Len() != children[0].Len() {
			return nil, corrupt.At(-1, "field %q: %d values, the fields beside it have %d", c.node.Name, child.Len(), children[0].Len())
		}
		children, rest = append(children, child), rest[n:]
	}
	if storage.ID() == arrow.STRUCT {
		valid, missing, count := first.rows.validity(first.nesting, i)
		if count != children[0].Len() {
			return nil, corrupt.At(-1, "field %q: levels of %d structs, the fields have %d values", l.node.Name, count, children[0].Len())
		}
		return array.NewData(l.t, count, []*memory.Buffer{bitmapBuffer(valid)}, children, missing, 0), nil
	}
	offsets, valid, missing := first.rows.offsets(first.nesting, i)
	if items := offsets[len(offsets)-1]; items != uint64(children[0].Len()) {
		return nil, corrupt.At(-1, "field %q: lists of %d items, expected %d", l.node.Name, items, children[0].Len())
	}
	narrowed, err := narrow(offsets, isLarge(storage))
	if err != nil {
		return nil, err
	}
	return array.NewData(l.t, len(offsets)-1, []*memory.Buffer{bitmapBuffer(valid), memory.NewBufferBytes(narrowed)}, children, missing, 0), nil
}

// leaves is how many columns hold a field of version 2.1 or later.
func (l *layout) leaves() int {
	if len(l.children) == 0 {
		return 1
	}
	n := 0
	for _, c := range l.children {
		n += c.leaves()
	}
	return n
}
