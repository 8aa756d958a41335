package manifest

import (
	"errors"
	"fmt"

	"github.com/apache/iceberg-go"
)

// ErrPartition: the rows of a shard do not lie in one partition of the table, or it can't be determined.
var ErrPartition = errors.New("not one partition")

// PartitionOf finds the partition tuple of an entry from its bounds. It succeeds only if the bounds prove that
// all rows have one value of each partition field; else the error is ErrPartition.
func PartitionOf(e *Entry, spec iceberg.PartitionSpec, schema *iceberg.Schema) (map[int]any, error) {
	tuple := map[int]any{}
	for _, f := range spec.Fields() {
		v, err := partitionValue(e, f, schema)
		if err != nil {
			return nil, fmt.Errorf("%s: partition field %q: %w", e.Path, f.Name, err)
		}
		tuple[f.FieldID] = v
	}
	return tuple, nil
}

func partitionValue(e *Entry, f iceberg.PartitionField, schema *iceberg.Schema) (any, error) {
	if _, void := f.Transform.(iceberg.VoidTransform); void {
		return nil, nil
	}
	c, ok := e.Columns[f.SourceID()]
	if !ok || c.Nulls != Unknown && c.Nulls == c.Values {
		return nil, nil // the shard lacks the column, or holds nulls only
	}
	if c.Nulls != 0 || c.NaNs > 0 || c.Lower == nil || c.Upper == nil {
		return nil, fmt.Errorf("%w: nulls are mixed with values, or bounds are missing", ErrPartition)
	}
	if c.NaNs != 0 && isFloating(schema, f.SourceID()) {
		return nil, fmt.Errorf("%w: it is unknown whether some values are NaN, which bounds leave out", ErrPartition)
	}
	low, err := transformed(f, schema, c.Lower)
	if err != nil {
		return nil, err
	}
	upper := c.Upper
	if floor := e.latest[f.SourceID()]; floor != nil {
		upper = floor
	}
	high, err := transformed(f, schema, upper)
	if err != nil {
		return nil, err
	}
	exact := f.Transform.PreservesOrder() || string(c.Lower) == string(upper)
	if !exact || !low.Equals(high) {
		return nil, fmt.Errorf("%w: values from %s to %s", ErrPartition, low, high)
	}
	return low.Any(), nil
}

func isFloating(schema *iceberg.Schema, id int) bool {
	t, _ := schema.FindTypeByID(id)
	switch t.(type) {
	case iceberg.Float32Type, iceberg.Float64Type:
		return true
	}
	return false
}

func transformed(f iceberg.PartitionField, schema *iceberg.Schema, bound []byte) (iceberg.Literal, error) {
	t, ok := schema.FindTypeByID(f.SourceID())
	if !ok {
		return nil, fmt.Errorf("source column %d is missing", f.SourceID())
	}
	lit, err := iceberg.LiteralFromBytes(t, bound)
	if err != nil {
		return nil, err
	}
	out := f.Transform.Apply(iceberg.Optional[iceberg.Literal]{Val: lit, Valid: true})
	if !out.Valid {
		return nil, fmt.Errorf("%w: %s has no value for %s", ErrPartition, f.Transform, lit)
	}
	return out.Val, nil
}
