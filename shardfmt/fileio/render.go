package fileio

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
)

// render appends value i of one array as JSON. The value is not null.
type render func(dst []byte, i int) []byte

// renderer makes renders for the arrays of a sink. These may be used side by side, but each by one at a time.
type renderer struct {
	guidOrder GuidOrder
	// binaryDynamic and badText report about these losses, once.
	binaryDynamic, badText func()
}

func newRenderer(o SinkOptions) *renderer {
	once := func(message string) func() { return sync.OnceFunc(func() { o.Warn(message) }) }
	return &renderer{
		guidOrder:     o.GuidOrder,
		binaryDynamic: once("a dynamic value is not JSON text: written as base64"),
		badText:       once("a string is not valid UTF-8: invalid bytes are written as U+FFFD"),
	}
}

// element is render for values that may be null.
func (r *renderer) element(a arrow.Array) render {
	value := r.value(a)
	if a.NullN() == 0 && a.DataType().ID() != arrow.NULL {
		return value
	}
	return func(dst []byte, i int) []byte {
		if a.IsNull(i) {
			return append(dst, "null"...)
		}
		return value(dst, i)
	}
}

// value makes the render of a canonical array.
func (r *renderer) value(a arrow.Array) render {
	switch a := a.(type) {
	case *array.Null:
		return func(dst []byte, _ int) []byte { return append(dst, "null"...) }
	case *array.Struct:
		return r.structure(a)
	case *array.Map:
		return r.mapping(a)
	case *array.SparseUnion:
		return r.union(a)
	case array.ListLike:
		return r.list(a)
	case *arrowtype.DynamicArray:
		return func(dst []byte, i int) []byte { return r.dynamic(dst, a.Value(i)) }
	case *array.Float32:
		return func(dst []byte, i int) []byte { return appendJSONFloat(dst, float64(a.Value(i)), 32) }
	case *array.Float64:
		var floats literal.Floats
		return func(dst []byte, i int) []byte {
			if v := a.Value(i); !math.IsNaN(v) && !math.IsInf(v, 0) {
				return floats.Append(dst, v)
			}
			return appendJSONFloat(dst, a.Value(i), 64)
		}
	case *array.LargeString:
		return func(dst []byte, i int) []byte { return r.quoted(dst, a.Value(i)) }
	case *array.Boolean:
		return func(dst []byte, i int) []byte { return strconv.AppendBool(dst, a.Value(i)) }
	}
	if number := integerRender(a); number != nil {
		return number
	}
	text := r.text(a)
	return func(dst []byte, i int) []byte { return append(text(append(dst, '"'), i), '"') }
}

func integerRender(a arrow.Array) render {
	switch a := a.(type) {
	case *array.Int8:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(a.Value(i)), 10) }
	case *array.Int16:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(a.Value(i)), 10) }
	case *array.Int32:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(a.Value(i)), 10) }
	case *array.Int64:
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, a.Value(i), 10) }
	case *array.Uint8:
		return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, uint64(a.Value(i)), 10) }
	case *array.Uint16:
		return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, uint64(a.Value(i)), 10) }
	case *array.Uint32:
		return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, uint64(a.Value(i)), 10) }
	case *array.Uint64:
		return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, a.Value(i), 10) }
	}
	return nil
}

// isText reports whether text renders an array.
func isText(a arrow.Array) bool {
	switch a.(type) {
	case *arrowtype.DateTimeArray, *arrowtype.TimeSpanArray, *arrowtype.DecimalArray, *extensions.UUIDArray,
		*array.LargeBinary, *array.FixedSizeBinary:
		return true
	}
	return false
}

// text renders the types that are written as a string of harmless characters, without quotes.
func (r *renderer) text(a arrow.Array) render {
	switch a := a.(type) {
	case *arrowtype.DateTimeArray:
		ticks := a.Ticks()
		return func(dst []byte, i int) []byte { return literal.AppendDateTime(dst, ticks[i]) }
	case *arrowtype.TimeSpanArray:
		ticks := a.Ticks()
		return func(dst []byte, i int) []byte { return literal.AppendTimeSpan(dst, ticks[i]) }
	case *arrowtype.DecimalArray:
		return func(dst []byte, i int) []byte { return decimal.From(a.Value(i)).Append(dst) }
	case *extensions.UUIDArray:
		storage := a.Storage().(*array.FixedSizeBinary)
		return func(dst []byte, i int) []byte {
			g := [16]byte(storage.Value(i))
			if r.guidOrder == MicrosoftOrder {
				g = literal.SwapGuid(g)
			}
			return literal.AppendGuid(dst, g[:])
		}
	case *array.LargeBinary:
		return func(dst []byte, i int) []byte { return base64.StdEncoding.AppendEncode(dst, a.Value(i)) }
	case *array.FixedSizeBinary:
		return func(dst []byte, i int) []byte { return base64.StdEncoding.AppendEncode(dst, a.Value(i)) }
	}
	panic(fmt.Sprintf("fileio: %s is not a canonical type", a.DataType()))
}

