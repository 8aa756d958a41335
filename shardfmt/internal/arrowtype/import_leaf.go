package arrowtype

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/bufpool"
	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/halffloat"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// leaf converts an array, its extension type taken off, to the canonical type of a leaf.
func (im *importing) leaf(a arrow.Array, p place) (arrow.Array, error) {
	switch p.n.Basic {
	case schema.Boolean:
		return im.booleans(a, p)
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64:
		if p.n.IsTimeSpan() {
			return im.spans(a, p)
		}
		return integers(a, p)
	case schema.Float32, schema.Float64:
		return floats(a, p)
	case schema.DateTime:
		return im.times(a, p)
	case schema.String, schema.Binary:
		return byteStrings(a, p)
	case schema.FixedSizeBinary, schema.Guid:
		if p.n.IsDecimal() {
			return decimals(a, p)
		}
		return fixedBytes(a, p)
	}
	return nil, p.mismatch(a)
}

// inRange checks what a canonical array states about points in time: no writer may store others.
func (im *importing) inRange(a arrow.Array, p place) error {
	t, ok := a.(*DateTimeArray)
	if !ok {
		return nil
	}
	for i, ticks := range t.Ticks() {
		if (ticks < 0 || ticks > literal.MaxDateTime) && t.IsValid(i) {
			a.Release()
			return p.refuse(i, "%d ticks are not a time between the years 1 and 9999", ticks)
		}
	}
	return nil
}

// booleans takes booleans, and bool8's bytes.
func (im *importing) booleans(a arrow.Array, p place) (arrow.Array, error) {
	v, ok := a.(*array.Int8)
	if !ok {
		return nil, p.mismatch(a)
	}
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	defer b.Release()
	for i := range v.Len() {
		if v.IsNull(i) {
			b.AppendNull()
		} else {
			b.Append(v.Value(i) != 0)
		}
	}
	return b.NewArray(), nil
}

