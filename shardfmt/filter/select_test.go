package filter

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/decimal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// sample is five rows over every class of values; row 3 is null throughout.
func sample(t *testing.T) (*schema.Schema, arrow.RecordBatch) {
	t.Helper()
	node := func(name string, basic schema.Basic, signed bool) *schema.Node {
		return &schema.Node{Name: name, Basic: basic, Signed: signed}
	}
	s := &schema.Schema{Fields: []*schema.Node{
		node("i", schema.Int64, true), node("u", schema.Int64, false), node("f", schema.Float32, false),
		node("s", schema.String, false), node("b", schema.Boolean, false), node("t", schema.DateTime, false),
		{Name: "g", Basic: schema.Guid, FixedSize: 16},
		{Name: "p", Basic: schema.Struct, Children: []*schema.Node{node("x", schema.Int8, true)}},
		{Name: "d", Basic: schema.FixedSizeBinary, FixedSize: 16, Ext: &schema.Extension{Label: schema.LabelDecimal}},
		{Name: "span", Basic: schema.Int64, Signed: true, Ext: &schema.Extension{Label: schema.LabelTimeSpan}},
		node("x", schema.Binary, false),
	}}
	s.Number()
	mem := memory.DefaultAllocator
	structType := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int8, Nullable: true})
	var columns []arrow.Array
	var fields []arrow.Field
	add := func(name string, ty arrow.DataType, json string) {
		a, _, err := array.FromJSON(mem, ty, strings.NewReader(json))
		if err != nil {
			t.Fatal(name, err)
		}
		columns, fields = append(columns, a), append(fields, arrow.Field{Name: name, Type: ty, Nullable: true})
	}
	add("i", arrow.PrimitiveTypes.Int64, `[-5, 0, 9223372036854775807, null, 7]`)
	add("u", arrow.PrimitiveTypes.Uint64, `[0, 1, 18446744073709551615, null, 7]`)
	floats := array.NewFloat32Builder(mem)
	floats.AppendValues([]float32{0.1, float32(math.NaN()), float32(math.Inf(1)), 0, -0.5}, []bool{true, true, true, false, true})
	columns, fields = append(columns, floats.NewArray()), append(fields, arrow.Field{Name: "f", Type: arrow.PrimitiveTypes.Float32})
	add("s", arrow.BinaryTypes.LargeString, `["disk full", "Disk_1 fails", "floppydisk", null, "STRASSE ſ"]`)
	add("b", arrow.FixedWidthTypes.Boolean, `[true, false, true, null, false]`)
	add("t", arrow.PrimitiveTypes.Int64, `[0, 635000000000000000, 3155378975999999999, null, 1]`)
	guids := array.NewFixedSizeBinaryBuilder(mem, &arrow.FixedSizeBinaryType{ByteWidth: 16})
	for i := range 5 {
		guids.Append(append([]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee}, byte(i)))
	}
	columns, fields = append(columns, guids.NewArray()), append(fields, arrow.Field{Name: "g", Type: guids.Type()})
	decimals := array.NewFixedSizeBinaryBuilder(mem, &arrow.FixedSizeBinaryType{ByteWidth: 16})
	for _, text := range []string{"1.50", "-3", "NaN", "", "1E+30"} {
		if v, err := decimal.Parse(text); text != "" && err == nil {
			decimals.Append(v[:])
		} else {
			decimals.AppendNull()
		}
	}
	columns, fields = append(columns, decimals.NewArray()), append(fields, arrow.Field{Name: "d", Type: decimals.Type()})
	add("p", structType, `[{"x": 1}, {"x": null}, {"x": 3}, null, {"x": -1}]`)
	add("span", arrow.PrimitiveTypes.Int64, `[-10000000, 36000000000, 864000000001, null, 0]`)
	add("x", arrow.BinaryTypes.LargeBinary, `["AQI=", "", "YWI=", null, "/w=="]`)
	return s, array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, 5)
}

