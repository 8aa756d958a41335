package fileio_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/internal/testkit/interop"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// The golden rows survive Arrow files, Arrow streams and Parquet: read by the schema of the shard they are the
// same text again, but for decimals, which are the same numbers and may be written otherwise (1.50 as 1.5). Times that
// nanoseconds can't hold are refused with their row.
func TestGoldenRowsSurviveArrowAndParquet(t *testing.T) {
	sp := blobio.NewClient(blobio.ClientOptions{})
	defer sp.Close()
	refused, same, compared := 0, map[fileio.Format]int{}, 0
	for _, c := range interop.Cases(t) {
		if c.Rows > 3000 || strings.HasPrefix(c.Name, "sample-") {
			continue
		}
		s := goldenSchema(t, sp, c)
		for _, f := range []fileio.Format{fileio.Arrow, fileio.ArrowStream, fileio.Parquet} {
			packed, err := pack(sp, c, s, f)
			if errors.Is(err, arrowtype.ErrUnit) || f == fileio.Parquet && err != nil && strings.Contains(err.Error(), "Parquet has no") {
				refused++
				continue
			}
			if err != nil {
				t.Errorf("%s as %s: %v", c.Name, f, err)
				continue
			}
			src, err := fileio.OpenSource(context.Background(), sp, []string{"-"}, fileio.SourceOptions{Format: f, Schema: s, Stdin: packed, BatchRows: 500})
			if err != nil {
				t.Errorf("%s as %s: %v", c.Name, f, err)
				continue
			}
			var got bytes.Buffer
			copyAll(t, c.Name, src, fileio.NDJSON, &got)
			c.ExpectedRows(t, func(row int, want []byte) {
				line, _ := got.ReadBytes('\n')
				compared++
				if !bytes.Equal(line, want) && !sameNumbers(line, want) {
					t.Errorf("%s as %s, row %d:\n got %.200s\nwant %.200s", c.Name, f, row, line, want)
				}
			})
			same[f]++
		}
	}
	t.Logf("%v cases with %d rows the same, %d refused", same, compared, refused)
	if same[fileio.Arrow] < 25 || same[fileio.ArrowStream] < 25 || same[fileio.Parquet] < 25 || compared < 50_000 {
		t.Errorf("only %v cases with %d rows were compared", same, compared)
	}
}

// decimalText is a decimal in the text of golden rows.
var decimalText = regexp.MustCompile(`"-?\d+(\.\d+)?(E[+-]?\d+)?"`)

// sameNumbers reports whether two rows are the same once decimals are written in one way.
func sameNumbers(a, b []byte) bool {
	normal := func(s []byte) []byte {
		n, ok := new(big.Rat).SetString(string(s[1 : len(s)-1]))
		if !ok {
			return s
		}
		return []byte(n.RatString())
	}
	return bytes.Equal(decimalText.ReplaceAllFunc(a, normal), decimalText.ReplaceAllFunc(b, normal))
}

// pack writes the rows of a case in a format.
func pack(sp *blobio.Client, c *interop.Case, s *schema.Schema, f fileio.Format) (*bytes.Buffer, error) {
	src, err := fileio.OpenSource(context.Background(), sp, []string{c.Dir + "/rows.ndjson.gz"}, fileio.SourceOptions{Schema: s})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	var out bytes.Buffer
	sink, err := fileio.NewSink(f, &out, s, fileio.SinkOptions{})
	if err != nil {
		return nil, err
	}
	for {
		b, err := src.Next(context.Background())
		if err == io.EOF {
			return &out, sink.Close()
		}
		if err != nil {
			return nil, err
		}
		if err := sink.Write(b); err != nil {
			sink.Close()
			return nil, err
		}
	}
}

