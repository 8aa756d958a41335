package catalog

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/shardfmt"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// codedRows is a source of ids and names, three batches of 100, which gives the names as codes to the caller.
// The memory of a batch that came as codes is spoiled when the next one is requested.
type codedRows struct {
	given, coded int
	last         arrow.RecordBatch
}

func (s *codedRows) Schema() *schema.Schema { return namedRows() }

func namedRows() *schema.Schema {
	s := &schema.Schema{Fields: []*schema.Node{
		{Name: "id", Basic: schema.Int64, Signed: true}, {Name: "name", Basic: schema.String, Nullable: true},
	}}
	s.Number()
	return s
}

func (s *codedRows) NextCoded(context.Context) (arrow.RecordBatch, error) {
	if s.last != nil {
		for _, c := range s.last.Columns() {
			spoil(c.Data())
		}
	}
	b, err := s.next()
	s.last = b
	return b, err
}

// spoil overwrites what an array is made of.
func spoil(data arrow.ArrayData) {
	for _, b := range data.Buffers() {
		if b != nil {
			for i := range b.Bytes() {
				b.Bytes()[i] = 0xA5
			}
		}
	}
	if d, ok := data.(*array.Data); ok && data.DataType().ID() == arrow.DICTIONARY {
		spoil(d.Dictionary())
	}
}

func (s *codedRows) next() (arrow.RecordBatch, error) {
	if s.given == 300 {
		return nil, io.EOF
	}
	ids, codes, names := array.NewInt64Builder(memory.DefaultAllocator), array.NewUint8Builder(memory.DefaultAllocator), array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i := range 100 {
		ids.Append(int64(s.given + i))
		if i%7 == 3 {
			codes.AppendNull()
		} else {
			codes.Append(uint8(i % 4))
		}
	}
	for i := range 4 {
		names.Append(fmt.Sprint("name ", i, " of ", s.given))
	}
	s.given, s.coded = s.given+100, s.coded+1
	t := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.LargeString}
	columns := []arrow.Array{ids.NewArray(), array.NewDictionaryArray(t, codes.NewArray(), names.NewArray())}
	return arrowtype.BatchOf(arrowtype.Schema(namedRows()), columns, 100), nil
}

func (s *codedRows) Next(ctx context.Context) (arrow.RecordBatch, error) {
	b, err := s.next()
	if err != nil {
		return nil, err
	}
	s.coded--
	columns := make([]arrow.Array, b.NumCols())
	for i, c := range b.Columns() {
		columns[i] = arrowtype.Plain(c)
	}
	return arrowtype.BatchOf(arrowtype.Schema(namedRows()), columns, b.NumRows()), nil
}

// Where nothing looks at values before they are written, a source returns codes; the rows are the same wherever they go.
func TestIngestOfCodes(t *testing.T) {
	for name, c := range map[string]struct {
		create CreateOptions
		ingest IngestOptions
		coded  int
	}{
		"as they come":   {CreateOptions{}, IngestOptions{ShardRows: 130, StripeRows: 70}, 3},
		"indexed":        {CreateOptions{}, IngestOptions{Indexes: []shardfmt.IndexSpec{{Kind: shardfmt.HashIndex, Columns: []string{"name"}}}}, 3},
		"partitioned":    {CreateOptions{Partition: []string{"bucket(2, name)"}}, IngestOptions{}, 0},
		"sorted":         {CreateOptions{SortOrder: []OrderKey{{Column: "name"}}}, IngestOptions{}, 0},
		"ingestion time": {CreateOptions{}, IngestOptions{IngestionTime: true}, 0},
		"upsert":         {CreateOptions{}, IngestOptions{UpsertBy: []string{"id"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g, ctx := newGround(t), context.Background()
			c.create.Schema, c.create.CreateNamespace = namedRows(), true
			tbl, err := g.open(nil, nil).Create(ctx, tableName, c.create)
			if err != nil {
				t.Fatal(err)
			}
			src := new(codedRows)
			if _, err := tbl.Ingest(ctx, src, c.ingest); err != nil {
				t.Fatal(err)
			}
			if src.coded != c.coded {
				t.Errorf("%d batches came as codes, not %d", src.coded, c.coded)
			}
			seen := 0
			for b, err := range tbl.Scan(ctx, ScanOptions{}, nil) {
				if err != nil {
					t.Fatal(err)
				}
				ids, names := b.Column(projection.ColumnIndex(b, "id")).(*array.Int64), b.Column(projection.ColumnIndex(b, "name"))
				for i := range int(b.NumRows()) {
					id, want := ids.Value(i), array.NullValueStr
					if id%100%7 != 3 {
						want = fmt.Sprint("name ", id%100%4, " of ", id/100*100)
					}
					if got := strings.Trim(names.ValueStr(i), `"`); got != want {
						t.Fatalf("row %d has %q, not %q", id, got, want)
					}
					seen++
				}
			}
			if seen != 300 {
				t.Errorf("%d rows of 300", seen)
			}
		})
	}
}
