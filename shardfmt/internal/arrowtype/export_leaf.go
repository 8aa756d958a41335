package arrowtype

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/halffloat"
	"github.com/shardcat/shardcat/internal/literal"
)

// array converts a canonical array to an Arrow type that its node may become.
func (x *exporting) array(a arrow.Array, t arrow.DataType, p place) (arrow.Array, error) {
	if arrow.TypeEqual(a.DataType(), t, arrow.CheckMetadata()) {
		a.Retain()
		return a, nil
	}
	if v, ok := t.(*extensions.VariantType); ok {
		if d, ok := a.(*DynamicArray); ok {
			return x.toVariants(d, v, p)
		}
		return nil, noWay(a, t, p)
	}
	if e, ok := t.(arrow.ExtensionType); ok {
		storage, err := x.array(a, e.StorageType(), p)
		if err != nil {
			return nil, err
		}
		defer storage.Release()
		return array.NewExtensionArrayWithStorage(e, storage), nil
	}
	if len(p.n.Children) > 0 {
		return x.nested(a, t, p)
	}
	switch a := a.(type) {
	case *DateTimeArray:
		return x.times(a, a.Ticks(), t, p)
	case *TimeSpanArray:
		return x.times(a, a.Ticks(), t, p)
	case *DecimalArray:
		return x.decimals(a, t, p)
	case *DynamicArray:
		if everyJSON(a) {
			return byteStringsAs(a.Storage(), t, p, a.Value)
		}
		return appendBytes(a, t, p, func(i int) []byte { return x.jsonText(a.Value(i), p) })
	case *extensions.UUIDArray:
		storage := a.Storage().(*array.FixedSizeBinary)
		if t.ID() == arrow.FIXED_SIZE_BINARY {
			storage.Retain()
			return storage, nil
		}
		return appendBytes(a, t, p, func(i int) []byte { return literal.AppendGuid(nil, storage.Value(i)) })
	case *array.LargeString:
		return byteStringsAs(a, t, p, func(i int) []byte { return []byte(a.Value(i)) })
	case *array.LargeBinary:
		return byteStringsAs(a, t, p, a.Value)
	case *array.Float32:
		return x.halves(a, t, p)
	case *array.Boolean:
		return bytesOfBooleans(a, t, p)
	case *array.Int32:
		if t.ID() == arrow.INTERVAL_MONTHS {
			return sharing(t, a, memory.SliceBuffer(a.Data().Buffers()[1], a.Data().Offset()*arrow.Int32SizeBytes, a.Len()*arrow.Int32SizeBytes)), nil
		}
	}
	return nil, noWay(a, t, p)
}

// noWay is the error of a type that an array does not become.
func noWay(a arrow.Array, t arrow.DataType, p place) error {
	return fmt.Errorf("field %q: no conversion from %s to %s", p.path, a.DataType(), t)
}

// everyJSON reports whether all dynamic values are JSON text.
func everyJSON(a *DynamicArray) bool {
	for i := range a.Len() {
		if a.IsValid(i) && !json.Valid(a.Value(i)) {
			return false
		}
	}
	return true
}

// jsonText is a dynamic value as JSON: what is none becomes a string of its base64.
func (x *exporting) jsonText(value []byte, p place) []byte {
	if json.Valid(value) {
		return value
	}
	x.report.Add(p.path, "dynamic values that are not JSON text become base64 in a JSON string", 1)
	return append(base64.StdEncoding.AppendEncode([]byte{'"'}, value), '"')
}