func TestSelect(t *testing.T) {
	s, batch := sample(t)
	for expr, want := range map[string]string{
		"i = 7": "00001", "i != 7": "11100", "i > 6.5": "00101", "i < 7.5": "11001", "i <= -5": "10000",
		"i < 99999999999999999999": "11101", "i > -99999999999999999999": "11101", "i = 7.5": "00000",
		"u = 18446744073709551615": "00100", "u >= 1": "01101", "u > -1": "11101", "u < 0.5": "10000",
		"f = 0.1": "10000", "f < 1": "10001", "f != 0.1": "01101", "NOT f < 1": "01100", "f = 'Infinity'": "00100",
		"s = 'disk full'": "10000", "s LIKE 'disk%'": "10000", "s LIKE '%disk%'": "10100", "s LIKE '_isk%'": "11000",
		"s LIKE '%\\_1%'": "01000", "s NOT LIKE '%l%'": "00001", "s LIKE ''": "00000", "s LIKE '%'": "11101",
		"s HAS 'DISK'": "11000", "s HAS_CS 'disk'": "10000", "s HASPREFIX 'floppy'": "00100",
		"s HASPREFIX_CS 'disk'": "10000", "s CONTAINS 'DISK'": "11100", "s CONTAINS_CS 'Disk'": "01000",
		"s HAS 'S'": "00001", "s CONTAINS 'strasse'": "00001",
		"b": "10100", "NOT b": "01001", "b = false": "01001", "b = NULL": "00000", "NOT b = NULL": "00000",
		"t = '0001-01-01T00:00:00Z'": "10000", "t >= '2013-03-27T16:53:20Z'": "01100", "t < '2013-03-27 16:53:20.0000001'": "11001",
		"t = '9999-12-31T23:59:59.9999999Z'": "00100", "t > datetime '2020-01-01'": "00100",
		"g = guid '00112233-4455-6677-8899-aabbccddee02'": "00100", "g > '00112233-4455-6677-8899-aabbccddee02'": "00011",
		"p.x = 3": "00100", "p.x IS NULL": "01010", "p IS NULL": "00010", "p.x IS NOT NULL": "10101",
		"d = 1.5": "10000", "d > -3": "10001", "d != decimal '1.500'": "01101", "d >= '1E+30'": "00001",
		"span = timespan '-00:00:01'": "10000", "span >= '01:00:00'": "01100", "span = '1.00:00:00.0000001'": "00100",
		"i IN (7, 0)": "01001", "i NOT IN (7, 0)": "10100", "i IN (7, NULL)": "00001", "i IN (NULL, 7)": "00001", "i NOT IN (7, NULL)": "00000",
		"i = 7 OR i IS NULL": "00011", "i = 7 AND s = NULL": "00000", "i = 0 OR s = NULL": "01000",
		"x = X'0102'": "10000", "x < X'6162'": "11000", "x = X''": "01000", "x != X'ff'": "11100",
		"i BETWEEN -5 AND 0": "11000", "NOT (i = 7 OR s HAS 'disk')": "00100",
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Bind(e, s)
		if err != nil {
			t.Fatal(expr, err)
		}
		for _, batch := range []arrow.RecordBatch{batch, coded(t, batch, 1), coded(t, batch, 3)} {
			bitmap, n, err := b.Select(batch)
			if err != nil {
				t.Fatal(expr, err)
			}
			got := ""
			for i := range 5 {
				got += string('0' + bitmap[0]>>i&1)
			}
			if got != want || n != strings.Count(want, "1") {
				t.Errorf("%s of %s: got %s (%d), want %s", expr, batch.Schema().Field(0).Type, got, n, want)
			}
		}
		for row := range int64(5) { // one row, whose dictionaries have one entry
			bitmap, _, err := b.Select(coded(t, batch.NewSlice(row, row+1), 1))
			if err != nil {
				t.Fatal(expr, err)
			}
			if got := '0' + bitmap[0]&1; got != want[row] {
				t.Errorf("%s of row %d: got %c, want %c", expr, row, got, want[row])
			}
		}
	}
}

// coded gives a batch the columns of another in dictionary encoding. The rows name the entries from the last to the first of
// as many times the values as are requested; nulls are notified by entries in the odd rows and by the rows themselves in others.
func coded(t *testing.T, batch arrow.RecordBatch, times int) arrow.RecordBatch {
	t.Helper()
	var columns []arrow.Array
	var fields []arrow.Field
	for i, c := range batch.Columns() {
		field := batch.Schema().Field(i)
		if c.DataType().ID() != arrow.STRUCT {
			c = codedColumn(t, c, times)
		}
		field.Type = c.DataType()
		columns, fields = append(columns, c), append(fields, field)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows())
}

