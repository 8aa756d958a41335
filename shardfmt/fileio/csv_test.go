package fileio_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

func TestCSVToNDJSON(t *testing.T) {
	const rows = "id,\"na,me\",at,ok,code,g\r\n" +
		"1,\"a \"\"quoted\"\"\r\nline\",2024-01-01T00:00:00Z,true,007,00112233-4455-6677-8899-aabbccddeeff\r\n" +
		"\r\n" +
		"2,\"\",,,x,\n" +
		"-3,plain,2024-01-02T00:00:00.5Z,False,1,00112233-4455-6677-8899-aabbccddeeff"
	_, paths := write(t, "r.csv", rows)
	got, s, err := convert(t, fileio.SourceOptions{}, fileio.NDJSON, paths...)
	const want = `{"id":1,"na,me":"a \"quoted\"\r\nline","at":"2024-01-01T00:00:00Z","ok":true,"code":"007","g":"00112233-4455-6677-8899-aabbccddeeff"}
{"id":2,"na,me":"","at":null,"ok":null,"code":"x","g":null}
{"id":-3,"na,me":"plain","at":"2024-01-02T00:00:00.5Z","ok":false,"code":"1","g":"00112233-4455-6677-8899-aabbccddeeff"}
`
	if got != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if names := fieldNames(s); names != "id: Int64, na,me: String, at: DateTime, ok: Boolean, code: String, g: Guid" {
		t.Error(names)
	}
}

func TestCSVOptions(t *testing.T) {
	_, paths := write(t, "a.tsv", "1\tx\n2\t\n", "b.csv", "b,a\n1,2\n", "c.csv", "a,c\n3,4\n", "d.csv", "n\n\n5\n", "e.csv", "x,y\n",
		"f.csv", `s,l,m,n`+"\n"+`"{""a"":1,""b"":{""c"":""x""}}","[{""k"":1},{""z"":true}]","{""y"":{""w"":2}}",1`+"\n,,,2\n", "g.csv", "s\n{\n")
	for _, c := range []struct {
		o    fileio.SourceOptions
		urls []string
		want string
	}{
		{fileio.SourceOptions{Header: fileio.NoHeader}, paths[:1], `{"column1":1,"column2":"x"}|{"column1":2,"column2":null}`},
		{fileio.SourceOptions{Header: fileio.NoHeader, Schema: parse(t, "k: Int8, v: String")}, paths[:1], `{"k":1,"v":"x"}|{"k":2,"v":null}`},
		{fileio.SourceOptions{Comma: ';', Schema: parse(t, "b: String")}, paths[1:2], "the schema has no such field"},
		{fileio.SourceOptions{}, paths[1:3], `{"b":1,"a":2,"c":null}|{"b":null,"a":3,"c":4}`},
		{fileio.SourceOptions{InferRows: 1}, paths[1:3], `c.csv:1: field "c": the schema has no such field`},
		{fileio.SourceOptions{InferRows: 1, UnknownFields: fileio.DropUnknown}, paths[1:3], `{"b":1,"a":2}|{"b":null,"a":3}`},
		{fileio.SourceOptions{Schema: parse(t, "a: Int8"), UnknownFields: fileio.ExtendByUnknown}, paths[1:3], `{"a":2,"b":1,"c":null}|{"a":3,"b":null,"c":4}`},
		{fileio.SourceOptions{Schema: parse(t, "s: Struct<a: Int8>, l: List<Struct<k: Int16>>, m: Map<String, Struct<v: Int8>>"), UnknownFields: fileio.ExtendByUnknown}, paths[5:6],
			`{"s":{"a":1,"b":{"c":"x"}},"l":[{"k":1,"z":null},{"k":null,"z":true}],"m":[{"key":"y","value":{"v":null,"w":2}}],"n":1}|{"s":null,"l":null,"m":null,"n":2}`},
		{fileio.SourceOptions{Schema: parse(t, "s: Struct<a: Int8>"), UnknownFields: fileio.ExtendByUnknown}, paths[6:7], `g.csv:2: invalid JSON`},
		{fileio.SourceOptions{}, paths[3:4], `{"n":null}|{"n":5}`},
		{fileio.SourceOptions{}, paths[4:5], ``},
	} {
		got, _, err := convert(t, c.o, fileio.NDJSON, c.urls...)
		if err != nil {
			got = err.Error()
		}
		got = strings.ReplaceAll(strings.TrimSuffix(got, "\n"), "\n", "|")
		if got != c.want && !(err != nil && strings.Contains(got, c.want)) {
			t.Errorf("%+v: got %s, want %s", c.o, got, c.want)
		}
	}
}

