package fileio_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// texts is a batch with a number and a text a record, and its schema.
func texts(t testing.TB, values []string) (arrow.RecordBatch, *schema.Schema) {
	t.Helper()
	s := parse(t, "n: Int64, x: Float64, text: String")
	numbers, floats, strs := array.NewInt64Builder(memory.DefaultAllocator), array.NewFloat64Builder(memory.DefaultAllocator), array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i, v := range values {
		if numbers.Append(int64(i)); i%7 == 3 {
			floats.AppendNull()
		} else {
			floats.Append(float64(i) / 4)
		}
		strs.Append(v)
	}
	columns := []arrow.Array{numbers.NewArray(), floats.NewArray(), strs.NewArray()}
	types := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true}, {Name: "text", Type: arrow.BinaryTypes.LargeString}}, nil)
	return array.NewRecordBatch(types, columns, int64(len(values))), s
}

// randomTexts have every ASCII character, characters of other scripts, and places where eight bytes meet.
func randomTexts(n int) []string {
	random := rand.New(rand.NewPCG(5, 6))
	values := make([]string, n)
	for i := range values {
		b := make([]rune, random.IntN(40))
		for j := range b {
			switch k := random.IntN(40); k {
			case 0:
				b[j] = rune(random.IntN(128))
			case 1:
				b[j] = []rune("é漢😀\u2028\x7f")[random.IntN(5)]
			case 2:
				b[j] = []rune(",\"\\\n\r\t;")[random.IntN(7)]
			default:
				b[j] = rune('a' + k%26)
			}
		}
		values[i] = string(b)
	}
	return values
}

// Records are written whole and in order, however many workers there are, and read as others read them.
func TestTextInOrder(t *testing.T) {
	values := randomTexts(20_000)
	batch, s := texts(t, values)
	for _, f := range []fileio.Format{fileio.CSV, fileio.NDJSON} {
		var one []byte
		for _, workers := range []int{1, 2, 5, 0} {
			var out bytes.Buffer
			sink, err := fileio.NewSink(f, &out, s, fileio.SinkOptions{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			for from := int64(0); from < batch.NumRows(); from += 7000 {
				if err := sink.Write(batch.NewSlice(from, min(batch.NumRows(), from+7000))); err != nil {
					t.Fatal(err)
				}
			}
			if err := sink.Close(); err != nil {
				t.Fatal(err)
			}
			if workers == 1 {
				one = out.Bytes()
			} else if !bytes.Equal(out.Bytes(), one) {
				t.Errorf("%s: %d workers write something else than one", f, workers)
			}
		}
		if f == fileio.CSV {
			checkCSV(t, one, values)
		} else {
			checkNDJSON(t, one, values)
		}
	}
}

func checkCSV(t *testing.T, got []byte, values []string) {
	records, err := csv.NewReader(bytes.NewReader(got)).ReadAll()
	if err != nil || len(records) != len(values)+1 || strings.Join(records[0], "|") != "n|x|text" {
		t.Fatalf("%d records: %v", len(records), err)
	}
	for i, v := range values {
		x := fmt.Sprintf("%g", float64(i)/4)
		if !strings.Contains(x, ".") {
			x += ".0"
		}
		if i%7 == 3 {
			x = ""
		}
		v = strings.ReplaceAll(v, "\r\n", "\n") // as that reader has it
		if want := fmt.Sprint([]string{fmt.Sprint(i), x, v}); fmt.Sprint(records[i+1]) != want {
			t.Fatalf("got %q, want %q", records[i+1], want)
		}
	}
}

func checkNDJSON(t *testing.T, got []byte, values []string) {
	lines := bytes.SplitAfter(got, []byte("\n"))
	if len(lines) != len(values)+1 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, v := range values {
		var r struct {
			N    int
			X    *float64
			Text string
		}
		if err := json.Unmarshal(lines[i], &r); err != nil || r.N != i || r.Text != v || (r.X == nil) != (i%7 == 3) || r.X != nil && *r.X != float64(i)/4 {
			t.Fatalf("record %d: %s, %v", i, lines[i], err)
		}
	}
}

// largest notes the largest write.
type largest struct{ bytes, writes int }

func (l *largest) Write(p []byte) (int, error) {
	l.bytes, l.writes = max(l.bytes, len(p)), l.writes+1
	return len(p), nil
}

// Long records are written few at a time, so that their text takes little memory beside them.
func TestLongRecordsAreWrittenInPieces(t *testing.T) {
	const size = 100 << 10
	values := make([]string, 200)
	for i := range values {
		values[i] = strings.Repeat("x", size)
	}
	batch, s := texts(t, values)
	for _, f := range []fileio.Format{fileio.CSV, fileio.NDJSON} {
		var out largest
		sink, err := fileio.NewSink(f, &out, s, fileio.SinkOptions{Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := sink.Write(batch); err != nil {
				t.Fatal(err)
			}
		}
		if out.bytes > 4*size {
			t.Errorf("%s: %d bytes at once", f, out.bytes)
		}
	}
	short, s := texts(t, make([]string, 50_000))
	var out largest
	sink, _ := fileio.NewSink(fileio.CSV, &out, s, fileio.SinkOptions{})
	if err := sink.Write(short); err != nil || out.writes > 60 {
		t.Errorf("%d writes for %d short records, %v", out.writes, short.NumRows(), err)
	}
}

// broken fails from the third write on.
type broken struct{ writes int }

var errBroken = errors.New("broken pipe")

func (b *broken) Write(p []byte) (int, error) {
	if b.writes++; b.writes > 2 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestTextToBrokenPipe(t *testing.T) {
	batch, s := texts(t, randomTexts(30_000))
	for _, f := range []fileio.Format{fileio.CSV, fileio.NDJSON} {
		var out broken
		sink, err := fileio.NewSink(f, &out, s, fileio.SinkOptions{Workers: 4})
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(batch); !errors.Is(err, errBroken) || out.writes != 3 {
			t.Errorf("%s: %v after %d writes", f, err, out.writes)
		}
	}
}

// Text is made without an allocation a value.
func TestTextAllocatesNothing(t *testing.T) {
	batch, s := texts(t, randomTexts(8_000))
	for _, f := range []fileio.Format{fileio.CSV, fileio.NDJSON} {
		sink, err := fileio.NewSink(f, io.Discard, s, fileio.SinkOptions{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10, func() { sink.Write(batch) }); n > 100 {
			t.Errorf("%s: %.0f allocations for %d records", f, n, batch.NumRows())
		}
	}
}

func BenchmarkText(b *testing.B) {
	batch, s := texts(b, randomTexts(65_536))
	for _, f := range []fileio.Format{fileio.CSV, fileio.NDJSON} {
		b.Run(string(f), func(b *testing.B) {
			var out largest
			sink, err := fileio.NewSink(f, &out, s, fileio.SinkOptions{Workers: 1})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				sink.Write(batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(3*batch.NumRows()), "ns/value")
		})
	}
}
