package fileio_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// readRows are the rows of files as NDJSON, parted by |, or the error.
func readRows(t *testing.T, o fileio.SourceOptions, urls ...string) string {
	t.Helper()
	got, _, err := convert(t, o, fileio.NDJSON, urls...)
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.ReplaceAll(strings.TrimSuffix(got, "\n"), "\n", "|")
}

// TestReportedFiles reads every file that was reported as read wrongly or refused, with its right rows.
func TestReportedFiles(t *testing.T) {
	for _, c := range []struct {
		file string
		o    fileio.SourceOptions
		want string
	}{
		{"cr_only.csv", fileio.SourceOptions{}, `{"a":1,"b":"x"}|{"a":2,"b":"y"}|{"a":3,"b":"z"}`},
		{"cr_only.tsv", fileio.SourceOptions{}, `{"name":"Ann","n":1}|{"name":"Bob","n":2}`},
		{"bare_quotes.tsv", fileio.SourceOptions{}, `{"id":1,"name":"6\" pipe"}|{"id":2,"name":"Say \"hi\" now"}`},
		{"bare_quote.csv", fileio.SourceOptions{}, `{"id":1,"where":"N 48 51' 30\" E","n":5}|{"id":2,"where":"plain","n":6}`},
		{"quoted_prefix.tsv", fileio.SourceOptions{}, "error: " + "text after the closing quote of a field"},
		{"quoted_prefix.tsv", fileio.SourceOptions{Quote: fileio.NoQuote}, `{"tconst":"tt1","title":"\"Q\" Movie"}|{"tconst":"tt2","title":"plain"}`},
		{"leading_blank_lines.csv", fileio.SourceOptions{}, `{"a":1,"b":2}`},
		{"leading_blank_line_onecol.csv", fileio.SourceOptions{}, `{"a 1":"b 2"}|{"a 1":"c 3"}`},
		{"gzip_zero_padded.csv.gz", fileio.SourceOptions{}, `{"a":1,"b":"x"}|{"a":2,"b":"y"}`},
		{"excel_sep_line.csv", fileio.SourceOptions{}, `{"a":1,"b":2}`},
		{"nums.csv", fileio.SourceOptions{}, `{"a":0.5,"b":1.0,"c":3,"d":100000.0,"e":-0.25}|{"a":0.7,"b":2.0,"c":4,"d":0.002,"e":-0.5}`},
		{"nums.csv", fileio.SourceOptions{Types: parse(t, "c: Int64, b: Decimal").Fields}, `{"a":0.5,"b":"1.0","c":3,"d":100000.0,"e":-0.25}|{"a":0.7,"b":"2.0","c":4,"d":0.002,"e":-0.5}`},
		{"i35.ndjson", fileio.SourceOptions{}, `{"a":12345678901234567890123456789012345}|{"a":1}`},
		{"u256.csv", fileio.SourceOptions{}, `{"a":"115792089237316195423570985008687907853269984665640564039457584007913129639935"}|{"a":"1"}`},
		{"dynamic.ndjson", fileio.SourceOptions{}, `{"t":"Inception"}|{"t":"Avatar"}|{"t":300}`},
		{"dynamic.ndjson", fileio.SourceOptions{Types: parse(t, "t: String").Fields}, `{"t":"Inception"}|{"t":"Avatar"}|{"t":"300"}`},
		{"huge_number_hint.ndjson", fileio.SourceOptions{}, "error: --column 'a: Decimal' holds it"},
		{"huge_number_hint.ndjson", fileio.SourceOptions{Types: parse(t, "a: Decimal").Fields}, `{"a":"1E+400"}`},
		{"e400.ndjson", fileio.SourceOptions{}, "error: --column 'a: Decimal' holds it"},
	} {
		got := readRows(t, c.o, "testdata/text/"+c.file)
		if part, isError := strings.CutPrefix(c.want, "error: "); got != c.want && !(isError && strings.HasPrefix(got, "error: ") && strings.Contains(got, part)) {
			t.Errorf("%s with %+v: got %s, want %s", c.file, c.o, got, c.want)
		}
	}
}

