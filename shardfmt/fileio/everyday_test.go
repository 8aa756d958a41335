package fileio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// lines makes one text of the rows that convert writes.
func lines(got string, err error) string {
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(strings.TrimSuffix(got, "\n"), "\n", "|")
}

// What people's files hold is read as what it means, whatever the program that wrote it.
func TestEverydayText(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		o          fileio.SourceOptions
		want       string
	}{
		{"dates.csv", "d\n2024-01-05\n2024/02/29\n", fileio.SourceOptions{}, `{"d":"2024-01-05T00:00:00Z"}|{"d":"2024-02-29T00:00:00Z"}`},
		{"zone.csv", "t\n2024-01-05 10:00:00\n2024-07-05T10:00\n", fileio.SourceOptions{TimeZone: berlin}, `{"t":"2024-01-05T09:00:00Z"}|{"t":"2024-07-05T08:00:00Z"}`},
		{"offsets.csv", "t\n2024-01-05 10:00:00+0200\n2024-01-05 10:00:00 UTC\n2024-01-05T10:00:00.25-01\n", fileio.SourceOptions{},
			`{"t":"2024-01-05T08:00:00Z"}|{"t":"2024-01-05T10:00:00Z"}|{"t":"2024-01-05T11:00:00.25Z"}`},
		{"format.csv", "d\n05/02/2024\n31/12/2023\n", fileio.SourceOptions{DateFormats: []string{"%d/%m/%Y"}}, `{"d":"2024-02-05T00:00:00Z"}|{"d":"2023-12-31T00:00:00Z"}`},
		{"clock.json", `{"d":"Jan 5 2024 3:04:05.5 PM"}`, fileio.SourceOptions{DateFormats: []string{"%b %e %Y %I:%M:%S.%f %p"}}, `{"d":"2024-01-05T15:04:05.5Z"}`},
		{"nulls.csv", "n,s,f\n1,a,-\nNA,NA,0.5\nNULL,,N/A\n\"\",\"\",1\n", fileio.SourceOptions{},
			`{"n":1,"s":"a","f":null}|{"n":null,"s":"NA","f":0.5}|{"n":null,"s":null,"f":null}|{"n":null,"s":"","f":1.0}`},
		{"own.csv", "n,s\n1,none\nnone,\"none\"\n-,NA\n", fileio.SourceOptions{Nulls: []string{"none"}}, `{"n":"1","s":null}|{"n":null,"s":"none"}|{"n":"-","s":"NA"}`},
		{"spaces.csv", "n, s\n 1, x\n2 ,y\n", fileio.SourceOptions{}, `{"n":1,"s":" x"}|{"n":2,"s":"y"}`},
		{"semicolons.csv", "a;b\n1,5;2\n2,5;3\n", fileio.SourceOptions{}, `{"a":"1,5","b":2}|{"a":"2,5","b":3}`},
		{"pipes.csv", "a|b\n1|\"x,y|z\"\n", fileio.SourceOptions{}, `{"a":1,"b":"x,y|z"}`},
		{"tabs.txt", "a\tb\n1\t2\n", fileio.SourceOptions{}, `{"a":1,"b":2}`},
		{"headless.csv", "1,x\n2,y\n", fileio.SourceOptions{}, `{"column1":1,"column2":"x"}|{"column1":2,"column2":"y"}`},
		{"texts.csv", "code,name\nA,Anna\n", fileio.SourceOptions{}, `{"code":"A","name":"Anna"}`},
		{"years.csv", "2019,2020\n1,2\n", fileio.SourceOptions{Header: fileio.WithHeader}, `{"2019":1,"2020":2}`},
		{"known.csv", "7,8\n1,2\n", fileio.SourceOptions{Schema: parse(t, `"7": Int8, "8": Int8`)}, `{"7":1,"8":2}`},
		{"twice.csv", "a,a,b,a\n1,2,3,4\n", fileio.SourceOptions{}, `{"a":1,"a_1":2,"b":3,"a_2":4}`},
		{"array.json", " [\n {\"a\":1,\"b\":\"]\"},\n {\"a\":2}\n]\n", fileio.SourceOptions{}, `{"a":1,"b":"]"}|{"a":2,"b":null}`},
		{"line.json", `[{"a":1},{"a":2}]`, fileio.SourceOptions{}, `{"a":1}|{"a":2}`},
		{"empty.json", ` [ ] `, fileio.SourceOptions{}, ``},
		{"pretty.json", "{\n\"a\": 1\n}\n{\n\"a\": 2}", fileio.SourceOptions{}, `{"a":1}|{"a":2}`},
		{"mixed.json", `[{"a":1,"l":[1,"x"]},{"a":"x","l":[]}]`, fileio.SourceOptions{}, `{"a":1,"l":[1,"x"]}|{"a":"x","l":[]}`},
		{"column.csv", "id\n1\n2\n", fileio.SourceOptions{Types: parse(t, "id: String").Fields}, `{"id":"1"}|{"id":"2"}`},
		{"late.csv", "a\n1\nx\n", fileio.SourceOptions{InferRows: fileio.AllRows}, `{"a":"1"}|{"a":"x"}`},
	} {
		_, paths := write(t, c.name, c.text)
		got, _, err := convert(t, c.o, fileio.NDJSON, paths...)
		if got := lines(got, err); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// What was taken for what is reported, once.
func TestNotesOnText(t *testing.T) {
	for _, c := range []struct{ name, text, schema, want string }{
		{"d.csv", "d\n2024-01-05\n2024-01-06\n", "", `dates are read as midnight UTC (--time-zone)`},
		{"d.csv", "d\n2024-01-05\n2024-01-06\n", "d: DateTime", `field "d": dates are read as midnight UTC (--time-zone)`},
		{"t.json", `{"t":"2024-01-05 10:00"}`, "", `times without a zone are read as UTC (--time-zone)`},
		{"n.csv", "n\n1\nNA\n", "", `"NA" is read as null (--null)`},
		{"n.csv", "n\n1\nNA\n", "n: Int64", `field "n": "NA" is read as null (--null)`},
		{"s.csv", "s\nx\nNA\n", "", `"NA" is kept as text (--null 'NA' reads it as null)`},
		{"h.csv", "a,a\n1,2\n", "", `h.csv:1: the header names "a" more than once: field 2 is called "a_1"`},
		{"m.json", "{\"a\":1}\n{\"a\":\"x\"}", "", `Dynamic, because the type changes: `},
	} {
		_, paths := write(t, c.name, c.text)
		var said []string
		o := fileio.SourceOptions{Warn: func(m string) { said = append(said, m) }}
		if c.schema != "" {
			o.Schema = parse(t, c.schema)
		}
		src, err := open(t, o, paths...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.Next(context.Background()); err != nil {
			t.Error(err)
		}
		if in := fileio.InferenceOf(src); !in.Given {
			for _, f := range in.Fields {
				said = append(said, f.Notes...)
			}
		}
		src.Close()
		if all := strings.Join(said, "\n"); strings.Count(all, c.want) != 1 {
			t.Errorf("%s: said %s, want %s", c.text, all, c.want)
		}
	}
}

// An inference reports types, nulls and examples.
func TestInferenceIsTold(t *testing.T) {
	_, paths := write(t, "r.csv", "n;s\n1;x\nNA;\n3;z\n")
	src, err := open(t, fileio.SourceOptions{}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	in := fileio.InferenceOf(src)
	if in.Comma != ";" || !*in.Header || in.Rows != 3 || len(in.Fields) != 2 {
		t.Fatalf("%+v", in)
	}
	if n := in.Fields[0]; n.Type != "Int64" || n.Nulls != 1 || n.Example != "1" {
		t.Errorf("%+v", n)
	}
	if s := in.Fields[1]; s.Type != "String" || s.Nulls != 1 || s.Example != "x" {
		t.Errorf("%+v", s)
	}
	if got := in.Lines(1); len(got) != 3 || !strings.Contains(got[0], "3 rows of csv, separator ';'") || !strings.Contains(got[2], "1 more") {
		t.Errorf("%q", got)
	}
	given, err := open(t, fileio.SourceOptions{Schema: src.Schema()}, paths...)
	if err != nil || !fileio.InferenceOf(given).Given {
		t.Error(err)
	}
	given.Close()
}

// The error of a row that doesn't fit names what would take it.
func TestErrorsNameTheWayOut(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          fileio.SourceOptions
		want       []string
	}{
		{"r.csv", "a\n1\nx\n", fileio.SourceOptions{InferRows: 1}, []string{"r.csv:3", "--column 'a: String'", "--null 'x'", "--infer-rows 0"}},
		{"r.csv", "a b\n1\n1.5\n", fileio.SourceOptions{InferRows: 1}, []string{`--column '"a b": Float64'`}},
		{"r.csv", "a\n1\n99999999999999999999\n", fileio.SourceOptions{InferRows: 1}, []string{"--column 'a: Decimal'"}},
		{"r.json", "{\"a\":1}\n{\"a\":\"x\"}", fileio.SourceOptions{InferRows: 1}, []string{"r.json:2", "--column 'a: Dynamic'"}},
		{"r.json", "{\"a\":{\"b\":1}}\n{\"a\":{\"b\":\"x\"}}", fileio.SourceOptions{InferRows: 1}, []string{`field "a.b"`, "--column 'a: Dynamic'"}},
		{"r.json", "{\"a\":1}\n{\"b\":1}", fileio.SourceOptions{InferRows: 1}, []string{"does not occur in the first 1 record", "--unknown-fields extend"}},
		{"r.csv", "a\nx\n", fileio.SourceOptions{Schema: parse(t, "a: Int8")}, []string{"String holds it", "--null 'x'"}},
		{"r.csv", "a;b\n1;2;3\n1;2\n1;2\n", fileio.SourceOptions{}, []string{"3 fields, expected 2", "--comma"}},
		{"r.csv", "a\n\xe4\n", fileio.SourceOptions{}, []string{"invalid UTF-8", "iconv"}},
	} {
		_, paths := write(t, c.name, c.text)
		_, _, err := convert(t, c.o, fileio.NDJSON, paths...)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, fileio.ErrRecord) {
				t.Errorf("%q: got %v, want %s", c.text, err, want)
			}
		}
	}
	_, paths := write(t, "r.csv", "a\n1\n")
	if _, err := open(t, fileio.SourceOptions{Types: parse(t, "b: String").Fields}, paths...); !errors.Is(err, fileio.ErrColumn) {
		t.Error(err)
	}
}

