package catalog

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/internal/literal"
	"github.com/shardcat/shardcat/manifest"
)

// ShardInfo is a live shard as the table's metadata report about it.
type ShardInfo struct {
	Path string `json:"path"`
	// Records counts live records, Deleted those that are marked.
	Records int64 `json:"records"`
	Deleted int64 `json:"deleted_records"`
	Stripes int64 `json:"stripes"`
	// Bytes are all that the shard's root reaches, itself included; RootBytes the root alone.
	Bytes     int64 `json:"bytes"`
	RootBytes int64 `json:"root_bytes"`
	// CreatedFirst and CreatedLast are when its records were created, RFC 3339; empty if it does not state.
	CreatedFirst string `json:"creation_min,omitempty"`
	CreatedLast  string `json:"creation_max,omitempty"`
	// SnapshotID is the snapshot that added it.
	SnapshotID int64 `json:"snapshot_id"`
	Adopted    bool  `json:"adopted,omitempty"`
	// Partition are its partition values by the names of the fields, as text; null for null.
	Partition map[string]*string `json:"partition,omitempty"`
	// Bounds by column: no value lies outside. Texts are cut, times rounded outwards to microseconds.
	Bounds map[string]ColumnBounds `json:"bounds"`
}

// ColumnBounds are the bounds of a column in a shard as text, with the number of nulls (-1: not known).
type ColumnBounds struct {
	Lower string `json:"lower"`
	Upper string `json:"upper"`
	Nulls int64  `json:"nulls"`
}

// Shards yields the live shards of a state of the table. It opens none of them.
func (t *Table) Shards(ctx context.Context, at At) iter.Seq2[*ShardInfo, error] {
	return func(yield func(*ShardInfo, error) bool) {
		for e, err := range t.Entries(ctx, at) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(t.shardInfo(e), nil) {
				return
			}
		}
	}
}

func (t *Table) shardInfo(e *manifest.Entry) *ShardInfo {
	s := &ShardInfo{
		Path: e.Path, Records: e.Records, Deleted: e.Deleted, Stripes: e.Stripes, Bytes: e.StoredBytes, RootBytes: e.RootBytes,
		SnapshotID: e.SnapshotID, Adopted: e.Flags.Has(manifest.Adopted), Bounds: map[string]ColumnBounds{},
	}
	if e.Created.Known() {
		s.CreatedFirst = string(literal.AppendDateTime(nil, e.Created.First))
		s.CreatedLast = string(literal.AppendDateTime(nil, e.Created.Last))
	}
	if spec := t.ice.Metadata().PartitionSpecByID(e.SpecID); spec != nil && spec.NumFields() > 0 {
		s.Partition = map[string]*string{}
		for _, f := range spec.Fields() {
			s.Partition[f.Name] = nil
			if v := e.Partition[f.FieldID]; v != nil {
				text := partitionValueText(t.ice.Metadata(), f, v)
				s.Partition[f.Name] = &text
			}
		}
	}
	for id, c := range e.Columns {
		name, known := t.schema.Iceberg.FindColumnName(id)
		f, _ := t.schema.Iceberg.FindFieldByID(id)
		if !known || c.Lower == nil || c.Upper == nil {
			continue
		}
		if lower, upper, ok := boundTexts(f.Type, c); ok {
			s.Bounds[name] = ColumnBounds{lower, upper, c.Nulls}
		}
	}
	return s
}

// boundTexts reads bounds that are stored in Iceberg's form.
func boundTexts(t iceberg.Type, c manifest.Column) (lower, upper string, ok bool) {
	low, err := iceberg.LiteralFromBytes(t, c.Lower)
	if err != nil {
		return "", "", false
	}
	high, err := iceberg.LiteralFromBytes(t, c.Upper)
	if err != nil {
		return "", "", false
	}
	return low.String(), high.String(), true
}

// partitionValueText is a partition value as people read it. The column may have been dropped since; then its type is not known.
func partitionValueText(meta table.Metadata, f iceberg.PartitionField, v any) string {
	for _, s := range meta.Schemas() {
		if column, ok := s.FindFieldByID(f.SourceID()); ok {
			return f.Transform.ToHumanStrType(column.Type, v)
		}
	}
	return fmt.Sprint(v)
}