// parquetOf writes a Parquet file by hand.
func parquetOf(t *testing.T, typ arrow.DataType, text string) string {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "f", Type: typ, Nullable: true}}, nil)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(s, &out, parquet.NewWriterProperties(parquet.WithVersion(parquet.V2_LATEST)), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(array.NewRecordBatch(s, []arrow.Array{a}, int64(a.Len()))), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestParquetTypes(t *testing.T) {
	for _, c := range []struct {
		typ              arrow.DataType
		text, want, node string
	}{
		{arrow.FixedWidthTypes.Date32, `["2024-02-29", null]`, `"2024-02-29T00:00:00Z" null`, "DateTime"},
		{arrow.FixedWidthTypes.Timestamp_us, `["2024-02-29 00:00:00.5Z"]`, `"2024-02-29T00:00:00.5Z"`, "DateTime"},
		{&arrow.Decimal128Type{Precision: 20, Scale: 2}, `["1.50", "-2"]`, `"1.50" "-2.00"`, "Decimal"},
		{arrow.FixedWidthTypes.Time64us, `["01:02:03.5"]`, `"01:02:03.5000000"`, "TimeSpan"},
		{arrow.ListOf(arrow.BinaryTypes.String), `[["a", null], null, []]`, `["a",null] null []`, "List"},
		{arrow.PrimitiveTypes.Uint64, `[18446744073709551615]`, `18446744073709551615`, "UInt64"},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8), `[[{"key":"a","value":1}]]`, `[{"key":"a","value":1}]`, "Map"},
	} {
		_, paths := write(t, "r.parquet", parquetOf(t, c.typ, c.text))
		got, s, err := convert(t, fileio.SourceOptions{}, fileio.NDJSON, paths...)
		got = strings.NewReplacer(`{"f":`, "", "}\n", " ").Replace(strings.ReplaceAll(got, "]}\n", "] "))
		if err != nil || strings.TrimSpace(got) != c.want || s.Fields[0].TypeName() != c.node {
			t.Errorf("%s: %s, %v", c.typ, got, err)
		}
	}
}

func TestBatchRefusalsNameInputAndRow(t *testing.T) {
	text := "[" + strings.Repeat(`"2024-01-01",`, 2999) + `"0000-12-31"]`
	dir, paths := write(t, "r.parquet", parquetOf(t, arrow.FixedWidthTypes.Date32, text), "q.parquet", parquetOf(t, arrow.PrimitiveTypes.Int8, "[1]"))
	_, _, err := convert(t, fileio.SourceOptions{BatchRows: 1000}, fileio.NDJSON, paths[0])
	if err == nil || !errors.Is(err, fileio.ErrRecord) || !strings.Contains(err.Error(), `r.parquet: row 3000: field "f"`) {
		t.Error(err)
	}
	_, _, err = convert(t, fileio.SourceOptions{}, fileio.NDJSON, paths...)
	if err == nil {
		t.Error("dates and numbers in one field")
	}
	if _, err := open(t, fileio.SourceOptions{Schema: parse(t, "g: Int8")}, paths[1]); err == nil || !strings.Contains(err.Error(), `no field "f"`) {
		t.Error(err)
	}
	// Folders, and fields that only later files have.
	o := fileio.SourceOptions{Schema: parse(t, "g: Int8"), UnknownFields: fileio.ExtendByUnknown}
	got, _, err := convert(t, o, fileio.NDJSON, filepath.Join(dir, "q*"))
	if err != nil || got != "{\"g\":null,\"f\":1}\n" {
		t.Error(got, err)
	}
}

func TestPackedParquetAndArrowFromStdin(t *testing.T) {
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	io.WriteString(z, parquetOf(t, arrow.PrimitiveTypes.Int8, "[1,2]"))
	z.Close()
	_, paths := write(t, "r.parquet.gz", gz.String())
	if got, _, err := convert(t, fileio.SourceOptions{}, fileio.CSV, paths...); got != "f\n1\n2\n" || err != nil {
		t.Error(got, err)
	}
}

