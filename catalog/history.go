package catalog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/manifest"
)

// Snapshot is one state of a table, as history lists it.
type Snapshot struct {
	ID        int64     `json:"snapshot_id"`
	Parent    int64     `json:"parent_id,omitempty"`
	Sequence  int64     `json:"sequence_number"`
	Time      time.Time `json:"time"`
	Operation string    `json:"operation"`
	JobID     string    `json:"job_id,omitempty"`
	// MoreJobIDs are the other jobs of a snapshot that several appends share (IngestOptions.ShareCommit).
	MoreJobIDs []string          `json:"more_job_ids,omitempty"`
	Refs       []string          `json:"refs,omitempty"`
	Current    bool              `json:"current"`
	Summary    map[string]string `json:"summary"`
}

// Number reads a number of the summary, 0 if it is not there, or negative, which no count or size is.
func (s *Snapshot) Number(key string) int64 {
	n, err := strconv.ParseInt(s.Summary[key], 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// History lists the retained snapshots of all branches, oldest first.
func (t *Table) History() []Snapshot {
	meta := t.ice.Metadata()
	refs := map[int64][]string{}
	for name, ref := range meta.Refs() {
		refs[ref.SnapshotID] = append(refs[ref.SnapshotID], name)
	}
	head := t.head("")
	out := make([]Snapshot, 0, len(meta.Snapshots()))
	for _, s := range meta.Snapshots() {
		names := refs[s.SnapshotID]
		slices.Sort(names)
		out = append(out, snapshotOf(&s, names, s.SnapshotID == head))
	}
	slices.SortStableFunc(out, func(a, b Snapshot) int { return int(a.Sequence - b.Sequence) })
	return out
}

func snapshotOf(s *table.Snapshot, refs []string, current bool) Snapshot {
	out := Snapshot{
		ID: s.SnapshotID, Sequence: s.SequenceNumber, Time: time.UnixMilli(s.TimestampMs).UTC(), Refs: refs,
		Current: current, Summary: map[string]string{},
	}
	if s.ParentSnapshotID != nil {
		out.Parent = *s.ParentSnapshotID
	}
	if s.Summary != nil {
		out.Operation, out.Summary = string(s.Summary.Operation), s.Summary.Properties
		out.JobID = s.Summary.Properties[manifest.JobIDKey]
		if jobs := slices.Collect(manifest.JobsOf(s.Summary.Properties)); len(jobs) > 1 {
			out.MoreJobIDs = jobs[1:]
		}
	}
	return out
}

// Description is what describe shows of a table.
type Description struct {
	Name             string            `json:"name"`
	UUID             string            `json:"uuid"`
	Location         string            `json:"location"`
	MetadataLocation string            `json:"metadata_location"`
	Vault            string            `json:"vault"`
	FormatVersion    int               `json:"format_version"`
	Columns          []ColumnInfo      `json:"columns"`
	Partition        []string          `json:"partition,omitempty"`
	SortOrder        string            `json:"sort_order,omitempty"`
	Properties       map[string]string `json:"properties"`
	SnapshotID       int64             `json:"snapshot_id,omitempty"`
	Snapshots        int               `json:"snapshots"`
	Shards           int64             `json:"shards"`
	Records          int64             `json:"records"`
	// RootBytes are the sizes of the root objects, DataBytes of everything they reach.
	RootBytes int64 `json:"root_bytes"`
	DataBytes int64 `json:"data_bytes"`
	// IndexBytes are those of the objects of indexes besides; nil where an older version has written some shard's entry.
	IndexBytes *int64 `json:"index_bytes,omitempty"`
}

// ColumnInfo is one column of a table.
type ColumnInfo struct {
	FieldID  int    `json:"field_id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Iceberg  string `json:"iceberg_type"`
	Nullable bool   `json:"nullable"`
	Doc      string `json:"doc,omitempty"`
	// Children are the members of a struct, the element of a list, key and value of a map, the variants of a union.
	Children []ColumnInfo `json:"children,omitempty"`
}

// totalIndexBytes is the key of a snapshot's summary for the bytes of the objects of indexes.
const totalIndexBytes = "shardcat.total-index-bytes"

// Describe reports what a table is and holds. It makes no request.
func (t *Table) Describe() Description {
	meta := t.ice.Metadata()
	d := Description{
		Name: t.name.String(), UUID: t.UUID(), Location: t.Location(), MetadataLocation: t.MetadataLocation(),
		Vault: t.VaultFolder(), FormatVersion: meta.Version(), Properties: t.Properties(), SnapshotID: t.head(""),
		Snapshots: len(meta.Snapshots()),
	}
	for _, f := range t.schema.Iceberg.Fields() {
		d.Columns = append(d.Columns, t.columnInfo(f))
	}
	spec := meta.PartitionSpec()
	for _, f := range spec.Fields() {
		name, _ := t.schema.Iceberg.FindColumnName(f.SourceID())
		d.Partition = append(d.Partition, partitionText(f.Transform.String(), name))
	}
	d.SortOrder = formatOrder(t.SortOrder())
	if s := t.branch(""); s != nil {
		current := snapshotOf(s, nil, true)
		d.Shards, d.Records = current.Number("total-data-files"), current.Number("total-records")
		d.RootBytes, d.DataBytes = current.Number("total-files-size"), current.Number("shardcat.total-data-bytes")
		if _, known := current.Summary[totalIndexBytes]; known {
			bytes := current.Number(totalIndexBytes)
			d.IndexBytes = &bytes
		}
	}
	return d
}

// columnInfo describes a column and those below it.
func (t *Table) columnInfo(f iceberg.NestedField) ColumnInfo {
	c := ColumnInfo{FieldID: f.ID, Name: f.Name, Type: "unsupported", Iceberg: f.Type.String(), Nullable: !f.Required, Doc: f.Doc}
	n := t.schema.Node(f.ID)
	if n == nil {
		return c
	}
	c.Type = n.BareType()
	for _, child := range n.Children {
		if below, ok := t.schema.Iceberg.FindFieldByID(t.schema.IDs[child.ID]); ok {
			c.Children = append(c.Children, t.columnInfo(below))
		}
	}
	return c
}

// partitionText is the form in which partition fields are typed.
func partitionText(transform, column string) string {
	head, width, sized := strings.Cut(strings.TrimSuffix(transform, "]"), "[")
	switch {
	case transform == "identity":
		return column
	case sized:
		return head + "(" + width + ", " + column + ")"
	}
	return transform + "(" + column + ")"
}
