package layer

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/extsort"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// sink makes rows of Arrow batches: a row of the last column each, with the keys and auxiliary values of the rows that
// own it. Rows are sorted first, or, where they are reported to be sorted, written as they come.
type sink struct {
	rows   rowWriter
	types  []Pair
	parts  []part
	from   []int // the Arrow column of each part
	sorter *extsort.Sorter
	report arrowtype.Report

	key, value []byte // of a record on its way to the sorter
}

func newSink(w io.Writer, s *arrow.Schema, o fileformat.SinkOptions) (fileformat.Sink, error) {
	types, err := typesOf(o.Settings, s)
	if err != nil {
		return nil, err
	}
	write, err := writeSettings(o)
	if err != nil {
		return nil, err
	}
	sorted, err := o.Settings.Bool(optionSorted)
	if err != nil {
		return nil, err
	}
	if _, given := o.Settings[optionSelf]; !given && len(types) > extensionColumns {
		write.SelfDescribing = false // there is no space for it
	}
	out := &sink{types: types, rows: rowWriter{types: types}}
	if out.rows.w, err = NewWriter(w, types, write); err != nil {
		return nil, err
	}
	if err := out.match(s); err != nil {
		return nil, err
	}
	if !sorted {
		memory, err := o.Settings.Int(optionMemory, extsort.DefaultMemory>>20, 1, 1<<20)
		if err != nil {
			return nil, err
		}
		out.sorter = extsort.New(int(memory) << 20)
	}
	return out, nil
}

// typesOf are the types that were given, or those that columns called k0, a0, k1 and so on imply.
func typesOf(settings fileformat.Settings, s *arrow.Schema) ([]Pair, error) {
	if text, ok := settings[optionTypes]; ok {
		types, err := ParseTypes(text)
		if err != nil {
			return nil, &fileformat.OptionError{Name: optionTypes, Value: text, What: err.Error()}
		}
		return types, nil
	}
	keys, aux := map[int]Type{}, map[int]Type{}
	for _, f := range s.Fields() {
		m := layerColumn.FindStringSubmatch(f.Name)
		t, ok := impliedType(f.Type)
		if m == nil || !ok {
			return nil, &fileformat.OptionError{Name: optionTypes, Value: "", What: fmt.Sprintf(
				"a layer file needs the types of its columns, key and aux of each, as in i64,string/u64,(); column %q (%s) implies none", f.Name, f.Type)}
		}
		i, _ := strconv.Atoi(m[2])
		if m[1] == "k" {
			keys[i] = t
		} else {
			aux[i] = t
		}
	}
	var out []Pair
	for i := 0; ; i++ {
		k, hasKey := keys[i]
		a, hasAux := aux[i]
		if !hasKey && !hasAux {
			break
		}
		out = append(out, newPair(k, a))
	}
	if len(out) == 0 {
		return nil, errNoTypes
	}
	return out, nil
}

var layerColumn = regexp.MustCompile(`^([ka])(\d)$`)

// impliedType is the type whose Arrow type is t.
func impliedType(t arrow.DataType) (Type, bool) {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return Type{Kind: String}, true
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return Type{Kind: Bytes}, true
	}
	for k := Bool; k < String; k++ {
		if k != Char && k != I128 && k != U128 && (Type{Kind: k}).arrowType().ID() == t.ID() {
			return Type{Kind: k}, true
		}
	}
	return Type{}, false
}

// match finds the Arrow column of every part: by its name where all have such names, else by position.
func (s *sink) match(from *arrow.Schema) error {
	var want *arrow.Schema
	s.parts, want = parts(s.types)
	if from.NumFields() != len(s.parts) {
		return &fileformat.OptionError{Name: optionTypes, Value: TypesText(s.types), What: fmt.Sprintf("it has %d values for %d columns", from.NumFields(), len(s.parts))}
	}
	named := true
	for _, f := range want.Fields() {
		named = named && len(from.FieldIndices(f.Name)) == 1
	}
	for i, f := range want.Fields() {
		at := i
		if named {
			at = from.FieldIndices(f.Name)[0]
		} else {
			s.report.Add(from.Field(i).Name, "is called "+f.Name, 0)
		}
		s.from = append(s.from, at)
		if have := from.Field(at); changes(have.Type, s.parts[i].t) {
			s.report.Add(have.Name, fmt.Sprintf("%s becomes %s", have.Type, s.parts[i].t), 0)
		}
	}
	return nil
}