func codedColumn(t *testing.T, c arrow.Array, times int) arrow.Array {
	t.Helper()
	var parts []arrow.Array
	for range times {
		for row := c.Len() - 1; row >= 0; row-- {
			parts = append(parts, array.NewSlice(c, int64(row), int64(row)+1))
		}
	}
	entries, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	codes := array.NewUint32Builder(memory.DefaultAllocator)
	for row := range c.Len() {
		if row%2 == 0 && c.IsNull(row) {
			codes.AppendValues([]uint32{math.MaxUint32}, []bool{false}) // the index of a null may be anything
		} else {
			codes.Append(uint32(entries.Len() - 1 - row))
		}
	}
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: c.DataType()}
	return array.NewDictionaryArray(typ, codes.NewArray(), entries)
}

func TestBindRefuses(t *testing.T) {
	s, _ := sample(t)
	for expr, want := range map[string]string{
		"nix = 1":                    "unknown column nix; the fields are i, u",
		"i.x = 1":                    "is not a struct",
		"i = 'x'":                    "has another type",
		"s = 1":                      "has another type",
		"b = 1":                      "TRUE or FALSE",
		"p = 1":                      "only IS NULL",
		"i LIKE 'x'":                 "is not a string",
		"i HAS 'x'":                  "is not a string",
		"s HAS ''":                   "empty string",
		"t = 'gestern'":              "RFC 3339",
		"t = '0000-12-31'":           "the years 1 and 9999",
		"g = 'x'":                    "not a guid",
		"span = '1 hour'":            "time span",
		"t = 5":                      "has another type",
		"g = X'00'":                  "has another type",
		"s = X'00'":                  "has another type",
		"x = 'ab'":                   "has another type",
		"x = guid 'ab'":              "has another type",
		"i.x.y = 1":                  `field i is not a struct, it has no member "x"`,
		"span = '99999999.00:00:00'": "time span",
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Bind(e, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want …%s…", expr, err, want)
		}
	}
}

// Pruning must never lose a row: wherever Select finds one, MayMatch states true for the exact statistics of the
// batch, and for those of each single row.
func TestMayMatchIsSafe(t *testing.T) {
	s, batch := sample(t)
	literals := map[string][]string{
		"i": {"-5", "-6", "0", "7.5", "9223372036854775807", "1e30"}, "u": {"0", "7", "-1", "18446744073709551615"},
		"f": {"0.1", "-0.5", "'NaN'", "'Infinity'"}, "s": {"'disk full'", "'a'", "'zz'"}, "b": {"TRUE", "FALSE"},
		"p.x": {"1", "3", "9"}, "t": {"'0001-01-01'", "'2013-03-27T16:53:20Z'"},
	}
	checked, pruned := 0, 0
	for field, values := range literals {
		for _, lit := range values {
			for _, op := range []string{"=", "!=", "<", "<=", ">", ">="} {
				for _, form := range []string{"%s", "NOT (%s)", "NOT (NOT (%s) AND i IS NOT NULL)"} {
					expr := strings.Replace(form, "%s", field+" "+op+" "+lit, 1)
					e, err := Parse(expr)
					if err != nil {
						t.Fatal(err)
					}
					b, err := Bind(e, s)
					if err != nil {
						t.Fatal(expr, err)
					}
					for from := int64(0); from < 5; from++ {
						slice := batch.NewSlice(from, from+1)
						_, n, err := b.Select(slice)
						if err != nil {
							t.Fatal(err)
						}
						may := b.MayMatch(exactStats(t, s, slice))
						if n > 0 && !may {
							t.Errorf("%s: row %d is selected but pruned", expr, from)
						}
						checked++
						if !may {
							pruned++
						}
					}
				}
			}
		}
	}
	if pruned < checked/10 {
		t.Errorf("only %d of %d scopes were pruned: pruning does nothing", pruned, checked)
	}
}

