package schemawire

import (
	"math"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Unmarshal decodes the payload of a schema message. Node numbers must be unique and below the stated count;
// depth, number and memory of the nodes are limited (100 levels, a million, and a multiple of the payload, since
// a buffer may use one string many times).
func Unmarshal(payload []byte) (*schema.Schema, error) {
	v, err := NewView(payload)
	if err != nil {
		return nil, err
	}
	r := v.reader()
	s := &schema.Schema{Count: v.count}
	for i := range v.fields {
		n, err := r.field(v.root, i)
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
	// few are the numbers of the first nodes; seen has a bit per number from then on, when there are more. One field of ten thousand has few.
	few  [16]uint32
	some int
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
		budget: baseBudget + budgetPerByte*len(v.payload),
	}
}

// spend takes n bytes off the budget.
func (r *reader) spend(n int, t flatbuffers.Table) error {
	if r.budget -= n; r.budget < 0 {
		return corrupt.At(int64(t.Pos), "schema: decoded nodes outgrow their bytes")
	}
	return nil
}

// field decodes field i of the schema.
func (r *reader) field(root *schemafb.Schema, i int) (*schema.Node, error) {
	return r.fieldBy(root, i, func(t *schemafb.DataType) (*schema.Node, error) { return r.node(t, schema.NoParent, 1) })
}

// fieldBy decodes field i with what decodes its type.
func (r *reader) fieldBy(root *schemafb.Schema, i int, node func(*schemafb.DataType) (*schema.Node, error)) (*schema.Node, error) {
	var f schemafb.Field
	root.Fields(&f, i)
	if err := check(f.Table(), fieldTypeSlot); err != nil {
		return nil, err
	}
	if err := check(f.Table(), fieldInternalSlot); err != nil {
		return nil, err
	}
	var t schemafb.DataType
	f.DataType(&t)
	n, err := node(&t)
	if err != nil {
		return nil, err
	}
	internal := f.InternalFieldAnnotation(nil)
	if internal == nil {
		return n, nil
	}
	if err := check(internal.Table(), internalSlots); err != nil {
		return nil, err
	}
	n.Internal, err = r.text(internal.Kind(), internal.Table())
	return n, err
}

// node decodes a DataType and everything below it.
func (r *reader) node(t *schemafb.DataType, parent uint32, depth int) (*schema.Node, error) {
	if depth > schemafb.MaxDepth {
		return nil, corrupt.At(int64(t.Table().Pos), "schema: nodes nest deeper than %d levels", schemafb.MaxDepth)
	}
	if err := check(t.Table(), typeSlots); err != nil {
		return nil, err
	}
	if err := r.spend(nodeBytes, t.Table()); err != nil {
		return nil, err
	}
	n := &schema.Node{Nullable: true}
	if err := r.scalars(n, t, parent); err != nil {
		return nil, err
	}
	var err error
	if n.Name, err = r.text(t.FieldName(), t.Table()); err != nil {
		return nil, err
	}
	if n.Aliases, err = r.aliases(t); err != nil {
		return nil, err
	}
	if n.Ext, err = r.extension(t.ExtendedType(nil)); err != nil {
		return nil, err
	}
	return n, r.children(n, t, depth)
}

// scalars decodes what is not behind an offset and checks the node's number.
func (r *reader) scalars(n *schema.Node, t *schemafb.DataType, parent uint32) error {
	pos := int64(t.Table().Pos)
	if n.Basic = schema.Basic(t.BasicType()); n.Basic > schema.Union {
		return corrupt.Unsupported(pos, "schema: basic type %d", uint8(n.Basic))
	}
	n.ID, n.Parent = t.SchemaId(), t.ParentSchemaId()
	if err := r.claim(n.ID, pos); err != nil {
		return err
	}
	if n.Parent != parent {
		return corrupt.At(pos, "schema: node %d has parent %d, but is in %d", n.ID, n.Parent, parent)
	}
	n.Signed, n.FixedSize = t.Signed(), t.FixedSize()
	return checkSize(n, pos)
}

// claim marks a node number as used.
func (r *reader) claim(id uint32, pos int64) error {
	if id >= r.count {
		return corrupt.At(pos, "schema: node number %d of %d", id, r.count)
	}
	if r.isSeen(id) {
		return corrupt.At(pos, "schema: node number %d is used twice", id)
	}
	return nil
}

// isSeen reports whether a number was seen before. It is from now on.
func (r *reader) isSeen(id uint32) bool {
	if r.seen == nil {
		if slices.Contains(r.few[:r.some], id) {
			return true
		}
		if r.some < len(r.few) {
			r.few[r.some] = id
			r.some++
			return false
		}
		r.seen = make([]uint64, (r.count+63)/64)
		for _, id := range r.few {
			r.seen[id/64] |= 1 << (id % 64)
		}
	}
	word, bit := &r.seen[id/64], uint64(1)<<(id%64)
	was := *word&bit != 0
	*word |= bit
	return was
}

// checkSize checks fixed_size against the type.
func checkSize(n *schema.Node, pos int64) error {
	switch n.Basic {
	case schema.FixedSizeBinary, schema.FixedSizeList:
		if n.FixedSize > math.MaxUint32 {
			return corrupt.At(pos, "schema: fixed size %d", n.FixedSize)
		}
	case schema.Guid:
		if n.FixedSize != 0 && n.FixedSize != 16 {
			return corrupt.At(pos, "schema: schema.Guid of %d bytes", n.FixedSize)
		}
		n.FixedSize = 16
	}
	return nil
}

// text decodes a text of table t.
func (r *reader) text(text []byte, t flatbuffers.Table) (string, error) {
	if err := checkText(text, t); err != nil {
		return "", err
	}
	return string(text), r.spend(len(text)+16, t)
}

func (r *reader) aliases(t *schemafb.DataType) ([]string, error) {
	var aliases []string
	for i := range t.FieldAliasesLength() {
		text, err := aliasOf(t, i)
		if err != nil {
			return nil, err
		}
		alias, err := r.text(text, t.Table())
		if err != nil {
			return nil, err
		}
		aliases = append(aliases, alias)
	}
	return aliases, nil
}

// extension decodes the annotation of a node, nil if there is none.
func (r *reader) extension(t *schemafb.ExtendedTypeAnnotation) (*schema.Extension, error) {
	if t == nil {
		return nil, nil
	}
	if err := check(t.Table(), extensionSlots); err != nil {
		return nil, err
	}
	label, err := r.text(t.Label(), t.Table())
	if err != nil {
		return nil, err
	}
	ext := &schema.Extension{Label: label}
	for i := range t.PropertiesLength() {
		var p schemafb.ExtendedTypeProperty
		t.Properties(&p, i)
		property, err := r.property(&p)
		if err != nil {
			return nil, err
		}
		ext.Properties = append(ext.Properties, property)
	}
	return ext, nil
}

func (r *reader) property(t *schemafb.ExtendedTypeProperty) (p schema.ExtensionProperty, err error) {
	if err := check(t.Table(), propertySlots); err != nil {
		return p, err
	}
	if p.Name, err = r.text(t.Name(), t.Table()); err != nil {
		return p, err
	}
	var value schemafb.PropertyValue
	t.Value(&value)
	if err := check(value.Table(), valueSlots); err != nil {
		return p, err
	}
	if p.Kind = schema.PropertyKind(value.Kind()); p.Kind > schema.PropertyAnyValue {
		return p, corrupt.Unsupported(int64(value.Table().Pos), "schema: type property of kind %d", p.Kind)
	}
	p.Data = append([]byte(nil), value.DataBytes()...)
	return p, r.spend(len(p.Data)+64, value.Table())
}

// children decodes the children of n and checks their number against its type.
func (r *reader) children(n *schema.Node, t *schemafb.DataType, depth int) error {
	count := t.ChildrenLength()
	if err := checkChildren(n.Basic, count, int64(t.Table().Pos)); err != nil {
		return err
	}
	for i := range count {
		var c schemafb.DataType
		t.Children(&c, i)
		child, err := r.node(&c, n.ID, depth+1)
		if err != nil {
			return err
		}
		n.Children = append(n.Children, child)
	}
	return nil
}

// checkChildren refuses a number of children that a type can't have.
func checkChildren(b schema.Basic, count int, pos int64) error {
	switch want := schemafb.ChildCount(schemafb.BasicType(b)); {
	case want >= 0 && count != want:
		return corrupt.At(pos, "schema: %v with %d children", b, count)
	case b == schema.Union && (count == 0 || count > schemafb.MaxVariants):
		return corrupt.Unsupported(pos, "schema: a Union of %d variants; there must be one to %d", count, schemafb.MaxVariants)
	}
	return nil
}