// TestDialects reads text in every dialect that options name, and what is detected without them.
func TestDialects(t *testing.T) {
	type options = fileio.SourceOptions
	utf16Text := func(text string, big, mark bool) string {
		var b []byte
		units := utf16.Encode([]rune(text))
		if mark {
			units = append([]uint16{0xFEFF}, units...)
		}
		for _, u := range units {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		return string(b)
	}
	long := strings.Repeat("x", 300_000)
	for i, c := range []struct {
		name, text string
		o          options
		want       string
	}{
		// Line ends.
		{"a.csv", "a,b\r1,\"x\ry\"\r\r2,z", options{}, `{"a":1,"b":"x\ry"}|{"a":2,"b":"z"}`},
		{"a.csv", "a,b\r\n1,\"x\r\ny\"\r\n2,z\r\n", options{}, `{"a":1,"b":"x\r\ny"}|{"a":2,"b":"z"}`},
		{"a.csv", "a,b\n1,x\r2,y\r\n3,z\n", options{}, `{"a":1,"b":"x"}|{"a":2,"b":"y"}|{"a":3,"b":"z"}`},
		{"a.csv", "a\r" + long + "\r\n" + long + "\r", options{}, fmt.Sprintf(`{"a":%q}|{"a":%q}`, long, long)},
		{"a.csv", "a;b\r1;2\r3;4\r", options{}, `{"a":1,"b":2}|{"a":3,"b":4}`},
		{"a.ndjson", "{\"a\":1}\r{\"a\":2}\r", options{}, `{"a":1}|{"a":2}`},
		{"a.ndjson", "{\"a\":\r1}\r{\"a\":2}\r", options{}, `{"a":1}|{"a":2}`},
		// Objects on lines.
		{"a.ndjson", "{\"a\":1}{\"a\":2} {\"a\":3}\n{\"a\":4}\n", options{}, `{"a":1}|{"a":2}|{"a":3}|{"a":4}`},
		{"a.ndjson", "{\"a\":1}\n{\"a\":2}\t{\"a\":3}\n\n{\"a\":4}{\"a\":5}", options{}, `{"a":1}|{"a":2}|{"a":3}|{"a":4}|{"a":5}`},
		{"a.ndjson", "{\"a\":1}\n{\"a\":2}{\"a\":3}\n{\"a\":4}", options{InferRows: 1}, `{"a":1}|{"a":2}|{"a":3}|{"a":4}`},
		{"a.ndjson", "{\"a\":1}\n{\"a\":2}{\"a\":3}\n{\"a\":4}", options{InferRows: fileio.AllRows}, `{"a":1}|{"a":2}|{"a":3}|{"a":4}`},
		{"a.ndjson", "{\"a\":1} 2\n", options{}, "error: expected the end"},
		{"a.json", "[{\"a\":1},\r{\"a\":2}]\r", options{}, `{"a":1}|{"a":2}`},
		{"a.json", "[[1]]", options{}, "error: an array where a JSON object was expected as a record"},
		{"a.ndjson", "// note\n{\"a\":1}\n", options{}, "error: JSON has no comments"},
		{"a.ndjson", "{\"a\":1} /* note */\n", options{}, "error: JSON has no comments"},
		{"a.ndjson", "{\"a\":1}\n# note\n", options{}, "error: JSON has no comments"},
		{"a.json", "[{\"a\":1}, // one\n{\"a\":2}]", options{}, "error: JSON has no comments"},
		// Encodings.
		{"a.csv", "\xef\xbb\xbfa,b\n1,ä\n", options{}, `{"a":1,"b":"ä"}`},
		{"a.csv", utf16Text("a,b\r\n1,ä😀\r\n", false, true), options{}, `{"a":1,"b":"ä😀"}`},
		{"a.csv", utf16Text("a,b\r\n1,ä😀\r\n", true, true), options{}, `{"a":1,"b":"ä😀"}`},
		{"a.tsv", utf16Text("a\tb\r\n1\tä\r\n", false, false), options{}, `{"a":1,"b":"ä"}`},
		{"a.ndjson", utf16Text("{\"a\":\"ä\"}\n", true, false), options{}, `{"a":"ä"}`},
		{"a", utf16Text("{\"a\":\"ä\"}\n", false, true), options{}, `{"a":"ä"}`},
		{"a.csv", utf16Text("a\nx", false, true) + "\x3d\xd8", options{}, "error: invalid UTF-16"},
		{"a.csv", "\xff\xfe\x00\x00a\x00\x00\x00", options{}, "error: UTF-32 is not supported"},
		{"a.csv", "a,b\n1,\xe4\x80\n", options{Encoding: fileio.Latin1}, "{\"a\":1,\"b\":\"ä\u0080\"}"},
		{"a.csv", "a,b\n1,\xe4\x80\n", options{Encoding: fileio.Windows1252}, `{"a":1,"b":"ä€"}`},
		{"a.csv", "a,b\n1,\xe4\n", options{}, "error: --encoding latin-1"},
		{"a.csv", "a\n" + strings.Repeat("\xe4", 200_000) + "\n", options{Encoding: fileio.Latin1}, `{"a":"` + strings.Repeat("ä", 200_000) + `"}`},
		// Quotes, escapes, comments.
		{"a.csv", "a,b\n'x,y',\"\n'it''s',2\n", options{Quote: '\''}, `{"a":"x,y","b":"\""}|{"a":"it's","b":"2"}`},
		{"a.csv", "a,b\n\"x\\\"y\",\"z\\\\\"\nx\\,y,2\n", options{Escape: '\\'}, `{"a":"x\"y","b":"z\\"}|{"a":"x,y","b":"2"}`},
		{"a.csv", "a,b\n1,\\N\n2,\"\\N\"\n", options{Escape: '\\', Nulls: []string{`\N`}}, `{"a":1,"b":null}|{"a":2,"b":"N"}`},
		{"a.csv", "# one\n\na,b\n1,x # more\n # two\n2,\"#y\" # three\n", options{Comment: '#'}, `{"a":1,"b":"x "}|{"a":2,"b":"#y"}`},
		{"a.csv", "a,b\n1,x\"y\"z\n2,\"\"\"q\"\"\"\n", options{}, `{"a":1,"b":"x\"y\"z"}|{"a":2,"b":"\"q\""}`},
		{"a.csv", "a\n\"x\"y\n", options{}, "error: read quotes as text with --quote none"},
		{"a.csv", "a\n\"x\n", options{}, "error: the quote of a field is never closed"},
		// What stands before the header, and Excel's line.
		{"a.csv", "junk \xff\nmore,junk\na,b\n1,2\n", options{Skip: 2}, `{"a":1,"b":2}`},
		{"a.csv", "\r\n\r\na,b\r\n1,2\r\n", options{}, `{"a":1,"b":2}`},
		{"a.csv", "\n1\n\n", options{Header: fileio.NoHeader}, `{"column1":null}|{"column1":1}|{"column1":null}`},
		{"a.csv", "sep=|\r\na|b,c\r\n1|2\r\n", options{}, `{"a":1,"b,c":2}`},
		{"a.csv", "sep=;\na,b\n1,2\n", options{Comma: ','}, `{"a":1,"b":2}`},
		// Ragged records.
		{"a.csv", "a,b,c\n1,2,3\n4\n5,6,7,\n", options{Pad: true}, `{"a":1,"b":2,"c":3}|{"a":4,"b":null,"c":null}|{"a":5,"b":6,"c":7}`},
		{"a.csv", "a,b\n1,2\n3,4,5\n", options{Pad: true}, "error: a.csv:3: 3 fields, expected 2"},
		{"a.csv", "a,b\n1\n", options{}, "error: --pad reads missing fields as null"},
		// Numbers.
		{"a.csv", "a,b,c,d\n.097,1.,-.5,1.5e3\n-0.,2,.5e1,.\n", options{}, `{"a":0.097,"b":1.0,"c":-0.5,"d":"1.5e3"}|{"a":-0.0,"b":2.0,"c":5.0,"d":"."}`},
		{"a.csv", "a\n007\n1\n", options{}, `{"a":"007"}|{"a":"1"}`},
		{"a.csv", "phone\n+318855443322\n", options{}, `{"phone":"+318855443322"}`},
		{"a.csv", "a,b,c,d,e\n+3,+1.5,+999999,+1234567,+007\n-2,+.25,0,1,1\n", options{}, `{"a":3,"b":1.5,"c":999999,"d":"+1234567","e":"+007"}|{"a":-2,"b":0.25,"c":0,"d":"1","e":"1"}`},
		{"a.csv", "a;b\n1.234,5;-1.234.567\n0,25;12.345\n", options{Decimal: ',', Thousands: '.'}, `{"a":1234.5,"b":-1234567}|{"a":0.25,"b":12345}`},
		{"a.csv", "a;b\n\"1,234.5\";1,23\n\"1,234,567\";4\n", options{Thousands: ','}, `{"a":1234.5,"b":"1,23"}|{"a":1234567.0,"b":"4"}`},
		{"a.csv", "a;b\n1,5;1.5\n", options{Decimal: ','}, `{"a":1.5,"b":"1.5"}`},
		{"a.csv", "a\n1 234\n", options{Thousands: ' '}, `{"a":1234}`},
		// Whole numbers that no type of numbers holds.
		{"a.ndjson", `{"a":[1,-12345678901234567890123456789012345678]}`, options{}, `{"a":[1,-12345678901234567890123456789012345678]}`},
		{"a.csv", "a\n-12345678901234567890123456789012345\n5\n", options{}, `{"a":"-12345678901234567890123456789012345"}|{"a":"5"}`},
		{"a.csv", "a\n1234567890123456789012345678901234\n", options{}, `{"a":"1234567890123456789012345678901234"}`},
		// Headers of numbers.
		{"a.csv", "\"1970\",\"1980\"\n5,6\n7,8\n", options{}, `{"1970":5,"1980":6}|{"1970":7,"1980":8}`},
		{"a.csv", ",1970,1971,1972\nx,1,2,3\ny,4,5,6\n", options{}, `{"column1":"x","1970":1,"1971":2,"1972":3}|{"column1":"y","1970":4,"1971":5,"1972":6}`},
		{"a.csv", "year,1990,1991\nGermany,5,6\nPeru,,7\n", options{}, `{"year":"Germany","1990":5,"1991":6}|{"year":"Peru","1990":null,"1991":7}`},
		{"a.csv", "name,code,1990,1991,\nPeru,PER,1990.5,1991,\n", options{}, `{"name":"Peru","code":"PER","1990":1990.5,"1991":1991,"column5":null}`},
		{"a.csv", "fair,1990,1991\ngames,1995,1996\n", options{}, `{"column1":"fair","column2":1990,"column3":1991}|{"column1":"games","column2":1995,"column3":1996}`},
		{"a.csv", "fair,1990,1992\ngames,5,6\n", options{}, `{"column1":"fair","column2":1990,"column3":1992}|{"column1":"games","column2":5,"column3":6}`},
		{"a.csv", "a,1,2\nb,3,5\n", options{}, `{"column1":"a","column2":1,"column3":2}|{"column1":"b","column2":3,"column3":5}`},
		{"a.csv", "a,1990\nb,3\n", options{}, `{"column1":"a","column2":1990}|{"column1":"b","column2":3}`},
		{"a.csv", "1,2\n3,4\n", options{}, `{"column1":1,"column2":2}|{"column1":3,"column2":4}`},
		{"a.csv", "\"1\",\"2\"\n\"3\",\"4\"\n", options{}, `{"column1":1,"column2":2}|{"column1":3,"column2":4}`},
	} {
		_, paths := write(t, c.name, c.text)
		got := readRows(t, c.o, paths...)
		if part, isError := strings.CutPrefix(c.want, "error: "); got != c.want && !(isError && strings.HasPrefix(got, "error: ") && strings.Contains(got, part)) {
			t.Errorf("%d: %.80q with %+v: got %.300s, want %.300s", i, c.text, c.o, got, c.want)
		}
	}
}

// TestDialectsThatContradict are refused before anything is read.
func TestDialectsThatContradict(t *testing.T) {
	for _, o := range []fileio.SourceOptions{
		{Comma: '"'}, {Comma: ',', Quote: ','}, {Comma: ',', Comment: ','}, {Quote: '\'', Comment: '\''}, {Escape: '#', Comment: '#'},
		{Comma: '\n'}, {Comment: '\r'}, {Quote: 0xE4}, {Skip: -1}, {Decimal: ';'}, {Thousands: '.'}, {Decimal: ',', Thousands: ','},
		{Thousands: '5'}, {Encoding: "ebcdic"},
	} {
		if o.Validate() == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	for _, o := range []fileio.SourceOptions{{Quote: fileio.NoQuote, Comma: '"'}, {Escape: '"'}, {Quote: '\'', Escape: '\''}, {Decimal: ',', Thousands: '.'}} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	_, paths := write(t, "a.ndjson", `{"a":1}`)
	for _, o := range []fileio.SourceOptions{{Quote: '\''}, {Escape: '\\'}, {Comment: '#'}, {Skip: 1}, {Pad: true}, {Decimal: ','}, {Thousands: ','}, {Reject: func(fileio.Rejected) error { return nil }}} {
		if got := readRows(t, o, paths...); !strings.Contains(got, "it applies to csv") {
			t.Errorf("%+v: %s", o, got)
		}
	}
}

// TestRejectedRecords are those that can't be read, each once, and all others are read, nested values too.
func TestRejectedRecords(t *testing.T) {
	_, paths := write(t, "a.csv", "a,b,c\n1,x,[1]\n2,y\n3,z,\"[2,\"\"q\"\"]\"\nfour,z,[3]\n5,\"w\"x,[4]\n6,\xff,[5]\n7,v,[6]\n10,\"a\n\xff\n11,b,[1]\",[2]\n8,\"two\nlines\",[7],9\n9,u,[8]\n")
	for _, infer := range []int{1, 2, fileio.AllRows} {
		var got []string
		o := fileio.SourceOptions{InferRows: infer, BatchRows: 2, Types: parse(t, "a: Int64, c: List<Int64>").Fields, Reject: func(r fileio.Rejected) error {
			got = append(got, fmt.Sprintf("%d %.40s %q", r.Line, r.Reason, r.Text))
			return nil
		}}
		rows := readRows(t, o, paths...)
		const want = `{"a":1,"b":"x","c":[1]}|{"a":7,"b":"v","c":[6]}|{"a":9,"b":"u","c":[8]}`
		if rows != want {
			t.Errorf("rows %s, want %s", rows, want)
		}
		wanted := []string{
			`3 2 fields, expected 3: --pad reads`, `4 field "c.item": a string where Int64 is wan`, `5 field "a": "four" where Int64 was expected`,
			`6 text after the closing quote of a field`, `7 invalid UTF-8: the text is in another en`, `9 invalid UTF-8: the text is in`, `12 4 fields, expected 3`,
		}
		if len(got) != len(wanted) {
			t.Fatalf("infer %d: rejected %q", infer, got)
		}
		for _, w := range wanted {
			if all := strings.Join(got, "\n"); !strings.Contains(all, w[:min(len(w), 30)]) {
				t.Errorf("infer %d: no %s among %s", infer, w, all)
			}
		}
		if all := strings.Join(got, "\n"); !strings.Contains(all, `"6,\uFFFD,[5]"`) && !strings.Contains(all, "\"6,\uFFFD,[5]\"") || !strings.Contains(all, `"8,\"two\nlines\",[7],9"`) || !strings.Contains(all, `"5,\"w\"x,[4]"`) {
			t.Errorf("texts %s", all)
		}
	}
	full := errors.New("full")
	if got := readRows(t, fileio.SourceOptions{Reject: func(fileio.Rejected) error { return full }}, paths...); !strings.Contains(got, "full") {
		t.Errorf("the error of Reject is lost: %s", got)
	}
}

// TestCompressedInputs are those of tools beside gzip and zstd.
func TestCompressedInputs(t *testing.T) {
	packed := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		return b.String()
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	frame := func(text string) string { return string(z.EncodeAll([]byte(text), nil)) }
	skippable := "\x5e\x2a\x4d\x18\x04\x00\x00\x00abcd"
	zeros := strings.Repeat("\x00", 1000)
	const want = `{"a":1}|{"a":2}`
	for name, c := range map[string]struct{ file, text, want string }{
		"zeros behind":        {"a.csv.gz", packed("a\n1\n2\n") + zeros, want},
		"zeros between":       {"a.csv.gz", packed("a\n1\n") + zeros + packed("2\n") + "\x00", want},
		"members":             {"a.csv.gz", packed("a\n1\n") + packed("2\n"), want},
		"garbage behind":      {"a.csv.gz", packed("a\n1\n2\n") + "garbage", "error: "},
		"garbage and zeros":   {"a.csv.gz", packed("a\n1\n2\n") + zeros + "garbage", "error: "},
		"cut":                 {"a.csv.gz", packed("a\n1\n2\n")[:20], "error: "},
		"skippable":           {"a.csv.zst", skippable + frame("a\n1\n2\n"), want},
		"skippable, no name":  {"a", skippable + frame("a\n1\n2\n"), want},
		"skippable between":   {"a.csv.zst", skippable + frame("a\n1\n") + skippable + frame("2\n") + skippable, want},
		"skippable, as plain": {"a.csv", skippable + frame("a\n1\n2\n"), want},
	} {
		_, paths := write(t, c.file, c.text)
		if got := readRows(t, fileio.SourceOptions{}, paths...); got != c.want && !(c.want == "error: " && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// TestWrittenCSVIsReadBack writes values that CSV may lose, and reads them again by the same types.
func TestWrittenCSVIsReadBack(t *testing.T) {
	for _, c := range []struct{ types, rows string }{
		{"a: String, b: String", `{"a":"","b":null}|{"a":"x\ry","b":"x\r"}|{"a":"\r","b":"\n"}|{"a":"sep=;","b":"#"}|{"a":"\"","b":"a\"b"}|{"a":" x ","b":"NA"}|{"a":"+3","b":".5"}`},
		{"a: String", `{"a":null}|{"a":""}|{"a":"x"}|{"a":null}`},
		{"a: String", `{"a":"sep=;"}|{"a":"1"}`},
		{"a: Float64, b: Decimal", `{"a":-0.0,"b":"1E+400"}|{"a":"NaN","b":"12345678901234567890123456789012.34"}|{"a":"-Infinity","b":null}`},
		{"a: Dynamic", `{"a":"x"}|{"a":{"b":[1,"\r\n"]}}|{"a":null}`},
	} {
		s := parse(t, c.types)
		_, paths := write(t, "a.ndjson", strings.ReplaceAll(c.rows, "|", "\n"))
		text, _, err := convert(t, fileio.SourceOptions{Schema: s}, fileio.CSV, paths...)
		if err != nil {
			t.Fatal(err)
		}
		_, paths = write(t, "a.csv", text)
		if got := readRows(t, fileio.SourceOptions{Schema: s}, paths...); got != c.rows {
			t.Errorf("%s: written as %q, read as %s, want %s", c.types, text, got, c.rows)
		}
	}
}
