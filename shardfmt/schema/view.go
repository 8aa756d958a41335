package schema

import (
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// View is a serialized schema of which only what is asked for is decoded: a field of ten thousand is found
// and read at the cost of a few. It is safe for concurrent use.
type View struct {
	fields vector
	count  uint32
	lookup lookup
}

// NewView opens the payload of a schema message, which must stay unchanged while the view is used.
func NewView(payload []byte) (*View, error) {
	b := flat(payload)
	pos, err := b.follow(0)
	if err != nil {
		return nil, err
	}
	root, err := b.table(pos)
	if err != nil {
		return nil, err
	}
	v := new(View)
	if pos, err = root.must(slotSchemaFields, "field list"); err != nil {
		return nil, err
	}
	if v.fields, err = b.vector(pos, 4); err != nil {
		return nil, err
	}
	if v.count, err = root.uint32(slotSchemaCount); err != nil {
		return nil, err
	}
	if v.count > MaxNodes || int(v.count) > len(b)/4 {
		return nil, corrupt.At(int64(root.pos), "schema: %d nodes in %d bytes", v.count, len(b))
	}
	if v.fields.n > int(v.count) {
		return nil, corrupt.At(int64(pos), "schema: %d fields, but %d nodes", v.fields.n, v.count)
	}
	v.lookup = openLookup(root, slotSchemaLookup)
	return v, nil
}

// Len is the number of top-level fields.
func (v *View) Len() int { return v.fields.n }

// Count is the number of nodes.
func (v *View) Count() uint32 { return v.count }

// Field decodes top-level field i with everything below it.
func (v *View) Field(i int) (*Node, error) { return v.reader().field(v.fields, i) }

// Name is the name of top-level field i.
func (v *View) Name(i int) (string, error) {
	t, err := v.fieldType(i)
	if err != nil {
		return "", err
	}
	name, err := nameOf(t)
	return string(name), err
}

// Find is the index of the top-level field called name: by the lookup table if there is one, else one by
// one; if no field has the name, the first that has it as an alias. The lowest index wins.
func (v *View) Find(name string) (int, bool, error) {
	return findChild(v.fields, v.lookup, name, func(v vector, i int) (table, error) {
		f, err := v.table(i)
		if err != nil {
			return table{}, err
		}
		return fieldTypeOf(f)
	})
}

// FieldByName decodes the top-level field that Find finds, nil if there is none.
func (v *View) FieldByName(name string) (*Node, error) {
	i, ok, err := v.Find(name)
	if err != nil || !ok {
		return nil, err
	}
	return v.Field(i)
}

func (v *View) fieldType(i int) (table, error) {
	f, err := v.fields.table(i)
	if err != nil {
		return table{}, err
	}
	return fieldTypeOf(f)
}

func fieldTypeOf(f table) (table, error) {
	pos, err := f.must(slotFieldType, "type of a field")
	if err != nil {
		return table{}, err
	}
	return f.b.table(pos)
}

// nameOf is the name of a DataType.
func nameOf(t table) ([]byte, error) {
	pos, err := t.must(slotTypeName, "name of a field")
	if err != nil {
		return nil, err
	}
	return t.b.text(pos)
}

// open opens element i of a vector of fields, or of children, as a DataType.
type open func(v vector, i int) (table, error)

// maxAliases is how many aliases are looked at to find a name: fields may share a list of them, and ten
// thousand fields with ten thousand aliases would take seconds.
const maxAliases = 1 << 20

// findChild finds a name among the elements of v, then among their aliases.
func findChild(v vector, l lookup, name string, at open) (int, bool, error) {
	if i, ok := l.find(name, v, at); ok {
		return i, true, nil
	}
	// A table that lacks the name may be wrong, and aliases are in no table.
	for i := range v.n {
		t, err := at(v, i)
		if err != nil {
			return 0, false, err
		}
		if ok, err := isNamed(t, name); ok || err != nil {
			return i, ok, err
		}
	}
	left := maxAliases
	for i := range v.n {
		t, err := at(v, i)
		if err != nil {
			return 0, false, err
		}
		if ok, err := hasAlias(t, name, &left); ok || err != nil {
			return i, ok, err
		}
	}
	return 0, false, nil
}

// isNamed compares the name of a DataType without decoding it.
func isNamed(t table, name string) (bool, error) {
	pos, err := t.must(slotTypeName, "name of a field")
	if err != nil {
		return false, err
	}
	got, err := t.b.vector(pos, 1)
	return err == nil && string(got.bytes()) == name, err
}

// hasAlias says that name is among the aliases of a DataType. left is how many more may be looked at.
func hasAlias(t table, name string, left *int) (bool, error) {
	aliases, err := t.vectorAt(slotTypeAliases, 4)
	if err != nil {
		return false, err
	}
	if *left -= aliases.n; *left < 0 {
		return false, corrupt.At(int64(t.pos), "schema: more than %d aliases", maxAliases)
	}
	for i := range aliases.n {
		pos, err := t.b.follow(aliases.start + 4*i)
		if err != nil {
			return false, err
		}
		alias, err := t.b.vector(pos, 1)
		if err != nil {
			return false, err
		}
		if string(alias.bytes()) == name {
			return true, nil
		}
	}
	return false, nil
}
