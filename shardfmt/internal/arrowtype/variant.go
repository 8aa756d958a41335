package arrowtype

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowdecimal "github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/variant"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/internal/literal"
)

// variants makes JSON text of Parquet's variants, shredded or not. Numbers keep all their digits; values of types that
// JSON lacks become text, and are counted.
func (im *importing) variants(a *extensions.VariantArray, p place) (out arrow.Array, err error) {
	b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.LargeBinary)
	defer b.Release()
	defer func() {
		if r := recover(); r != nil { // Arrow's reader trusts the bytes of a variant
			out, err = nil, p.refuse(b.Len(), "the variant can't be read: %v", r)
		}
	}()
	texts := int64(0)
	for i := range a.Len() {
		if a.Storage().IsNull(i) { // IsNull of the variants is also true of those that hold JSON's null
			b.AppendNull()
			continue
		}
		if err := checkShredded(a, i); err != nil {
			return nil, p.refuse(i, "the variant can't be read: %w", err)
		}
		v, err := a.Value(i)
		if err != nil {
			return nil, p.refuse(i, "the variant can't be read: %w", err)
		}
		w := variantWriter{}
		if err := w.value(v, 0); err != nil {
			return nil, p.refuse(i, "%w", err)
		}
		if w.texts > 0 && im.Strict {
			return nil, p.refuse(i, "the variant holds a %s, which JSON represents as text", w.kind)
		}
		texts += w.texts
		b.Append(w.out)
	}
	if texts > 0 {
		im.report.Add(p.path, "values in variants of types that JSON lacks become text", texts)
	}
	storage := b.NewArray()
	defer storage.Release()
	return array.NewExtensionArrayWithStorage(Dynamic, storage), nil
}

// checkShredded refuses an object with a field that is both shredded and in its binary value: Parquet forbids it, and which of them
// counts would depend on the columns that are read.
func checkShredded(a *extensions.VariantArray, i int) error {
	storage, ok := a.Storage().(*array.Struct)
	if !ok || a.Shredded() == nil {
		return nil
	}
	meta, err := variant.NewMetadata(a.Metadata().Value(i))
	if err != nil {
		return err
	}
	return checkShreddedFields(storage, meta, i)
}