// byteStringsAs gives an array with offsets another layout. The bytes are shared where that has offsets, too.
func byteStringsAs(a arrow.Array, t arrow.DataType, p place, value func(i int) []byte) (arrow.Array, error) {
	wide := false
	switch t.ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		wide = true
	case arrow.STRING, arrow.BINARY:
	default:
		return appendBytes(a, t, p, value)
	}
	if !wide {
		if out := smallTexts(a, t); out != nil {
			return out, nil
		}
	}
	offsets := make([]int64, a.Len()+1)
	values, shared := sharedBytes(a, offsets)
	if !shared {
		return appendBytes(a, t, p, value)
	}
	first := offsets[0]
	for i := range offsets {
		if offsets[i] -= first; offsets[i] >= 1<<31 {
			return nil, p.refuse(i-1, tooMuchText)
		}
	}
	starts := memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(offsets))
	if !wide {
		starts = smallOffsets(offsets)
	}
	if values == nil {
		return assemble(t, a, []*memory.Buffer{starts, memory.NewBufferBytes(nil)}), nil
	}
	return sharing(t, a, memory.SliceBuffer(a.Data().Buffers()[2], int(first), int(offsets[a.Len()])), starts), nil
}

// smallTexts gives an array of 64-bit offsets narrow ones, which is what most others expect, and shares its bytes; nil where that is
// another array, empty, or too much.
func smallTexts(a arrow.Array, t arrow.DataType) arrow.Array {
	switch a.(type) {
	case *array.LargeString, *array.LargeBinary:
	default:
		return nil
	}
	at, n := a.Data().Offset(), a.Len()
	if n == 0 || a.Data().Buffers()[2] == nil {
		return nil
	}
	offsets := arrow.Int64Traits.CastFromBytes(a.Data().Buffers()[1].Bytes())[at : at+n+1]
	first, last := offsets[0], offsets[n]
	if last-first >= 1<<31 {
		return nil
	}
	out, starts := room[int32](n + 1)
	defer starts.Release()
	for i, o := range offsets {
		out[i] = int32(o - first)
	}
	return sharing(t, a, memory.SliceBuffer(a.Data().Buffers()[2], int(first), int(last-first)), starts)
}

// tooMuchText is why an array of 32-bit offsets can't be made; batches that others read have no longer ones either.
const tooMuchText = "a batch of more than 2 GiB of text"

// appendBytes makes an array of strings or byte strings of any layout.
func appendBytes(a arrow.Array, t arrow.DataType, p place, value func(i int) []byte) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	var put func([]byte)
	switch b := b.(type) {
	case *array.StringBuilder:
		put = b.BinaryBuilder.Append
	case *array.LargeStringBuilder:
		put = b.BinaryBuilder.Append
	case *array.BinaryBuilder:
		put = b.Append
	case *array.StringViewBuilder:
		put = func(v []byte) { b.AppendString(string(v)) }
	case *array.BinaryViewBuilder:
		put = b.Append
	default:
		return nil, noWay(a, t, p)
	}
	size := int64(0)
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		v := value(i)
		if size += int64(len(v)); size >= 1<<31 {
			return nil, p.refuse(i, tooMuchText)
		}
		put(v)
	}
	return b.NewArray(), nil
}

// ErrUnit is a time that a unit has no space for.
var ErrUnit = errors.New("is out of range of the time unit: choose a coarser one (--time-unit us, ms or s)")

// timeUnits are how a type of Arrow counts time: in units of perUnit ticks from an epoch, perTick of which are a tick, and most of them at most.
type timeUnits struct {
	of                            arrow.DataType
	epoch, perUnit, perTick, most int64
}