// Options that mean nothing are refused.
func TestBadSourceOptions(t *testing.T) {
	for _, o := range []fileio.SourceOptions{
		{Header: "perhaps"}, {Comma: '"'}, {InferRows: -2}, {DateFormats: []string{"%Q"}}, {DateFormats: []string{"%H"}}, {DateFormats: []string{"1%d"}},
	} {
		if o.Validate() == nil {
			t.Errorf("%+v passes", o)
		}
	}
}

// Too many fields are refused before anything is made of them; members keyed by data are kept whole.
func TestManyFields(t *testing.T) {
	var record strings.Builder
	names := make([]string, fileio.MaxFields+1)
	for i := range names {
		names[i] = fmt.Sprintf("f%d", i)
	}
	fmt.Fprintf(&record, `{"%s":1}`, strings.Join(names, `":1,"`))
	values := strings.Repeat("1,", len(names)-1) + "1"
	_, paths := write(t, "r.ndjson", record.String(), "r.csv", strings.Join(names, ",")+"\n"+values+"\n", "nested.ndjson", `{"id":1,"by":`+record.String()+`}`)
	for _, path := range paths[:2] {
		if _, err := open(t, fileio.SourceOptions{}, path); !errors.Is(err, fileio.ErrTooManyFields) || !errors.Is(err, fileio.ErrRecord) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range manyColumns(t) {
		if _, err := open(t, fileio.SourceOptions{}, path); !errors.Is(err, fileio.ErrTooManyFields) {
			t.Errorf("%s: %v", path, err)
		}
	}
	src, err := open(t, fileio.SourceOptions{}, paths[2])
	if err != nil || fieldNames(src.Schema()) != "id: Int64, by: Dynamic" {
		t.Fatal(err)
	}
	src.Close()
}

// manyColumns are an Arrow file and an Arrow stream of a column too many.
func manyColumns(t *testing.T) (paths []string) {
	t.Helper()
	fields := make([]arrow.Field, fileio.MaxFields-1)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("f%d", i), Type: arrow.Null}
	}
	fields[0].Type = arrow.StructOf(arrow.Field{Name: "a", Type: arrow.Null}, arrow.Field{Name: "b", Type: arrow.Null})
	types := ipc.WithSchema(arrow.NewSchema(fields, nil))
	var stream, whole bytes.Buffer
	if err := ipc.NewWriter(&stream, types).Close(); err != nil {
		t.Fatal(err)
	}
	w, err := ipc.NewFileWriter(&whole, types)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, paths = write(t, "r.arrows", stream.String(), "r.arrow", whole.String())
	return paths
}

// TestNamesThatLookLikePatterns: a file that is there is read by its name, whatever is in it; a pattern is what names none.
func TestNamesThatLookLikePatterns(t *testing.T) {
	dir, paths := write(t, "sales [1].csv", "a\n1\n", "what?.csv", "a\n2\n", "x[31m.csv", "a\n3\n", "sales 1.csv", "a\n4\n")
	for i, want := range []string{"a\n1\n", "a\n2\n", "a\n3\n", "a\n4\n"} {
		if got, _, err := convert(t, fileio.SourceOptions{}, fileio.CSV, paths[i]); err != nil || got != want {
			t.Errorf("%s: %q, %v", filepath.Base(paths[i]), got, err)
		}
	}
	if got, _, err := convert(t, fileio.SourceOptions{}, fileio.CSV, filepath.Join(dir, "sales*.csv")); err != nil || got != "a\n1\n4\n" {
		t.Errorf("the pattern: %q, %v", got, err)
	}
}