// checkShreddedFields is checkShredded for a struct of value and typed_value.
func checkShreddedFields(s *array.Struct, meta variant.Metadata, i int) error {
	typed, _ := memberOf(s, "typed_value").(*array.Struct)
	if typed == nil || typed.IsNull(i) {
		return nil
	}
	if value, ok := memberOf(s, "value").(arrow.TypedArray[[]byte]); ok && value.IsValid(i) {
		v, err := variant.NewWithMetadata(meta, value.Value(i))
		if err != nil {
			return err
		}
		if object, ok := v.Value().(variant.ObjectValue); ok {
			for name := range object.Values() {
				if memberOf(typed, name) != nil {
					return fmt.Errorf("its field %q is shredded, and in its value too", name)
				}
			}
		}
	}
	for at := range typed.NumField() {
		if field, ok := typed.Field(at).(*array.Struct); ok && field.IsValid(i) {
			if err := checkShreddedFields(field, meta, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// memberOf is a field of a struct by name, or nil.
func memberOf(s *array.Struct, name string) arrow.Array {
	if at, ok := s.DataType().(*arrow.StructType).FieldIdx(name); ok {
		return s.Field(at)
	}
	return nil
}

// variantWriter renders a variant as JSON.
type variantWriter struct {
	out []byte
	// texts counts the values that JSON has only as text; kind is the type of one of them.
	texts int64
	kind  string
}

func (w *variantWriter) text(kind, s string) {
	w.texts++
	w.kind = kind
	w.quote(s)
}

func (w *variantWriter) quote(s string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	w.out = append(w.out, bytes.TrimSpace(b.Bytes())...)
}

func (w *variantWriter) value(v variant.Value, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("the variant nests deeper than %d levels", MaxDepth)
	}
	switch x := v.Value().(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		w.out = strconv.AppendBool(w.out, x)
	case int8, int16, int32, int64:
		w.out = strconv.AppendInt(w.out, reflect.ValueOf(x).Int(), 10)
	case float32:
		w.float(float64(x), 32)
	case float64:
		w.float(x, 64)
	case variant.DecimalValue[arrowdecimal.Decimal32]:
		w.out = append(w.out, x.Value.ToString(int32(x.Scale))...)
	case variant.DecimalValue[arrowdecimal.Decimal64]:
		w.out = append(w.out, x.Value.ToString(int32(x.Scale))...)
	case variant.DecimalValue[arrowdecimal.Decimal128]:
		w.out = append(w.out, x.Value.ToString(int32(x.Scale))...)
	case string:
		w.quote(x)
	case []byte:
		w.text("binary", base64.StdEncoding.EncodeToString(x))
	case uuid.UUID:
		w.text("uuid", x.String())
	case arrow.Date32:
		w.text("date", x.FormattedString())
	case arrow.Time64:
		w.text("time", x.ToTime(arrow.Microsecond).UTC().Format("15:04:05.999999"))
	case arrow.Timestamp:
		w.text("timestamp", timestampText(v.Type(), x))
	case variant.ArrayValue:
		return w.array(x, depth)
	case variant.ObjectValue:
		return w.object(x, depth)
	default:
		return fmt.Errorf("a variant of type %v", v.Type())
	}
	return nil
}

func (w *variantWriter) float(f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.text("float", string(literal.AppendFloat(nil, f, bits)))
		return
	}
	w.out = literal.AppendFloat(w.out, f, bits)
}

// timestampText is RFC 3339, without a zone for timestamps that have none.
func timestampText(t variant.Type, ts arrow.Timestamp) string {
	unit, layout := arrow.Microsecond, time.RFC3339Nano
	if t == variant.TimestampNanos || t == variant.TimestampNanosNTZ {
		unit = arrow.Nanosecond
	}
	if t == variant.TimestampMicrosNTZ || t == variant.TimestampNanosNTZ {
		layout = strings.TrimSuffix(layout, "Z07:00")
	}
	return ts.ToTime(unit).UTC().Format(layout)
}

func (w *variantWriter) array(a variant.ArrayValue, depth int) error {
	w.out = append(w.out, '[')
	for i := range a.Len() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		v, err := a.Value(i)
		if err == nil {
			err = w.value(v, depth+1)
		}
		if err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *variantWriter) object(o variant.ObjectValue, depth int) error {
	w.out = append(w.out, '{')
	for i := range o.NumElements() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		f, err := o.FieldAt(i)
		if err != nil {
			return err
		}
		w.quote(f.Key)
		w.out = append(w.out, ':')
		if err := w.value(f.Value, depth+1); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

// toVariants makes variants of dynamic values that are JSON text. A number that no variant holds exactly is refused, or
// counted.
func (x *exporting) toVariants(a *DynamicArray, t *extensions.VariantType, p place) (arrow.Array, error) {
	b := extensions.NewVariantBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	changed := int64(0)
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		text := x.jsonText(a.Value(i), p)
		v, err := variant.ParseJSONBytes(text, false)
		if err != nil {
			return nil, p.refuse(i, "it does not fit a variant: %w", err)
		}
		w := variantWriter{}
		if err := w.value(v, 0); err != nil {
			return nil, p.refuse(i, "%w", err)
		}
		if !sameJSON(text, w.out) {
			if x.Strict {
				return nil, p.refuse(i, "a variant can hold it only as %.60s", w.out)
			}
			changed++
		}
		b.Append(v)
	}
	if changed > 0 {
		x.report.Add(p.path, "numbers are rounded to the precision of a variant", changed)
	}
	return b.NewArray(), nil
}

// sameJSON reports whether two JSON texts mean the same: numbers by their value, objects whatever the order.
func sameJSON(a, b []byte) bool {
	decode := func(text []byte) (v any, err error) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&v)
		return v, err
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && sameValue(x, y)
}

func sameValue(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && (x == y || sameNumber(string(x), string(y)))
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameValue(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, there := y[k]; !there || !sameValue(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}

func sameNumber(a, b string) bool {
	x, errX := decimal.Parse(a)
	y, errY := decimal.Parse(b)
	return errX == nil && errY == nil && decimal.Compare(x, y) == 0
}
