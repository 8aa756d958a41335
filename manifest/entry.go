package manifest

import (
	"strings"

	"github.com/apache/iceberg-go"
)

// Format is the file format of a shard's entry.
const Format = "amudai"

// Unknown stands for a count that is not known.
const Unknown = -1

// Entry is one shard of a table, as the table knows it without opening it. An entry read from a table is shared
// between readers and must not be changed.
type Entry struct {
	// Path is the canonical URL of the root object.
	Path string
	// Format is "amudai", or what another engine wrote.
	Format string
	// RootBytes is the size of the root object (of the whole file for other formats).
	RootBytes int64
	// Records counts live records.
	Records int64
	// Columns by Iceberg field id.
	Columns map[int]Column
	// SpecID and Partition are the partition spec and the values of its fields, by partition field id.
	SpecID    int
	Partition map[int]any
	// SortOrderID is the order in which the rows lie, 0 for none.
	SortOrderID int
	Private
	// Terms leads to the term filters of the shard's stripes, see TermRuns. Entries that were read with some columns only
	// have none.
	Terms string
	// Rows names the shard's rows, see RowsID. Entries that were read with some columns only have none.
	Rows string
	// Sequence is the data sequence number of the snapshot that added the entry, 0 before it is added.
	Sequence int64
	// SnapshotID is the snapshot that added the entry, 0 before it is added.
	SnapshotID int64
	// latest are the greatest times of columns as partitions have them, in microseconds rounded down, where bounds are rounded up. Only
	// entries that were described have some.
	latest map[int][]byte
}

// Column is what an entry states about one field.
type Column struct {
	// Bytes stored for the field.
	Bytes int64
	// Values, Nulls and NaNs count, Unknown where not exact.
	Values, Nulls, NaNs int64
	// Lower and Upper are bounds in Iceberg's single-value form, nil if there is none.
	Lower, Upper []byte
}

// IsShard reports whether the entry is a shard; the name of the format is compared without regard to case.
func (e *Entry) IsShard() bool { return strings.EqualFold(e.Format, Format) }

// entryOfFile reads an entry from a data file.
func entryOfFile(f iceberg.DataFile) *Entry {
	lower, upper := f.LowerBoundValues(), f.UpperBoundValues()
	e := entryOf(f, lower, upper)
	e.Columns = columnsOf(f, lower, upper)
	return e
}

// brief is the entry with some of its columns only.
func (e *Entry) brief(columns []int) *Entry {
	out := *e
	out.Columns, out.Terms, out.Rows = nil, "", ""
	for _, id := range columns {
		if c, ok := e.Columns[id]; ok {
			if out.Columns == nil {
				out.Columns = map[int]Column{}
			}
			out.Columns[id] = c
		}
	}
	return &out
}

func entryOf(f iceberg.DataFile, lower, upper map[int][]byte) *Entry {
	e := &Entry{
		Path: f.FilePath(), Format: string(f.FileFormat()), RootBytes: f.FileSizeBytes(), Records: f.Count(),
		SpecID: int(f.SpecID()), Partition: f.Partition(),
	}
	if order := f.SortOrderID(); order != nil {
		e.SortOrderID = *order
	}
	e.Private, e.Terms, e.Rows = privateOf(lower, upper), string(lower[fieldTerms]), string(lower[fieldRows])
	if !e.IsShard() {
		e.StoredBytes, e.Objects = e.RootBytes, 1
	}
	return e
}

// EntryOf reads an entry of a manifest.
func EntryOf(m iceberg.ManifestEntry) *Entry {
	e := entryOfFile(m.DataFile())
	e.Sequence, e.SnapshotID = m.SequenceNum(), m.SnapshotID()
	return e
}

func columnsOf(f iceberg.DataFile, lower, upper map[int][]byte) map[int]Column {
	sizes, values, nulls, nans := f.ColumnSizes(), f.ValueCounts(), f.NullValueCounts(), f.NaNValueCounts()
	columns := make(map[int]Column, len(values))
	column := func(id int) Column {
		if c, ok := columns[id]; ok {
			return c
		}
		return Column{
			Bytes: sizes[id], Values: countOf(values, id), Nulls: countOf(nulls, id), NaNs: countOf(nans, id),
			Lower: lower[id], Upper: upper[id],
		}
	}
	for id := range sizes {
		columns[id] = column(id)
	}
	for id := range values {
		columns[id] = column(id)
	}
	for id := range lower {
		if !isPrivateField(id) {
			columns[id] = column(id)
		}
	}
	return columns
}

func countOf(counts map[int]int64, id int) int64 {
	if n, ok := counts[id]; ok {
		return n
	}
	return Unknown
}
