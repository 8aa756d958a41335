package schema

import (
	"math"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Unmarshal decodes the payload of a schema message. Node numbers must be unique and below the stated count;
// depth, number and memory of the nodes are limited (MaxDepth, MaxNodes, and a multiple of the payload, since
// a buffer may use one string many times).
func Unmarshal(payload []byte) (*Schema, error) {
	v, err := NewView(payload)
	if err != nil {
		return nil, err
	}
	r := v.reader()
	s := &Schema{Count: v.count}
	for i := range v.fields.n {
		n, err := r.field(v.fields, i)
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, n)
	}
	return s, nil
}

// reader decodes nodes of one schema.
type reader struct {
	count uint32
	// seen has a bit per node number.
	seen []uint64
	// budget is how many bytes the decoded nodes may still take.
	budget int
}

const (
	// nodeBytes is about what a node takes in memory without its texts.
	nodeBytes = 200
	// baseBudget and budgetPerByte bound a decoded schema: the usual one takes four to eight times its
	// payload.
	baseBudget    = 1 << 20
	budgetPerByte = 64
)

func (v *View) reader() *reader {
	return &reader{
		count:  v.count,
		seen:   make([]uint64, (v.count+63)/64),
		budget: baseBudget + budgetPerByte*len(v.fields.b),
	}
}

// spend takes n bytes off the budget.
func (r *reader) spend(n, pos int) error {
	if r.budget -= n; r.budget < 0 {
		return corrupt.At(int64(pos), "schema: decoded nodes outgrow their bytes")
	}
	return nil
}

// field decodes element i of the schema's fields.
func (r *reader) field(fields vector, i int) (*Node, error) {
	f, err := fields.table(i)
	if err != nil {
		return nil, err
	}
	t, err := fieldTypeOf(f)
	if err != nil {
		return nil, err
	}
	n, err := r.node(t, NoParent, 1)
	if err != nil {
		return nil, err
	}
	pos, err := f.ref(slotFieldInternal)
	if err != nil || pos == 0 {
		return n, err
	}
	internal, err := f.b.table(pos)
	if err != nil {
		return nil, err
	}
	n.Internal, err = r.text(internal, slotInternalKind, "kind of an internal field")
	return n, err
}

// node decodes a DataType and everything below it.
func (r *reader) node(t table, parent uint32, depth int) (*Node, error) {
	if depth > MaxDepth {
		return nil, corrupt.At(int64(t.pos), "schema: nodes nest deeper than %d levels", MaxDepth)
	}
	if err := r.spend(nodeBytes, t.pos); err != nil {
		return nil, err
	}
	n := &Node{Nullable: true}
	if err := r.scalars(n, t, parent); err != nil {
		return nil, err
	}
	var err error
	if n.Name, err = r.text(t, slotTypeName, "name of a field"); err != nil {
		return nil, err
	}
	if n.Aliases, err = r.aliases(t); err != nil {
		return nil, err
	}
	if n.Ext, err = r.extension(t); err != nil {
		return nil, err
	}
	return n, r.children(n, t, depth)
}

// scalars decodes what is not behind an offset and checks the node's number.
func (r *reader) scalars(n *Node, t table, parent uint32) error {
	basic, err := t.byte(slotTypeBasic)
	if err != nil {
		return err
	}
	if n.Basic = Basic(basic); n.Basic > Union {
		return corrupt.Unsupported(int64(t.pos), "schema: basic type %d", basic)
	}
	if n.ID, err = t.uint32(slotTypeID); err != nil {
		return err
	}
	if err := r.claim(n.ID, t.pos); err != nil {
		return err
	}
	if n.Parent, err = t.uint32(slotTypeParent); err != nil {
		return err
	}
	if n.Parent != parent {
		return corrupt.At(int64(t.pos), "schema: node %d says its parent is %d, it lies in %d", n.ID, n.Parent, parent)
	}
	if n.Signed, err = t.bool(slotTypeSigned); err != nil {
		return err
	}
	if n.FixedSize, err = t.uint64(slotTypeSize); err != nil {
		return err
	}
	return checkSize(n, t.pos)
}

// claim marks a node number as used.
func (r *reader) claim(id uint32, pos int) error {
	if id >= r.count {
		return corrupt.At(int64(pos), "schema: node number %d of %d", id, r.count)
	}
	word, bit := &r.seen[id/64], uint64(1)<<(id%64)
	if *word&bit != 0 {
		return corrupt.At(int64(pos), "schema: node number %d is used twice", id)
	}
	*word |= bit
	return nil
}

