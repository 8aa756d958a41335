package convert_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/cmd/shardcat/internal/convert"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio"
)

// logicalTypes are all of Parquet's logical types for leaves, with the physical types and the bytes of a value. A type whose loss is set
// does not survive a table or shard as it is: the report names the column.
var logicalTypes = []struct {
	t        pqschema.LogicalType
	physical parquet.Type
	width    int
	value    any
	loss     string
}{
	{t: pqschema.NoLogicalType{}, physical: parquet.Types.Boolean, value: true},
	{t: pqschema.NewIntLogicalType(32, true), physical: parquet.Types.Int32, value: int32(-7)},
	{t: pqschema.NewIntLogicalType(64, true), physical: parquet.Types.Int64, value: int64(-7)},
	{t: pqschema.NoLogicalType{}, physical: parquet.Types.Float, value: float32(0.1)},
	{t: pqschema.NoLogicalType{}, physical: parquet.Types.Double, value: 0.1},
	{t: pqschema.NoLogicalType{}, physical: parquet.Types.ByteArray, value: parquet.ByteArray("\xff\x00")},
	{t: pqschema.NoLogicalType{}, physical: parquet.Types.FixedLenByteArray, width: 3, value: parquet.FixedLenByteArray("\xff\x00\x01")},
	{t: pqschema.StringLogicalType{}, physical: parquet.Types.ByteArray, value: parquet.ByteArray("text")},
	{t: pqschema.EnumLogicalType{}, physical: parquet.Types.ByteArray, value: parquet.ByteArray("RED")},
	{t: pqschema.JSONLogicalType{}, physical: parquet.Types.ByteArray, value: parquet.ByteArray(`{"a":1}`)},
	{t: pqschema.BSONLogicalType{}, physical: parquet.Types.ByteArray, value: parquet.ByteArray("\x05\x00\x00\x00\x00")},
	{t: pqschema.UUIDLogicalType{}, physical: parquet.Types.FixedLenByteArray, width: 16, value: parquet.FixedLenByteArray("0123456789abcdef")},
	{t: pqschema.IntervalLogicalType{}, physical: parquet.Types.FixedLenByteArray, width: 12, value: parquet.FixedLenByteArray("monsdaysmils")},
	{t: pqschema.Float16LogicalType{}, physical: parquet.Types.FixedLenByteArray, width: 2, value: parquet.FixedLenByteArray("\x01\x00")},
	{t: pqschema.GeometryLogicalType{}, physical: parquet.Types.ByteArray, value: parquet.ByteArray(wkbPoint)},
	{t: pqschema.GeometryLogicalType{Crs: "srid:5070 (x)"}, physical: parquet.Types.ByteArray, value: parquet.ByteArray(wkbPoint)},
	{t: pqschema.GeographyLogicalType{}, physical: parquet.Types.ByteArray, value: parquet.ByteArray(wkbPoint)},
	{t: pqschema.GeographyLogicalType{Crs: "OGC:CRS84, or so"}, physical: parquet.Types.ByteArray, value: parquet.ByteArray(wkbPoint)},
	{t: pqschema.GeographyLogicalType{Algorithm: pqschema.GeographyEdgeKarney}, physical: parquet.Types.ByteArray, value: parquet.ByteArray(wkbPoint)},
	{t: pqschema.NewIntLogicalType(8, true), physical: parquet.Types.Int32, value: int32(-128)},
	{t: pqschema.NewIntLogicalType(8, false), physical: parquet.Types.Int32, value: int32(255)},
	{t: pqschema.NewIntLogicalType(16, true), physical: parquet.Types.Int32, value: int32(-32768)},
	{t: pqschema.NewIntLogicalType(16, false), physical: parquet.Types.Int32, value: int32(65535)},
	{t: pqschema.NewIntLogicalType(32, false), physical: parquet.Types.Int32, value: int32(-1)},
	{t: pqschema.NewIntLogicalType(64, false), physical: parquet.Types.Int64, value: int64(-1)},
	{t: pqschema.NewDecimalLogicalType(5, 2), physical: parquet.Types.Int32, value: int32(12345)},
	{t: pqschema.NewDecimalLogicalType(18, 2), physical: parquet.Types.Int64, value: int64(12345)},
	{t: pqschema.NewDecimalLogicalType(30, 2), physical: parquet.Types.FixedLenByteArray, width: 13, value: parquet.FixedLenByteArray("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x30\x39")},
	{t: pqschema.NewDecimalLogicalType(30, 2), physical: parquet.Types.ByteArray, value: parquet.ByteArray("\x30\x39")},
	{t: pqschema.DateLogicalType{}, physical: parquet.Types.Int32, value: int32(-1)},
	{t: pqschema.NewTimeLogicalType(true, pqschema.TimeUnitMillis), physical: parquet.Types.Int32, value: int32(86_399_999)},
	{t: pqschema.NewTimeLogicalType(false, pqschema.TimeUnitMillis), physical: parquet.Types.Int32, value: int32(86_399_999)},
	{t: pqschema.NewTimeLogicalType(true, pqschema.TimeUnitMicros), physical: parquet.Types.Int64, value: int64(86_399_999_999)},
	{t: pqschema.NewTimeLogicalType(false, pqschema.TimeUnitMicros), physical: parquet.Types.Int64, value: int64(86_399_999_999)},
	{t: pqschema.NewTimeLogicalType(true, pqschema.TimeUnitNanos), physical: parquet.Types.Int64, value: int64(86_399_999_999_900)},
	{t: pqschema.NewTimeLogicalType(false, pqschema.TimeUnitNanos), physical: parquet.Types.Int64, value: int64(86_399_999_999_900)},
	{t: pqschema.NewTimestampLogicalType(true, pqschema.TimeUnitMillis), physical: parquet.Types.Int64, value: int64(-1)},
	{t: pqschema.NewTimestampLogicalType(false, pqschema.TimeUnitMillis), physical: parquet.Types.Int64, value: int64(-1)},
	{t: pqschema.NewTimestampLogicalType(true, pqschema.TimeUnitMicros), physical: parquet.Types.Int64, value: int64(-1)},
	{t: pqschema.NewTimestampLogicalType(false, pqschema.TimeUnitMicros), physical: parquet.Types.Int64, value: int64(-1)},
	{t: pqschema.NewTimestampLogicalType(true, pqschema.TimeUnitNanos), physical: parquet.Types.Int64, value: int64(-100)},
	{t: pqschema.NewTimestampLogicalType(false, pqschema.TimeUnitNanos), physical: parquet.Types.Int64, value: int64(-100)},
	{t: pqschema.NullLogicalType{}, physical: parquet.Types.Int32, loss: "only nulls"},
}

