package layer

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// A list is an auxiliary value that is itself a small sorted map: (V, [(T, R)]) in two layers instead of three. To other
// readers it is a byte vector. Its elements follow one another, each a key and an auxiliary value as appendElement writes
// them; keys rise.

// listType is list<KEY,AUX>.
func listType(elem Pair) Type { return Type{Kind: List, Elem: &elem} }

// appendElement appends a value: a byte 0 or 1 where it is optional, then its record, or for strings and bytes their
// length as a varint and themselves.
func (t Type) appendElement(dst []byte, v Value) []byte {
	if t.Optional {
		if v.None {
			return append(dst, 0)
		}
		dst = append(dst, 1)
	}
	if t.Kind == String || t.Kind == Bytes {
		return append(binary.AppendUvarint(dst, uint64(len(v.Bytes))), v.Bytes...)
	}
	plain := Type{Kind: t.Kind}
	var record [16]byte
	plain.put(record[:], 0, v, 0)
	return append(dst, record[:plain.bare()]...)
}

// takeElement is the way back; it gives what follows the value.
func (t Type) takeElement(b []byte) (v Value, rest []byte, err error) {
	short := corrupt.At(-1, "a list is truncated")
	if t.Optional {
		if len(b) == 0 || b[0] > 1 {
			return v, nil, short
		}
		if b[0] == 0 {
			return Value{None: true}, b[1:], nil
		}
		b = b[1:]
	}
	if t.Kind == String || t.Kind == Bytes {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return v, nil, short
		}
		v.Bytes = b[size : size+int(n)]
		return v, b[size+int(n):], nil
	}
	plain := Type{Kind: t.Kind}
	var record [blockHeader + 16]byte
	if len(b) < plain.bare() {
		return v, nil, short
	}
	copy(record[blockHeader:], b[:plain.bare()])
	v, err = plain.get(record[:], blockHeader)
	return v, b[plain.bare():], err
}

// elements visits the elements of a list, and refuses those whose keys do not rise.
func (t Type) elements(b []byte, visit func(key, aux Value) error) error {
	var last Value
	for first := true; len(b) > 0; first = false {
		key, rest, err := t.Elem.Key.takeElement(b)
		if err != nil {
			return err
		}
		aux, rest, err := t.Elem.Aux.takeElement(rest)
		if err != nil {
			return err
		}
		if !first && t.Elem.Key.compare(last, key) >= 0 {
			return corrupt.At(-1, "the keys of a list are not ascending")
		}
		if err := visit(key, aux); err != nil {
			return err
		}
		last, b = key, rest
	}
	return nil
}

// listArrow is List<Struct<k, a>>, without a where that is ().
func (t Type) listArrow() arrow.DataType {
	out := []arrow.Field{{Name: "k", Type: t.Elem.Key.arrowType(), Nullable: t.Elem.Key.Optional}}
	if t.Elem.Aux.Kind != Unit {
		out = append(out, arrow.Field{Name: "a", Type: t.Elem.Aux.arrowType(), Nullable: t.Elem.Aux.Optional})
	}
	return arrow.ListOfField(arrow.Field{Name: "item", Type: arrow.StructOf(out...)})
}

// appendList appends a list to a builder of its Arrow type.
func (t Type) appendList(b *array.ListBuilder, v Value) error {
	b.Append(true)
	item := b.ValueBuilder().(*array.StructBuilder)
	return t.elements(v.Bytes, func(key, aux Value) error {
		item.Append(true)
		if err := t.Elem.Key.appendTo(item.FieldBuilder(0), key); err != nil {
			return err
		}
		if item.NumField() == 1 {
			return nil
		}
		return t.Elem.Aux.appendTo(item.FieldBuilder(1), aux)
	})
}

// listReader gives the lists of an array of structs of one or two members.
func (t Type) listReader(a arrow.Array) (func(i int) (Value, error), error) {
	lists, ok := a.(array.ListLike)
	if !ok {
		return nil, fmt.Errorf("%s is not a valid %s", a.DataType(), t)
	}
	items, ok := lists.ListValues().(*array.Struct)
	want := 2
	if t.Elem.Aux.Kind == Unit {
		want = 1
	}
	if !ok || items.NumField() != want {
		return nil, fmt.Errorf("%s is not a valid %s: its elements need a key and an auxiliary value", a.DataType(), t)
	}
	key, err := t.Elem.Key.reader(items.Field(0))
	if err != nil {
		return nil, err
	}
	aux := func(int) (Value, error) { return Value{}, nil }
	if want == 2 {
		if aux, err = t.Elem.Aux.reader(items.Field(1)); err != nil {
			return nil, err
		}
	}
	return func(i int) (v Value, err error) {
		from, to := lists.ValueOffsets(i)
		for j := int(from); j < int(to) && err == nil; j++ {
			if items.IsNull(j) {
				return v, errNull
			}
			v.Bytes, err = t.appendPair(v.Bytes, j, key, aux)
		}
		if err == nil {
			err = t.elements(v.Bytes, func(_, _ Value) error { return nil })
		}
		return v, err
	}, nil
}

func (t Type) appendPair(dst []byte, j int, key, aux func(int) (Value, error)) ([]byte, error) {
	k, err := key(j)
	if err != nil {
		return dst, err
	}
	a, err := aux(j)
	if err != nil {
		return dst, err
	}
	return t.Elem.Aux.appendElement(t.Elem.Key.appendElement(dst, k), a), nil
}
