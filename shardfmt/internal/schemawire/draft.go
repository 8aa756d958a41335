package schemawire

import (
	"math"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The book prints the schema without parents, counts and lookup tables: a DataType has the slots
//
//	0 basic_type  1 schema_id  2 field_name  3 field_aliases  4 children  5 signed  6 fixed_size  7 extended_type
//
// and a Schema only its fields. The other tables are those of the wire.
const (
	draftBasic, draftID, draftName, draftAliases   = 4, 6, 8, 10
	draftChildren, draftSigned, draftSize, draftEx = 12, 14, 16, 18
	draftSlotCount                                 = 8
)

var draftSlots = []slot{
	{entry: draftBasic, kind: scalar, size: 1},
	{entry: draftID, kind: scalar, size: 4},
	{entry: draftName, kind: vector, size: 1, what: "name of a field"},
	{entry: draftAliases, kind: vector, size: 4},
	{entry: draftChildren, kind: vector, size: 4, what: "children of a field"},
	{entry: draftSigned, kind: boolean, size: 1},
	{entry: draftSize, kind: scalar, size: 8},
	{entry: draftEx, kind: subtable},
}

// UnmarshalDraft is Unmarshal for the draft wire. Nodes must be numbered as Number does.
func UnmarshalDraft(payload []byte) (*schema.Schema, error) {
	root, err := rootOf(payload)
	if err != nil {
		return nil, err
	}
	if n := root.FieldsLength(); n > schemafb.MaxNodes {
		return nil, corrupt.At(0, "schema: %d fields", n)
	}
	r := &reader{count: schemafb.MaxNodes, budget: baseBudget + budgetPerByte*len(payload)}
	s := &schema.Schema{}
	ids := make(map[*schema.Node]uint32)
	for i := range root.FieldsLength() {
		n, err := r.fieldBy(root, i, func(t *schemafb.DataType) (*schema.Node, error) { return r.draftNode(t.Table(), ids, 1) })
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, n)
	}
	s.Number()
	failed := error(nil)
	s.Walk(func(path string, n *schema.Node) bool {
		if n.ID != ids[n] && failed == nil {
			failed = corrupt.At(0, "schema: field %q has number %d, expected %d", path, ids[n], n.ID)
		}
		return failed == nil
	})
	return s, failed
}

func (r *reader) draftNode(t flatbuffers.Table, ids map[*schema.Node]uint32, depth int) (n *schema.Node, err error) {
	if depth > schemafb.MaxDepth {
		return nil, corrupt.At(int64(t.Pos), "schema: nodes nest deeper than %d levels", schemafb.MaxDepth)
	}
	if err := check(t, draftSlots); err != nil {
		return nil, err
	}
	if err := r.spend(nodeBytes, t); err != nil {
		return nil, err
	}
	n = &schema.Node{Nullable: true, Basic: schema.Basic(t.GetByteSlot(draftBasic, 0)), Signed: t.GetBoolSlot(draftSigned, false),
		FixedSize: t.GetUint64Slot(draftSize, 0)}
	ids[n] = t.GetUint32Slot(draftID, 0)
	if n.Basic > schema.Union {
		return nil, corrupt.Unsupported(int64(t.Pos), "schema: basic type %d", uint8(n.Basic))
	}
	if err := checkSize(n, int64(t.Pos)); err != nil {
		return nil, err
	}
	if n.Name, err = r.text(t.ByteVector(at(t, draftName)), t); err != nil {
		return nil, err
	}
	if n.Aliases, err = r.draftAliases(t); err != nil {
		return nil, err
	}
	if o := t.Offset(draftEx); o != 0 {
		x := new(schemafb.ExtendedTypeAnnotation)
		x.Init(t.Bytes, t.Indirect(flatbuffers.UOffsetT(o)+t.Pos))
		if n.Ext, err = r.extension(x); err != nil {
			return nil, err
		}
	}
	return n, r.draftChildren(n, t, ids, depth)
}

// at is where the field of a slot lies, which is there.
func at(t flatbuffers.Table, slot flatbuffers.VOffsetT) flatbuffers.UOffsetT {
	return flatbuffers.UOffsetT(t.Offset(slot)) + t.Pos
}

func (r *reader) draftAliases(t flatbuffers.Table) (out []string, err error) {
	o := flatbuffers.UOffsetT(t.Offset(draftAliases))
	if o == 0 {
		return nil, nil
	}
	elements := t.Vector(o)
	for i := range t.VectorLen(o) {
		pos := elements + 4*flatbuffers.UOffsetT(i)
		if err := checkVector(t.Bytes, int64(pos), 1); err != nil {
			return nil, err
		}
		alias, err := r.text(t.ByteVector(pos), t)
		if err != nil {
			return nil, err
		}
		out = append(out, alias)
	}
	return out, nil
}

func (r *reader) draftChildren(n *schema.Node, t flatbuffers.Table, ids map[*schema.Node]uint32, depth int) error {
	o := flatbuffers.UOffsetT(t.Offset(draftChildren))
	count := t.VectorLen(o)
	if err := checkChildren(n.Basic, count, int64(t.Pos)); err != nil {
		return err
	}
	elements := t.Vector(o)
	for i := range count {
		to, err := follow(t.Bytes, int64(elements)+4*int64(i))
		if err != nil {
			return err
		}
		child, err := r.draftNode(flatbuffers.Table{Bytes: t.Bytes, Pos: flatbuffers.UOffsetT(to)}, ids, depth+1)
		if err != nil {
			return err
		}
		n.Children = append(n.Children, child)
	}
	return nil
}

// MarshalDraft is Marshal for the draft wire.
func MarshalDraft(s *schema.Schema) []byte {
	w := writer{flatbuffers.NewBuilder(96 * int(min(s.Count, math.MaxUint16)))}
	fields := make([]flatbuffers.UOffsetT, len(s.Fields))
	for i, n := range s.Fields {
		fields[i] = w.fieldOf(n, w.draftNode(n))
	}
	list := w.offsets(fields)
	schemafb.SchemaStart(w.b)
	schemafb.SchemaAddFields(w.b, list)
	w.b.Finish(schemafb.SchemaEnd(w.b))
	return w.b.FinishedBytes()
}

func (w writer) draftNode(n *schema.Node) flatbuffers.UOffsetT {
	name := w.b.CreateSharedString(n.Name)
	aliases := w.aliases(n.Aliases)
	children := make([]flatbuffers.UOffsetT, len(n.Children))
	for i, c := range n.Children {
		children[i] = w.draftNode(c)
	}
	list := w.offsets(children)
	extension := w.extension(n.Ext)
	slot := func(entry int) int { return (entry - 4) / 2 }
	w.b.StartObject(draftSlotCount)
	w.b.PrependUint64Slot(slot(draftSize), n.FixedSize, 0)
	w.b.PrependUint32Slot(slot(draftID), n.ID, 0)
	w.b.PrependUOffsetTSlot(slot(draftName), name, 0)
	w.b.PrependUOffsetTSlot(slot(draftAliases), aliases, 0)
	w.b.PrependUOffsetTSlot(slot(draftChildren), list, 0)
	w.b.PrependUOffsetTSlot(slot(draftEx), extension, 0)
	w.b.PrependByteSlot(slot(draftBasic), byte(n.Basic), 0)
	w.b.PrependBoolSlot(slot(draftSigned), n.Signed, false)
	return w.b.EndObject()
}
