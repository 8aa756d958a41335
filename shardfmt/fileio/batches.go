package fileio

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/shardfmt/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// maxCells bounds the values of a batch, nulls included: they cost memory whether or not the text has them.
const maxCells = 8 << 20

// batchRows is how many rows a batch of so many columns may have.
func batchRows(most, columns int) int { return max(1, min(most, maxCells/max(1, columns))) }

// batchBuilder builds the batches of a source of text.
type batchBuilder struct {
	record *array.RecordBuilder
	// fields are the builders of record, but for those of text.
	fields []array.Builder
	// rows are those of the last batch: the next one is likely to have as many, and need not grow to them.
	rows int
}

func newBatchBuilder(s *schema.Schema) *batchBuilder {
	b := &batchBuilder{record: array.NewRecordBuilder(memory.DefaultAllocator, arrowtype.Schema(s))}
	for _, f := range b.record.Fields() {
		if t, ok := f.(*array.LargeStringBuilder); ok {
			f = &textBuilder{LargeStringBuilder: t}
		}
		b.fields = append(b.fields, f)
	}
	return b
}

// field is the builder of a column.
func (b *batchBuilder) field(i int) array.Builder { return b.fields[i] }

// reserve makes space for as much as the last batch took.
func (b *batchBuilder) reserve() {
	for _, f := range b.fields {
		if b.rows > 0 && !arrow.IsNested(storageBuilder(f).Type().ID()) {
			f.Reserve(b.rows)
		}
	}
}

// batch takes what the builders hold; unlike the builder of records it also knows how many rows no columns have.
func (b *batchBuilder) batch(rows int) arrow.RecordBatch {
	columns := make([]arrow.Array, len(b.fields))
	for i, f := range b.fields {
		columns[i] = f.NewArray()
		defer columns[i].Release()
	}
	b.rows = rows
	return array.NewRecordBatch(b.record.Schema(), columns, int64(rows))
}

// textBuilder is a LargeStringBuilder for what columns of text do: it takes fewer steps for each value. Other methods than those
// below are not to be called.
type textBuilder struct {
	*array.LargeStringBuilder // which stays empty
	// starts are where the values begin in data, and nulls the rows without one.
	starts []int64
	data   []byte
	nulls  []int
	// size is that of the last array's data.
	size int
}

func (b *textBuilder) append(v []byte) {
	b.starts = append(b.starts, int64(len(b.data)))
	b.data = append(b.data, v...)
}

// AppendNull implements array.Builder.
func (b *textBuilder) AppendNull() {
	b.nulls = append(b.nulls, len(b.starts))
	b.append(nil)
}

// Reserve implements array.Builder: of data, it makes space for as much as there was before.
func (b *textBuilder) Reserve(n int) {
	if len(b.starts) == 0 {
		b.starts, b.data = make([]int64, 0, n+1), make([]byte, 0, b.size)
	}
}

// NewArray implements array.Builder.
func (b *textBuilder) NewArray() arrow.Array {
	n := len(b.starts)
	var present *memory.Buffer
	if len(b.nulls) > 0 {
		bits := make([]byte, bitutil.BytesForBits(int64(n)))
		bitutil.SetBitsTo(bits, 0, int64(n), true)
		for _, row := range b.nulls {
			bitutil.ClearBit(bits, row)
		}
		present = memory.NewBufferBytes(bits)
	}
	offsets := memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(append(b.starts, int64(len(b.data)))))
	data := array.NewData(b.Type(), n, []*memory.Buffer{present, offsets, memory.NewBufferBytes(b.data)}, nil, len(b.nulls), 0)
	defer data.Release()
	b.size = len(b.data)
	b.starts, b.data, b.nulls = nil, nil, nil // the array has them
	return array.MakeFromData(data)
}
