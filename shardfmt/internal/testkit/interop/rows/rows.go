// Package rows compares records, as canonical Arrow columns, with JSON objects in the convention of the golden
// shards: value by value, floats by their bits, times by their ticks, decimals as numbers.
package rows

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Compare reports how row i of a batch, whose columns are the fields of s, differs from a line of JSON.
func Compare(line []byte, s *schema.Schema, batch arrow.RecordBatch, i int) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var want map[string]any
	if err := d.Decode(&want); err != nil {
		return err
	}
	if len(want) != len(s.Fields) {
		return fmt.Errorf("%d fields, want %d", len(s.Fields), len(want))
	}
	for c, n := range s.Fields {
		v, ok := want[n.Name]
		if !ok {
			return fmt.Errorf("field %q is not expected", n.Name)
		}
		if err := value(v, n, batch.Column(c), i); err != nil {
			return fmt.Errorf("%s%w", n.Name, err)
		}
	}
	return nil
}

func differ(want any, got any) error { return fmt.Errorf(": got %v, want %v", got, want) }

// value compares slot i of a with a JSON value.
func value(want any, n *schema.Node, a arrow.Array, i int) error {
	if u, ok := a.(*array.SparseUnion); ok {
		child := u.ChildID(i)
		return value(want, n.Children[child], u.Field(child), i)
	}
	if null := a.IsNull(i) || a.DataType().ID() == arrow.NULL; null || want == nil {
		if want != nil || !null {
			return differ(want, text(a, i))
		}
		return nil
	}
	switch w := want.(type) {
	case []any:
		return list(w, n, a, i)
	case map[string]any:
		return object(w, n, a, i)
	case bool:
		if b, ok := a.(*array.Boolean); !ok || b.Value(i) != w {
			return differ(want, text(a, i))
		}
		return nil
	case json.Number:
		return number(string(w), a, i)
	}
	return str(want.(string), n, a, i)
}

func text(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	return a.ValueStr(i)
}

func list(want []any, n *schema.Node, a arrow.Array, i int) error {
	var start, end int64
	var values arrow.Array
	switch l := a.(type) {
	case *array.Map:
		start, end = l.ValueOffsets(i)
		return entries(want, n, l, int(start), int(end))
	case array.ListLike:
		start, end = l.ValueOffsets(i)
		values = l.ListValues()
	default:
		return differ(want, text(a, i))
	}
	if int(end-start) != len(want) {
		return fmt.Errorf(": %d elements, want %d", end-start, len(want))
	}
	for k, w := range want {
		if err := value(w, n.Children[0], values, int(start)+k); err != nil {
			return fmt.Errorf("[%d]%w", k, err)
		}
	}
	return nil
}

func entries(want []any, n *schema.Node, m *array.Map, start, end int) error {
	if end-start != len(want) {
		return fmt.Errorf(": %d entries, want %d", end-start, len(want))
	}
	for k, w := range want {
		e := w.(map[string]any)
		if err := value(e["key"], n.Children[0], m.Keys(), start+k); err != nil {
			return fmt.Errorf("[%d].key%w", k, err)
		}
		if err := value(e["value"], n.Children[1], m.Items(), start+k); err != nil {
			return fmt.Errorf("[%d].value%w", k, err)
		}
	}
	return nil
}

func object(want map[string]any, n *schema.Node, a arrow.Array, i int) error {
	s, ok := a.(*array.Struct)
	if !ok || len(want) != len(n.Children) {
		return differ(want, text(a, i))
	}
	for c, child := range n.Children {
		w, ok := want[child.Name]
		if !ok {
			return fmt.Errorf(".%s is not expected", child.Name)
		}
		if err := value(w, child, s.Field(c), i); err != nil {
			return fmt.Errorf(".%s%w", child.Name, err)
		}
	}
	return nil
}

func number(want string, a arrow.Array, i int) error {
	var got string
	switch a := a.(type) {
	case *array.Float32:
		f, err := strconv.ParseFloat(want, 32)
		if err != nil || math.Float32bits(float32(f)) != math.Float32bits(a.Value(i)) {
			return differ(want, a.Value(i))
		}
		return nil
	case *array.Float64:
		f, err := strconv.ParseFloat(want, 64)
		if err != nil || math.Float64bits(f) != math.Float64bits(a.Value(i)) {
			return differ(want, a.Value(i))
		}
		return nil
	case *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Uint8, *array.Uint16, *array.Uint32, *array.Uint64:
		got = a.ValueStr(i)
	}
	if got != want {
		return differ(want, text(a, i))
	}
	return nil
}

// str compares a value that is written as a string.
func str(want string, n *schema.Node, a arrow.Array, i int) error {
	ok := false
	switch a := a.(type) {
	case *array.LargeString:
		ok = a.Value(i) == want
	case *array.LargeBinary:
		ok = base64.StdEncoding.EncodeToString(a.Value(i)) == want
	case *array.FixedSizeBinary:
		ok = base64.StdEncoding.EncodeToString(a.Value(i)) == want
	case *array.Float32:
		ok = special(want, float64(a.Value(i)))
	case *array.Float64:
		ok = special(want, a.Value(i))
	case *arrowtype.DateTimeArray:
		t, err := time.Parse(time.RFC3339Nano, want)
		ok = err == nil && a.Ticks()[i] == 621_355_968_000_000_000+t.Unix()*10_000_000+int64(t.Nanosecond())/100
	case *arrowtype.TimeSpanArray:
		t, valid := span(want)
		ok = valid && a.Ticks()[i] == t
	case *arrowtype.DecimalArray:
		d, err := decimal.Parse(want)
		ok = err == nil && decimal.Compare(d, decimal.From(a.Value(i))) == 0
	case *arrowtype.DynamicArray:
		ok = string(a.Value(i)) == want || base64.StdEncoding.EncodeToString(a.Value(i)) == want
	default:
		if n.Basic == schema.Guid {
			raw := a.(array.ExtensionArray).Storage().(*array.FixedSizeBinary).Value(i)
			ok = strings.ReplaceAll(want, "-", "") == hex.EncodeToString(raw)
		}
	}
	if !ok {
		return differ(want, text(a, i))
	}
	return nil
}

func special(want string, v float64) bool {
	switch want {
	case "NaN":
		return math.IsNaN(v)
	case "Infinity":
		return math.IsInf(v, 1)
	case "-Infinity":
		return math.IsInf(v, -1)
	}
	return false
}

// span reads [-][d.]hh:mm:ss[.fffffff] as ticks of 100 ns.
func span(s string) (ticks int64, ok bool) {
	s, negative := strings.CutPrefix(s, "-")
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return 0, false
	}
	days, hours, hasDays := strings.Cut(parts[0], ".")
	if !hasDays {
		days, hours = "0", parts[0]
	}
	seconds, fraction, _ := strings.Cut(parts[2], ".")
	var total uint64
	for i, p := range [...]string{days, hours, parts[1], seconds, (fraction + "0000000")[:7]} {
		v, err := strconv.ParseUint(p, 10, 64)
		if err != nil {
			return 0, false
		}
		total = total*[...]uint64{1, 24, 60, 60, 10_000_000}[i] + v
	}
	if negative {
		return int64(-total), true
	}
	return int64(total), true
}
