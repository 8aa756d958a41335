package parquetchunk

import (
	"encoding/binary"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
)

// An INT96 is a point in time: nanoseconds of the day, u64, then the Julian day number, u32.
const (
	nanosPerTick = 100
	// farDays is more than 64 bits of nanoseconds, or the years 1 to 9999, have.
	farDays = 1 << 22
)

var errInt96 = errors.New("an INT96 that is not a point in time of the years 1 to 9999")

// readInt96 decodes a chunk of INT96 into ticks.
func readInt96(f *file.Reader, n int, alloc *charged) (arrow.Array, error) {
	c, err := f.RowGroup(0).Column(0)
	if err != nil {
		return nil, err
	}
	r, ok := c.(*file.Int96ColumnChunkReader)
	if !ok {
		return nil, errInt96
	}
	alloc.take(n * (parquet.Int96SizeBytes + 2 + 2*8))
	values, levels := make([]parquet.Int96, n), make([]int16, n)
	b := array.NewInt64Builder(alloc)
	b.Reserve(n)
	for done := 0; done < n; {
		k, read, err := r.ReadBatch(int64(n-done), values, levels[:n-done], nil)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			break
		}
		if r.Descriptor().MaxDefinitionLevel() == 0 {
			for i := range levels[:k] {
				levels[i] = 0
			}
		}
		if err := appendTicks(b, values[:read], levels[:k], r.Descriptor().MaxDefinitionLevel()); err != nil {
			return nil, err
		}
		done += int(k)
	}
	return b.NewArray(), nil
}

// appendTicks appends a value for each level that is the highest, a null for any other.
func appendTicks(b *array.Int64Builder, values []parquet.Int96, levels []int16, highest int16) error {
	next := 0
	for _, level := range levels {
		if level < highest {
			b.AppendNull()
			continue
		}
		if next == len(values) {
			return errInt96
		}
		nanos, day := int64(binary.LittleEndian.Uint64(values[next][:])), int64(binary.LittleEndian.Uint32(values[next][8:]))
		next++
		ticks := nanos / nanosPerTick // beyond the day, or before it, as the import takes them
		if nanos%nanosPerTick < 0 {
			ticks--
		}
		ticks += (day - arrowtype.JulianYear1) * literal.TicksPerDay // fits where the day is near
		if days := day - arrowtype.JulianYear1; days < -farDays || days > farDays || ticks < 0 || ticks > literal.MaxDateTime {
			return errInt96
		}
		b.Append(ticks)
	}
	return nil
}