// No row decides the type of a decimal that has no scale of its own: it is text, or what the options say, and what does
// not fit that is refused with its record.
func TestDecimalsGetOneScale(t *testing.T) {
	two := &arrow.Decimal128Type{Precision: 12, Scale: 2}
	for _, c := range []struct {
		row  string
		as   *arrow.Decimal128Type
		want string
	}{
		{`{"d":"1.5"}`, nil, "utf8"}, {`{"d":"1E+3"}`, nil, "utf8"}, {`{"d":"NaN"}`, nil, "utf8"}, {`{"d":null}`, nil, "utf8"},
		{`{"d":"1.5"}`, two, "decimal(12, 2)"}, {`{"d":"1E+3"}`, two, "decimal(12, 2)"}, {`{"d":null}`, two, "decimal(12, 2)"},
		{`{"d":"1.505"}`, two, ""}, {`{"d":"1E+11"}`, two, ""}, {`{"d":"NaN"}`, two, ""},
	} {
		for _, format := range []fileio.Format{fileio.Arrow, fileio.Parquet} {
			got, err := typeOfDecimal(t, c.row, format, fileio.SinkOptions{Decimal: c.as})
			var at *fileio.RecordError
			if c.want == "" && (!errors.As(err, &at) || at.Row != 1 || at.Field != "d") {
				t.Errorf("%s as %v in %s: %v", c.row, c.as, format, err)
			}
			if c.want != "" && (err != nil || got != c.want) {
				t.Errorf("%s as %v in %s: got %s, %v, want %s", c.row, c.as, format, got, err, c.want)
			}
		}
	}
}

