package arrowtype

import (
	"encoding/binary"
	"errors"
)

// ErrFooter is a footer of an Arrow file that contradicts itself.
var ErrFooter = errors.New("invalid footer of an Arrow file")

// ErrVersion is metadata of a version that is not read.
var ErrVersion = errors.New("unknown version of Arrow metadata: V4 and V5 are supported (Arrow 0.8 and later); rewrite the file with a current version")

// Slots of the footer of a file, and its blocks: | offset i64 | metadata i32 | unused i32 | body i64 |.
const (
	footerVersion      = 0
	footerSchema       = 1
	footerDictionaries = 2
	footerBatches      = 3
	blockSize          = 24
	blockMetadata      = 8
	blockBody          = 16
	messageVersion     = 0
	// oldest and newest are the versions of metadata that are read: V4 and V5.
	oldest, newest = 3, 4
)

// Block is where a message of a file lies: so many bytes of metadata, the length in front and what pads it counted, and of body.
type Block struct{ Offset, Metadata, Body int64 }

// Footer is what the footer of an Arrow file lists.
type Footer struct {
	// Schema is the metadata of a schema message.
	Schema                []byte
	Dictionaries, Batches []Block
}

// ParseFooter reads a footer, of which nothing is taken on trust but that its blocks lie in a file.
func ParseFooter(b []byte) (*Footer, error) {
	c := flatCheck{b: b}
	root, ok := c.follow(0)
	if !ok {
		return nil, ErrFooter
	}
	if err := c.version(root, footerVersion); err != nil {
		return nil, err
	}
	schema, present := c.table(root, footerSchema)
	f := &Footer{Dictionaries: c.blocks(root, footerDictionaries), Batches: c.blocks(root, footerBatches)}
	if !present || c.bad {
		return nil, ErrFooter
	}
	f.Schema = schemaMessage(b, schema, c.u16(root, footerVersion))
	return f, CheckSchemaMessage(f.Schema)
}

// blocks are those in a slot of a footer.
func (c *flatCheck) blocks(root, slot int) []Block {
	first, n := c.sized(root, slot, blockSize)
	out := make([]Block, n)
	for i := range out {
		at := first + blockSize*i
		metadata, _ := c.u32(at + blockMetadata)
		out[i] = Block{c.i64(at), int64(int32(uint32(metadata))), c.i64(at + blockBody)}
	}
	return out
}

// schemaMessage wraps the schema in a footer as a message: | root offset | vtable | table with the offset of the schema | footer |.
func schemaMessage(footer []byte, schema int, version uint16) []byte {
	const vtable, table, header, head = 4, 16, 4, 32
	b := make([]byte, head, head+len(footer))
	le := binary.LittleEndian
	le.PutUint32(b, table)
	for i, v := range []uint16{10, 12, 8, 10, header} { // sizes of vtable and table, then where version, kind and header lie in it
		le.PutUint16(b[vtable+2*i:], v)
	}
	le.PutUint32(b[table:], table-vtable)
	le.PutUint32(b[table+header:], uint32(head+schema-table-header))
	le.PutUint16(b[table+8:], version)
	b[table+10] = kindSchema
	return append(b, footer...)
}

// u16 is the 16-bit number in a slot, 0 where the table leaves it out.
func (c *flatCheck) u16(table, slot int) uint16 {
	at, present := c.slot(table, slot)
	if !present || at < 0 || at+2 > len(c.b) {
		return 0
	}
	return binary.LittleEndian.Uint16(c.b[at:])
}

// version refuses metadata of versions that nobody writes any more, and of those to come.
func (c *flatCheck) version(table, slot int) error {
	if v := c.u16(table, slot); !c.bad && (v < oldest || v > newest) {
		return ErrVersion
	}
	return nil
}
