package cole

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// feed turns the values of an Arrow column into those of a COLE column.
type feed struct {
	name string
	typ  Type
	cast string
	// null stands in for nulls where hasNull is set.
	hasNull  bool
	nullInt  int64
	nullText string
}

// newFeed chooses the type of a column; what is what its type loses, if anything.
func newFeed(f arrow.Field, cast string) (out feed, what string, err error) {
	out = feed{name: f.Name, cast: cast}
	if cast != "" && cast != CastText && cast != CastBits {
		return out, "", &fileformat.OptionError{Name: optionCast, Value: f.Name + "=" + cast, What: CastText + " or " + CastBits}
	}
	t := f.Type
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	if cast == CastText && !isText(t) {
		out.typ = String
		return out, fmt.Sprintf("%s becomes text", f.Type), nil
	}
	out.typ, what, err = columnType(t, cast)
	if err != nil {
		return out, "", fmt.Errorf("%w: column %q: %w", ErrType, f.Name, err)
	}
	return out, what, nil
}

func isText(t arrow.DataType) bool {
	return t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING || t.ID() == arrow.STRING_VIEW
}

// columnType is the type that holds every value of an Arrow type, and what of the type it does not state.
func columnType(t arrow.DataType, cast string) (Type, string, error) {
	switch t.ID() {
	case arrow.INT32:
		return Int32, "", nil
	case arrow.INT64:
		return Int64, "", nil
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return String, "", nil
	case arrow.BOOL:
		return Int32, "bool becomes INT32: 0 or 1", nil
	case arrow.INT8, arrow.INT16, arrow.UINT8, arrow.UINT16:
		return Int32, fmt.Sprintf("%s becomes INT32", t), nil
	case arrow.UINT32, arrow.UINT64:
		return Int64, fmt.Sprintf("%s becomes INT64", t), nil
	case arrow.DATE32, arrow.TIME32:
		return Int32, fmt.Sprintf("%s becomes INT32, in its unit", t), nil
	case arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return Int64, fmt.Sprintf("%s becomes INT64, in its unit", t), nil
	case arrow.FLOAT32:
		if cast == CastBits {
			return Int32, "float32 becomes INT32 of the same bits", nil
		}
	case arrow.FLOAT64:
		if cast == CastBits {
			return Int64, "float64 becomes INT64 of the same bits", nil
		}
	}
	if cast == CastBits {
		return 0, "", fmt.Errorf("%s has no bit representation: --%s COL=%s writes it as text", t, optionCast, CastText)
	}
	return 0, "", fmt.Errorf("%s: COLE supports only INT32, INT64 and STRING; --%s COL=%s writes it as text", t, optionCast, CastText)
}

// replaceNull sets the value in place of nulls.
func (f *feed) replaceNull(text string) error {
	f.hasNull, f.nullText = true, text
	if f.typ == String {
		return nil
	}
	v, err := strconv.ParseInt(text, 10, 8*f.typ.width())
	if err != nil {
		return &fileformat.OptionError{Name: optionNull, Value: f.name + "=" + text, What: fmt.Sprintf("a value of %v", f.typ)}
	}
	f.nullInt = v
	return nil
}

var (
	errNull     = errors.New("null, which a COLE file can't hold: --" + optionNull + " COL=VALUE replaces it by a value")
	errTooLarge = errors.New("out of range of INT64")
	errText     = errors.New("text that is not UTF-8")
)

// from gives the values of an array: the integer, or the text for columns of strings.
func (f *feed) from(a arrow.Array, report *arrowtype.Report) func(i int) (int64, string, error) {
	if d, ok := a.(*array.Dictionary); ok {
		values := f.from(d.Dictionary(), report)
		return f.nullable(a, report, func(i int) (int64, string, error) { return values(d.GetValueIndex(i)) })
	}
	if f.typ == String {
		return f.nullable(a, report, f.texts(a))
	}
	number := integersOf(a)
	return f.nullable(a, report, func(i int) (int64, string, error) {
		v, err := number(i)
		return v, "", err
	})
}

// nullable puts the replacement in the place of nulls.
func (f *feed) nullable(a arrow.Array, report *arrowtype.Report, value func(i int) (int64, string, error)) func(i int) (int64, string, error) {
	return func(i int) (int64, string, error) {
		if a.IsValid(i) {
			return value(i)
		}
		if !f.hasNull {
			return 0, "", errNull
		}
		report.Add(f.name, fmt.Sprintf("nulls become %q, as requested", f.nullText), 0)
		return f.nullInt, f.nullText, nil
	}
}

func (f *feed) texts(a arrow.Array) func(i int) (int64, string, error) {
	text := a.ValueStr
	if f.cast != CastText {
		if s, ok := a.(interface{ Value(int) string }); ok {
			text = s.Value
		}
	}
	return func(i int) (int64, string, error) {
		s := string([]byte(text(i))) // the array's memory may go
		if !utf8.ValidString(s) {
			return 0, "", errText
		}
		return 0, s, nil
	}
}

// integersOf reads any array of whole numbers, times among them, floats by their bits.
func integersOf(a arrow.Array) func(i int) (int64, error) {
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int) (int64, error) {
			if a.Value(i) {
				return 1, nil
			}
			return 0, nil
		}
	case *array.Uint64:
		return func(i int) (int64, error) {
			if a.Value(i) > math.MaxInt64 {
				return 0, fmt.Errorf("%d is %w", a.Value(i), errTooLarge)
			}
			return int64(a.Value(i)), nil
		}
	case *array.Int8:
		return plain(a.Value)
	case *array.Int16:
		return plain(a.Value)
	case *array.Int32:
		return plain(a.Value)
	case *array.Int64:
		return plain(a.Value)
	case *array.Uint8:
		return plain(a.Value)
	case *array.Uint16:
		return plain(a.Value)
	case *array.Uint32:
		return plain(a.Value)
	case *array.Date32:
		return plain(a.Value)
	case *array.Date64:
		return plain(a.Value)
	case *array.Time32:
		return plain(a.Value)
	case *array.Time64:
		return plain(a.Value)
	case *array.Timestamp:
		return plain(a.Value)
	case *array.Duration:
		return plain(a.Value)
	case *array.Float32:
		return func(i int) (int64, error) { return int64(int32(math.Float32bits(a.Value(i)))), nil }
	case *array.Float64:
		return func(i int) (int64, error) { return int64(math.Float64bits(a.Value(i))), nil }
	}
	return func(int) (int64, error) { return 0, fmt.Errorf("%s is not a whole number", a.DataType()) }
}

// plain reads whole numbers of any width but 64 bits without sign.
func plain[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](value func(int) T) func(int) (int64, error) {
	return func(i int) (int64, error) { return int64(value(i)), nil }
}
