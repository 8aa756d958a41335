// Package rowkey makes the keys of rows: the values of some columns, as bytes that sort as the values do, so that keys can be sorted, looked up and described
// as filters without their types. A List holds the keys of a delivery, in a temporary file where they are many.
package rowkey

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/catalog/internal/arrowint"
	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Key is the columns whose values together distinguish rows. A key is the parts of its columns one behind the other, in bytes that sort
// as the values do; no part is the start of another one of its column:
//
//	integers, times    8 bytes, the greatest first; signed ones with their sign flipped
//	Boolean            1 byte
//	of a fixed size    the bytes
//	String, Binary     the bytes, 00 as 00 FF; then 00 00
type Key struct {
	Columns []*schema.Node
	// SchemaID is that of the table's schema that the columns are of.
	SchemaID int
}

// New finds the columns of a key in a table's schema of an ID.
func New(table *schema.Schema, schemaID int, columns []string) (*Key, error) {
	k := &Key{SchemaID: schemaID}
	for i, path := range columns {
		n, err := table.Lookup(path)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: key: %w", caterr.ErrInvalid, err)
		case n.Parent != schema.NoParent:
			return nil, fmt.Errorf("%w: key: %s is a member of another column; keys are of columns", caterr.ErrInvalid, path)
		case !n.Hashable() || n.IsDynamic():
			return nil, fmt.Errorf("%w: key: column %s is %s, whose equal values can have different bytes or none", caterr.ErrInvalid, path, n.TypeName())
		}
		for _, other := range k.Columns[:i] {
			if other == n {
				return nil, fmt.Errorf("%w: key: column %s is listed twice", caterr.ErrInvalid, path)
			}
		}
		k.Columns = append(k.Columns, n)
	}
	return k, nil
}

// OfIDs is the key of columns by their field ids in a schema of the table; ok is false if they can't be one there.
func OfIDs(ts *manifest.TableSchema, ids []int) (key *Key, ok bool) {
	key = &Key{}
	for _, id := range ids {
		n := ts.Node(id)
		if n == nil || n.Parent != schema.NoParent || !n.Hashable() || n.IsDynamic() {
			return nil, false
		}
		key.Columns = append(key.Columns, n)
	}
	return key, true
}

// Reader makes the keys of the rows of one batch.
type Reader struct {
	key    *Key
	values []arrow.Array
	parts  []func(dst []byte, row int) []byte
}

// Reader opens a batch that has the columns of the key by their names.
func (k *Key) Reader(b arrow.RecordBatch) (*Reader, error) {
	r := &Reader{key: k}
	for _, n := range k.Columns {
		at := b.Schema().FieldIndices(n.Name)
		if len(at) == 0 {
			return nil, fmt.Errorf("%w: key: unknown column %s", manifest.ErrSchema, n.Name)
		}
		a := b.Column(at[0])
		if e, ok := a.(array.ExtensionArray); ok {
			a = e.Storage()
		}
		part, err := partOf(a)
		if err != nil {
			return nil, err
		}
		r.values, r.parts = append(r.values, a), append(r.parts, part)
	}
	return r, nil
}

// Append appends the key of a row; null is its first column without a value, nil if it has all.
func (r *Reader) Append(dst []byte, row int) (key []byte, null *schema.Node) {
	for i, part := range r.parts {
		if r.values[i].IsNull(row) {
			return dst, r.key.Columns[i]
		}
		dst = part(dst, row)
	}
	return dst, nil
}

const signBit = 1 << 63

// partOf gives the part that a value is of a key.
func partOf(a arrow.Array) (func(dst []byte, row int) []byte, error) {
	if value, signed, ok := arrowint.Values(a); ok {
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

// Split parts a key by its columns.
func (k *Key) Split(key []byte) [][]byte {
	parts := make([][]byte, len(k.Columns))
	for i, n := range k.Columns {
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

// Part is the part of a key that a bound of a column's values is; it may be no value itself.
func (k *Key) Part(n *schema.Node, v *filter.Value) []byte {
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
func (k *Key) literal(n *schema.Node, part []byte) filter.Literal {
	l, _ := filter.LiteralOf(n, k.value(n, part))
	return l
}

// Values are what the parts of a key are values of.
func (k *Key) Values(key []byte) []filter.Value {
	out := make([]filter.Value, len(k.Columns))
	for i, part := range k.Split(key) {
		out[i] = k.value(k.Columns[i], part)
	}
	return out
}

func (k *Key) value(n *schema.Node, part []byte) (v filter.Value) {
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

// Text is a key as people read it.
func (k *Key) Text(key []byte) string {
	text := ""
	for i, part := range k.Split(key) {
		if i > 0 {
			text += ", "
		}
		text += k.Columns[i].Name + " = " + k.literal(k.Columns[i], part).String()
	}
	return text
}

// maxListed is up to how many keys are listed in a filter, so that they are looked up in Bloom filters and indexes; more are described by their
// bounds, and their column is read.
const maxListed = 64

// Filter selects the rows of some keys, which are sorted, and others.
func (k *Key) Filter(keys [][]byte) filter.Expr {
	var all filter.Expr
	for i, n := range k.Columns {
		if len(keys) <= maxListed {
			all = filter.And(all, k.listed(i, keys))
		} else if i == 0 {
			all = k.between(n, k.Split(keys[0])[0], k.Split(keys[len(keys)-1])[0])
		} else {
			low, high := k.bounds(i, keys)
			all = filter.And(all, k.between(n, low, high))
		}
	}
	return all
}

// listed selects the different parts of a column of some keys.
func (k *Key) listed(column int, keys [][]byte) filter.Expr {
	var values []filter.Literal
	seen := map[string]bool{}
	for _, key := range keys {
		part := k.Split(key)[column]
		if !seen[string(part)] {
			seen[string(part)] = true
			values = append(values, k.literal(k.Columns[column], part))
		}
	}
	return filter.In(filter.Path{k.Columns[column].Name}, values...)
}

func (k *Key) between(n *schema.Node, low, high []byte) filter.Expr {
	field := filter.Path{n.Name}
	return filter.And(filter.Compare(field, ">=", k.literal(n, low)), filter.Compare(field, "<=", k.literal(n, high)))
}

// bounds are the least and the greatest part of a column of some keys.
func (k *Key) bounds(column int, keys [][]byte) (low, high []byte) {
	for i, key := range keys {
		part := k.Split(key)[column]
		if i == 0 || bytes.Compare(part, low) < 0 {
			low = part
		}
		if i == 0 || bytes.Compare(part, high) > 0 {
			high = part
		}
	}
	return low, high
}

// Span selects the keys from one to another, and others. It names all columns, so that all their bounds are read.
func (k *Key) Span(low, high []byte) filter.Expr {
	all := k.between(k.Columns[0], k.Split(low)[0], k.Split(high)[0])
	for _, n := range k.Columns[1:] {
		all = filter.And(all, filter.Not(filter.IsNull(filter.Path{n.Name})))
	}
	return all
}

// Present selects the rows that have a key, and names all columns of it.
func (k *Key) Present() (all filter.Expr) {
	for _, n := range k.Columns {
		all = filter.And(all, filter.Not(filter.IsNull(filter.Path{n.Name})))
	}
	return all
}