func (r *renderer) structure(a *array.Struct) render {
	return r.object(a.DataType().(*arrow.StructType).Fields(), a.Field)
}

// object renders an object: what stands before each member, which is the comma and its name, and the values.
func (r *renderer) object(fields []arrow.Field, column func(int) arrow.Array) render {
	var names [][]byte
	var values []render
	for i, f := range fields {
		name := append(r.quoted([]byte{','}, f.Name), ':')
		if i == 0 {
			name[0] = '{'
		}
		names, values = append(names, name), append(values, r.element(column(i)))
	}
	if len(names) == 0 {
		return func(dst []byte, _ int) []byte { return append(dst, "{}"...) }
	}
	return func(dst []byte, i int) []byte {
		for j, name := range names {
			dst = values[j](append(dst, name...), i)
		}
		return append(dst, '}')
	}
}

func (r *renderer) list(a array.ListLike) render {
	item := r.element(a.ListValues())
	return func(dst []byte, i int) []byte {
		start, end := a.ValueOffsets(i)
		dst = append(dst, '[')
		for j := start; j < end; j++ {
			if j > start {
				dst = append(dst, ',')
			}
			dst = item(dst, int(j))
		}
		return append(dst, ']')
	}
}

func (r *renderer) mapping(a *array.Map) render {
	key, item := r.element(a.Keys()), r.element(a.Items())
	return func(dst []byte, i int) []byte {
		start, end := a.ValueOffsets(i)
		dst = append(dst, '[')
		for j := start; j < end; j++ {
			if j > start {
				dst = append(dst, ',')
			}
			dst = key(append(dst, `{"key":`...), int(j))
			dst = item(append(dst, `,"value":`...), int(j))
			dst = append(dst, '}')
		}
		return append(dst, ']')
	}
}

func (r *renderer) union(a *array.SparseUnion) render {
	variants := make([]render, a.NumFields())
	for i := range variants {
		variants[i] = r.element(a.Field(i))
	}
	return func(dst []byte, i int) []byte { return variants[a.ChildID(i)](dst, i) }
}

// dynamic prints JSON text as it is, on one line, and anything else as base64.
func (r *renderer) dynamic(dst, value []byte) []byte {
	if !json.Valid(value) || !utf8.Valid(value) {
		r.binaryDynamic()
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), value)
		return append(dst, '"')
	}
	for _, c := range value {
		if c == '\n' || c == '\r' { // only between tokens
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

func appendJSONFloat(dst []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(literal.AppendFloat(append(dst, '"'), v, bits), '"')
	}
	return literal.AppendFloat(dst, v, bits)
}

const hexDigits = "0123456789abcdef"

// quoted appends a JSON string. What is no UTF-8, which a sound shard doesn't have, becomes U+FFFD.
func (r *renderer) quoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	plain, i := 0, 0
	for {
		if i += harmless(s[i:]); i == len(s) {
			return append(append(dst, s[plain:]...), '"')
		}
		if c := s[i]; c < utf8.RuneSelf {
			dst = appendEscape(append(dst, s[plain:i]...), c)
		} else if ch, n := utf8.DecodeRuneInString(s[i:]); ch != utf8.RuneError || n > 1 {
			i += n
			continue
		} else {
			r.badText()
			dst = append(append(dst, s[plain:i]...), "\ufffd"...)
		}
		i++
		plain = i
	}
}

// harmless is how many bytes at the beginning of s stand for themselves in JSON, eight at a time.
func harmless(s string) int {
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := x^everyByte*'"', x^everyByte*'\\'
		// A byte's upper bit reports that it is below a space, the one looked for, or not ASCII; what a borrow marks besides is above such a byte.
		if bad := ((x - everyByte*' ') | (quote - everyByte) | (slash - everyByte) | x) & (everyByte * 0x80); bad != 0 {
			return i + bits.TrailingZeros64(bad)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

func appendEscape(dst []byte, c byte) []byte {
	for i := range len(escapees) {
		if escapees[i] == c && c != '/' {
			return append(dst, '\\', escapes[i])
		}
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
