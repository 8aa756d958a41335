package convert_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/shardfmt/fileio"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// everyType has each logical type with values that show when something is cut: the extremes, and the last digit.
var everyType = []struct {
	t      arrow.DataType
	values string
}{
	{arrow.FixedWidthTypes.Boolean, `false, true`},
	{arrow.PrimitiveTypes.Int8, `-128, 127`}, {arrow.PrimitiveTypes.Uint8, `0, 255`},
	{arrow.PrimitiveTypes.Int16, `-32768, 32767`}, {arrow.PrimitiveTypes.Uint16, `0, 65535`},
	{arrow.PrimitiveTypes.Int32, `-2147483648, 2147483647`}, {arrow.PrimitiveTypes.Uint32, `1, 4294967295`},
	{arrow.PrimitiveTypes.Int64, `-9223372036854775808, 9223372036854775807`}, {arrow.PrimitiveTypes.Uint64, `2, 18446744073709551615`},
	{arrow.FixedWidthTypes.Float16, `-2, 1.5`}, {arrow.PrimitiveTypes.Float32, `-3e38, 0.1`}, {arrow.PrimitiveTypes.Float64, `0.1, 1e308`},
	{arrow.BinaryTypes.String, `"", "a", "wörld"`}, {arrow.BinaryTypes.LargeString, `"", "large"`}, {arrow.BinaryTypes.StringView, `"", "longer than what is inline"`},
	{arrow.BinaryTypes.Binary, `"", "//79"`}, {arrow.BinaryTypes.LargeBinary, `"", "AAEC"`}, {arrow.BinaryTypes.BinaryView, `"", "AAEC"`},
	{&arrow.FixedSizeBinaryType{ByteWidth: 3}, `"AAEC", "//79"`},
	{arrow.FixedWidthTypes.Date32, `"1969-12-31", "2026-11-22"`}, {arrow.FixedWidthTypes.Date64, `"1969-12-31", "2026-11-22"`},
	{arrow.FixedWidthTypes.Time32s, `"00:00:01", "23:59:59"`}, {arrow.FixedWidthTypes.Time64ns, `"01:02:03.000000004", "23:59:59.999999999"`},
	{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Paris"}, `"2026-11-22T08:00:00.000000001Z"`},
	{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "+05:30"}, `"2026-11-22T08:00:00.000001Z"`},
	{&arrow.TimestampType{Unit: arrow.Second}, `"1900-01-01 00:00:00", "2026-11-22 08:00:01"`},
	{arrow.FixedWidthTypes.Duration_ns, `"1ns", "17us"`},
	{arrow.FixedWidthTypes.MonthInterval, `{"months": 1}, {"months": 17}`},
	{&arrow.Decimal32Type{Precision: 9, Scale: 2}, `"-1.00", "1234567.89"`}, {&arrow.Decimal64Type{Precision: 18, Scale: 2}, `"1.25"`},
	{&arrow.Decimal128Type{Precision: 38, Scale: 4}, `"-1.0000", "12345678901234567890.1234"`},
	{&arrow.Decimal256Type{Precision: 76, Scale: 2}, `"12345678901234567890123456789012345678901234567890.12"`},
	{arrow.ListOf(arrow.PrimitiveTypes.Int32), `[], [1, null, 3]`}, {arrow.LargeListOf(arrow.BinaryTypes.String), `[], ["a", null]`},
	{arrow.ListViewOf(arrow.PrimitiveTypes.Int32), `[1, 2], []`},
	{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[1, null], [2, 3]`}, {arrow.FixedSizeListOf(2, arrow.BinaryTypes.String), `["a", null], ["b", "c"]`},
	{arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true}), `{"x": 1, "y": "a"}, {"x": null, "y": ""}`},
	{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), `[], [{"key": "a", "value": 1}, {"key": "b", "value": null}]`},
	{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `"green", "red"`},
	{extensions.NewUUIDType(), `"00112233-4455-6677-8899-aabbccddeeff"`},
}

// texts reads the values of the one column of a file of batches, in order of their texts.
func texts(ctx context.Context, c *blobio.Client, url string, f fileio.Format) (out []string, err error) {
	src, err := fileio.OpenBatches(ctx, c, url, fileio.SourceOptions{Format: f})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	for {
		batch, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range int(batch.NumRows()) {
			out = append(out, batch.Column(0).ValueStr(i))
		}
	}
}

// records reads a file as the lines of NDJSON that it becomes: what a shard can hold of it, in the types of that schema where
// the file has none.
func records(ctx context.Context, c *blobio.Client, url string, f fileio.Format, types *schema.Schema) ([]string, error) {
	o := convert.Options{From: f, To: fileio.NDJSON, AllowLossy: true}
	if f == fileio.NDJSON || f == fileio.CSV {
		o.Source.Schema = types
	}
	if _, err := convert.File(ctx, c, url, url+".lines", o); err != nil {
		return nil, err
	}
	text, _, err := c.ReadAll(ctx, url+".lines", 1<<20)
	out := strings.Split(string(text), "\n")
	slices.Sort(out)
	return out, err
}

// valuesOf reads the values of the input and of what it became in the way that shows most of them.
func valuesOf(ctx context.Context, c *blobio.Client, in, out string, f fileio.Format) (want, got []string, err error) {
	if f.HoldsBatches() {
		if want, err = texts(ctx, c, in, fileio.Arrow); err == nil {
			got, err = texts(ctx, c, out, f)
		}
		return want, got, err
	}
	src, err := fileio.OpenSource(ctx, c, []string{in}, fileio.SourceOptions{})
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	if want, err = records(ctx, c, in, fileio.Arrow, nil); err == nil {
		got, err = records(ctx, c, out, f, src.Schema())
	}
	return want, got, err
}

// Every type goes through every format with its values whole, or the report names its column, in JSON too, or it is refused with
// its column and nothing is left: no value is cut in silence.
func TestEveryTypeThroughEveryFormat(t *testing.T) {
	ctx, c := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	whole, told, refused := 0, 0, 0
	for i, of := range everyType {
		for _, null := range []string{"", ", null"} {
			in := fmt.Sprintf("mem://convert-matrix/%d%d/in.arrow", i, len(null))
			writeColumn(t, c, in, of.t, "["+of.values+null+"]")
			for _, f := range convert.Formats {
				out := strings.TrimSuffix(in, "in.arrow") + "out." + string(f)
				r, err := convert.File(ctx, c, in, out, convert.Options{To: f})
				if err != nil {
					refused++
					if _, left := c.Stat(ctx, out); !errors.Is(left, blobio.ErrNotFound) || !strings.Contains(err.Error(), "k0") {
						t.Errorf("%s%s to %s: %v (what is left: %v)", of.t, null, f, err, left)
					}
					continue
				}
				want, got, err := valuesOf(ctx, c, in, out, f)
				switch report, _ := json.Marshal(r); {
				case err != nil:
					t.Errorf("%s%s from %s: %v", of.t, null, f, err)
				case slices.Equal(want, got):
					whole++
				case strings.Contains(string(report), `"field":"k0`):
					told++
				default:
					t.Errorf("%s%s to %s: %q became %q, and the report is %s", of.t, null, f, want, got, report)
				}
			}
		}
	}
	if whole < 300 || told == 0 || refused == 0 {
		t.Errorf("%d whole, %d told, %d refused", whole, told, refused)
	}
}

// writeColumn writes a file of one column, of values in JSON.
func writeColumn(t *testing.T, c *blobio.Client, url string, typ arrow.DataType, values string) {
	t.Helper()
	a, _, err := array.FromJSON(memory.DefaultAllocator, typ, strings.NewReader(values))
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	s := arrow.NewSchema([]arrow.Field{{Name: "k0", Type: typ, Nullable: true}}, nil)
	sink, err := fileio.Arrow.CreateBatches(context.Background(), c, url, s, fileio.SinkOptions{})
	if err == nil {
		err = errors.Join(sink.Write(array.NewRecordBatch(s, []arrow.Array{a}, int64(a.Len()))), sink.Close())
	}
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
}
