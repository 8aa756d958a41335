package soak

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/catalog"
	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/filter"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// write adds rows with ids from next on, deletes some of those between first and next, and adds columns, until it is killed or something
// fails. It reports what it is about to do, and that it is done.
func write(ctx context.Context, c *catalog.Catalog, r *rand.Rand, words io.Reader) error {
	var name string
	var first, next int64
	if _, err := fmt.Fscan(words, &name, &first, &next); err != nil {
		return err
	}
	t, err := c.Load(ctx, catalog.Name{Namespace: "default", Table: name})
	for err == nil && ctx.Err() == nil {
		if err = t.Refresh(ctx); err != nil {
			break
		}
		switch pick := r.IntN(40); {
		case pick == 0:
			err = addColumn(ctx, t)
		case pick < 10 && next > first:
			err = remove(ctx, t, first, next, r)
		default:
			n := int64(1 + r.IntN(40))
			fmt.Println("append", next, next+n-1)
			_, err = t.Ingest(ctx, newSource(t.Schema(), next, n), catalog.IngestOptions{})
			next += n
		}
		if err == nil {
			fmt.Println("done")
		}
		pause(ctx, time.Duration(r.IntN(400))*time.Millisecond)
	}
	return err
}

// remove deletes a few of the younger rows of this writer.
func remove(ctx context.Context, t *catalog.Table, first, next int64, r *rand.Rand) error {
	low := max(first, next-1-int64(r.IntN(2000)))
	high := min(next-1, low+int64(r.IntN(30)))
	where, err := filter.Parse(fmt.Sprintf("id BETWEEN %d AND %d", low, high))
	if err != nil {
		return err
	}
	fmt.Println("delete", low, high)
	_, err = t.Delete(ctx, where, catalog.DeleteOptions{})
	return err
}

// mostColumns bounds the schema.
const mostColumns = 6

// addColumn adds a list, which older shards can't be given by metadata alone.
func addColumn(ctx context.Context, t *catalog.Table) error {
	if len(t.Schema().Fields) > mostColumns {
		return nil
	}
	fmt.Println("column 0 0")
	wider := &schema.Schema{Fields: slices.Clone(t.Schema().Fields)}
	wider.Fields = append(wider.Fields, &schema.Node{Name: fmt.Sprint("list", len(wider.Fields)), Basic: schema.List, Nullable: true,
		Children: []*schema.Node{{Name: "item", Basic: schema.Int64, Signed: true, Nullable: true}}})
	wider.Number()
	return t.AddColumns(ctx, wider)
}

// source yields one batch of n rows with ids from first on; columns other than the first are null.
type source struct {
	schema *schema.Schema
	batch  arrow.RecordBatch
}

func newSource(s *schema.Schema, first, n int64) *source {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))
	defer b.Release()
	for i := range n {
		for f := range s.Fields {
			switch f {
			case 0:
				b.Field(f).(*array.Int64Builder).Append(first + i)
			default:
				b.Field(f).AppendNull()
			}
		}
	}
	return &source{s, b.NewRecordBatch()}
}

func (s *source) Schema() *schema.Schema { return s.schema }

func (s *source) Next(context.Context) (arrow.RecordBatch, error) {
	if s.batch == nil {
		return nil, io.EOF
	}
	b := s.batch
	s.batch = nil
	return b, nil
}
