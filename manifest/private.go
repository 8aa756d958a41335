package manifest

import "encoding/binary"

// The private field ids of an entry; the package comment reports what each carries. The numbers are bytes in
// other people's buckets: they are never given a new meaning.
const (
	fieldCreation = 2147480000 + iota
	fieldStripes
	fieldDeleted
	fieldMetadataBytes
	fieldFlags
	fieldStoredBytes
	fieldObjects
	fieldShape
	fieldTags
	fieldTerms
	fieldRows
	fieldIndexBytes
	fieldDataObjects
	fieldColumnRanges
	fieldFilters

	firstPrivateField = fieldCreation
	lastPrivateField  = 2147480063
)

// isPrivateField reports whether id belongs to the block that entries use for themselves.
func isPrivateField(id int) bool { return id >= firstPrivateField && id <= lastPrivateField }

// Flags are properties of a shard that decide what may be done with it.
type Flags uint64

// The flags, one bit each.
const (
	// StandardProperties: the shard carries drop-by, ingest-by or other standard properties; it is not merged
	// unless requested.
	StandardProperties Flags = 1 << iota
	// Foreign: not written by shardcat.
	Foreign
	// DraftWire: the older layout of the metadata.
	DraftWire
	// Adopted: its objects lie outside the table's vault; they are read and never swept.
	Adopted
	// UnknownFields: the metadata has protobuf fields that only a verbatim copy keeps.
	UnknownFields
)

// Has reports whether all of want are set.
func (f Flags) Has(want Flags) bool { return f&want == want }

// CreationRange is when the records of a shard were created: the first and the last, in ticks since year 1.
// The zero value is unknown.
type CreationRange struct{ First, Last int64 }

// Known reports whether the shard reports when its records were created.
func (c CreationRange) Known() bool { return c != CreationRange{} }

// Union is the range of two shards together: unknown if one of them is.
func (c CreationRange) Union(o CreationRange) CreationRange {
	if !c.Known() || !o.Known() {
		return CreationRange{}
	}
	return CreationRange{min(c.First, o.First), max(c.Last, o.Last)}
}

// Private are the numbers of an entry that travel in the private block.
type Private struct {
	Created CreationRange
	// Stripes and Deleted count stripes and deleted records.
	Stripes, Deleted int64
	// MetadataBytes is what a merge has to copy of this shard.
	MetadataBytes int64
	// StoredBytes and Objects count everything that the root reaches, the root included.
	StoredBytes, Objects int64
	// IndexBytes is what the objects of its indexes take, where IndexesKnown: entries of older versions do not have it.
	IndexBytes   int64
	IndexesKnown bool
	// DataObjects and ColumnRanges are those of shardfmt.Description; 0 in entries of older versions, and of shards without values.
	DataObjects, ColumnRanges int64
	// FilterObjects and FilterBytes are those of its term filters, in IndexBytes too; 0 in entries of older versions.
	FilterObjects, FilterBytes int64
	// Shape is the fingerprint of the shard's schema, see Shape; 0 where the entry has none.
	Shape int64
	// Tags is the fingerprint of the shard's drop-by tags, see TagsOf; 0 without any, and where the entry has none.
	Tags  int64
	Flags Flags
}

// addTo writes the private block into an entry's bounds.
func (p *Private) addTo(lower, upper map[int][]byte) {
	put := func(id int, low, high int64) { lower[id], upper[id] = appendLong(low), appendLong(high) }
	if p.Created.Known() {
		put(fieldCreation, p.Created.First, p.Created.Last)
	}
	put(fieldStripes, p.Stripes, p.Stripes)
	put(fieldDeleted, p.Deleted, p.Deleted)
	put(fieldMetadataBytes, p.MetadataBytes, p.MetadataBytes)
	put(fieldFlags, int64(p.Flags), int64(p.Flags))
	put(fieldStoredBytes, p.StoredBytes, p.StoredBytes)
	put(fieldObjects, p.Objects, p.Objects)
	if p.IndexesKnown {
		put(fieldIndexBytes, p.IndexBytes, p.IndexBytes)
	}
	if p.DataObjects != 0 {
		put(fieldDataObjects, p.DataObjects, p.DataObjects)
		put(fieldColumnRanges, p.ColumnRanges, p.ColumnRanges)
	}
	if p.FilterObjects != 0 {
		put(fieldFilters, p.FilterObjects, p.FilterBytes)
	}
	if p.Shape != 0 {
		put(fieldShape, p.Shape, p.Shape)
	}
	if p.Tags != 0 {
		put(fieldTags, p.Tags, p.Tags)
	}
}

// privateOf reads the private block of an entry's bounds. What is missing or malformed is zero: an entry that
// another engine wrote has no such block.
func privateOf(lower, upper map[int][]byte) Private {
	p := Private{}
	for id := firstPrivateField; id <= fieldFilters; id++ {
		if bound, ok := lower[id]; ok {
			p.setLower(id, long(bound))
		}
		if bound, ok := upper[id]; ok {
			p.setUpper(id, long(bound))
		}
	}
	return p
}

// setLower takes a number of the private block from an entry's lower bounds.
func (p *Private) setLower(id int, v int64) {
	switch id {
	case fieldCreation:
		p.Created.First = v
	case fieldStripes:
		p.Stripes = v
	case fieldDeleted:
		p.Deleted = v
	case fieldMetadataBytes:
		p.MetadataBytes = v
	case fieldFlags:
		p.Flags = Flags(v)
	case fieldStoredBytes:
		p.StoredBytes = v
	case fieldObjects:
		p.Objects = v
	case fieldShape:
		p.Shape = v
	case fieldTags:
		p.Tags = v
	case fieldIndexBytes:
		p.IndexBytes, p.IndexesKnown = v, true
	case fieldDataObjects:
		p.DataObjects = v
	case fieldColumnRanges:
		p.ColumnRanges = v
	case fieldFilters:
		p.FilterObjects = v
	}
}

// setUpper takes a number of the private block from an entry's upper bounds, which differ from the lower ones for few.
func (p *Private) setUpper(id int, v int64) {
	switch id {
	case fieldCreation:
		p.Created.Last = v
	case fieldFilters:
		p.FilterBytes = v
	}
}

func long(b []byte) int64 {
	if len(b) != 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}