// changes reports whether an Arrow type states more than the type of a layer file does.
func changes(have arrow.DataType, t Type) bool {
	implied, ok := impliedType(have)
	return t.Kind != List && (!ok || implied.Kind != t.Kind)
}

// Report implements fileformat.Sink.
func (s *sink) Report() *arrowtype.Report { return &s.report }

// Write implements fileformat.Sink.
func (s *sink) Write(batch arrow.RecordBatch) error {
	take := make([]func(i int) (Value, error), len(s.parts))
	for i, p := range s.parts {
		var err error
		if take[i], err = p.t.reader(batch.Column(s.from[i])); err != nil {
			return fmt.Errorf("column %q: %w", batch.ColumnName(s.from[i]), err)
		}
	}
	row := make([]Value, 2*len(s.types))
	for i := range int(batch.NumRows()) {
		for j, p := range s.parts {
			v, err := take[j](i)
			if err != nil {
				return &arrowtype.RowError{Field: batch.ColumnName(s.from[j]), Row: int64(i), Err: err}
			}
			row[p.place()] = v
		}
		if err := s.add(row); err != nil {
			return &arrowtype.RowError{Row: int64(i), Err: err}
		}
	}
	return nil
}

// place of a part among the values of a row.
func (p part) place() int {
	if p.aux {
		return 2*p.column + 1
	}
	return 2 * p.column
}

func (s *sink) add(row []Value) error {
	if s.sorter == nil {
		return s.rows.put(row)
	}
	s.key, s.value = s.key[:0], s.value[:0]
	for i, p := range s.types {
		s.key = p.Key.appendOrdered(s.key, row[2*i])
		s.value = p.Aux.appendValue(p.Key.appendValue(s.value, row[2*i]), row[2*i+1])
	}
	return s.sorter.Add(s.key, s.value)
}

// Close implements fileformat.Sink.
func (s *sink) Close() error {
	if s.sorter != nil {
		err := s.drain()
		if err := errors.Join(err, s.sorter.Close()); err != nil {
			return err
		}
	}
	return s.rows.close()
}

// drain writes the sorted rows.
func (s *sink) drain() error {
	row := make([]Value, 2*len(s.types))
	for rec, err := range s.sorter.Sorted() {
		if err != nil {
			return err
		}
		b := rec.Value
		for i, p := range s.types {
			if row[2*i], b, err = p.Key.takeValue(b); err != nil {
				return err
			}
			if row[2*i+1], b, err = p.Aux.takeValue(b); err != nil {
				return err
			}
		}
		if err := s.rows.put(row); err != nil {
			return fmt.Errorf("key %s of the sorted rows: %w", s.types[0].Key.describe(row[0]), err)
		}
	}
	return nil
}

var errNull = errors.New("null, but the type is not opt<…>")

// reader gives the values of an array as those of a type, each exactly as it is.
func (t Type) reader(a arrow.Array) (func(i int) (Value, error), error) {
	if d, ok := a.(*array.Dictionary); ok {
		values, err := t.reader(d.Dictionary())
		if err != nil {
			return nil, err
		}
		return t.nullable(a, func(i int) (Value, error) { return values(d.GetValueIndex(i)) }), nil
	}
	read, err := t.plainReader(a)
	if err != nil {
		return nil, err
	}
	return t.nullable(a, read), nil
}

func (t Type) nullable(a arrow.Array, read func(i int) (Value, error)) func(i int) (Value, error) {
	return func(i int) (Value, error) {
		switch {
		case a.IsValid(i):
			return read(i)
		case t.Optional:
			return Value{None: true}, nil
		}
		return Value{}, errNull
	}
}

func (t Type) plainReader(a arrow.Array) (func(i int) (Value, error), error) {
	switch t.Kind {
	case String, Char, I128, U128:
		if s, ok := a.(interface{ Value(int) string }); ok {
			return func(i int) (Value, error) { return t.fromText(s.Value(i)) }, nil
		}
	case Bytes, Opaque:
		if s, ok := a.(interface{ Value(int) []byte }); ok {
			return func(i int) (Value, error) { return t.fromBytes(s.Value(i)) }, nil
		}
	case F32, F64:
		return t.floatReader(a)
	case List:
		return t.listReader(a)
	}
	if t.Kind == Unit || t.Kind == String || t.Kind == Char || t.Kind == Bytes || t.Kind == Opaque {
		return nil, fmt.Errorf("%s is not a valid %s", a.DataType(), t)
	}
	return t.integerReader(a)
}

