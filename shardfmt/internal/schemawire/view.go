package schemawire

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/schemafb"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// View is a serialized schema of which only what is requested is decoded: a field of ten thousand is found
// and read at the cost of a few. It is safe for concurrent use.
type View struct {
	payload []byte
	root    *schemafb.Schema
	fields  int
	count   uint32
	lookup  lookup
}

// NewView opens the payload of a schema message, which must stay unchanged while the view is used.
func NewView(payload []byte) (*View, error) {
	root, err := rootOf(payload)
	if err != nil {
		return nil, err
	}
	v := &View{payload: payload, root: root, fields: root.FieldsLength(), count: root.SchemaIdCount()}
	if v.count > schemafb.MaxNodes || int(v.count) > len(payload)/4 {
		return nil, corrupt.At(int64(root.Table().Pos), "schema: %d nodes in %d bytes", v.count, len(payload))
	}
	if v.fields > int(v.count) {
		return nil, corrupt.At(int64(root.Table().Pos), "schema: %d fields, but %d nodes", v.fields, v.count)
	}
	v.lookup = openLookup(root)
	return v, nil
}

// Len is the number of top-level fields.
func (v *View) Len() int { return v.fields }

// Count is the number of nodes.
func (v *View) Count() uint32 { return v.count }

// Field decodes top-level field i, counted from 0 and below Len, with everything below it.
func (v *View) Field(i int) (*schema.Node, error) { return v.reader().field(v.root, i) }

// Name is the name of top-level field i.
func (v *View) Name(i int) (string, error) {
	t, err := v.fieldType(i, typeNameSlot)
	if err != nil {
		return "", err
	}
	name := t.FieldName()
	return string(name), checkText(name, t.Table())
}

// Find is the index of the top-level field called name: by the lookup table if there is one, else one by
// one; if no field has the name, the first that has it as an alias. The lowest index wins.
func (v *View) Find(name string) (int, bool, error) {
	if i, ok := v.lookup.find(name, v); ok {
		return i, true, nil
	}
	// A table that lacks the name may be wrong, and aliases are in no table.
	for i := range v.fields {
		if ok, err := v.isNamed(i, name); ok || err != nil {
			return i, ok, err
		}
	}
	left := maxAliases
	for i := range v.fields {
		if ok, err := v.hasAlias(i, name, &left); ok || err != nil {
			return i, ok, err
		}
	}
	return 0, false, nil
}

// FieldByName decodes the top-level field that Find finds, nil if there is none.
func (v *View) FieldByName(name string) (*schema.Node, error) {
	i, ok, err := v.Find(name)
	if err != nil || !ok {
		return nil, err
	}
	return v.Field(i)
}

// FieldByKind decodes the first top-level field of an internal kind and a basic type, nil if there is none. It decodes no
// other field.
func (v *View) FieldByKind(kind string, basic schema.Basic) (*schema.Node, error) {
	var f schemafb.Field
	var annotation schemafb.InternalFieldAnnotation
	ordinary := int64(-1) // the vtable of fields without an annotation, which writers share among them
	for i := range v.fields {
		v.root.Fields(&f, i)
		vt, err := vtable(f.Table())
		if err != nil {
			return nil, err
		}
		if vt == ordinary {
			continue
		}
		if err := check(f.Table(), fieldInternalSlot); err != nil {
			return nil, err
		}
		if f.InternalFieldAnnotation(&annotation) == nil {
			ordinary = vt
			continue
		}
		if err := check(annotation.Table(), internalSlots); err != nil {
			return nil, err
		}
		if string(annotation.Kind()) != kind {
			continue
		}
		if n, err := v.Field(i); err != nil || n.Basic == basic {
			return n, err
		}
	}
	return nil, nil
}

// fieldType is the type of field i, checked for the given slots.
func (v *View) fieldType(i int, slots []slot) (schemafb.DataType, error) {
	var f schemafb.Field
	var t schemafb.DataType
	v.root.Fields(&f, i)
	if err := check(f.Table(), fieldTypeSlot); err != nil {
		return t, err
	}
	f.DataType(&t)
	return t, check(t.Table(), slots)
}

// isNamed compares the name of field i without decoding it.
func (v *View) isNamed(i int, name string) (bool, error) {
	t, err := v.fieldType(i, typeNameSlot)
	return err == nil && string(t.FieldName()) == name, err
}

// maxAliases is how many aliases are looked at to find a name: fields may share a list of them, and ten
// thousand fields with ten thousand aliases would take seconds.
const maxAliases = 1 << 20

// hasAlias reports whether name is among the aliases of field i. left is how many more may be looked at.
func (v *View) hasAlias(i int, name string, left *int) (bool, error) {
	t, err := v.fieldType(i, typeAliasesSlot)
	if err != nil {
		return false, err
	}
	n := t.FieldAliasesLength()
	if *left -= n; *left < 0 {
		return false, corrupt.At(int64(t.Table().Pos), "schema: more than %d aliases", maxAliases)
	}
	for k := range n {
		alias, err := aliasOf(&t, k)
		if err != nil {
			return false, err
		}
		if string(alias) == name {
			return true, nil
		}
	}
	return false, nil
}