// times converts ticks to any of Arrow's times.
func (x *exporting) times(a arrow.Array, ticks []int64, t arrow.DataType, p place) (arrow.Array, error) {
	u := timeUnits{of: t, perUnit: 1, perTick: 1}
	switch t := t.(type) {
	case *arrow.TimestampType:
		u.epoch = literal.UnixEpoch
		u.perUnit, u.perTick = unitTicks(t.Unit)
	case *arrow.DurationType:
		u.perUnit, u.perTick = unitTicks(t.Unit)
	case *arrow.Time32Type:
		u.perUnit, u.perTick = unitTicks(t.Unit)
	case *arrow.Time64Type:
		u.perUnit, u.perTick = unitTicks(t.Unit)
	case *arrow.Date32Type:
		u.epoch, u.perUnit = literal.UnixEpoch, literal.TicksPerDay
	case *arrow.Date64Type:
		u.epoch, u.perUnit = literal.UnixEpoch, literal.TicksPerSecond/1000
	case *arrow.Int64Type:
	default:
		return nil, noWay(a, t, p)
	}
	out, buffer := room[int64](a.Len())
	defer buffer.Release()
	u.most = math.MaxInt64 / u.perTick
	if a.NullN() > 0 || !u.whole(out, ticks) {
		if err := x.timesOneByOne(out, a, ticks, u, p); err != nil {
			return nil, err
		}
	}
	if t.(arrow.FixedWidthDataType).BitWidth() == 64 {
		return assemble(t, a, []*memory.Buffer{buffer}), nil
	}
	return filled(t, a, func(i int) (int32, error) {
		if int64(int32(out[i])) != out[i] {
			return 0, p.refuse(i, "%d %w", out[i], ErrUnit)
		}
		return int32(out[i]), nil
	})
}

// whole converts ticks if each is a whole number of units within the range.
func (u timeUnits) whole(out, ticks []int64) bool {
	var rest, beyond int64
	epoch, perUnit, perTick, most := u.epoch, u.perUnit, u.perTick, u.most
	switch ticks = ticks[:len(out)]; perUnit {
	case 1:
		for i, t := range ticks {
			v := t - epoch
			beyond |= (most - v) | (most + v) // negative where v is beyond
			out[i] = v * perTick
		}
	case literal.TicksPerDay: // dates; the division by a constant is a multiplication
		for i, t := range ticks {
			v := t - epoch
			q := v / literal.TicksPerDay
			rest |= v - q*literal.TicksPerDay
			out[i] = q
		}
	default:
		for i, t := range ticks {
			v := t - epoch
			q := v / perUnit
			rest |= v - q*perUnit
			out[i] = q
		}
	}
	return rest == 0 && beyond >= 0
}

// timesOneByOne converts ticks that are null, have digits that are cut, or must be refused.
func (x *exporting) timesOneByOne(out []int64, a arrow.Array, ticks []int64, u timeUnits, p place) error {
	cuts, hasNulls := int64(0), a.NullN() > 0
	for i := range out {
		if hasNulls && a.IsNull(i) {
			out[i] = 0
			continue
		}
		v := ticks[i] - u.epoch
		q := v / u.perUnit
		if q*u.perUnit != v {
			if cuts++; x.Strict {
				return p.refuse(i, "%s has more digits than %s", timeText(a, ticks[i]), u.of)
			}
		}
		if q > u.most || q < -u.most {
			return p.refuse(i, "%s %w", timeText(a, ticks[i]), ErrUnit)
		}
		out[i] = q * u.perTick
	}
	if cuts > 0 {
		x.report.Add(p.path, fmt.Sprintf("digits beyond %s are truncated", u.of), cuts)
	}
	return nil
}

func timeText(a arrow.Array, ticks int64) string {
	if _, ok := a.(*DateTimeArray); ok {
		return string(literal.AppendDateTime(nil, ticks))
	}
	return string(literal.AppendTimeSpan(nil, ticks))
}

