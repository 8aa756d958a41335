package manifest

import (
	"fmt"

	"github.com/apache/iceberg-go"

	"github.com/shardcat/shardcat/manifest/internal/avrofile"
)

// fieldReader reads a field of a known type.
type fieldReader struct {
	kind avrofile.Kind
	// optional: the field may be a union with null.
	optional bool
	read     func(*decoder, *avrofile.Cursor, *entryBuilder, *avrofile.Type)
}

// entryFields are the fields of a manifest's records, fileFields those of their data_file, by the names that Iceberg's
// specification gives them; others are passed over.
var entryFields, fileFields map[string]fieldReader

func init() {
	entryFields = map[string]fieldReader{
		"status":          {avrofile.Int, false, long64(func(b *entryBuilder, v int64) { b.status = v })},
		"snapshot_id":     {avrofile.Long, true, long64(func(b *entryBuilder, v int64) { b.snapshot, b.hasSnapshot = v, true })},
		"sequence_number": {avrofile.Long, true, long64(func(b *entryBuilder, v int64) { b.sequence, b.hasSequence = v, true })},
		"data_file":       {avrofile.Record, false, readDataFile},
	}
	fileFields = map[string]fieldReader{
		"content":            {avrofile.Int, false, long64(func(b *entryBuilder, v int64) { b.content = v })},
		"file_path":          {avrofile.String, false, readPath},
		"file_format":        {avrofile.String, false, readFormat},
		"partition":          {avrofile.Record, false, readPartition},
		"record_count":       {avrofile.Long, false, long64(func(b *entryBuilder, v int64) { b.entry.Records = v })},
		"file_size_in_bytes": {avrofile.Long, false, long64(func(b *entryBuilder, v int64) { b.entry.RootBytes = v })},
		"sort_order_id":      {avrofile.Int, true, long64(func(b *entryBuilder, v int64) { b.entry.SortOrderID = int(v) })},
		"column_sizes":       counts(func(c *Column, n int64) { c.Bytes = n }),
		"value_counts":       counts(func(c *Column, n int64) { c.Values = n }),
		"null_value_counts":  counts(func(c *Column, n int64) { c.Nulls = n }),
		"nan_value_counts":   counts(func(c *Column, n int64) { c.NaNs = n }),
		"lower_bounds":       {avrofile.Array, true, bounds((*entryBuilder).lower)},
		"upper_bounds":       {avrofile.Array, true, bounds((*entryBuilder).upper)},
	}
}

// required are the fields without which an entry states nothing.
var required = []string{"status", "data_file", "content", "file_path", "file_format", "partition", "record_count", "file_size_in_bytes"}

// stepsOf is the way through a record. A field of another type than the specification's is left to other readers.
func stepsOf(record *avrofile.Type, known map[string]fieldReader) ([]step, error) {
	var steps []step
	for _, name := range required {
		if _, ok := known[name]; ok && record.Field(name) == nil {
			return nil, fmt.Errorf("%w: no field %q", avrofile.ErrUnsupported, name)
		}
	}
	for _, f := range record.Fields {
		r, ok := known[f.Name]
		if !ok {
			steps = append(steps, step{typ: f.Type})
			continue
		}
		typ := f.Type
		if r.optional {
			typ = typ.Value()
		}
		if typ.Kind != r.kind || typ.Kind == avrofile.Array && !isColumnMap(typ) {
			return nil, fmt.Errorf("%w: field %q", avrofile.ErrUnsupported, f.Name)
		}
		steps = append(steps, step{r.read, f.Type})
	}
	return steps, nil
}

// isColumnMap reports whether an array holds pairs of a field id and a count or a bound.
func isColumnMap(t *avrofile.Type) bool {
	pair := t.Items
	if pair.Kind != avrofile.Record || len(pair.Fields) != 2 || pair.Fields[0].Type.Kind != avrofile.Int {
		return false
	}
	value := pair.Fields[1].Type.Kind
	return value == avrofile.Long || value == avrofile.Bytes
}

func long64(set func(*entryBuilder, int64)) func(*decoder, *avrofile.Cursor, *entryBuilder, *avrofile.Type) {
	return func(_ *decoder, c *avrofile.Cursor, b *entryBuilder, t *avrofile.Type) {
		if c.Present(t) {
			set(b, c.Long())
		}
	}
}

func readDataFile(d *decoder, c *avrofile.Cursor, b *entryBuilder, _ *avrofile.Type) {
	for _, s := range d.fileSteps {
		if s.read == nil {
			c.Skip(s.typ)
			continue
		}
		s.read(d, c, b, s.typ)
	}
}

func readPath(_ *decoder, c *avrofile.Cursor, b *entryBuilder, _ *avrofile.Type) {
	b.entry.Path = string(c.Bytes())
}

func readFormat(d *decoder, c *avrofile.Cursor, b *entryBuilder, _ *avrofile.Type) {
	if name := c.Bytes(); string(name) != d.format {
		d.format = string(name)
	}
	b.entry.Format = d.format
}

func readPartition(d *decoder, c *avrofile.Cursor, b *entryBuilder, t *avrofile.Type) {
	b.entry.Partition = d.partition.read(c, t)
}