// typeOfDecimal writes one record with a decimal d, and reports the Arrow type that a reader finds.
func typeOfDecimal(t *testing.T, row string, format fileio.Format, o fileio.SinkOptions) (string, error) {
	t.Helper()
	s := parse(t, "d: Decimal")
	_, paths := write(t, "r.ndjson", row)
	src, err := open(t, fileio.SourceOptions{Schema: s}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b, err := src.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sink, err := fileio.NewSink(format, &out, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sink.Write(b), sink.Close()); err != nil {
		return "", err
	}
	_, written := write(t, "r."+string(format), out.String())
	back, err := open(t, fileio.SourceOptions{}, written...)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	return fileio.OriginalSchema(back).Field(0).Type.String(), nil
}

// TestDecimalsKeepTheirScale: where the Arrow schema of the records is known, no row decides the type of a decimal.
func TestDecimalsKeepTheirScale(t *testing.T) {
	original := arrow.NewSchema([]arrow.Field{{Name: "d", Type: &arrow.Decimal128Type{Precision: 12, Scale: 3}, Nullable: true}}, nil)
	for _, row := range []string{`{"d":"1.5"}`, `{"d":"2"}`, `{"d":null}`} {
		var told []string
		got, err := typeOfDecimal(t, row, fileio.Arrow, fileio.SinkOptions{Original: original, Warn: func(s string) { told = append(told, s) }})
		if err != nil || got != "decimal(12, 3)" || len(told) > 0 {
			t.Errorf("%s: %s, %v; told %q", row, got, err, told)
		}
	}
}

func TestWarningsComeOnce(t *testing.T) {
	var told []string
	o := fileio.SourceOptions{BatchRows: 1, Warn: func(s string) { told = append(told, s) }}
	ns := parquetOf(t, arrow.FixedWidthTypes.Timestamp_ns, `["2024-01-01 00:00:00.000000001Z", "2024-01-01 00:00:00.000000002Z"]`)
	_, paths := write(t, "r.parquet", ns)
	if _, _, err := convert(t, o, fileio.NDJSON, paths...); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || !strings.Contains(told[0], "digits below 100 ns are truncated (2 values)") {
		t.Error(told)
	}
}

// A damaged file ends in an error, whatever its bytes make the libraries do.
func TestDamagedBatchFiles(t *testing.T) {
	_, source := write(t, "r.ndjson", `{"a":[1,2],"b":"text","c":{"d":"2024-01-01T00:00:00Z"}}`)
	for _, f := range []fileio.Format{fileio.Parquet, fileio.Arrow, fileio.ArrowStream} {
		good, _, err := convert(t, fileio.SourceOptions{}, f, source...)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 100 {
			bad := []byte(good)
			for range 1 + random.IntN(3) {
				bad[random.IntN(len(bad))] = byte(random.Uint32())
			}
			if random.IntN(4) == 0 {
				bad = bad[:random.IntN(len(bad))]
			}
			path := filepath.Join(t.TempDir(), "r")
			os.WriteFile(path, bad, 0o600)
			convert(t, fileio.SourceOptions{Format: f}, fileio.NDJSON, path)
		}
	}
}

// Parquet files as pandas and DuckDB write them: spans, JSON, columns of only nulls, dates, times without a zone.
func TestParquetOfPandas(t *testing.T) {
	span := parquetOfSpans(t)
	days := parquetOf(t, arrow.FixedWidthTypes.Date32, `["2024-02-29"]`)
	local := parquetOf(t, &arrow.TimestampType{Unit: arrow.Microsecond}, `["2024-02-29 10:00:00"]`)
	nothing := parquetOf(t, arrow.Null, `[null, null]`)
	for _, c := range []struct{ file, node, rows, note string }{
		{span, "f: TimeSpan", `{"f":"00:00:01.5000000"}|{"f":null}`, ""},
		{nothing, "f: String", `{"f":null}|{"f":null}`, "a column with only nulls becomes String"},
		{days, "f: DateTime", `{"f":"2024-02-29T00:00:00Z"}`, "dates become midnight UTC"},
		{local, "f: DateTime", `{"f":"2024-02-29T10:00:00Z"}`, "times without a zone are read as UTC"},
		{parquetOfJSON(t), "f: Dynamic", `{"f":{"a":1}}|{"f":[2]}`, ""},
	} {
		var said []string
		_, paths := write(t, "f.parquet", c.file)
		o := fileio.SourceOptions{Warn: func(m string) { said = append(said, m) }}
		got, s, err := convert(t, o, fileio.NDJSON, paths...)
		if err != nil || lines(got, err) != c.rows || fieldNames(s) != c.node {
			t.Errorf("%s: got %s of %s, %v", c.node, got, fieldNames(s), err)
		}
		if all := strings.Join(said, "\n"); c.note != "" && !strings.Contains(all, c.note) {
			t.Errorf("%s: said %q", c.node, all)
		}
	}
}

// parquetOfSpans writes a column of durations as pandas does: as numbers, under an Arrow schema that states better.
func parquetOfSpans(t *testing.T) string {
	t.Helper()
	said, err := arrowtype.MarshalSchema(arrow.NewSchema([]arrow.Field{{Name: "f", Type: arrow.FixedWidthTypes.Duration_ns, Nullable: true}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Append(1_500_000_000)
	b.AppendNull()
	s := arrow.NewSchema([]arrow.Field{{Name: "f", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(s, &out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, 2))
	if err := errors.Join(err, w.AppendKeyValueMetadata("ARROW:schema", base64.StdEncoding.EncodeToString(said)), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// parquetOfJSON writes a column of Parquet's own JSON type, as a program without Arrow does.
func parquetOfJSON(t *testing.T) string {
	t.Helper()
	node, err := pqschema.NewPrimitiveNodeLogical("f", parquet.Repetitions.Optional, pqschema.JSONLogicalType{}, parquet.Types.ByteArray, -1, -1)
	if err != nil {
		t.Fatal(err)
	}
	root, err := pqschema.NewGroupNode("schema", parquet.Repetitions.Required, pqschema.FieldList{node}, -1)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := file.NewParquetWriter(&out, root)
	group, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	column, err := group.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	_, err = column.(*file.ByteArrayColumnChunkWriter).WriteBatch([]parquet.ByteArray{[]byte(`{"a":1}`), []byte(`[2]`)}, []int16{1, 1}, nil)
	if err := errors.Join(err, column.Close(), group.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