func TestBadCSVIsNamed(t *testing.T) {
	for _, c := range []struct{ schema, rows, want string }{
		{"", "a,b\n1,2\n3\n", "r.csv:3: 1 field, expected 2"},
		{"", "a,b\n1,2,3\n", "r.csv:2: 3 fields, expected 2"},
		{"", "a,b\n\"x\ny\n\nz\",1\n1\n", "r.csv:6: 1 field, expected 2"},
		{"", "a\n\"x\n", "r.csv:2: the quote of a field is never closed"},
		{"", "a\n\"x\"y\n", "r.csv:2: text after the closing quote"},
		{"", "a\n\xff\n", "r.csv:2: invalid UTF-8"},
		{"a: Int64", "a\n1\nx\n", `r.csv:3: field "a": "x" where Int64 was expected`},
		{"a: Int8", "a\n300\n", "300 is not a valid Int8"},
		{"a: Boolean", "a\nyes\n", "where true or false was expected"},
		{"a: Float64", "a\n1,5\n", "2 fields, expected 1"},
		{"a: Float64", "a\nabc\n", `the string "abc" where Float64`},
		{"a: List<Int8>", "a\n[1\n", "invalid JSON"},
	} {
		_, paths := write(t, "r.csv", c.rows)
		o := fileio.SourceOptions{}
		if c.schema != "" {
			o.Schema = parse(t, c.schema)
		}
		_, _, err := convert(t, o, fileio.NDJSON, paths...)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, fileio.ErrRecord) {
			t.Errorf("%q: got %v, want %s", c.rows, err, c.want)
		}
	}
}

// All golden rows survive a round through CSV, nested values as JSON text.
func TestGoldenRowsSurviveCSV(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	for _, c := range interop.Cases(t) {
		if c.Rows > 3000 {
			continue
		}
		s := goldenSchema(t, sp, c)
		src, err := fileio.OpenSource(context.Background(), sp, []string{c.Dir + "/rows.ndjson.gz"}, fileio.SourceOptions{Schema: s})
		if err != nil {
			t.Fatal(err)
		}
		var csv, want, got bytes.Buffer
		copyAll(t, c.Name, src, fileio.CSV, &csv)
		again, err := fileio.OpenSource(context.Background(), sp, []string{"-"}, fileio.SourceOptions{Format: fileio.CSV, Schema: s, Stdin: &csv})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		copyAll(t, c.Name, again, fileio.NDJSON, &got)
		c.ExpectedRows(t, func(_ int, line []byte) { want.Write(line) })
		if !strings.HasPrefix(c.Name, "sample-") && !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s differs", c.Name)
		}
	}
}

