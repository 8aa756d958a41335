package catalog

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// rowKey is the columns whose values together distinguish rows. A key is the parts of its columns one behind the other, in bytes that sort
// as the values do; no part is the start of another one of its column:
//
//	integers, times    8 bytes, the greatest first; signed ones with their sign flipped
//	Boolean            1 byte
//	of a fixed size    the bytes
//	String, Binary     the bytes, 00 as 00 FF; then 00 00
type rowKey struct {
	columns []*schema.Node
	// schemaID is that of the table's schema that the columns are of.
	schemaID int
}

// newRowKey finds the columns of a key.
func (t *Table) newRowKey(columns []string) (*rowKey, error) {
	k := &rowKey{schemaID: t.ice.Schema().ID}
	for i, path := range columns {
		n, err := t.schema.Shard.Lookup(path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: key: %w", ErrInvalid, err)
		case n.Parent != schema.NoParent:
			return nil, fmt.Errorf("%w: key: %s is a member of another column; keys are of columns", ErrInvalid, path)
		case !n.Hashable() || n.IsDynamic():
			return nil, fmt.Errorf("%w: key: column %s is %s, whose equal values can have different bytes or none", ErrInvalid, path, n.TypeName())
		}
		for _, other := range k.columns[:i] {
			if other == n {
				return nil, fmt.Errorf("%w: key: column %s is listed twice", ErrInvalid, path)
			}
		}
		k.columns = append(k.columns, n)
	}
	return k, nil
}

// keyReader makes the keys of the rows of one batch.
type keyReader struct {
	key    *rowKey
	values []arrow.Array
	parts  []func(dst []byte, row int) []byte
}

// reader opens a batch that has the columns of the key by their names.
func (k *rowKey) reader(b arrow.RecordBatch) (*keyReader, error) {
	r := &keyReader{key: k}
	for _, n := range k.columns {
		i := columnIndex(b, n.Name)
		if i < 0 {
			return nil, fmt.Errorf("%w: key: unknown column %s", manifest.ErrSchema, n.Name)
		}
		a := b.Column(i)
		if e, ok := a.(array.ExtensionArray); ok {
			a = e.Storage()
		}
		part, err := keyPart(a)
		if err != nil {
			return nil, err
		}
		r.values, r.parts = append(r.values, a), append(r.parts, part)
	}
	return r, nil
}

// append appends the key of a row; null is its first column without a value, nil if it has all.
func (r *keyReader) append(dst []byte, row int) (key []byte, null *schema.Node) {
	for i, part := range r.parts {
		if r.values[i].IsNull(row) {
			return dst, r.key.columns[i]
		}
		dst = part(dst, row)
	}
	return dst, nil
}

const signBit = 1 << 63

// keyPart gives the part that a value is of a key.
func keyPart(a arrow.Array) (func(dst []byte, row int) []byte, error) {
	if value, signed, ok := integers(a); ok {
		flip := uint64(0)
		if signed {
			flip = signBit
		}
		return func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint64(dst, value(row)^flip) }, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, row int) []byte {
			if a.Value(row) {
				return append(dst, 1)
			}
			return append(dst, 0)
		}, nil
	case *array.LargeString:
		return func(dst []byte, row int) []byte { return extsort.AppendTerminated(dst, a.Value(row)) }, nil
	case *array.LargeBinary:
		return func(dst []byte, row int) []byte { return extsort.AppendTerminated(dst, a.Value(row)) }, nil
	case *array.FixedSizeBinary:
		return func(dst []byte, row int) []byte { return append(dst, a.Value(row)...) }, nil
	}
	return nil, fmt.Errorf("%w: a key of %v", manifest.ErrSchema, a.DataType())
}

// split parts a key by its columns.
func (k *rowKey) split(key []byte) [][]byte {
	parts := make([][]byte, len(k.columns))
	for i, n := range k.columns {
		size := 8
		switch n.Basic {
		case schema.Boolean:
			size = 1
		case schema.Guid:
			size = 16
		case schema.FixedSizeBinary:
			size = int(n.FixedSize)
		case schema.String, schema.Binary:
			size = 0
			for key[size] != 0 || key[size+1] != 0 {
				if size++; key[size-1] == 0 {
					size++ // the FF behind it
				}
			}
			size += 2
		}
		parts[i], key = key[:size], key[size:]
	}
	return parts
}

