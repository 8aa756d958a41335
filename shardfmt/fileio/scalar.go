package fileio

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/internal/plural"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// scalar appends single values, by the form they are written in; a form that the type doesn't have is nil.
type scalar struct {
	// plain takes a number written as most are, whole in text; false means that it took nothing. nil if there is no such way.
	plain func(text []byte) bool
	// usual is plain for what JSON writes as strings.
	usual   func(text []byte) bool
	text    func(s []byte) error
	number  func(token []byte) error
	boolean func(v bool)
}

// newScalar makes the scalar of a leaf node over its builder.
func newScalar(n *schema.Node, path string, b array.Builder, s *readState) scalar {
	b = storageBuilder(b)
	switch n.Basic {
	case schema.Boolean:
		return scalar{boolean: b.(*array.BooleanBuilder).Append}
	case schema.Int8, schema.Int16, schema.Int32, schema.Int64:
		if n.IsTimeSpan() {
			return timeSpanScalar(path, b.(*array.Int64Builder))
		}
		return integerScalar(n, path, b)
	case schema.Float32, schema.Float64:
		return floatScalar(n, path, b, s)
	case schema.String:
		return stringScalar(b)
	case schema.DateTime:
		return dateTimeScalar(path, b.(*array.Int64Builder), s)
	case schema.Guid:
		return guidScalar(path, b.(*array.FixedSizeBinaryBuilder), s)
	case schema.FixedSizeBinary:
		fb := b.(*array.FixedSizeBinaryBuilder)
		if n.IsDecimal() {
			return decimalScalar(path, fb)
		}
		return base64Scalar(n, path, fb.Append)
	}
	return base64Scalar(n, path, b.(*array.BinaryBuilder).Append)
}

// integerScalar reads whole numbers, without a detour over floats.
func integerScalar(n *schema.Node, path string, b array.Builder) scalar {
	bits := 8 << (n.Basic - schema.Int8)
	signed, unsigned := integerAppender(b)
	return scalar{plain: plainIntegers(b), number: func(token []byte) error {
		var err error
		if n.Signed {
			var v int64
			if v, err = strconv.ParseInt(string(token), 10, bits); err == nil {
				signed(v)
			}
		} else {
			var v uint64
			if v, err = strconv.ParseUint(string(token), 10, bits); err == nil {
				unsigned(v)
			}
		}
		if err != nil {
			return wanting(path, numberHolder(token), token, "%.40s is not a valid %s", token, n.TypeName())
		}
		return nil
	}}
}

// plainIntegers appends integers written as most are, of the widths that columns of text are given.
func plainIntegers(b array.Builder) func(text []byte) bool {
	var add func(int64)
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch b := b.(type) {
	case *array.Int64Builder:
		add = int64Appender(b)
	case *array.Int32Builder:
		add = func(v int64) { b.Append(int32(v)) }
		low, high = math.MinInt32, math.MaxInt32
	default:
		return nil
	}
	return func(text []byte) bool {
		v, ok := plainInteger(text)
		if ok = ok && v >= low && v <= high; ok {
			add(v)
		}
		return ok
	}
}

// int64Appender appends; most values have their space reserved.
func int64Appender(b *array.Int64Builder) func(v int64) {
	return func(v int64) {
		if b.Len() < b.Cap() {
			b.UnsafeAppend(v)
		} else {
			b.Append(v)
		}
	}
}

func integerAppender(b array.Builder) (signed func(int64), unsigned func(uint64)) {
	switch b := b.(type) {
	case *array.Int8Builder:
		return func(v int64) { b.Append(int8(v)) }, nil
	case *array.Int16Builder:
		return func(v int64) { b.Append(int16(v)) }, nil
	case *array.Int32Builder:
		return func(v int64) { b.Append(int32(v)) }, nil
	case *array.Int64Builder:
		return b.Append, nil
	case *array.Uint8Builder:
		return nil, func(v uint64) { b.Append(uint8(v)) }
	case *array.Uint16Builder:
		return nil, func(v uint64) { b.Append(uint16(v)) }
	case *array.Uint32Builder:
		return nil, func(v uint64) { b.Append(uint32(v)) }
	case *array.Uint64Builder:
		return nil, b.Append
	}
	panic(fmt.Sprintf("fileio: %s is not an integer", b.Type()))
}

