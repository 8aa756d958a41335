package arrowtype

import (
	"encoding/binary"
	"errors"
)

// Arrow's reader allocates as many fields as a schema claims to have, before it looks whether they are
// there. What follows checks the claims along the path it takes.
//
// A FlatBuffers table starts with the distance back to its vtable, which lists for each slot where in the
// table its value lies; a vector is a count and its elements. Offsets point forward, so there are no cycles,
// but tables may be shared: the number of fields visited is bounded too.

// maxSchemaFields is how many fields, nested ones counted, an Arrow schema may have.
const maxSchemaFields = 1 << 20

// ErrSchema is an Arrow schema message that contradicts itself.
var ErrSchema = errors.New("invalid Arrow schema")

// Slots of Arrow's tables.
const (
	messageHeader  = 2
	messageBody    = 3
	schemaFields   = 1
	schemaMetadata = 2
	fieldTypeKind  = 2
	fieldType      = 3
	fieldChildren  = 5
	fieldMetadata  = 6
	unionTypeIDs   = 1
	kindUnion      = 14
	kindSchema     = 1
)

// CheckSchemaMessage reports whether the metadata of an IPC schema message, without the length in front, may be
// given to Arrow's reader.
func CheckSchemaMessage(metadata []byte) error {
	c := flatCheck{b: metadata}
	if root, ok := c.follow(0); ok {
		if at, present := c.slot(root, messageBody); present {
			low, _ := c.u32(at)
			high, _ := c.u32(at + 4)
			c.bad = c.bad || low|high != 0 // a schema has no body, and space would be made for one
		}
		if err := c.version(root, messageVersion); err != nil {
			return err
		}
	}
	if c.bad {
		return ErrSchema
	}
	return checkSchema(metadata)
}

// checkSchemaStream is CheckSchemaMessage for the start of an IPC stream: a marker, which streams before Arrow 0.15
// don't have, the length of the metadata, the metadata.
func checkSchemaStream(b []byte) error {
	if len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0xFFFFFFFF {
		b = b[4:]
	}
	if len(b) < 4 {
		return ErrSchema
	}
	size := int64(binary.LittleEndian.Uint32(b))
	if size > int64(len(b)-4) {
		return ErrSchema
	}
	return CheckSchemaMessage(b[4 : 4+size])
}

func checkSchema(b []byte) error {
	c := flatCheck{b: b}
	root, ok := c.follow(0)
	if !ok {
		return ErrSchema
	}
	s, present := c.table(root, messageHeader)
	if present && !(c.fields(s, schemaFields, 1) && c.count(s, schemaMetadata)) {
		c.bad = true
	}
	if c.bad {
		return ErrSchema
	}
	return nil
}

// flatCheck reads FlatBuffers without trusting them.
type flatCheck struct {
	b       []byte
	bad     bool
	visited int
}

func (c *flatCheck) u32(at int) (int, bool) {
	if at < 0 || at+4 > len(c.b) {
		c.bad = true
		return 0, false
	}
	return int(binary.LittleEndian.Uint32(c.b[at:])), true
}

// follow resolves the offset at a position.
func (c *flatCheck) follow(at int) (int, bool) {
	d, ok := c.u32(at)
	if !ok || d == 0 || at+d > len(c.b)-4 {
		c.bad = true
		return 0, false
	}
	return at + d, true
}

// slot is where the value of a slot lies; present is false where the table leaves it out.
func (c *flatCheck) slot(table, slot int) (at int, present bool) {
	back, ok := c.u32(table)
	vtable := table - int(int32(uint32(back)))
	if !ok || vtable < 0 || vtable+4 > len(c.b) {
		c.bad = true
		return 0, false
	}
	size := int(binary.LittleEndian.Uint16(c.b[vtable:]))
	entry := 4 + 2*slot
	if entry >= size { // as Arrow's reader has it: of an odd size the last slot is half outside
		return 0, false
	}
	if vtable+entry+2 > len(c.b) {
		c.bad = true
		return 0, false
	}
	d := int(binary.LittleEndian.Uint16(c.b[vtable+entry:]))
	return table + d, d != 0
}

// table is the table that a slot points to.
func (c *flatCheck) table(table, slot int) (at int, present bool) {
	at, present = c.slot(table, slot)
	if !present {
		return 0, false
	}
	return c.follow(at)
}

// vector is the vector that a slot points to, whose elements, four bytes each, must be there.
func (c *flatCheck) vector(table, slot int) (first, n int) {
	at, present := c.slot(table, slot)
	if !present {
		return 0, 0
	}
	v, ok := c.follow(at)
	if !ok {
		return 0, 0
	}
	n, _ = c.u32(v)
	if n > (len(c.b)-v-4)/4 {
		c.bad = true
		return 0, 0
	}
	return v + 4, n
}

// count checks a vector whose elements are of no more interest.
func (c *flatCheck) count(table, slot int) bool {
	c.vector(table, slot)
	return !c.bad
}

// fields checks the fields in a slot of a table, and their children.
func (c *flatCheck) fields(table, slot, depth int) bool {
	first, n := c.vector(table, slot)
	if c.visited += n; c.visited > maxSchemaFields || depth > 2*MaxDepth {
		c.bad = true
	}
	for i := 0; i < n && !c.bad; i++ {
		f, ok := c.follow(first + 4*i)
		if !ok || !c.fields(f, fieldChildren, depth+1) || !c.count(f, fieldMetadata) {
			break
		}
		if k, present := c.slot(f, fieldTypeKind); present && k < len(c.b) && c.b[k] == kindUnion {
			if t, ok := c.table(f, fieldType); ok {
				c.count(t, unionTypeIDs)
			}
		}
	}
	return !c.bad
}