// checkSize checks fixed_size against the type.
func checkSize(n *Node, pos int) error {
	switch n.Basic {
	case FixedSizeBinary, FixedSizeList:
		if n.FixedSize > math.MaxUint32 {
			return corrupt.At(int64(pos), "schema: fixed size %d", n.FixedSize)
		}
	case Guid:
		if n.FixedSize != 0 && n.FixedSize != 16 {
			return corrupt.At(int64(pos), "schema: Guid of %d bytes", n.FixedSize)
		}
		n.FixedSize = 16
	}
	return nil
}

// text decodes the string in a slot that may not be absent.
func (r *reader) text(t table, slot int, what string) (string, error) {
	pos, err := t.must(slot, what)
	if err != nil {
		return "", err
	}
	return r.textAt(t.b, pos)
}

func (r *reader) textAt(b flat, pos int) (string, error) {
	text, err := b.text(pos)
	if err != nil {
		return "", err
	}
	if len(text) > MaxName {
		return "", corrupt.At(int64(pos), "schema: name of %d bytes", len(text))
	}
	return string(text), r.spend(len(text)+16, pos)
}

func (r *reader) aliases(t table) ([]string, error) {
	v, err := t.vectorAt(slotTypeAliases, 4)
	if err != nil {
		return nil, err
	}
	var aliases []string
	for i := range v.n {
		pos, err := v.b.follow(v.start + 4*i)
		if err != nil {
			return nil, err
		}
		alias, err := r.textAt(v.b, pos)
		if err != nil {
			return nil, err
		}
		aliases = append(aliases, alias)
	}
	return aliases, nil
}

// extension decodes the annotation of a node, nil if there is none.
func (r *reader) extension(t table) (*Extension, error) {
	pos, err := t.ref(slotTypeExt)
	if err != nil || pos == 0 {
		return nil, err
	}
	e, err := t.b.table(pos)
	if err != nil {
		return nil, err
	}
	ext := new(Extension)
	if ext.Label, err = r.text(e, slotExtLabel, "label of an extended type"); err != nil {
		return nil, err
	}
	properties, err := e.vectorAt(slotExtProperties, 4)
	if err != nil {
		return nil, err
	}
	for i := range properties.n {
		p, err := properties.table(i)
		if err != nil {
			return nil, err
		}
		property, err := r.property(p)
		if err != nil {
			return nil, err
		}
		ext.Properties = append(ext.Properties, property)
	}
	return ext, nil
}

func (r *reader) property(t table) (p ExtensionProperty, err error) {
	if p.Name, err = r.text(t, slotPropertyName, "name of a type property"); err != nil {
		return p, err
	}
	pos, err := t.must(slotPropertyValue, "value of a type property")
	if err != nil {
		return p, err
	}
	value, err := t.b.table(pos)
	if err != nil {
		return p, err
	}
	kind, err := value.byte(slotValueKind)
	if err != nil {
		return p, err
	}
	if p.Kind = PropertyKind(kind); p.Kind > PropertyAnyValue {
		return p, corrupt.Unsupported(int64(value.pos), "schema: type property of kind %d", kind)
	}
	data, err := value.vectorAt(slotValueData, 1)
	if err != nil {
		return p, err
	}
	p.Data = append([]byte(nil), data.bytes()...)
	return p, r.spend(data.n+64, pos)
}

// children decodes the children of n and checks their number against its type.
func (r *reader) children(n *Node, t table, depth int) error {
	pos, err := t.must(slotTypeChildren, "children of a field")
	if err != nil {
		return err
	}
	v, err := t.b.vector(pos, 4)
	if err != nil {
		return err
	}
	if want := childCount(n.Basic); want >= 0 && v.n != want {
		return corrupt.At(int64(t.pos), "schema: %v with %d children", n.Basic, v.n)
	}
	for i := range v.n {
		c, err := v.table(i)
		if err != nil {
			return err
		}
		child, err := r.node(c, n.ID, depth+1)
		if err != nil {
			return err
		}
		n.Children = append(n.Children, child)
	}
	return nil
}

// childCount is how many children a node of type b has, -1 for any number.
func childCount(b Basic) int {
	switch b {
	case List, FixedSizeList:
		return 1
	case Map:
		return 2
	case Struct, Union:
		return -1
	}
	return 0
}
