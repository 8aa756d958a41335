package layerindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/shardfmt/internal/layer"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Form is how the values of a field stand in an index.
type Form uint8

// The forms.
const (
	Signed Form = iota
	Unsigned
	Float
	Bytes
)

// forms are the types of the two columns of a file of each form.
var forms = [...]string{Signed: "i64,()/u64,()", Unsigned: "u64,()/u64,()", Float: "f64,()/u64,()", Bytes: "bytes,()/u64,()"}

// types are those of the columns of a file.
func (f Form) types() []layer.Pair {
	types, err := layer.ParseTypes(forms[f])
	if err != nil {
		panic(err) // the table above is wrong
	}
	return types
}

// FormOf is the form of the values of a node; ok is false if they have no order that keys could keep: those of containers. Of decimals, of which
// equal ones have different bytes, keys are what decimal.AppendKey makes of them.
func FormOf(n *schema.Node) (f Form, ok bool) {
	switch n.Basic {
	case schema.Boolean:
		return Unsigned, true
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64:
		if n.Signed {
			return Signed, true
		}
		return Unsigned, true
	case schema.DateTime:
		return Signed, true
	case schema.Float32, schema.Float64:
		return Float, true
	case schema.String, schema.Binary, schema.Guid, schema.FixedSizeBinary:
		return Bytes, true
	}
	return 0, false
}

// MaxKey is how many bytes of a key are kept: longer ones are cut, so that no index grows with the values of a column of texts.
const MaxKey = 256

const signBit = 1 << 63

// AppendSigned, AppendUnsigned and AppendFloat append the bytes of a key, which sort as the keys do. Zeros of both signs are
// one key; NaN is none.
func AppendSigned(dst []byte, v int64) []byte { return AppendUnsigned(dst, uint64(v)^signBit) }

// AppendUnsigned: see AppendSigned.
func AppendUnsigned(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

// AppendFloat: see AppendSigned.
func AppendFloat(dst []byte, v float64) []byte {
	if v == 0 {
		v = 0 // of either sign
	}
	bits := math.Float64bits(v)
	if bits&signBit != 0 {
		return AppendUnsigned(dst, ^bits)
	}
	return AppendUnsigned(dst, bits|signBit)
}

// Encoded reports whether the keys of a node are an encoding of its values, and not the values themselves.
func Encoded(n *schema.Node) bool { return n.IsDecimal() }

// Keys of several columns are one behind the other, each led by a byte: 0 for a null or NaN, 1 for a key. Byte strings have 00 FF for 00, and 00 00
// behind them, so that they sort before all that they are the start of.
const (
	noPart   = 0
	onePart  = 1
	pastPart = 2
)

// AppendNoPart appends the part of a column without a value to a key of several columns.
func AppendNoPart(dst []byte) []byte { return append(dst, noPart) }

// AppendPart appends the part of a column, whose values are of a node, to a key of several columns.
func AppendPart(dst []byte, n *schema.Node, key []byte) []byte {
	dst = append(dst, onePart)
	if form, _ := FormOf(n); form != Bytes || n.IsDecimal() {
		return append(dst, key...)
	}
	return extsort.AppendTerminated(dst, key)
}

// WithParts are the keys of several columns that start with a prefix, and then have a part of any value.
func WithParts(prefix []byte) Keys {
	return Keys{Low: append(slices.Clip(prefix), onePart), High: append(slices.Clip(prefix), pastPart), HighOut: true}
}

// Starting are the keys that start with a prefix.
func Starting(prefix []byte) Keys { return Keys{Low: prefix, High: Behind(prefix), HighOut: true} }

// Behind is the least key that sorts behind all that start with a prefix, nil if there is none.
func Behind(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			out := slices.Clone(prefix[:i+1])
			out[i]++
			return out
		}
	}
	return nil
}

// AppendBytes appends the bytes of a string of bytes, cut to MaxKey.
func AppendBytes(dst, v []byte) []byte { return append(dst, v[:min(len(v), MaxKey)]...) }

// value is a key as a file has it, from the bytes that sort as it does.
func (f Form) value(key []byte) layer.Value {
	if f == Bytes {
		return layer.Value{Bytes: key}
	}
	v := binary.BigEndian.Uint64(key)
	switch {
	case f == Signed:
		return layer.Value{Int: int64(v ^ signBit)}
	case f == Unsigned:
		return layer.Value{Uint: v}
	case v&signBit != 0:
		return layer.Value{Float: math.Float64frombits(v &^ signBit)}
	}
	return layer.Value{Float: math.Float64frombits(^v)}
}

// bytesOf are the bytes that sort as keys of a file do: those that value takes.
func (f Form) bytesOf(dst []byte, v layer.Value) []byte {
	switch f {
	case Signed:
		return AppendSigned(dst, v.Int)
	case Unsigned:
		return AppendUnsigned(dst, v.Uint)
	case Float:
		return AppendFloat(dst, v.Float)
	}
	return append(dst, v.Bytes...)
}

// compare compares a key of a file with one that is given by its bytes.
func (f Form) compare(v layer.Value, key []byte) int {
	w := f.value(key)
	switch f {
	case Signed:
		return cmp.Compare(v.Int, w.Int)
	case Unsigned:
		return cmp.Compare(v.Uint, w.Uint)
	case Float:
		return cmp.Compare(v.Float, w.Float)
	}
	return bytes.Compare(v.Bytes, w.Bytes)
}