// fill makes an array of fixed-width values, each computed from its index; nulls are those of a.
func fill[T any](t arrow.DataType, a arrow.Array, bytes func([]T) []byte, value func(i int) (T, error)) (arrow.Array, error) {
	out, hasNulls := make([]T, a.Len()), a.NullN() > 0
	for i := range out {
		if hasNulls && a.IsNull(i) {
			continue
		}
		v, err := value(i)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return assemble(t, a, []*memory.Buffer{memory.NewBufferBytes(bytes(out))}), nil
}

// whole gives the values of an array of integers: as int64, and whether value i is a uint64 above that.
func whole(a arrow.Array) func(i int) (v int64, above bool) {
	switch a := a.(type) {
	case *array.Int8:
		return func(i int) (int64, bool) { return int64(a.Value(i)), false }
	case *array.Int16:
		return func(i int) (int64, bool) { return int64(a.Value(i)), false }
	case *array.Int32:
		return func(i int) (int64, bool) { return int64(a.Value(i)), false }
	case *array.Int64:
		return func(i int) (int64, bool) { return a.Value(i), false }
	case *array.Uint8:
		return func(i int) (int64, bool) { return int64(a.Value(i)), false }
	case *array.Uint16:
		return func(i int) (int64, bool) { return int64(a.Value(i)), false }
	case *array.Uint32:
		return func(i int) (int64, bool) { return int64(a.Value(i)), false }
	case *array.Uint64:
		return func(i int) (int64, bool) { return int64(a.Value(i)), a.Value(i) > math.MaxInt64 }
	case *array.MonthInterval:
		return func(i int) (int64, bool) { return int64(a.Value(i)), false }
	}
	return nil
}

// integers converts integers of one width to another.
func integers(a arrow.Array, p place) (arrow.Array, error) {
	value := whole(a)
	if value == nil {
		return nil, p.mismatch(a)
	}
	t := Type(p.n)
	switch t.ID() {
	case arrow.INT8:
		return narrow(t, a, p, arrow.Int8Traits.CastToBytes, value)
	case arrow.INT16:
		return narrow(t, a, p, arrow.Int16Traits.CastToBytes, value)
	case arrow.INT32:
		return narrow(t, a, p, arrow.Int32Traits.CastToBytes, value)
	case arrow.INT64:
		return narrow(t, a, p, arrow.Int64Traits.CastToBytes, value)
	case arrow.UINT8:
		return narrow(t, a, p, arrow.Uint8Traits.CastToBytes, value)
	case arrow.UINT16:
		return narrow(t, a, p, arrow.Uint16Traits.CastToBytes, value)
	case arrow.UINT32:
		return narrow(t, a, p, arrow.Uint32Traits.CastToBytes, value)
	}
	return narrow(t, a, p, arrow.Uint64Traits.CastToBytes, value)
}

type wholeNumber interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// narrow converts integers to T and refuses what T doesn't hold.
func narrow[T wholeNumber](t arrow.DataType, a arrow.Array, p place, bytes func([]T) []byte, value func(int) (int64, bool)) (arrow.Array, error) {
	return fill(t, a, bytes, func(i int) (T, error) {
		v, above := value(i)
		w := T(v)
		if above && uint64(w) == uint64(v) && !p.n.Signed {
			return w, nil
		}
		if above || int64(w) != v || (v < 0) != (w < 0) {
			return 0, p.refuse(i, "%s does not fit %s", a.ValueStr(i), p.n.TypeName())
		}
		return w, nil
	})
}

// floats converts floats of any width and integers, as far as the value stays the same.
func floats(a arrow.Array, p place) (arrow.Array, error) {
	var value func(i int) float64
	switch v := a.(type) {
	case *array.Float16:
		return halfFloats(v, p)
	case *array.Float32:
		value = func(i int) float64 { return float64(v.Value(i)) }
	case *array.Float64:
		value = v.Value
	default:
		return floatsOfIntegers(a, p)
	}
	if p.n.Basic == schema.Float64 {
		return fill(arrow.PrimitiveTypes.Float64, a, arrow.Float64Traits.CastToBytes, func(i int) (float64, error) { return value(i), nil })
	}
	return fill(arrow.PrimitiveTypes.Float32, a, arrow.Float32Traits.CastToBytes, func(i int) (float32, error) {
		v := value(i)
		if float64(float32(v)) != v && v == v {
			return 0, p.refuse(i, "%v is not exactly a Float32", v)
		}
		return float32(v), nil
	})
}

// halfFloats widens half floats, which both types hold exactly.
func halfFloats(a *array.Float16, p place) (arrow.Array, error) {
	if p.n.Basic == schema.Float64 {
		return fill(arrow.PrimitiveTypes.Float64, a, arrow.Float64Traits.CastToBytes, func(i int) (float64, error) {
			return float64(halffloat.Float32(a.Value(i).Uint16())), nil
		})
	}
	return fill(arrow.PrimitiveTypes.Float32, a, arrow.Float32Traits.CastToBytes, func(i int) (float32, error) {
		return halffloat.Float32(a.Value(i).Uint16()), nil
	})
}

func floatsOfIntegers(a arrow.Array, p place) (arrow.Array, error) {
	value := whole(a)
	limit := int64(1 << 53)
	if value == nil || p.n.Basic == schema.Float32 {
		return nil, p.mismatch(a)
	}
	return fill(arrow.PrimitiveTypes.Float64, a, arrow.Float64Traits.CastToBytes, func(i int) (float64, error) {
		v, above := value(i)
		if above || v > limit || v < -limit {
			return 0, p.refuse(i, "%s may not be exactly a Float64", a.ValueStr(i))
		}
		return float64(v), nil
	})
}

// decimals converts fixed-point decimals with their scale, integers and text; 16 bytes are decimals already.
func decimals(a arrow.Array, p place) (arrow.Array, error) {
	if v, ok := a.(*array.Decimal128); ok && a.NullN() == 0 {
		if out := decimals128(v); out != nil {
			return decimalsOf(a, out), nil
		}
	}
	read := decimalReader(a)
	if v, ok := a.(*array.FixedSizeBinary); ok && v.DataType().(*arrow.FixedSizeBinaryType).ByteWidth == decimal.Size {
		read = func(i int) (decimal.Value, bool) { return decimal.From(v.Value(i)), true }
	}
	if read == nil {
		return nil, p.mismatch(a)
	}
	out, hasNulls := make([]byte, decimal.Size*a.Len()), a.NullN() > 0
	for i := range a.Len() {
		if hasNulls && a.IsNull(i) {
			continue
		}
		v, ok := read(i)
		if !ok {
			return nil, p.refuse(i, "%.60s does not fit a decimal of 34 digits", a.ValueStr(i))
		}
		*(*decimal.Value)(out[decimal.Size*i:]) = v
	}
	return decimalsOf(a, out), nil
}

// decimalsOf makes an array of the bytes of decimals; nulls are those of a.
func decimalsOf(a arrow.Array, values []byte) arrow.Array {
	storage := assemble(Decimal.Storage, a, []*memory.Buffer{memory.NewBufferBytes(values)})
	defer storage.Release()
	return array.NewExtensionArrayWithStorage(Decimal, storage)
}

// decimals128 converts decimals of the usual width, none of them null, in one loop; nil if one doesn't fit.
func decimals128(a *array.Decimal128) []byte {
	scale := decimal.NewScale(int(a.DataType().(arrow.DecimalType).GetScale()))
	out := bufpool.Bytes(decimal.Size * a.Len())
	for i, n := range a.Values() {
		if !scale.PutInt128(out[decimal.Size*i:], n.HighBits(), n.LowBits()) {
			return nil
		}
	}
	return out
}

func decimalReader(a arrow.Array) func(i int) (decimal.Value, bool) {
	scale := decimal.Scale{}
	if d, ok := a.DataType().(arrow.DecimalType); ok {
		scale = decimal.NewScale(int(d.GetScale()))
	}
	switch v := a.(type) {
	case *array.Decimal32:
		return func(i int) (decimal.Value, bool) { return scale.FromInt64(int64(v.Value(i))) }
	case *array.Decimal64:
		return func(i int) (decimal.Value, bool) { return scale.FromInt64(int64(v.Value(i))) }
	case *array.Decimal128:
		return func(i int) (decimal.Value, bool) {
			n := v.Value(i)
			return scale.FromInt128(n.HighBits(), n.LowBits())
		}
	case *array.Decimal256:
		digits := int(v.DataType().(arrow.DecimalType).GetScale())
		return func(i int) (decimal.Value, bool) {
			if w := v.Value(i).Array(); int64(w[2]) == int64(w[1])>>63 && w[3] == w[2] {
				return scale.FromInt128(int64(w[1]), w[0])
			}
			return decimal.FromScaled(v.Value(i).BigInt(), digits)
		}
	}
	if text := textOf(a); text != nil {
		return func(i int) (decimal.Value, bool) {
			d, err := decimal.ParseBytes(text(i))
			return d, err == nil
		}
	}
	if value := whole(a); value != nil {
		return func(i int) (decimal.Value, bool) {
			v, above := value(i)
			if above {
				return decimal.FromUint(uint64(v)), true
			}
			return decimal.FromInt(v), true
		}
	}
	return nil
}

// textOf gives the values of an array of strings, of any layout.
func textOf(a arrow.Array) func(i int) []byte {
	if v, ok := a.(array.StringLike); ok {
		return func(i int) []byte { return []byte(v.Value(i)) }
	}
	return nil
}

// bytesOf gives the values of an array of byte strings, of any layout.
func bytesOf(a arrow.Array) func(i int) []byte {
	switch v := a.(type) {
	case *array.Binary:
		return v.Value
	case *array.LargeBinary:
		return v.Value
	case *array.BinaryView:
		return v.Value
	case *array.FixedSizeBinary:
		return v.Value
	}
	return nil
}

// byteStrings converts strings and byte strings of any layout; a String must be UTF-8.
func byteStrings(a arrow.Array, p place) (arrow.Array, error) {
	text, raw := textOf(a), bytesOf(a)
	if text == nil && (raw == nil || p.n.Basic == schema.String) {
		return nil, p.mismatch(a)
	}
	if text == nil {
		text = raw
	}
	t := Type(p.n)
	if e, ok := t.(arrow.ExtensionType); ok {
		t = e.StorageType()
	}
	out, err := widen(t, a, p, text)
	if err != nil || t == Type(p.n) {
		return out, err
	}
	defer out.Release()
	return array.NewExtensionArrayWithStorage(Type(p.n).(arrow.ExtensionType), out), nil
}

// widen gives byte strings 64-bit offsets. The bytes of an array with offsets are shared, others copied.
func widen(t arrow.DataType, a arrow.Array, p place, value func(int) []byte) (arrow.Array, error) {
	offsets := bufpool.Of[int64](a.Len() + 1)
	offsets[0] = 0
	values, shared := sharedBytes(a, offsets)
	if shared && !ascending(offsets, len(values)) {
		return nil, fmt.Errorf("field %q: %w: invalid offsets", p.path, ErrColumn)
	}
	if !shared {
		for i := range a.Len() {
			if a.IsValid(i) {
				values = append(values, value(i)...)
			}
			offsets[i+1] = int64(len(values))
		}
	}
	if p.n.Basic == schema.String {
		if err := checkUTF8(a, p, values, offsets); err != nil {
			return nil, err
		}
	}
	ends := memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets))
	if shared && values != nil {
		return sharing(t, a, memory.SliceBuffer(a.Data().Buffers()[2], 0, len(values)), ends), nil
	}
	return assemble(t, a, []*memory.Buffer{ends, memory.NewBufferBytes(values)}), nil
}