// counts reads an array of counts by column.
func counts(set func(*Column, int64)) fieldReader {
	return fieldReader{avrofile.Array, true, func(_ *decoder, c *avrofile.Cursor, b *entryBuilder, t *avrofile.Type) {
		if !c.Present(t) {
			return
		}
		for n := c.Items(); n > 0; n = c.Items() {
			for ; n > 0 && !c.Bad(); n-- {
				id, count := int(c.Long()), c.Long()
				if column := b.column(id); column != nil {
					set(column, count)
				}
			}
		}
	}}
}

// bounds reads an array of bounds by column.
func bounds(set func(*entryBuilder, int, []byte)) func(*decoder, *avrofile.Cursor, *entryBuilder, *avrofile.Type) {
	return func(_ *decoder, c *avrofile.Cursor, b *entryBuilder, t *avrofile.Type) {
		if !c.Present(t) {
			return
		}
		for n := c.Items(); n > 0; n = c.Items() {
			for ; n > 0 && !c.Bad(); n-- {
				id := int(c.Long())
				set(b, id, c.Bytes())
			}
		}
	}
}

// entryBuilder collects what a record states.
type entryBuilder struct {
	entry *Entry
	// wanted columns and what was read of them; all of them go into the entry's map if everything is set.
	wanted     []int
	columns    []Column
	seen       []bool
	everything map[int]*Column
	// bytes of bounds.
	bytes []byte

	status, content          int64
	snapshot, sequence       int64
	hasSnapshot, hasSequence bool
}

func newEntryBuilder(wanted []int) *entryBuilder {
	return &entryBuilder{entry: &Entry{}, wanted: wanted, columns: make([]Column, len(wanted)), seen: make([]bool, len(wanted))}
}

// whole makes it take every column.
func (b *entryBuilder) whole() *entryBuilder {
	b.everything = map[int]*Column{}
	return b
}

// reset makes it ready for the next record, over the same memory.
func (b *entryBuilder) reset() *entryBuilder {
	columns := b.entry.Columns
	clear(columns)
	*b.entry = Entry{Columns: columns}
	clear(b.seen)
	b.bytes = b.bytes[:0]
	b.status, b.content, b.hasSnapshot, b.hasSequence = 0, 0, false, false
	return b
}

var noColumn = Column{Values: Unknown, Nulls: Unknown, NaNs: Unknown}

// column is where to put what is read of a column, nil if nobody wants it.
func (b *entryBuilder) column(id int) *Column {
	if b.everything != nil {
		c := b.everything[id]
		if c == nil {
			fresh := noColumn
			c = &fresh
			b.everything[id] = c
		}
		return c
	}
	for i, w := range b.wanted {
		if w == id {
			if !b.seen[i] {
				b.seen[i], b.columns[i] = true, noColumn
			}
			return &b.columns[i]
		}
	}
	return nil
}

// kept copies bytes of a block, which the next one overwrites.
func (b *entryBuilder) kept(p []byte) []byte {
	if len(p) == 0 {
		return []byte{} // the bound of an empty text
	}
	at := len(b.bytes)
	b.bytes = append(b.bytes, p...)
	return b.bytes[at:len(b.bytes):len(b.bytes)]
}

func (b *entryBuilder) lower(id int, bound []byte) {
	if id == fieldTerms || id == fieldRows {
		switch {
		case b.everything == nil:
		case id == fieldTerms:
			b.entry.Terms = string(bound)
		default:
			b.entry.Rows = string(bound)
		}
	} else if isPrivateField(id) {
		b.entry.Private.setLower(id, long(bound))
	} else if c := b.column(id); c != nil {
		c.Lower = b.kept(bound)
	}
}

func (b *entryBuilder) upper(id int, bound []byte) {
	if isPrivateField(id) {
		b.entry.Private.setUpper(id, long(bound))
	} else if c := b.column(id); c != nil {
		c.Upper = b.kept(bound)
	}
}

// finish makes the entry.
func (b *entryBuilder) finish(m iceberg.ManifestFile) *Entry {
	e := b.entry
	e.SpecID = int(m.PartitionSpecID())
	e.Sequence, e.SnapshotID = b.sequence, b.snapshot
	if !b.hasSnapshot {
		e.SnapshotID = m.SnapshotID()
	}
	if !b.hasSequence { // inherited where Iceberg's specification reports it
		e.Sequence = -1
		if n := m.SequenceNum(); n == 0 || b.status == int64(iceberg.EntryStatusADDED) {
			e.Sequence = n
		}
	}
	if !e.IsShard() {
		e.StoredBytes, e.Objects = e.RootBytes, 1
	}
	if len(b.wanted) > 0 && e.Columns == nil || b.everything != nil {
		e.Columns = make(map[int]Column, max(len(b.wanted), len(b.everything)))
	}
	for i, id := range b.wanted {
		if b.seen[i] {
			e.Columns[id] = b.columns[i]
		}
	}
	for id, c := range b.everything {
		e.Columns[id] = *c
	}
	return e
}