// part is the part of a key that a bound of a column's values is; it may be no value itself.
func (k *rowKey) part(n *schema.Node, v *filter.Value) []byte {
	switch {
	case n.Basic == schema.Boolean && v.Bool:
		return []byte{1}
	case n.Basic == schema.Boolean:
		return []byte{0}
	case n.Basic == schema.String, n.Basic == schema.Binary:
		return extsort.AppendTerminated(nil, v.Bytes)
	case n.Basic == schema.Guid, n.Basic == schema.FixedSizeBinary:
		return v.Bytes
	case n.Basic.IsInteger() && !n.Signed:
		return binary.BigEndian.AppendUint64(nil, v.Uint)
	}
	return binary.BigEndian.AppendUint64(nil, uint64(v.Int)^signBit)
}

// literal is what a part of a key is in a filter; each type of a key has literals for all values but times beyond those of text, which
// keys do not have.
func (k *rowKey) literal(n *schema.Node, part []byte) filter.Literal {
	l, _ := filter.LiteralOf(n, k.value(n, part))
	return l
}

// values are what the parts of a key are values of.
func (k *rowKey) values(key []byte) []filter.Value {
	out := make([]filter.Value, len(k.columns))
	for i, part := range k.split(key) {
		out[i] = k.value(k.columns[i], part)
	}
	return out
}

func (k *rowKey) value(n *schema.Node, part []byte) (v filter.Value) {
	switch n.Basic {
	case schema.Boolean:
		v.Bool = part[0] == 1
	case schema.Guid, schema.FixedSizeBinary:
		v.Bytes = part
	case schema.String, schema.Binary:
		v.Bytes = unterminated(part)
	default:
		v.Uint = binary.BigEndian.Uint64(part)
		v.Int = int64(v.Uint ^ signBit)
	}
	return v
}

// unterminated undoes extsort.AppendTerminated.
func unterminated(part []byte) []byte {
	return bytes.ReplaceAll(part[:len(part)-2], []byte{0, 0xFF}, []byte{0})
}

// text is a key as people read it.
func (k *rowKey) text(key []byte) string {
	text := ""
	for i, part := range k.split(key) {
		if i > 0 {
			text += ", "
		}
		text += k.columns[i].Name + " = " + k.literal(k.columns[i], part).String()
	}
	return text
}

// maxListed is up to how many keys are listed in a filter, so that they are looked up in Bloom filters and indexes; more are described by their
// bounds, and their column is read.
const maxListed = 64

// filter selects the rows of some keys, which are sorted, and others.
func (k *rowKey) filter(keys [][]byte) filter.Expr {
	var all filter.Expr
	for i, n := range k.columns {
		if len(keys) <= maxListed {
			all = filter.And(all, k.listed(i, keys))
		} else if i == 0 {
			all = k.between(n, k.split(keys[0])[0], k.split(keys[len(keys)-1])[0])
		} else {
			low, high := k.bounds(i, keys)
			all = filter.And(all, k.between(n, low, high))
		}
	}
	return all
}

// listed selects the different parts of a column of some keys.
func (k *rowKey) listed(column int, keys [][]byte) filter.Expr {
	var values []filter.Literal
	seen := map[string]bool{}
	for _, key := range keys {
		part := k.split(key)[column]
		if !seen[string(part)] {
			seen[string(part)] = true
			values = append(values, k.literal(k.columns[column], part))
		}
	}
	return filter.In(filter.Path{k.columns[column].Name}, values...)
}

func (k *rowKey) between(n *schema.Node, low, high []byte) filter.Expr {
	field := filter.Path{n.Name}
	return filter.And(filter.Compare(field, ">=", k.literal(n, low)), filter.Compare(field, "<=", k.literal(n, high)))
}

// bounds are the least and the greatest part of a column of some keys.
func (k *rowKey) bounds(column int, keys [][]byte) (low, high []byte) {
	for i, key := range keys {
		part := k.split(key)[column]
		if i == 0 || bytes.Compare(part, low) < 0 {
			low = part
		}
		if i == 0 || bytes.Compare(part, high) > 0 {
			high = part
		}
	}
	return low, high
}
