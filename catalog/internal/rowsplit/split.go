// Package rowsplit splits batches of rows by the partitions of a spec.
package rowsplit

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/catalog/internal/caterr"
	"github.com/shardcat/shardcat/catalog/internal/projection"
	"github.com/shardcat/shardcat/manifest"
	"github.com/shardcat/shardcat/shardfmt"
)

// Splitter parts rows by the table's partition spec.
type Splitter struct {
	Schema *manifest.TableSchema
	Spec   iceberg.PartitionSpec
}

// Part are the rows of a batch that lie in one partition.
type Part struct {
	// Key distinguishes partitions.
	Key   string
	Tuple map[int]any
	Batch arrow.RecordBatch
}

// Split parts a batch of the table's columns; rows keep their order within a part.
func (s *Splitter) Split(b arrow.RecordBatch) ([]Part, error) {
	if s.Spec.NumFields() == 0 {
		return []Part{{Batch: b}}, nil
	}
	var columns []*partitionColumn
	for _, f := range s.Spec.Fields() {
		c, err := s.column(f, b)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	var parts []Part
	var rows [][]int
	at := map[string]int{}
	for i := range int(b.NumRows()) {
		key, tuple, err := tupleOf(columns, i)
		if err != nil {
			return nil, err
		}
		p, ok := at[key]
		if !ok {
			p, at[key] = len(parts), len(parts)
			parts, rows = append(parts, Part{Key: key, Tuple: tuple}), append(rows, nil)
		}
		rows[p] = append(rows[p], i)
	}
	take(b, parts, rows)
	return parts, nil
}

// take fills in the batches of the parts.
func take(b arrow.RecordBatch, parts []Part, rows [][]int) {
	if len(parts) == 1 {
		parts[0].Batch = b
		return
	}
	for p := range parts {
		bits := make([]byte, (b.NumRows()+7)/8)
		for _, i := range rows[p] {
			bits[i/8] |= 1 << (i % 8)
		}
		parts[p].Batch = shardfmt.SelectRows(b, bits)
	}
}

// partitionColumn gives the values of one partition field, row by row.
type partitionColumn struct {
	field iceberg.PartitionField
	// value is the source's value as a literal, not valid for null.
	value func(row int) iceberg.Optional[iceberg.Literal]
	// last is the value before, and result what it was transformed to: neighbours are often equal.
	last   iceberg.Literal
	result iceberg.Optional[iceberg.Literal]
}

func tupleOf(columns []*partitionColumn, row int) (key string, tuple map[int]any, err error) {
	tuple = make(map[int]any, len(columns))
	for _, c := range columns {
		v := c.transform(c.value(row))
		if !v.Valid {
			tuple[c.field.FieldID] = nil
			key += "-/"
			continue
		}
		bytes, err := v.Val.MarshalBinary()
		if err != nil {
			return "", nil, fmt.Errorf("partition field %q: %w", c.field.Name, err)
		}
		tuple[c.field.FieldID] = v.Val.Any()
		key += "=" + hex.EncodeToString(bytes) + "/"
	}
	return key, tuple, nil
}

// OfKey is the tuple of a spec of the table that tupleOf made a key of.
func OfKey(meta table.Metadata, specID int, key string) (map[int]any, error) {
	spec := meta.PartitionSpecByID(specID)
	if spec == nil {
		return nil, fmt.Errorf("%w: the table has no partition spec %d", caterr.ErrConflict, specID)
	}
	values := strings.Split(strings.TrimSuffix(key, "/"), "/")
	if spec.NumFields() == 0 {
		return nil, nil
	}
	if len(values) != spec.NumFields() {
		return nil, fmt.Errorf("%w: partition %q does not have the %d fields of spec %d", caterr.ErrConflict, key, spec.NumFields(), specID)
	}
	tuple := make(map[int]any, len(values))
	for i, f := range spec.Fields() {
		tuple[f.FieldID] = nil
		text, ok := strings.CutPrefix(values[i], "=")
		if !ok {
			continue
		}
		v, err := partitionLiteral(meta.CurrentSchema(), f, text)
		if err != nil {
			return nil, fmt.Errorf("partition field %q: %w", f.Name, err)
		}
		tuple[f.FieldID] = v.Any()
	}
	return tuple, nil
}

// partitionLiteral is a value of a partition field, of its bytes in hexadecimal digits.
func partitionLiteral(s *iceberg.Schema, f iceberg.PartitionField, text string) (iceberg.Literal, error) {
	bytes, err := hex.DecodeString(text)
	if err != nil {
		return nil, err
	}
	source, ok := s.FindTypeByID(f.SourceID())
	if !ok {
		return nil, fmt.Errorf("%w: its column was dropped", caterr.ErrConflict)
	}
	return iceberg.LiteralFromBytes(f.Transform.ResultType(source), bytes)
}

func (c *partitionColumn) transform(v iceberg.Optional[iceberg.Literal]) iceberg.Optional[iceberg.Literal] {
	if !v.Valid {
		return v
	}
	if c.last == nil || !c.last.Equals(v.Val) {
		c.last, c.result = v.Val, c.field.Transform.Apply(v)
	}
	return c.result
}

// column finds the source column of a partition field, which may be a member of a struct.
func (s *Splitter) column(f iceberg.PartitionField, b arrow.RecordBatch) (*partitionColumn, error) {
	n := s.Schema.Node(f.SourceID())
	if n == nil {
		return nil, fmt.Errorf("partition field %q: its column was dropped", f.Name)
	}
	var path []string
	for _, member := range projection.PathTo(s.Schema.Shard.Fields, n) {
		path = append(path, member.Name)
	}
	on, err := projection.Member(b, path)
	if err != nil {
		return nil, fmt.Errorf("partition field %q: %w", f.Name, err)
	}
	literal, err := literals(n, on[len(on)-1])
	if err != nil {
		return nil, fmt.Errorf("partition field %q: %w", f.Name, err)
	}
	return &partitionColumn{field: f, value: func(row int) iceberg.Optional[iceberg.Literal] {
		for _, a := range on {
			if a.IsNull(row) {
				return iceberg.Optional[iceberg.Literal]{}
			}
		}
		return iceberg.Optional[iceberg.Literal]{Val: literal(row), Valid: true}
	}}, nil
}
