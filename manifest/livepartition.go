package manifest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/shardcat/shardcat/manifest/internal/avrofile"
)

// partitionReader reads partition tuples. Entries with the same bytes share one: an entry is never changed.
type partitionReader struct {
	fields []partitionField
	tuples map[string]map[int]any
	start  avrofile.Cursor
}

type partitionField struct {
	id   int
	typ  *avrofile.Type
	read func(*avrofile.Cursor) any
}

// maxTuples bounds how many tuples are remembered; beyond it they are made again.
const maxTuples = 4 << 10

// newPartitionReader looks at the partition record of a manifest and at the partition spec of its header, whose day fields are
// dates even where they are stored as plain numbers.
func newPartitionReader(record *avrofile.Type, spec []byte) (partitionReader, error) {
	r := partitionReader{tuples: map[string]map[int]any{}}
	days := map[int]bool{}
	var fields []iceberg.PartitionField
	if json.Unmarshal(spec, &fields) == nil {
		for _, f := range fields {
			_, days[f.FieldID] = f.Transform.(iceberg.DayTransform)
		}
	}
	for _, f := range record.Fields {
		read, ok := partitionValueReader(f.Type.Value(), days[f.ID])
		if !ok {
			return r, fmt.Errorf("%w: partition field %q", avrofile.ErrUnsupported, f.Name)
		}
		r.fields = append(r.fields, partitionField{f.ID, f.Type, read})
	}
	return r, nil
}

// read reads a tuple, nil for a table without partitions.
func (r *partitionReader) read(c *avrofile.Cursor, record *avrofile.Type) map[int]any {
	if len(r.fields) == 0 {
		return nil
	}
	r.start = *c
	c.Skip(record)
	raw := r.start.Until(c)
	if tuple, ok := r.tuples[string(raw)]; ok {
		return tuple
	}
	tuple := make(map[int]any, len(r.fields))
	for _, f := range r.fields {
		var v any
		if r.start.Present(f.typ) {
			v = f.read(&r.start)
		}
		if f.id != 0 {
			tuple[f.id] = v
		}
	}
	if len(r.tuples) < maxTuples {
		r.tuples[string(raw)] = tuple
	}
	return tuple
}

// partitionValueReader reads values of a type as iceberg-go gives them; false for types that are left to it.
func partitionValueReader(t *avrofile.Type, day bool) (func(*avrofile.Cursor) any, bool) {
	logical := t.Logical
	if day && t.Kind == avrofile.Int {
		logical = "date"
	}
	switch t.Kind {
	case avrofile.Int, avrofile.Long:
		return integerReader(t.Kind, logical)
	case avrofile.Fixed, avrofile.Bytes:
		return bytesReader(t)
	}
	if logical != "" {
		return nil, false
	}
	switch t.Kind {
	case avrofile.Null:
		return func(*avrofile.Cursor) any { return nil }, true
	case avrofile.Boolean:
		return func(c *avrofile.Cursor) any { return c.Boolean() }, true
	case avrofile.Float:
		return func(c *avrofile.Cursor) any { return c.Float() }, true
	case avrofile.Double:
		return func(c *avrofile.Cursor) any { return c.Double() }, true
	case avrofile.String:
		return func(c *avrofile.Cursor) any { return string(c.Bytes()) }, true
	}
	return nil, false
}

func integerReader(k avrofile.Kind, logical string) (func(*avrofile.Cursor) any, bool) {
	type typed struct {
		kind    avrofile.Kind
		logical string
	}
	switch (typed{k, logical}) {
	case typed{avrofile.Int, ""}:
		return func(c *avrofile.Cursor) any { return int32(c.Long()) }, true
	case typed{avrofile.Int, "date"}:
		return func(c *avrofile.Cursor) any { return iceberg.Date(c.Long()) }, true
	case typed{avrofile.Long, ""}:
		return func(c *avrofile.Cursor) any { return c.Long() }, true
	case typed{avrofile.Long, "time-micros"}:
		return func(c *avrofile.Cursor) any { return iceberg.Time(c.Long()) }, true
	case typed{avrofile.Long, "timestamp-micros"}:
		return func(c *avrofile.Cursor) any { return iceberg.Timestamp(c.Long()) }, true
	}
	return nil, false
}

func bytesReader(t *avrofile.Type) (func(*avrofile.Cursor) any, bool) {
	switch {
	case t.Kind == avrofile.Bytes && t.Logical == "":
		return func(c *avrofile.Cursor) any { return append([]byte{}, c.Bytes()...) }, true
	case t.Kind == avrofile.Fixed && t.Logical == "uuid" && t.Size == len(uuid.UUID{}):
		return func(c *avrofile.Cursor) any {
			var u uuid.UUID
			copy(u[:], c.Fixed(len(u)))
			return u
		}, true
	case t.Kind == avrofile.Fixed && t.Logical == "decimal" && t.Size <= 16:
		return func(c *avrofile.Cursor) any {
			return iceberg.DecimalLiteral{Scale: t.Scale, Val: unscaledOf(c.Fixed(t.Size))}
		}, true
	}
	return nil, false
}

// unscaledOf is a big-endian number in two's complement.
func unscaledOf(b []byte) decimal128.Num {
	var wide [16]byte
	if len(b) > 0 && b[0] >= 0x80 {
		for i := range wide {
			wide[i] = 0xff
		}
	}
	copy(wide[len(wide)-len(b):], b)
	return decimal128.New(int64(binary.BigEndian.Uint64(wide[:8])), binary.BigEndian.Uint64(wide[8:]))
}