// decimals converts to fixed-point numbers, or text.
func (x *exporting) decimals(a *DecimalArray, t arrow.DataType, p place) (arrow.Array, error) {
	d, ok := t.(arrow.DecimalType)
	if !ok {
		var room []byte
		return appendBytes(a, t, p, func(i int) []byte {
			room = decimal.From(a.Value(i)).Append(room[:0])
			return room
		})
	}
	scale, digits := decimal.NewScale(int(d.GetScale())), int(d.GetPrecision())
	unfit := func(i int) error { return p.refuse(i, "%s does not fit %s", decimal.From(a.Value(i)), t) }
	small := func(i int) (decimal128.Num, error) {
		hi, lo, ok := scale.Int128(a.Value(i))
		n := decimal128.New(hi, lo)
		if !ok || !n.FitsInPrecision(int32(min(digits, maxDecimal128))) {
			return n, unfit(i)
		}
		return n, nil
	}
	switch t.ID() {
	case arrow.DECIMAL32:
		return fixedPoint(t, a, small, func(n decimal128.Num) int32 { return int32(n.LowBits()) })
	case arrow.DECIMAL64:
		return fixedPoint(t, a, small, func(n decimal128.Num) int64 { return int64(n.LowBits()) })
	case arrow.DECIMAL128:
		return wideDecimals(t, a, &scale, digits, small)
	case arrow.DECIMAL256:
		wide := func(i int) (*big.Int, error) {
			n, ok := decimal.From(a.Value(i)).Scaled(int(d.GetScale()))
			if !ok || len(new(big.Int).Abs(n).String()) > digits {
				return nil, unfit(i)
			}
			return n, nil
		}
		return fixedPoint(t, a, wide, decimal256.FromBigInt)
	}
	return nil, noWay(a, t, p)
}

// maxDecimal128 is the most digits that a precision of decimal128 may count.
const maxDecimal128 = 38

// wideDecimals fills an array with numbers of 128 bits: those that are stored as a column's usually are many at once, others by read.
func wideDecimals(t arrow.DataType, a *DecimalArray, scale *decimal.Scale, digits int, read func(int) (decimal128.Num, error)) (arrow.Array, error) {
	out, buffer := room[decimal128.Num](a.Len())
	defer buffer.Release()
	var stored []byte
	if data := a.Storage().Data(); len(out) > 0 {
		stored = data.Buffers()[1].Bytes()[decimal.Size*data.Offset():]
	}
	hasNulls := a.NullN() > 0
	for i := 0; i < len(out); i++ {
		if !hasNulls {
			i += scale.Int128s(unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(out[i:]))), len(out)-i), stored[decimal.Size*i:], digits)
		}
		if i == len(out) {
			break
		}
		var n decimal128.Num
		if !hasNulls || a.IsValid(i) {
			var err error
			if n, err = read(i); err != nil {
				return nil, err
			}
		}
		out[i] = n
	}
	return assemble(t, a, []*memory.Buffer{buffer}), nil
}

// fixedPoint fills an array with numbers that read gives and convert brings to their width.
func fixedPoint[N, T any](t arrow.DataType, a arrow.Array, read func(int) (N, error), convert func(N) T) (arrow.Array, error) {
	return filled(t, a, func(i int) (v T, err error) {
		n, err := read(i)
		if err != nil {
			return v, err
		}
		return convert(n), nil
	})
}

// halves converts to half floats what they hold exactly.
func (x *exporting) halves(a *array.Float32, t arrow.DataType, p place) (arrow.Array, error) {
	if t.ID() != arrow.FLOAT16 {
		return nil, noWay(a, t, p)
	}
	return filled(t, a, func(i int) (float16.Num, error) {
		v := a.Value(i)
		h, exact := halffloat.FromFloat32(v)
		if !exact {
			if v == v {
				return float16.Num{}, p.refuse(i, "%v is not a half float", v)
			}
			h |= 1 << 9 // a quiet NaN, of which no payload is too small to stay one
		}
		return float16.FromBits(h), nil
	})
}

// bytesOfBooleans makes a byte of each boolean, as bool8 has it.
func bytesOfBooleans(a *array.Boolean, t arrow.DataType, p place) (arrow.Array, error) {
	if t.ID() != arrow.INT8 {
		return nil, noWay(a, t, p)
	}
	bits, at := a.Data().Buffers()[1].Bytes(), a.Data().Offset()
	return filled(t, a, func(i int) (int8, error) {
		if bitutil.BitIsSet(bits, at+i) {
			return 1, nil
		}
		return 0, nil
	})
}