func TestTable(t *testing.T) {
	_, paths := write(t, "r.ndjson", `{"id":1,"name":"a\nb\u001b[2J","long":"`+strings.Repeat("x", 50)+`","list":[1,2]}`+"\n"+`{"id":-20,"name":null,"long":"é","list":null}`)
	src, err := open(t, fileio.SourceOptions{}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := src.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sink, err := fileio.NewSink(fileio.Table, &out, src.Schema(), fileio.SinkOptions{Width: 40})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sink.Write(b), sink.Close()); err != nil {
		t.Fatal(err)
	}
	const want = ` id  name     long                 list
───  ───────  ───────────────────  ─────
  1  a⏎b·[2J  xxxxxxxxxxxxxxxxxx…  [1,2]
-20  null     é                    null
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
	for _, line := range strings.Split(out.String(), "\n") {
		if n := len([]rune(line)); n > 40 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestTableCutsNoNumbers: pages are measured one by one, and what has no space is left out by columns.
func TestTableCutsNoNumbers(t *testing.T) {
	var lines, wide, row strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, "{\"n\":%d,\"s\":\"x\"}\n", i*i*i*i)
	}
	print := func(text string, o fileio.SinkOptions) (string, []string) {
		t.Helper()
		_, paths := write(t, "r.ndjson", text)
		src, err := open(t, fileio.SourceOptions{}, paths...)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		var notes []string
		o.Warn = func(note string) { notes = append(notes, note) }
		sink, err := fileio.NewSink(fileio.Table, &out, src.Schema(), o)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := src.Next(context.Background())
			if err == io.EOF {
				break
			}
			if err := errors.Join(err, sink.Write(b)); err != nil {
				t.Fatal(err)
			}
		}
		if err := sink.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String(), notes
	}
	for _, o := range []fileio.SinkOptions{{}, {Width: 30, PageRows: 20}} {
		got, notes := print(lines.String(), o)
		for _, i := range []int{0, 199, 200, 4999} {
			if !strings.Contains(got, fmt.Sprintf("%d  x\n", i*i*i*i)) {
				t.Errorf("%+v: number %d is not whole", o, i)
			}
		}
		if strings.Contains(got, "…") || len(notes) > 0 {
			t.Errorf("%+v: something was cut: %v", o, notes)
		}
	}
	for i := range 200 {
		fmt.Fprintf(&row, ",\"column%d\":%d", i, i*1_000_000)
	}
	fmt.Fprintf(&wide, "{%s}\n", row.String()[1:])
	got, notes := print(wide.String(), fileio.SinkOptions{Width: 60})
	for _, line := range strings.Split(got, "\n") {
		if n := len([]rune(line)); n > 60 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], " of 200 columns") {
		t.Errorf("notes %q", notes)
	}
	if got, _ = print(wide.String(), fileio.SinkOptions{Width: 60, Whole: true}); !strings.Contains(got, "199000000") {
		t.Error("not all columns are there")
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b\n1,\"x\"\"y\"\n,\n"))
	f.Add([]byte("a\r\n\"1\r\n2\"\r\n"))
	f.Add([]byte("\x000\x00")) // written, it could be UTF-16
	f.Fuzz(func(t *testing.T, text []byte) {
		sp := blobio.NewClient(blobio.ClientOptions{})
		defer sp.Close()
		read := func(in []byte, s *schema.Schema, e fileio.Encoding) (string, *schema.Schema, error) {
			src, err := fileio.OpenSource(context.Background(), sp, []string{"-"}, fileio.SourceOptions{Format: fileio.CSV, Stdin: bytes.NewReader(in), Schema: s, Encoding: e})
			if err != nil {
				return "", nil, err
			}
			defer src.Close()
			var out bytes.Buffer
			sink, _ := fileio.NewSink(fileio.CSV, &out, src.Schema(), fileio.SinkOptions{})
			for {
				b, err := src.Next(context.Background())
				if err == io.EOF {
					err = sink.Close()
					return out.String(), src.Schema(), err
				}
				if err != nil {
					return "", nil, err
				}
				sink.Write(b)
			}
		}
		once, s, err := read(text, nil, fileio.AutoEncoding)
		if err != nil || len(s.Fields) == 0 {
			return
		}
		twice, _, err := read([]byte(once), s, fileio.UTF8)
		if err != nil || once != twice {
			t.Fatalf("%q is written as %q, which reads as %q (%v)", text, once, twice, err)
		}
	})
}