func (t Type) fromText(s string) (Value, error) {
	switch t.Kind {
	case Char:
		r, n := utf8.DecodeRuneInString(s)
		if n != len(s) || r == utf8.RuneError && n < 2 {
			return Value{}, fmt.Errorf("%.40q is not one character", s)
		}
		return Value{Uint: uint64(r)}, nil
	case I128, U128:
		return t.parse128(s)
	}
	if !utf8.ValidString(s) {
		return Value{}, fmt.Errorf("%.40q is not UTF-8", s)
	}
	return Value{Bytes: []byte(s)}, nil
}

func (t Type) fromBytes(b []byte) (Value, error) {
	if t.Kind == Opaque && len(b) != t.Size {
		return Value{}, fmt.Errorf("%d bytes, but %s has %d", len(b), t, t.Size)
	}
	return Value{Bytes: b}, nil
}

func (t Type) floatReader(a arrow.Array) (func(i int) (Value, error), error) {
	var value func(int) float64
	switch a := a.(type) {
	case *array.Float32:
		value = func(i int) float64 { return float64(a.Value(i)) }
	case *array.Float64:
		value = a.Value
	default:
		return nil, fmt.Errorf("%s is not a valid %s", a.DataType(), t)
	}
	return func(i int) (Value, error) {
		v := value(i)
		if t.Kind == F32 && float64(float32(v)) != v && !math.IsNaN(v) {
			return Value{}, fmt.Errorf("%v is not exactly an f32", v)
		}
		return Value{Float: v}, nil
	}, nil
}

// integerReader reads whole numbers, times among them by their number.
func (t Type) integerReader(a arrow.Array) (func(i int) (Value, error), error) {
	var signed func(int) int64
	switch a := a.(type) {
	case *array.Boolean:
		if t.Kind != Bool {
			return nil, fmt.Errorf("%s is not a valid %s", a.DataType(), t)
		}
		return func(i int) (Value, error) {
			if a.Value(i) {
				return Value{Int: 1}, nil
			}
			return Value{}, nil
		}, nil
	case *array.Uint64:
		return func(i int) (Value, error) { return t.fromUint(a.Value(i)) }, nil
	case *array.Int8:
		signed = widen(a.Value)
	case *array.Int16:
		signed = widen(a.Value)
	case *array.Int32:
		signed = widen(a.Value)
	case *array.Int64:
		signed = widen(a.Value)
	case *array.Uint8:
		signed = widen(a.Value)
	case *array.Uint16:
		signed = widen(a.Value)
	case *array.Uint32:
		signed = widen(a.Value)
	case *array.Date32:
		signed = widen(a.Value)
	case *array.Date64:
		signed = widen(a.Value)
	case *array.Time32:
		signed = widen(a.Value)
	case *array.Time64:
		signed = widen(a.Value)
	case *array.Timestamp:
		signed = widen(a.Value)
	case *array.Duration:
		signed = widen(a.Value)
	default:
		return nil, fmt.Errorf("%s is not a valid %s", a.DataType(), t)
	}
	return func(i int) (Value, error) { return t.fromInt(signed(i)) }, nil
}

// widen reads whole numbers of any width.
func widen[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](value func(int) T) func(int) int64 {
	return func(i int) int64 { return int64(value(i)) }
}

func (t Type) fromInt(v int64) (Value, error) {
	switch t.Kind {
	case I8, I16, I32, I64:
		if half := int64(1) << (8*t.bare() - 1); t.Kind != I64 && (v < -half || v >= half) {
			return Value{}, fmt.Errorf("%d is not a valid %s", v, t)
		}
		return Value{Int: v}, nil
	case I128:
		return Value{Int: v >> 63, Uint: uint64(v)}, nil
	}
	if v < 0 || t.Kind == Bool {
		return Value{}, fmt.Errorf("%d is not a valid %s", v, t)
	}
	return t.fromUint(uint64(v))
}

func (t Type) fromUint(v uint64) (Value, error) {
	switch t.Kind {
	case U8, U16, U32:
		if v >= 1<<(8*t.bare()) {
			return Value{}, fmt.Errorf("%d is not a valid %s", v, t)
		}
		return Value{Uint: v}, nil
	case U64, U128, I128:
		return Value{Uint: v}, nil
	}
	if v > math.MaxInt64 {
		return Value{}, fmt.Errorf("%d is not a valid %s", v, t)
	}
	return t.fromInt(int64(v))
}
