package fileio_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// TestStalledStream: the records of a stream that have come are given while its writer stalls, and those that come later follow.
// Without InferWait these streams would wait for their ends, which the writer sends only after it has seen the records.
func TestStalledStream(t *testing.T) {
	utf16 := func(text string) string {
		var b []byte
		for _, r := range text {
			b = append(b, byte(r), 0)
		}
		return string(b)
	}
	for name, c := range map[string]struct {
		o fileio.SourceOptions
		// come is what the writer sends before it stalls, in parts; with how many records are in it.
		come []string
		with int
		rest string
		want string
	}{
		"csv":                  {fileio.SourceOptions{Format: fileio.CSV}, []string{"a,b\n1,x\n2,y\n"}, 2, "3,z\n", `{"a":1,"b":"x"};{"a":2,"b":"y"};{"a":3,"b":"z"}`},
		"csv by its content":   {fileio.SourceOptions{}, []string{"a,b\n1,x\n"}, 1, "3,z\n", `{"a":1,"b":"x"};{"a":3,"b":"z"}`},
		"csv of one column":    {fileio.SourceOptions{}, []string{"a\n", "1\n"}, 1, "3\n", `{"a":1};{"a":3}`},
		"csv, half a line":     {fileio.SourceOptions{Format: fileio.CSV}, []string{"a;b\n", "1;x\n2;", "y\n3"}, 2, "3;z\n", `{"a":1,"b":"x"};{"a":2,"b":"y"};{"a":33,"b":"z"}`},
		"csv, half a field":    {fileio.SourceOptions{Format: fileio.CSV}, []string{"a,b\n1,\"x\ny\"\n2,\"p\nq"}, 1, "\"\n", `{"a":1,"b":"x\ny"};{"a":2,"b":"p\nq"}`},
		"csv, header first":    {fileio.SourceOptions{Format: fileio.CSV}, []string{"a,b\n", "", "1,x\n"}, 1, "", `{"a":1,"b":"x"}`},
		"csv without header":   {fileio.SourceOptions{Format: fileio.CSV}, []string{"1|2\n3|4\n"}, 2, "", `{"column1":1,"column2":2};{"column1":3,"column2":4}`},
		"csv with a schema":    {fileio.SourceOptions{Format: fileio.CSV, Schema: parse(t, `{"fields":[{"name":"b","type":"Int64"},{"name":"a","type":"String"}]}`)}, []string{"a;b\nx;1\n"}, 1, "y;2\n", `{"b":1,"a":"x"};{"b":2,"a":"y"}`},
		"csv, UTF-16":          {fileio.SourceOptions{Format: fileio.CSV}, []string{utf16("a,b\n1,x\n")}, 1, utf16("3,z\n"), `{"a":1,"b":"x"};{"a":3,"b":"z"}`},
		"csv, latin-1":         {fileio.SourceOptions{Format: fileio.CSV, Encoding: fileio.Latin1}, []string{"a,b\n1,\xe4\n"}, 1, "3,\xf6\n", `{"a":1,"b":"ä"};{"a":3,"b":"ö"}`},
		"ndjson":               {fileio.SourceOptions{Format: fileio.NDJSON}, []string{"{\"a\":1}\n{\"a\":2}\n"}, 2, "{\"a\":3}\n", `{"a":1};{"a":2};{"a":3}`},
		"ndjson, half a line":  {fileio.SourceOptions{}, []string{"{\"a\":1}\n{\"a\":", "2"}, 1, "0}\n", `{"a":1};{"a":20}`},
		"ndjson, over lines":   {fileio.SourceOptions{}, []string{"{\n\"a\":1\n}\n{\n\"a\""}, 1, ":2}", `{"a":1};{"a":2}`},
		"ndjson, an array":     {fileio.SourceOptions{}, []string{`[{"a":1},{"a":2},{"a"`}, 2, ":3}]", `{"a":1};{"a":2};{"a":3}`},
		"ndjson, nothing else": {fileio.SourceOptions{}, []string{"{\"a\":1}\n"}, 1, "", `{"a":1}`},
	} {
		for _, packed := range []bool{false, true} {
			if packed {
				name += ", gzip"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					in, out := io.Pipe()
					seen := make(chan struct{})
					go func() {
						w, flush := io.Writer(out), func() {}
						if packed {
							z := gzip.NewWriter(out)
							w, flush = z, func() { z.Flush() }
							defer out.Close()
							defer z.Close()
						} else {
							defer out.Close()
						}
						for _, part := range c.come {
							io.WriteString(w, part)
							flush()
							time.Sleep(time.Minute)
						}
						<-seen
						io.WriteString(w, c.rest)
					}()
					o := c.o
					o.Stdin, o.BatchRows, o.InferWait = in, 1, time.Second
					src, err := fileio.OpenSource(context.Background(), nil, []string{fileio.Stdin}, o)
					if err != nil {
						t.Fatal(err)
					}
					defer src.Close()
					var got bytes.Buffer
					sink, err := fileio.NewSink(fileio.NDJSON, &got, src.Schema(), fileio.SinkOptions{})
					if err != nil {
						t.Fatal(err)
					}
					for rows := 0; ; rows++ {
						if rows == c.with {
							close(seen)
						}
						b, err := src.Next(context.Background())
						if err == io.EOF {
							break
						}
						if err != nil {
							t.Fatal(err)
						}
						if err := sink.Write(b); err != nil {
							t.Fatal(err)
						}
						b.Release()
					}
					if err := sink.Close(); err != nil {
						t.Fatal(err)
					}
					if got := strings.ReplaceAll(strings.TrimSpace(got.String()), "\n", ";"); got != c.want {
						t.Errorf("got %s, want %s", got, c.want)
					}
				})
			})
		}
	}
}

// TestStalledAfterFile: a file before the stream is part of the sample, and its rows come once; the error of a stream comes behind its
// records.
func TestStalledAfterFile(t *testing.T) {
	_, paths := write(t, "first.csv", "a\n1.5\n")
	in, out := io.Pipe()
	seen := make(chan struct{})
	go func() {
		io.WriteString(out, "a\n2\n")
		<-seen
		out.CloseWithError(io.ErrUnexpectedEOF)
	}()
	src, err := open(t, fileio.SourceOptions{Format: fileio.CSV, Stdin: in, BatchRows: 1, InferWait: 1}, paths[0], fileio.Stdin)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for range 2 {
		b, err := src.Next(context.Background())
		if err != nil || b.NumRows() != 1 {
			t.Fatal(b, err)
		}
		if got := b.Schema().Field(0).Type.String(); got != "float64" {
			t.Errorf("the column is %s: the file is not in the sample", got)
		}
		b.Release()
	}
	close(seen)
	if _, err := src.Next(context.Background()); err == nil || !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Errorf("the error of the stream: %v", err)
	}
}
