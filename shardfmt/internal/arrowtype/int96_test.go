package arrowtype

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// INT96 are read in the years 1 to 9999, by the hour of a day or beyond it; digits below 100 ns are counted, or refused.
func TestInt96(t *testing.T) {
	const day = int64(86_400_000_000_000)
	types := arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.FixedWidthTypes.Timestamp_ns, Nullable: true}}, nil)
	to := &schema.Schema{Fields: []*schema.Node{{Name: "t", Basic: schema.DateTime, Nullable: true}}}
	for _, c := range []struct {
		day   uint32
		nanos int64
		want  string
		cut   bool
	}{
		{2440588, 0, "1970-01-01T00:00:00Z", false},
		{2440587, day - 100, "1969-12-31T23:59:59.9999999Z", false},
		{2440587, day - 1, "1969-12-31T23:59:59.9999999Z", true},
		{2440588, -1, "1969-12-31T23:59:59.9999999Z", true},
		{2440588, -200, "1969-12-31T23:59:59.9999998Z", false},
		{2440587, day, "1970-01-01T00:00:00Z", false},
		{1721426, 0, "0001-01-01T00:00:00Z", false},
		{1721425, day - 1, "", true},
		{1721425, 0, "", false},
		{5373484, day - 100, "9999-12-31T23:59:59.9999999Z", false},
		{5373485, 0, "", false},
		{0, 0, "", false},
		{1<<32 - 1, 0, "", false},
		{1 << 31, 1<<63 - 1, "", false},
	} {
		b := array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: 12})
		b.Append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, uint64(c.nanos)), c.day))
		b.AppendNull()
		values := array.NewExtensionArrayWithStorage(Int96, b.NewArray())
		batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "t", Type: Int96, Nullable: true}}, nil), []arrow.Array{values}, 2)
		for _, strict := range []bool{false, true} {
			im, err := NewImporter(types, to, ImportOptions{Strict: strict})
			if err != nil {
				t.Fatal(err)
			}
			out, err := im.Import(batch)
			var row *RowError
			if refuse := c.want == "" || strict && c.cut; refuse || err != nil {
				if !refuse || !errors.As(err, &row) {
					t.Errorf("day %d, %d ns: %v", c.day, c.nanos, err)
				}
				continue
			}
			got := out.Column(0).(*DateTimeArray)
			if text := string(literal.AppendDateTime(nil, got.Ticks()[0])); text != c.want || got.IsValid(1) || (len(im.Report().Notes) > 0) != c.cut {
				t.Errorf("day %d, %d ns: %s, want %s, %v", c.day, c.nanos, text, c.want, im.Report())
			}
		}
	}
}