// ascending reports whether offsets are sound; those of a file may be anything.
func ascending(offsets []int64, size int) bool {
	last := int64(0)
	for _, at := range offsets {
		if at < last {
			return false
		}
		last = at
	}
	return last <= int64(size)
}

// sharedBytes fills in the offsets of an array that has some, and gives the bytes they point into.
func sharedBytes(a arrow.Array, offsets []int64) (values []byte, shared bool) {
	if a.Len() == 0 {
		return nil, true
	}
	at, n := a.Data().Offset(), len(offsets)
	switch a.(type) {
	case *array.String, *array.Binary:
		for i, o := range arrow.Int32Traits.CastFromBytes(a.Data().Buffers()[1].Bytes())[at : at+n] {
			offsets[i] = int64(o)
		}
	case *array.LargeString, *array.LargeBinary:
		copy(offsets, arrow.Int64Traits.CastFromBytes(a.Data().Buffers()[1].Bytes())[at:at+n])
	default:
		return nil, false
	}
	if b := a.Data().Buffers()[2]; b != nil {
		values = b.Bytes()
	}
	return values, true
}

// checkUTF8 names the first row whose text is no UTF-8. All bytes are checked at once, and then the places
// where they are cut.
func checkUTF8(a arrow.Array, p place, values []byte, offsets []int64) error {
	all := values[offsets[0]:offsets[len(offsets)-1]]
	cut := false
	if utf8.Valid(all) {
		for _, at := range offsets {
			cut = cut || at < offsets[len(offsets)-1] && !utf8.RuneStart(values[at])
		}
		if !cut {
			return nil
		}
	}
	for i := range a.Len() {
		if a.IsValid(i) && !utf8.Valid(values[offsets[i]:offsets[i+1]]) {
			return p.refuse(i, "invalid UTF-8")
		}
	}
	return nil
}

// fixedBytes converts byte strings of one size, and the text of guids.
func fixedBytes(a arrow.Array, p place) (arrow.Array, error) {
	value := bytesOf(a)
	text := textOf(a)
	if value == nil && (text == nil || p.n.Basic != schema.Guid) {
		return nil, p.mismatch(a)
	}
	width := int(p.n.FixedSize)
	out := make([]byte, width*a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			continue
		}
		if value == nil {
			g, err := literal.ParseGuid(string(text(i)))
			if err != nil {
				return nil, p.refuse(i, "%.60q: %w", text(i), err)
			}
			copy(out[width*i:], g[:])
			continue
		}
		if v := value(i); len(v) != width {
			return nil, p.refuse(i, "%s, expected %d", plural.Count(len(v), "byte"), width)
		} else {
			copy(out[width*i:], v)
		}
	}
	storage := assemble(&arrow.FixedSizeBinaryType{ByteWidth: width}, a, []*memory.Buffer{memory.NewBufferBytes(out)})
	e, ok := Type(p.n).(arrow.ExtensionType)
	if !ok {
		return storage, nil
	}
	defer storage.Release()
	return array.NewExtensionArrayWithStorage(e, storage), nil
}