// floatScalar reads numbers, and NaN and the infinities as text.
func floatScalar(n *schema.Node, path string, b array.Builder, s *readState) scalar {
	bits := 64
	var add func(float64)
	switch b := b.(type) {
	case *array.Float32Builder:
		bits, add = 32, func(v float64) { b.Append(float32(v)) }
	case *array.Float64Builder:
		add = func(v float64) {
			if b.Len() < b.Cap() {
				b.UnsafeAppend(v)
			} else {
				b.Append(v)
			}
		}
	}
	var plain func(text []byte) bool
	if bits == 64 { // what is rounded twice may come out wrong
		plain = func(text []byte) bool {
			v, ok := plainFloat(text)
			if ok = ok && !s.exact; ok {
				add(v)
			}
			return ok
		}
	}
	return scalar{
		plain: plain,
		number: func(token []byte) error {
			v, err := strconv.ParseFloat(string(token), bits)
			if err != nil {
				return wanting(path, numberHolder(token), token, "%.40s is beyond %s", token, n.TypeName())
			}
			if s.exact && !heldExactly(token, v, bits) {
				return inField(path, "%.40s is not exactly a %s", token, n.TypeName())
			}
			add(v)
			return nil
		},
		text: func(t []byte) error {
			switch string(t) {
			case "NaN":
				add(math.NaN())
			case "Infinity":
				add(math.Inf(1))
			case "-Infinity":
				add(math.Inf(-1))
			default:
				return wanting(path, "String", t, "the string %.40q where %s was expected", t, n.TypeName())
			}
			return nil
		},
	}
}

// heldExactly reports whether the float is what the token states: the same whole number, or a fraction whose
// shortest text in this width is the same number.
func heldExactly(token []byte, v float64, bits int) bool {
	written, err := decimal.ParseBytes(token)
	if err != nil {
		return false
	}
	held, err := decimal.ParseRounded(strconv.FormatFloat(v, 'g', -1, bits))
	return err == nil && decimal.Compare(written, held) == 0
}

func stringScalar(b array.Builder) scalar {
	var add func(v []byte)
	switch b := b.(type) {
	case *textBuilder:
		add = b.append
	case *array.LargeStringBuilder:
		add = b.BinaryBuilder.Append
	}
	return scalar{
		text:  func(v []byte) error { add(v); return nil },
		usual: func(v []byte) bool { add(v); return true },
	}
}

func dateTimeScalar(path string, b *array.Int64Builder, s *readState) scalar {
	last := literal.Zoned // the form reported about last
	add := int64Appender(b)
	usual := func(t []byte) bool {
		ticks, form, ok := s.times.usual(t)
		if ok = ok && (form == literal.Zoned || form == last && !s.exact); ok {
			add(ticks)
		}
		return ok
	}
	return scalar{usual: usual, text: func(t []byte) error {
		if usual(t) {
			return nil
		}
		ticks, form, cut, err := s.times.parse(t)
		if err != nil {
			return wanting(path, "String", t, "%.60q: %w", t, err)
		}
		if cut && (s.exact || s.exactTimes) {
			return inField(path, "%.60q has digits below 100 ns", t)
		}
		if cut {
			s.tell("cut", "field %q: times are truncated to 100 ns", path)
		}
		if form != literal.Zoned && s.exact {
			return inField(path, "%.60q has no time zone", t)
		}
		if form != literal.Zoned && form != last {
			s.tell(s.times.notes[form], "field %q: %s", path, s.times.notes[form])
			last = form
		}
		b.Append(ticks)
		return nil
	}}
}

func timeSpanScalar(path string, b *array.Int64Builder) scalar {
	return scalar{text: func(t []byte) error {
		ticks, err := literal.ParseTimeSpan(string(t))
		if err != nil {
			return wanting(path, "String", t, "%.60q: %w", t, err)
		}
		b.Append(ticks)
		return nil
	}}
}

func guidScalar(path string, b *array.FixedSizeBinaryBuilder, s *readState) scalar {
	return scalar{text: func(t []byte) error {
		g, err := literal.ParseGuid(string(t))
		if err != nil {
			return wanting(path, "String", t, "%.60q: %w", t, err)
		}
		if s.guidOrder == MicrosoftOrder {
			g = literal.SwapGuid(g)
		}
		b.Append(g[:])
		return nil
	}}
}

// decimalScalar reads decimals from strings, and from numbers too.
func decimalScalar(path string, b *array.FixedSizeBinaryBuilder) scalar {
	read := func(t []byte) error {
		v, err := decimal.ParseBytes(t)
		if err != nil {
			return inField(path, "%w", err)
		}
		b.Append(v[:])
		return nil
	}
	return scalar{text: read, number: read}
}

// base64Scalar reads byte strings; those of fixed size must have it.
func base64Scalar(n *schema.Node, path string, add func([]byte)) scalar {
	var buf []byte
	return scalar{text: func(t []byte) error {
		var err error
		buf, err = base64.StdEncoding.Strict().AppendDecode(buf[:0], t)
		if err != nil {
			return inField(path, "%.40q is not base64", t)
		}
		if n.Basic == schema.FixedSizeBinary && uint64(len(buf)) != n.FixedSize {
			return inField(path, "%s, expected %d", plural.Count(len(buf), "byte"), n.FixedSize)
		}
		add(buf)
		return nil
	}}
}