// wkbPoint is POINT (1 2).
const wkbPoint = "\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x40"

// parquetOfOne is a file of one column c0 with a value, unless it is nil, and a null: a leaf, or the member of a struct, the item of a list,
// the value of a map.
func parquetOfOne(t *testing.T, within string, lt pqschema.LogicalType, physical parquet.Type, width int, value any) []byte {
	t.Helper()
	must := func(n pqschema.Node, err error) pqschema.Node {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	optional, repeated := parquet.Repetitions.Optional, parquet.Repetitions.Repeated
	if lt.IsNone() {
		lt = nil
	}
	leaf := func(name string) pqschema.Node {
		n, err := pqschema.NewPrimitiveNodeLogical(name, optional, lt, physical, width, -1)
		return must(n, err)
	}
	group := func(name string, r parquet.Repetition, fields ...pqschema.Node) pqschema.Node {
		n, err := pqschema.NewGroupNode(name, r, fields, -1)
		return must(n, err)
	}
	var node pqschema.Node
	top, reps := int16(1), []int16{0, 0}
	switch within {
	case "":
		node = leaf("c0")
	case "struct":
		node, top = group("c0", optional, leaf("m")), 2
	case "list":
		n, err := pqschema.NewGroupNodeLogical("c0", optional, pqschema.FieldList{group("list", repeated, leaf("element"))}, pqschema.NewListLogicalType(), -1)
		node, top = must(n, err), 3
	}
	var out bytes.Buffer
	root := group("schema", parquet.Repetitions.Required, node).(*pqschema.GroupNode)
	w := file.NewParquetWriter(&out, root, file.WithWriterProps(parquet.NewWriterProperties(parquet.WithVersion(parquet.V2_LATEST))))
	rows, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	column, err := rows.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	levels := []int16{top, 0}
	if value == nil {
		levels[0] = top - 1
	}
	if within != "list" {
		reps = nil
	}
	writeOne(t, column, value, levels, reps)
	for _, c := range []interface{ Close() error }{column, w} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// writeOne writes a value, if it isn't nil.
func writeOne(t *testing.T, column file.ColumnChunkWriter, value any, def, rep []int16) {
	t.Helper()
	var err error
	switch w := column.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(valuesOfOne[bool](value), def, rep)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(valuesOfOne[int32](value), def, rep)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(valuesOfOne[int64](value), def, rep)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(valuesOfOne[float32](value), def, rep)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(valuesOfOne[float64](value), def, rep)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(valuesOfOne[parquet.ByteArray](value), def, rep)
	case *file.FixedLenByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(valuesOfOne[parquet.FixedLenByteArray](value), def, rep)
	default:
		t.Fatalf("no way to write %T", column)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func valuesOfOne[T any](value any) []T {
	if value == nil {
		return nil
	}
	return []T{value.(T)}
}

// Each logical type survives Parquet, a shard, Arrow and back, with its parameters and its values, at the top and in other types; or the
// report names the column, and strict refuses.
func TestLogicalTypesSurvive(t *testing.T) {
	ctx, c := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	survived, lost := 0, 0
	for _, within := range []string{"", "struct", "list"} {
		for i, of := range logicalTypes {
			folder := fmt.Sprintf("mem://logical/%s%d/", within, i)
			in := folder + "in.parquet"
			if err := c.Put(ctx, in, parquetOfOne(t, within, of.t, of.physical, of.width, of.value)); err != nil {
				t.Fatal(err)
			}
			for _, by := range []string{"parquet", "amudai.shard", "arrow"} {
				name := strings.Join([]string{within, of.t.String(), of.physical.String(), by}, " ")
				losses, err := through(ctx, c, in, folder+"by."+by, folder+by+".parquet")
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				was, is := leafOfFile(t, c, in), leafOfFile(t, c, folder+by+".parquet")
				if was.LogicalType().Equals(is.LogicalType()) && was.ConvertedType() == is.ConvertedType() {
					survived++
				} else if lost++; of.loss == "" || !strings.Contains(losses, of.loss) {
					t.Errorf("%s: %s became %s, and the losses are %q", name, was.LogicalType(), is.LogicalType(), losses)
				}
				want, err := records(ctx, c, in, fileio.Parquet, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := records(ctx, c, folder+by+".parquet", fileio.Parquet, nil)
				if err != nil || strings.Join(want, "\n") != strings.Join(got, "\n") {
					t.Errorf("%s: %q became %q, %v", name, want, got, err)
				}
			}
		}
	}
	t.Logf("%d survived, %d were lost as reported", survived, lost)
}

// through converts a file by way of another, strictly, or without if strict refuses and the report reports why.
func through(ctx context.Context, c *blobio.Client, in, by, out string) (losses string, err error) {
	for _, step := range [][2]string{{in, by}, {by, out}} {
		if _, err := convert.File(ctx, c, step[0], step[1], convert.Options{Strict: true}); err != nil {
			losses += err.Error()
			r, err := convert.File(ctx, c, step[0], step[1], convert.Options{})
			if err != nil {
				return losses, err
			}
			if len(r.Losses) == 0 {
				losses = "strict refused what has no losses: " + losses
			}
		}
	}
	return losses, nil
}

// leafOfFile is the only leaf of a Parquet file.
func leafOfFile(t *testing.T, c *blobio.Client, url string) *pqschema.Column {
	t.Helper()
	b, _, err := c.ReadAll(context.Background(), url, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if n := f.MetaData().Schema.NumColumns(); n != 1 {
		t.Fatalf("%d columns", n)
	}
	return f.MetaData().Schema.Column(0)
}

// INT96 of years that Arrow's nanoseconds lack go into formats that have them, and into others in the unit that is requested; without one
// the message names that option.
func TestInt96OfEveryYear(t *testing.T) {
	for path, has := range map[string]string{"files/int96_9999.parquet": "9999-12-31T15:59:59.009999Z", "odd/int96_nested.parquet": "9999-12-31T23:59:59.999999Z"} {
		t.Run(path, func(t *testing.T) { checkInt96(t, path, has) })
	}
}

func checkInt96(t *testing.T, path, has string) {
	ctx, c := context.Background(), blobio.NewClient(blobio.ClientOptions{})
	defer c.Close()
	folder := "mem://int96-" + strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(path) + "/"
	in := folder + "in.parquet"
	file, err := os.ReadFile("../../../../shardfmt/fileio/testdata/" + path)
	if err == nil {
		err = c.Put(ctx, in, file)
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := records(ctx, c, in, fileio.Parquet, nil)
	if err != nil || !strings.Contains(strings.Join(want, ""), has) {
		t.Fatal(want, err)
	}
	for _, f := range []fileio.Format{fileio.Parquet, fileio.Arrow} {
		out := folder + "out." + string(f)
		if _, err := convert.File(ctx, c, in, out, convert.Options{}); !errors.Is(err, corrupt.ErrUnsupported) || !strings.Contains(err.Error(), "--time-unit us") {
			t.Errorf("%s: %v", f, err)
		}
		if _, err := convert.File(ctx, c, in, out, convert.Options{TimeUnit: "us"}); err != nil {
			t.Errorf("%s: %v", f, err)
		} else if got, err := records(ctx, c, out, f, nil); err != nil || strings.Join(got, "") != strings.Join(want, "") {
			t.Errorf("%s: %q, want %q, %v", f, got, want, err)
		}
	}
}
