package lance

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Field is one field of a schema as Lance stores it: in a flat list, parents before their children. Files and the
// manifests of datasets have the same message.
type Field struct {
	Name string
	// ID is unique in a file; Parent is that of the field it belongs to, or NoParent.
	ID, Parent int32
	// LogicalType is the type as text: see ArrowType.
	LogicalType string
	Nullable    bool
	// Metadata of the Arrow field, in the order of their keys.
	Metadata map[string]string
}

// NoParent is the parent of fields at the top.
const NoParent int32 = -1

// Limits of what a schema may hold.
const (
	maxFields = 50_000
	maxDepth  = 64
)

// ParseField reads a field message.
func ParseField(b []byte) (f Field, err error) {
	f.Metadata = map[string]string{}
	err = walk("Field", b, func(w wireField) error {
		switch {
		case w.message(2):
			f.Name = string(w.bytes)
		case w.number(3):
			f.ID = int32(w.value)
		case w.number(4):
			f.Parent = int32(w.value)
		case w.message(5):
			f.LogicalType = string(w.bytes)
		case w.number(6):
			f.Nullable = w.value != 0
		case w.message(9):
			f.Metadata[extensionName] = string(w.bytes)
		case w.message(10):
			key, value, err := w.entry()
			f.Metadata[key] = string(value)
			return err
		}
		return nil
	})
	return f, err
}

// Append writes the message.
func (f Field) Append(dst []byte) []byte {
	dst = appendMessage(dst, 2, []byte(f.Name))
	dst = appendNumber(dst, 3, uint64(int64(f.ID)))
	dst = appendNumber(dst, 4, uint64(int64(f.Parent)))
	dst = appendMessage(dst, 5, []byte(f.LogicalType))
	if f.Nullable {
		dst = appendNumber(dst, 6, 1)
	}
	dst = appendNumber(dst, 7, plainOrVariable(f.LogicalType))
	for _, key := range sortedKeys(f.Metadata) {
		dst = appendEntry(dst, 10, key, []byte(f.Metadata[key]))
	}
	return dst
}

// plainOrVariable is a field of the message that is left over from version 1: how the values lie in a file.
func plainOrVariable(logical string) uint64 {
	switch logical {
	case "string", "binary", "large_string", "large_binary":
		return 2
	}
	return 1
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Node is a field with those it consists of.
type Node struct {
	Field
	Children []*Node
}

// Tree makes a tree of the flat list of fields.
func Tree(fields []Field) ([]*Node, error) {
	if len(fields) > maxFields {
		return nil, corrupt.Unsupported(-1, "%d fields, more than the limit of %d", len(fields), maxFields)
	}
	var roots []*Node
	known, depth := map[int32]*Node{}, map[int32]int{}
	for _, f := range fields {
		n := &Node{Field: f}
		if known[f.ID] != nil {
			return nil, corrupt.At(-1, "two fields have the id %d", f.ID)
		}
		if f.Parent == NoParent {
			roots = append(roots, n)
		} else {
			parent := known[f.Parent]
			if parent == nil {
				return nil, corrupt.At(-1, "field %q: its parent, %d, does not precede it", f.Name, f.Parent)
			}
			if depth[f.ID] = depth[f.Parent] + 1; depth[f.ID] >= maxDepth {
				return nil, corrupt.Unsupported(-1, "fields nested more than %d deep", maxDepth)
			}
			parent.Children = append(parent.Children, n)
		}
		known[f.ID] = n
	}
	return roots, nil
}

// Flatten is the opposite of Tree.
func Flatten(roots []*Node) (out []Field) {
	for _, n := range roots {
		out = append(append(out, n.Field), Flatten(n.Children)...)
	}
	return out
}

// ArrowSchema is a tree of fields as Arrow has them.
func ArrowSchema(roots []*Node, metadata map[string]string) (*arrow.Schema, error) {
	var fields []arrow.Field
	for _, n := range roots {
		f, err := n.Arrow()
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	m := metadataOf(metadata)
	return arrow.NewSchema(fields, &m), nil
}

func metadataOf(m map[string]string) arrow.Metadata {
	keys := sortedKeys(m)
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = m[k]
	}
	return arrow.NewMetadata(keys, values)
}

// descriptor is what a file states about itself in global buffer 0.
type descriptor struct {
	fields   []Field
	metadata map[string]string
	rows     uint64
}

func parseDescriptor(b []byte) (d descriptor, err error) {
	d.metadata = map[string]string{}
	schema := func(w wireField) error {
		switch {
		case w.message(1):
			f, err := ParseField(w.bytes)
			d.fields = append(d.fields, f)
			return err
		case w.message(5):
			key, value, err := w.entry()
			d.metadata[key] = string(value)
			return err
		}
		return nil
	}
	err = walk("FileDescriptor", b, func(w wireField) error {
		switch {
		case w.message(1):
			return walk("Schema", w.bytes, schema)
		case w.number(2):
			d.rows = w.value
		}
		return nil
	})
	return d, err
}

func (d descriptor) append(dst []byte) []byte {
	var schema []byte
	for _, f := range d.fields {
		schema = appendMessage(schema, 1, f.Append(nil))
	}
	for _, key := range sortedKeys(d.metadata) {
		schema = appendEntry(schema, 5, key, []byte(d.metadata[key]))
	}
	return appendNumber(appendMessage(dst, 1, schema), 2, d.rows)
}
