package parquetcolumn_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/parquetcolumn"
)

// codedKinds are types that are decoded as codes.
var codedKinds = kinds[11:]

// TestCodesAsArrow reads columns of random files as codes: several row groups, each with a dictionary of its own, nulls, and pages that are
// not coded where a dictionary got too long. The values are those of Arrow's reader.
func TestCodesAsArrow(t *testing.T) {
	columns, plain := map[string]int{}, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := random(r)
		b := s.write(t, r, codedKinds)
		want, err := pqarrow.ReadTable(context.Background(), bytes.NewReader(b), nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		f := open(b)
		for i, kind := range codedKinds {
			c := parquetcolumn.NewCoded(f, i, kind, parquetcolumn.Options{Keep: r.IntN(2) == 0})
			if c == nil {
				plain++
				continue
			}
			columns[kind.String()]++
			all, err := array.Concatenate(want.Column(i).Data().Chunks(), memory.DefaultAllocator)
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < s.rows; {
				n := 1 + r.IntN(min(s.rows-at, 700))
				got, err := c.Next(n)
				if err != nil {
					t.Fatalf("seed %d, %v of %+v, rows from %d on: %v", seed, kind, s, at, err)
				}
				if part := array.NewSlice(all, int64(at), int64(at+n)); !array.Equal(spelled(t, got.(*array.Dictionary)), part) {
					t.Fatalf("seed %d, %v of %+v, rows %d to %d: %v where Arrow has %v", seed, kind, s, at, at+n, got, part)
				}
				if entries := got.(*array.Dictionary).Dictionary().Len(); entries > n+n/2 {
					t.Fatalf("%d entries for %d rows", entries, n)
				}
				at += n
			}
			if _, err := c.Next(1); err == nil {
				t.Fatal("a row behind the last")
			}
			c.Close()
		}
	}
	if len(columns) < len(codedKinds) || plain < 50 {
		t.Errorf("%v columns are read as codes, and %d are not", columns, plain)
	}
}

// spelled gives the values of codes, one by one.
func spelled(t *testing.T, a *array.Dictionary) arrow.Array {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: a.DataType(), Nullable: true}}, nil)
	if err := arrowtype.Validate(array.NewRecordBatch(s, []arrow.Array{a}, int64(a.Len()))); err != nil {
		t.Fatal(err)
	}
	rows := make([]arrow.Array, a.Len())
	null := array.MakeArrayOfNull(memory.DefaultAllocator, a.Dictionary().DataType(), 1)
	for i := range rows {
		rows[i] = null
		if a.IsValid(i) {
			v := int64(a.GetValueIndex(i))
			rows[i] = array.NewSlice(a.Dictionary(), v, v+1)
		}
	}
	all, err := array.Concatenate(rows, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCodesShareDictionary: batches of one row group have the very same entries, which need to be sent and converted once.
func TestCodesShareDictionary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	s := shape{rows: 3000, distinct: 40, group: 1500}
	f := open(s.write(t, r, []arrow.DataType{arrow.BinaryTypes.String}))
	c := parquetcolumn.NewCoded(f, 0, arrow.BinaryTypes.String, parquetcolumn.Options{})
	seen := map[arrow.ArrayData]int{}
	for range 30 {
		a, err := c.Next(100)
		if err != nil {
			t.Fatal(err)
		}
		seen[a.(*array.Dictionary).Dictionary().Data()]++
	}
	if len(seen) != 2 {
		t.Errorf("%d dictionaries of two row groups", len(seen))
	}
	if _, err := c.Next(1); err == nil {
		t.Error("a row behind the last")
	}
}

// A code that the dictionary has no entry for is refused, with the column and the row group.
func TestCodesBeyond(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	s := shape{rows: 300, distinct: 8, group: 200, options: []parquet.WriterProperty{parquet.WithStats(false)}}
	b := s.write(t, r, []arrow.DataType{arrow.BinaryTypes.String})
	chunk, err := open(b).MetaData().RowGroup(1).ColumnChunk(0)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at := chunk.DataPageOffset(); at < chunk.DictionaryPageOffset()+chunk.TotalCompressedSize(); at++ {
		was := b[at]
		b[at] = 0xFF
		if err := readCodes(open(b), s.rows); err != nil && strings.Contains(err.Error(), "a code beyond the dictionary") {
			refused++
			if !strings.Contains(err.Error(), `row group 1`) || !strings.Contains(err.Error(), `column "0 utf8"`) {
				t.Errorf("%v doesn't say where", err)
			}
		}
		b[at] = was
	}
	if refused < 10 {
		t.Errorf("%d of the codes beyond the dictionary are refused", refused)
	}
	if err := readCodes(open(b), s.rows); err != nil {
		t.Error(err)
	}
}

func readCodes(f *file.Reader, rows int) error {
	c := parquetcolumn.NewCoded(f, 0, arrow.BinaryTypes.String, parquetcolumn.Options{Keep: true})
	for range rows / 10 {
		if _, err := c.Next(10); err != nil {
			return err
		}
	}
	return nil
}

// More rows at once than codes can distinguish are refused, not cut.
func TestCodesOfTooManyRows(t *testing.T) {
	s := shape{rows: parquetcolumn.MaxCodedRows + 1, distinct: 3, group: 1 << 20}
	f := open(s.write(t, rand.New(rand.NewPCG(1, 7)), []arrow.DataType{arrow.BinaryTypes.String}))
	if _, err := parquetcolumn.NewCoded(f, 0, arrow.BinaryTypes.String, parquetcolumn.Options{Keep: true}).Next(s.rows); err == nil {
		t.Error("no error")
	}
	if _, err := parquetcolumn.NewCoded(f, 0, arrow.BinaryTypes.String, parquetcolumn.Options{Keep: true}).Next(s.rows - 1); err != nil {
		t.Error(err)
	}
}
