package fileio_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// write puts files into a folder of the test and gives their paths.
func write(t testing.TB, files ...string) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	for i := 0; i < len(files); i += 2 {
		p := filepath.Join(dir, files[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o777), os.WriteFile(p, []byte(files[i+1]), 0o666)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return dir, paths
}

func open(t testing.TB, o fileio.SourceOptions, urls ...string) (fileio.Source, error) {
	t.Helper()
	sp := blobio.NewClient(blobio.ClientOptions{})
	t.Cleanup(func() { sp.Close() })
	return fileio.OpenSource(context.Background(), sp, urls, o)
}

// convert reads inputs and writes them as another format: the text, or the first error.
func convert(t *testing.T, o fileio.SourceOptions, f fileio.Format, urls ...string) (string, *schema.Schema, error) {
	t.Helper()
	src, err := open(t, o, urls...)
	if err != nil {
		return "", nil, err
	}
	defer src.Close()
	var out bytes.Buffer
	sink, err := fileio.NewSink(f, &out, src.Schema(), fileio.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, err := src.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			return out.String(), src.Schema(), err
		}
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	err = sink.Close()
	return out.String(), src.Schema(), err
}

func parse(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fieldNames(s *schema.Schema) string {
	var parts []string
	for _, f := range s.Fields {
		parts = append(parts, f.Name+": "+f.TypeName())
	}
	return strings.Join(parts, ", ")
}

// The records of the format's book become a Struct with optional fields, and with a schema a map of unions.
func TestRecordsOfTheBook(t *testing.T) {
	const rows = `{ "id": 1, "props": { "name": "n1", "color": "green" }, "points": [1, 2, 3] }
{ "id": 2, "props": { "name": "n2", "metrics": [1.5, 3.0] }, "points": [1, 2, 3] }
{ "id": 3, "props": { "name": "n3", "color": "red", "metrics": [1.0, 2.0] }, "points": [1, 2, 3] }
`
	_, paths := write(t, "rows.ndjson", rows)
	got, s, err := convert(t, fileio.SourceOptions{}, fileio.NDJSON, paths...)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":1,"props":{"name":"n1","color":"green","metrics":null},"points":[1,2,3]}
{"id":2,"props":{"name":"n2","color":null,"metrics":[1.5,3.0]},"points":[1,2,3]}
{"id":3,"props":{"name":"n3","color":"red","metrics":[1.0,2.0]},"points":[1,2,3]}
`
	if got != want {
		t.Errorf("got %s", got)
	}
	props := s.Fields[1]
	if props.Basic != schema.Struct || len(props.Children) != 3 || props.Children[2].Basic != schema.List ||
		props.Children[2].Children[0].Basic != schema.Float64 || !props.Children[1].Nullable {
		t.Errorf("props is %+v", props)
	}
	union := parse(t, "id: Int32, props: Map<String, Union<String, List<Float64>>>, points: List<Int64>")
	got, _, err = convert(t, fileio.SourceOptions{Schema: union}, fileio.NDJSON, paths...)
	if err != nil {
		t.Fatal(err)
	}
	const wantUnion = `{"id":1,"props":[{"key":"name","value":"n1"},{"key":"color","value":"green"}],"points":[1,2,3]}
{"id":2,"props":[{"key":"name","value":"n2"},{"key":"metrics","value":[1.5,3.0]}],"points":[1,2,3]}
{"id":3,"props":[{"key":"name","value":"n3"},{"key":"color","value":"red"},{"key":"metrics","value":[1.0,2.0]}],"points":[1,2,3]}
`
	if got != wantUnion {
		t.Errorf("got %s", got)
	}
}

func TestInferredTypes(t *testing.T) {
	for rows, want := range map[string]string{
		`{"a":1}`:                                      "a: Int64",
		`{"a":-1}{"a":9223372036854775807}`:            "a: Int64",
		`{"a":18446744073709551615}`:                   "a: UInt64",
		`{"a":-1}{"a":18446744073709551615}`:           "a: Decimal",
		`{"a":1}{"a":2.5}`:                             "a: Float64",
		`{"a":"NaN"}{"a":1}{"a":"-Infinity"}`:          "a: Float64",
		`{"a":1}{"a":"NaN"}`:                           "a: Float64",
		`{"a":"NaN"}`:                                  "a: String",
		`{"a":"NaN"}{"a":"2024-01-01T00:00:00Z"}`:      "a: String",
		`{"a":1e3}`:                                    "a: Float64",
		`{"a":true}{"a":null}`:                         "a: Boolean",
		`{"a":null}`:                                   "a: String",
		`{"a":"2024-01-01T00:00:00Z"}`:                 "a: DateTime",
		`{"a":"2024-01-01T00:00:00Z"}{"a":"x"}`:        "a: String",
		`{"a":"2024-01-01"}`:                           "a: DateTime",
		`{"a":"2024-01-01"}{"a":"2024-01-01 10:30"}`:   "a: DateTime",
		`{"a":"2024-13-01"}`:                           "a: String",
		`{"a":1}{"a":"x"}`:                             "a: Dynamic",
		`{"a":[1]}{"a":{"b":1}}`:                       "a: Dynamic",
		`{"a":"00112233-4455-6677-8899-aabbccddeeff"}`: "a: Guid",
		`{"a":"00112233445566778899aabbccddeeff"}`:     "a: String",
		`{"a":[]}`:                                     "a: List",
		`{"b":1}{"a":{}}`:                              "b: Int64, a: Struct",
	} {
		_, paths := write(t, "r.ndjson", strings.ReplaceAll(rows, "}{", "}\n{"))
		src, err := open(t, fileio.SourceOptions{}, paths...)
		if err != nil {
			t.Errorf("%s: %v", rows, err)
			continue
		}
		if got := fieldNames(src.Schema()); got != want {
			t.Errorf("%s: got %s, want %s", rows, got, want)
		}
		src.Close()
	}
}

// Every value form of the convention, and forms that are read but written otherwise.
func TestValueForms(t *testing.T) {
	for _, c := range []struct{ schema, in, want string }{
		{"a: Int64", "9007199254740993", ""}, {"a: UInt64", "18446744073709551615", ""}, {"a: Float32", "0.1", ""},
		{"a: Float64", "-0.0", ""}, {"a: Float64", `"NaN"`, ""}, {"a: Float64", `"-Infinity"`, ""}, {"a: Float64", "5", "5.0"},
		{"a: DateTime", `"2024-01-01T01:00:00.50+01:00"`, `"2024-01-01T00:00:00.5Z"`}, {"a: TimeSpan", `"-1.00:00:00.5000000"`, ""},
		{"a: Decimal", `"1.500"`, ""}, {"a: Decimal", "1.500", `"1.500"`}, {"a: Decimal", `"-0"`, ""}, {"a: Decimal", `"1E+3"`, ""},
		{"a: Binary", `"AAEC"`, ""}, {"a: FixedSizeBinary(2)", `"AAE="`, ""}, {"a: Guid", `"00112233-4455-6677-8899-AABBCCDDEEFF"`, `"00112233-4455-6677-8899-aabbccddeeff"`},
		{"a: String", `"\u00e9\ud83d\ude00\n\"\\\/"`, `"é😀\n\"\\/"`}, {"a: String", `"\u0001"`, ""}, {"a: Boolean", "false", ""},
		{"a: Dynamic", `{"x": [1, null]}`, ""}, {"a: Dynamic", `"AAEC"`, ""}, {"a: Unit", "null", ""},
		{"a: List<List<Int8>>", "[[1],null,[]]", ""}, {"a: FixedSizeList(2)<Int8>", "[1,null]", ""},
		{"a: Map<Int32, String>", `[{"key":1,"value":"x"},{"key":1,"value":null}]`, ""},
		{"a: Struct<x: Int8, y: Struct<z: Boolean>>", `{"y":{"z":true},"x":1}`, `{"x":1,"y":{"z":true}}`},
		{"a: Union<Int8, Int64, Float64, String>", "300", ""}, {"a: Union<Int8, Int64, Float64, String>", "0.5", ""},
		{"a: Union<Float32, Float64>", "16777217", "16777217.0"}, {"a: Union<DateTime, String>", `"x"`, ""}, {"a: Union<Int8>", "null", ""},
	} {
		if c.want == "" {
			c.want = c.in
		}
		_, paths := write(t, "r.ndjson", `{"a":`+c.in+"}")
		got, _, err := convert(t, fileio.SourceOptions{Schema: parse(t, c.schema)}, fileio.NDJSON, paths...)
		if want := `{"a":` + c.want + "}\n"; got != want || err != nil {
			t.Errorf("%s: %s: got %s, %v", c.schema, c.in, got, err)
		}
	}
}

// What can't be read is an error that names file, line and field.
func TestBadRecordsAreNamed(t *testing.T) {
	for _, c := range []struct{ schema, rows, want string }{
		{"", "{\"a\":1}\n{\"a\":", `r.ndjson:2: invalid JSON: unexpected end`},
		{"", "{\"a\":1}\n\nnonsense", `r.ndjson:3: invalid JSON: 'n'`},
		{"", "[{}\n, 1]", "r.ndjson:2: row 2: a number where a JSON object was expected as a record"},
		{"", "[{\"a\":1}", "r.ndjson:1: the array is never closed"},
		{"", "[{\"a\":1} {}]", "after an element of the array"},
		{"", "[{\"a\":1}] {}", "after the end of the array"},
		{"", "{\"a\":1,\n\"b\":", "r.ndjson:1: invalid JSON: unexpected end"},
		{"", "[[1]]", "r.ndjson:1: row 1: an array where a JSON object was expected as a record"},
		{"", "7", "r.ndjson:1: a number where a JSON object was expected as a record"},
		{"", "{\"a\":1} x", "r.ndjson:1: invalid JSON: 'x' at column 9, expected the end"},
		{"", "{\"a\":\"\xff\"}", "r.ndjson:1: invalid UTF-8"},
		{"", `{"a":"\ud800"}`, "half a surrogate pair"},
		{"", `{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, "nests deeper than"},
		{"a: Int8", `{"a":128}`, `field "a": 128 is not a valid Int8`},
		{"a: Int64", `{"a":1.0}`, `1.0 is not a valid Int64`},
		{"a: Int64", `{"a":"1"}`, `a string where Int64 was expected`},
		{"a: Float32", `{"a":1e39}`, "1e39 is beyond Float32"},
		{"a: Float64", `{"a":"nan"}`, `the string "nan" where Float64`},
		{"a: DateTime", `{"a":"0000-01-01T00:00:00Z"}`, "between the years 1 and 9999"},
		{"a: TimeSpan", `{"a":"25:00:00"}`, "not a time span"},
		{"a: Decimal", `{"a":"12345678901234567890123456789012345"}`, "34 digits"},
		{"a: Binary", `{"a":"AA"}`, "not base64"},
		{"a: FixedSizeBinary(2)", `{"a":"AA=="}`, "1 byte, expected 2"},
		{"a: Guid", `{"a":"x"}`, "not a guid"},
		{"a: Boolean", `{"a":0}`, "a number where Boolean was expected"},
		{"a: Unit", `{"a":0}`, "a number where Unit was expected"},
		{"a: FixedSizeList(2)<Int8>", `{"a":[1]}`, "1 element, expected 2"},
		{"a: FixedSizeList(2)<Int8>", `{"a":[1,2,3]}`, "more than 2 elements"},
		{"a: List<Struct<x: Int8>>", `{"a":[{"x":1},{"x":"q"}]}`, `field "a.item.x": a string where Int8 was expected`},
		{"a: Map<String, Int8>", `{"a":[{"key":null,"value":1}]}`, `field "a.key": null, and the field is not nullable`},
		{"a: Map<Int8, Int8>", `{"a":{"1":1}}`, "an object where Map was expected"},
		{"a: Union<Int8, Boolean>", `{"a":300}`, "no variant of the union holds 300"},
		{"a: Int8", `{"a":1,"a":2}`, "occurs twice"},
		{"a: Int8", `{"a":1,"b":2}`, `field "b": the schema has no such field`},
		{"a: Struct<x: Int8>", `{"a":{"y":2}}`, `field "a.y": the schema has no such field`},
	} {
		_, paths := write(t, "r.ndjson", c.rows)
		o := fileio.SourceOptions{}
		if c.schema != "" {
			o.Schema = parse(t, c.schema)
		}
		_, _, err := convert(t, o, fileio.NDJSON, paths...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "r.ndjson:") {
			t.Errorf("%s: got %v, want %s", c.rows, err, c.want)
		}
		if !errors.Is(err, fileio.ErrRecord) {
			t.Errorf("%v is not an ErrRecord", err)
		}
	}
}

func TestUnknownFields(t *testing.T) {
	rows := "{\"a\":1}\n{\"a\":2,\"s\":{\"x\":1}}\n{\"a\":3,\"b\":\"x\",\"s\":{\"x\":2,\"y\":3}}\n"
	_, paths := write(t, "r.ndjson", rows)
	_, _, err := convert(t, fileio.SourceOptions{InferRows: 2}, fileio.NDJSON, paths...)
	if err == nil || !strings.Contains(err.Error(), `r.ndjson:3: field "b": the schema has no such field`) {
		t.Error(err)
	}
	got, _, err := convert(t, fileio.SourceOptions{InferRows: 2, UnknownFields: fileio.DropUnknown}, fileio.NDJSON, paths...)
	if want := "{\"a\":1,\"s\":null}\n{\"a\":2,\"s\":{\"x\":1}}\n{\"a\":3,\"s\":{\"x\":2}}\n"; got != want || err != nil {
		t.Error(got, err)
	}
	o := fileio.SourceOptions{Schema: parse(t, "s: Struct<x: Int8>, a: Int8"), UnknownFields: fileio.ExtendByUnknown}
	got, _, err = convert(t, o, fileio.NDJSON, paths...)
	const want = `{"s":null,"a":1,"b":null}
{"s":{"x":1,"y":null},"a":2,"b":null}
{"s":{"x":2,"y":3},"a":3,"b":"x"}
`
	if got != want || err != nil {
		t.Error(got, err)
	}
	o.Stdin = strings.NewReader(rows)
	if _, err := open(t, o, "-"); err == nil || !strings.Contains(err.Error(), "standard input") {
		t.Error(err)
	}
}

func TestInputs(t *testing.T) {
	var gz, zst bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write([]byte("{\"a\":2}\n"))
	z.Close()
	s, _ := zstd.NewWriter(&zst)
	s.Write([]byte("{\"a\":3}\r\n"))
	s.Close()
	dir, _ := write(t, "in/1.ndjson", "\xef\xbb\xbf{\"a\":1}", "in/2.ndjson.gz", gz.String(), "in/3.jsonl.zst", zst.String(),
		"in/.hidden.ndjson", "{}", "in/notes.txt", "no records", "in/sub/4.ndjson", "{\"a\":4}\n\n", "in2/5.ndjson", "{\"a\":5}\n")
	all := func(urls ...string) string {
		t.Helper()
		o := fileio.SourceOptions{Schema: parse(t, "a: Int8"), Stdin: strings.NewReader("{\"a\":9}")}
		got, _, err := convert(t, o, fileio.NDJSON, urls...)
		if err != nil {
			t.Error(urls, err)
		}
		return strings.NewReplacer("{\"a\":", "", "}\n", "").Replace(got)
	}
	for want, urls := range map[string][]string{
		"1234": {dir + "/in"},
		"123":  {dir + "/in/*"},
		"4":    {dir + "/in/s*/[0-9].ndjson"},
		"5":    {dir + "/in2/"},
		"23":   {dir + "/in/2*", "file://" + dir + "/in/3.jsonl.zst"},
		"59":   {dir + "/in2/5.ndjson", "-"},
	} {
		if got := all(urls...); got != want {
			t.Errorf("%v: got %s, want %s", urls, got, want)
		}
	}
	for _, none := range []string{dir + "/nothing", dir + "/in/*.csv"} {
		if _, err := open(t, fileio.SourceOptions{}, none); !errors.Is(err, blobio.ErrNotFound) {
			t.Errorf("%s: %v", none, err)
		}
	}
	_, odd := write(t, "odd.bin", "\x00\x01")
	if _, err := open(t, fileio.SourceOptions{}, odd...); err == nil || !errors.Is(err, fileio.ErrUnknownFormat) {
		t.Error(err)
	}
	_, shard := write(t, "x.amudai.shard", "amud\x00\x01\x00\x00 and so on")
	if _, err := open(t, fileio.SourceOptions{}, shard...); !errors.Is(err, fileio.ErrUnknownFormat) || !strings.Contains(err.Error(), "register adds it to a table") {
		t.Error(err)
	}
}

// A batch is bounded in rows, whatever the input.
func TestBatchesAreBounded(t *testing.T) {
	_, paths := write(t, "r.ndjson", strings.Repeat("{\"a\":1}\n", 25))
	src, err := open(t, fileio.SourceOptions{BatchRows: 10, InferRows: 3}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	var rows []int64
	each(t, "r", src, func(b arrow.RecordBatch) { rows = append(rows, b.NumRows()) })
	if len(rows) != 3 || rows[0] != 10 || rows[2] != 5 {
		t.Error(rows)
	}
	src.Close()
}

func TestMicrosoftGuids(t *testing.T) {
	_, paths := write(t, "r.ndjson", `{"a":"00112233-4455-6677-8899-aabbccddeeff"}`)
	got, _, err := convert(t, fileio.SourceOptions{GuidOrder: fileio.MicrosoftOrder}, fileio.NDJSON, paths...)
	if err != nil || got != `{"a":"33221100-5544-7766-8899-aabbccddeeff"}`+"\n" {
		t.Error(got, err)
	}
}

func FuzzNDJSON(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{"c":"x"}],"d":null,"e":1.5e3}`))
	f.Add([]byte(`{"a":"2024-01-01T00:00:00Z"}` + "\n" + `{"a":null,"b":{"c":"\u00e9"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		sp := blobio.NewClient(blobio.ClientOptions{})
		defer sp.Close()
		read := func(in []byte, s *schema.Schema) (string, *schema.Schema, error) {
			src, err := fileio.OpenSource(context.Background(), sp, []string{"-"}, fileio.SourceOptions{Format: fileio.NDJSON, Stdin: bytes.NewReader(in), Schema: s})
			if err != nil {
				return "", nil, err
			}
			defer src.Close()
			var out bytes.Buffer
			sink, _ := fileio.NewSink(fileio.NDJSON, &out, src.Schema(), fileio.SinkOptions{})
			for {
				b, err := src.Next(context.Background())
				if err == io.EOF {
					return out.String(), src.Schema(), nil
				}
				if err != nil {
					return "", nil, err
				}
				sink.Write(b)
			}
		}
		once, s, err := read(text, nil)
		if err != nil {
			return
		}
		twice, _, err := read([]byte(once), s)
		if err != nil || once != twice {
			t.Fatalf("%q is written as %q, which reads as %q (%v)", text, once, twice, err)
		}
	})
}

// Every type, read from anything: what is accepted is written as text that reads back to the same text.
func FuzzValues(f *testing.F) {
	s, err := schema.Parse("i: Int8, u: UInt64, f: Float32, d: Float64, b: Boolean, t: DateTime, p: TimeSpan, n: Decimal, s: String, " +
		"x: Binary, z: FixedSizeBinary(2), g: Guid, y: Dynamic, l: List<Int8>, q: FixedSizeList(2)<Int8>, m: Map<String, Int8>, o: Struct<a: Int8>, v: Union<Int8, Float32, String>")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"i":1,"u":2,"f":0.5,"d":"NaN","b":true,"t":"2024-01-01T00:00:00Z","p":"-1.00:00:00","n":"1E+5","s":"x","x":"AA==","z":"AAA="}`))
	f.Add([]byte(`{"g":"00112233-4455-6677-8899-aabbccddeeff","y":{"a":[1]},"l":[1],"q":[1,2],"m":{"a":1},"o":{"a":1},"v":0.1}`))
	sp := blobio.NewClient(blobio.ClientOptions{})
	read := func(in string) (string, error) {
		src, err := fileio.OpenSource(context.Background(), sp, []string{"-"}, fileio.SourceOptions{Format: fileio.NDJSON, Stdin: strings.NewReader(in), Schema: s})
		if err != nil {
			return "", err
		}
		defer src.Close()
		var out bytes.Buffer
		sink, _ := fileio.NewSink(fileio.NDJSON, &out, s, fileio.SinkOptions{})
		for {
			b, err := src.Next(context.Background())
			if err == io.EOF {
				return out.String(), nil
			}
			if err != nil {
				return "", err
			}
			sink.Write(b)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := read(string(text))
		if err != nil {
			return
		}
		if twice, err := read(once); err != nil || once != twice {
			t.Fatalf("%q is written as %q, which reads as %q (%v)", text, once, twice, err)
		}
	})
}
