package tablelife

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// kind is the type of a column.
type kind int

const (
	kInt64 kind = iota
	kInt32
	kUInt64
	kString
	kTime
	kFloat
	kBool
	kStruct
	kList
)

var kindText = [...]string{kInt64: "Int64", kInt32: "Int32", kUInt64: "UInt64", kString: "String", kTime: "DateTime", kFloat: "Float64", kBool: "Boolean",
	kStruct: "Struct<a: Int64, b: String>", kList: "List<Int64>"}

// value is a value of a column; members are those of a struct. text is what an Arrow builder reads.
type value struct {
	null    bool
	i       int64
	u       uint64
	f       float64
	s       string
	b       bool
	members [2]*value
	text    string
}

var null = &value{null: true}

var (
	ints    = []int64{0, -1, 1, math.MinInt64, math.MaxInt64, 9, 10, -10, 1 << 40}
	smalls  = []int64{0, -1, 1, math.MinInt32, math.MaxInt32, 9, 10, -10}
	uints   = []uint64{0, 1, 1 << 63, math.MaxUint64, 255, 256}
	strs    = []string{"", "a", "ab", "abc", "A", "é", "a b", "word other", "long text that bounds of entries cut off", "long text that bounds of entries cut away", "\U0010FFFF"}
	floats  = []float64{0, math.Copysign(0, -1), 1.5, -1.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e-300, math.MaxFloat64}
	moments = []string{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.0000001Z", "1677-09-21T00:12:43Z", "1969-12-31T23:59:59.9999999Z", "1970-01-01T00:00:00Z",
		"2024-02-29T10:00:00Z", "2024-02-29T10:00:00.0000001Z", "2024-02-29T10:00:00.0000011Z", "2024-02-29T10:59:59.9999999Z", "2024-02-29T11:00:00Z", "2024-03-01T00:00:00Z",
		"2262-04-11T23:47:17Z", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59.9999999Z"}
)

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// newValue draws a value that is not null.
func newValue(r *rand.Rand, k kind) *value {
	switch k {
	case kInt64:
		v := pick(r, ints)
		if r.IntN(2) == 0 {
			v = int64(r.IntN(40)) - 20
		}
		return &value{i: v, text: strconv.FormatInt(v, 10)}
	case kInt32:
		v := pick(r, smalls)
		if r.IntN(2) == 0 {
			v = int64(r.IntN(40)) - 20
		}
		return &value{i: v, text: strconv.FormatInt(v, 10)}
	case kUInt64:
		v := pick(r, uints)
		return &value{u: v, text: strconv.FormatUint(v, 10)}
	case kString:
		v := pick(r, strs)
		return &value{s: v, text: v}
	case kTime:
		ticks, _, err := literal.ParseDateTime(pick(r, moments))
		if err != nil {
			panic(err)
		}
		if r.IntN(3) == 0 {
			ticks = 638447976000000000 + r.Int64N(864_000_000_000*40)
		}
		return &value{i: ticks, text: strconv.FormatInt(ticks, 10)}
	case kFloat:
		v := pick(r, floats)
		if r.IntN(3) == 0 {
			v = float64(r.IntN(20)) / 4
		}
		return &value{f: v, text: strconv.FormatFloat(v, 'g', -1, 64)}
	case kBool:
		v := r.IntN(2) == 0
		return &value{b: v, text: strconv.FormatBool(v)}
	case kStruct:
		v := &value{members: [2]*value{drawn(r, kInt64), drawn(r, kString)}}
		a, b := "null", "null"
		if !v.members[0].null {
			a = v.members[0].text
		}
		if !v.members[1].null {
			b = quoteJSON(v.members[1].text)
		}
		v.text = `{"a":` + a + `,"b":` + b + `}`
		return v
	}
	var items []string
	for range r.IntN(4) {
		if r.IntN(4) == 0 {
			items = append(items, "null")
		} else {
			items = append(items, strconv.Itoa(r.IntN(100)))
		}
	}
	return &value{text: "[" + strings.Join(items, ",") + "]"}
}

func quoteJSON(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// drawn draws a value, null one time of six.
func drawn(r *rand.Rand, k kind) *value {
	if r.IntN(6) == 0 {
		return null
	}
	return newValue(r, k)
}

// column of a table, which keeps its number whatever it is called.
type column struct {
	id       int
	name     string
	kind     kind
	required bool
	// was is the kind of the values, before the column was widened.
	was kind
	// seen are the last values that were drawn for it.
	seen []*value
}

const maxSeen = 60

// row is one row; it is never changed.
type row struct {
	serial int64
	values map[int]*value
}

func (w *row) value(id int) *value {
	if v := w.values[id]; v != nil {
		return v
	}
	return null
}

// schemaOf is the schema of columns, with the serial number before them.
func schemaOf(columns []*column) *schema.Schema {
	text := "serial: Int64"
	for _, c := range columns {
		text += ", " + c.name + ": " + kindText[c.kind]
		if c.required {
			text += " not null"
		}
	}
	s, err := schema.Parse(text)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return s
}

// batchOf makes a batch of rows.
func batchOf(columns []*column, rows []*row) arrow.RecordBatch {
	types := arrowtype.Schema(schemaOf(columns))
	b := array.NewRecordBuilder(memory.DefaultAllocator, types)
	for _, w := range rows {
		appendText(b.Field(0), strconv.FormatInt(w.serial, 10))
		for i, c := range columns {
			appendValue(b.Field(i+1), c.kind, w.value(c.id))
		}
	}
	return b.NewRecordBatch()
}

func appendValue(b array.Builder, k kind, v *value) {
	switch {
	case v.null:
		b.AppendNull()
	case k == kStruct: // whose text Arrow would read by way of floats
		s := b.(*array.StructBuilder)
		s.Append(true)
		appendValue(s.FieldBuilder(0), kInt64, v.members[0])
		appendValue(s.FieldBuilder(1), kString, v.members[1])
	default:
		appendText(b, v.text)
	}
}

func appendText(b array.Builder, text string) {
	if err := b.AppendValueFromString(text); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
}

// texts are the rows of a batch as text.
func texts(b arrow.RecordBatch) (out []string) {
	for i := range int(b.NumRows()) {
		var parts []string
		for c, a := range b.Columns() {
			parts = append(parts, b.ColumnName(c)+"="+a.ValueStr(i))
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}