// exactStats are the tightest statistics of a one-row batch.
func exactStats(t *testing.T, s *schema.Schema, row arrow.RecordBatch) func(uint32) *Stats {
	return func(id uint32) *Stats {
		for _, f := range s.Fields {
			nodes := []*schema.Node{f}
			if f.Basic == schema.Struct && f.Children[0].ID == id {
				nodes = append(nodes, f.Children[0])
			}
			if nodes[len(nodes)-1].ID != id {
				continue
			}
			r := &rows{batch: row, n: 1}
			leaf, null, err := r.column(&boundField{nodes: nodes})
			if err != nil {
				t.Fatal(err)
			}
			st := &Stats{Positions: 1, NullsKnown: true, NoNaNs: true}
			if null.bits(0, 1)&1 == 1 {
				st.Nulls = 1
				return st
			}
			load, err := loader(leaf)
			if err != nil {
				return nil
			}
			v := new(Value)
			load(0, v)
			if v.Float != v.Float {
				st.NoNaNs = false
				return st
			}
			st.Min, st.Max = v, v
			return st
		}
		return nil
	}
}

func TestMayMatchHonoursExclusiveBoundsAndFilters(t *testing.T) {
	s, _ := sample(t)
	v := func(i int64) *Value { return &Value{Int: i} }
	stats := &Stats{Positions: 9, NullsKnown: true, Min: v(1), Max: v(5), MinExclusive: true, MaxExclusive: true}
	stats.MayContain = func(v Value) bool { return v.Int != 3 }
	for expr, want := range map[string]bool{
		"i = 1": false, "i = 2": true, "i = 3": false, "i = 5": false, "i < 1": false, "i <= 1": false, "i <= 2": true,
		"i >= 5": false, "i > 4": true, "i IS NULL": false, "i IS NOT NULL": true, "i IN (1, 3, 5)": false,
		"i IN (3, 4)": true, "NOT i > 1": false, "i != 3": true, "i = NULL": false, "i = 1 OR i = 2": true,
		"i = 2 AND i = 1": false, "i NOT IN (3)": true,
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Bind(e, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.MayMatch(func(uint32) *Stats { return stats }); got != want {
			t.Errorf("%s: got %v, want %v", expr, got, want)
		}
	}
}

func TestLikePrunesByPrefix(t *testing.T) {
	s, _ := sample(t)
	stats := &Stats{Min: &Value{Bytes: []byte("disk")}, Max: &Value{Bytes: []byte("floppy")}}
	for expr, want := range map[string]bool{
		"s LIKE 'disk%'": true, "s LIKE 'dis%'": true, "s LIKE 'a%'": false, "s LIKE 'floppz%'": false,
		"s LIKE 'g%'": false, "s LIKE '%x'": true, "s LIKE 'e_'": true,
	} {
		e, _ := Parse(expr)
		b, err := Bind(e, s)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.MayMatch(func(uint32) *Stats { return stats }); got != want {
			t.Errorf("%s: got %v, want %v", expr, got, want)
		}
	}
}

// Every comparison is charged before it is made, and an error of the charge ends Select.
func TestChargedComparisons(t *testing.T) {
	s := &schema.Schema{Fields: []*schema.Node{{Name: "n", Basic: schema.Int64, Signed: true, Nullable: true}, {Name: "s", Basic: schema.String, Nullable: true}}}
	s.Number()
	const rows = 10_000
	n, text := array.NewInt64Builder(memory.DefaultAllocator), array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i := range rows {
		n.Append(int64(i))
		text.Append("some text")
	}
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.LargeString}}, nil), []arrow.Array{n.NewArray(), text.NewArray()}, rows)
	for expr, perRow := range map[string]uint64{
		"n > 3": 1, "n > 3 AND n < 900": 2, "s LIKE '%t%e'": 1, "n IN (1, 2, 3, 99999)": 4, "NOT (s = 'x' OR s HAS 'text' OR n = 5)": 3, "s IS NULL": 0,
	} {
		e, err := Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Bind(e, s)
		if err != nil {
			t.Fatal(err)
		}
		charged, calls := uint64(0), 0
		_, want, err := b.Select(batch)
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := b.Charged(func(n uint64) error { charged += n; calls++; return nil }).Select(batch)
		if err != nil || got != want || charged < perRow*rows || charged > 2*perRow*rows {
			t.Errorf("%s: %d rows of %d, %d comparisons charged, %v", expr, got, want, charged, err)
		}
		stop := errors.New("stop")
		if _, _, err := b.Charged(func(uint64) error {
			calls--
			if calls <= 0 {
				return stop
			}
			return nil
		}).Select(batch); perRow > 0 && !errors.Is(err, stop) {
			t.Errorf("%s: %v", expr, err)
		}
	}
}
