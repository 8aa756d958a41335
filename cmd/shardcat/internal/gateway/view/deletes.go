package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Field ids of position deletes, which Iceberg reserves.
const fieldFilePath, fieldPos = 2147483546, 2147483545

// maxDeletes bounds the positions of one file of position deletes, which is made in memory.
const maxDeletes = 64 << 20

var deletesSchema = arrow.NewSchema([]arrow.Field{
	{Name: "file_path", Type: arrow.BinaryTypes.String, Metadata: fieldID(fieldFilePath)},
	{Name: "pos", Type: arrow.PrimitiveTypes.Int64, Metadata: fieldID(fieldPos)},
}, nil)

func fieldID(id int) arrow.Metadata {
	return arrow.NewMetadata([]string{"PARQUET:field_id"}, []string{strconv.Itoa(id)})
}

// deletes makes the file of position deletes of a shard.
func (t *Table) deletes(ctx context.Context, url string, size int64) (_ Object, err error) {
	shard, err := t.open(ctx, url, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, shard.Close()) }()
	if shard.Deleted() > maxDeletes {
		return nil, corrupt.Locate(corrupt.Unsupported(-1, "%d deleted records, more than the limit of %d for position deletes", shard.Deleted(), maxDeletes), url, 0)
	}
	positions := make([]int64, 0, shard.Deleted())
	for i, s := range shard.Stripes() {
		if s.Deleted == 0 {
			continue
		}
		marks, err := shard.DeletedRecords(ctx, i)
		if err != nil {
			return nil, err
		}
		for at, b := range marks {
			for ; b != 0; b &= b - 1 {
				positions = append(positions, int64(s.Position)+int64(8*at+bits.TrailingZeros8(b)))
			}
		}
	}
	if uint64(len(positions)) != shard.Deleted() {
		return nil, corrupt.Locate(corrupt.At(-1, "%d records are marked deleted, the directory has %d", len(positions), shard.Deleted()), url, 0)
	}
	b, err := positionDeletes(t.location()+"/"+t.dataName(url), positions)
	if err != nil {
		return nil, fmt.Errorf("position deletes of %s: %w", url, err)
	}
	return blob(b), nil
}

// positionDeletes writes Iceberg's file of position deletes of one data file.
func positionDeletes(path string, positions []int64) ([]byte, error) {
	var b bytes.Buffer
	properties := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCreatedBy("shardcat"),
		parquet.WithDictionaryFor("pos", false), parquet.WithEncodingFor("pos", parquet.Encodings.DeltaBinaryPacked))
	w, err := pqarrow.NewFileWriter(deletesSchema, &b, properties, pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, err
	}
	const groupRows = 1 << 20
	for len(positions) > 0 {
		group := positions[:min(groupRows, len(positions))]
		positions = positions[len(group):]
		paths := array.NewStringBuilder(memory.DefaultAllocator)
		paths.Reserve(len(group))
		for range group {
			paths.Append(path)
		}
		pos := array.NewInt64Builder(memory.DefaultAllocator)
		pos.AppendValues(group, nil)
		columns := []arrow.Array{paths.NewArray(), pos.NewArray()}
		if err := w.Write(array.NewRecordBatch(deletesSchema, columns, int64(len(group)))); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
