package arrowtype

import "errors"

// ErrBatch is an Arrow message of a record batch or a dictionary that contradicts itself.
var ErrBatch = errors.New("no sound Arrow batch")

// Slots of the messages that hold data.
const (
	messageKind     = 1
	messageMetadata = 4
	kindDictionary  = 2
	kindRecordBatch = 3
	dictionaryBatch = 1
	batchNodes      = 1
	batchBuffers    = 2
	batchVariadic   = 4
	nodeSize        = 16
	bufferSize      = 16
	variadicSize    = 8
)

// CheckBatchMessage reports whether the metadata of an IPC message of a record batch or a dictionary, without the length
// in front, may be given to Arrow's reader, which makes room for as much as is claimed. It gives the length of the
// body in bytes.
func CheckBatchMessage(metadata []byte) (body int64, err error) {
	c := flatCheck{b: metadata}
	root, ok := c.follow(0)
	if !ok {
		return 0, ErrBatch
	}
	if at, present := c.slot(root, messageBody); present {
		body = c.i64(at)
	}
	c.count(root, messageMetadata)
	batch, present := c.table(root, messageHeader)
	kind, known := c.slot(root, messageKind)
	if !present || !known || kind >= len(c.b) || body < 0 {
		return 0, ErrBatch
	}
	switch c.b[kind] {
	case kindDictionary:
		if batch, present = c.table(batch, dictionaryBatch); !present {
			return 0, ErrBatch
		}
	case kindRecordBatch:
	default:
		return 0, ErrBatch
	}
	c.sized(batch, batchNodes, nodeSize)
	_, buffers := c.sized(batch, batchBuffers, bufferSize)
	first, n := c.sized(batch, batchVariadic, variadicSize)
	for i := range n {
		if count := c.i64(first + variadicSize*i); count < 0 || count > int64(buffers) {
			c.bad = true
		}
	}
	if c.bad {
		return 0, ErrBatch
	}
	return body, nil
}

// i64 is the 64-bit number at a position.
func (c *flatCheck) i64(at int) int64 {
	low, _ := c.u32(at)
	high, _ := c.u32(at + 4)
	return int64(uint64(high)<<32 | uint64(low))
}

// sized is the vector that a slot points to, whose elements have a size of their own.
func (c *flatCheck) sized(table, slot, size int) (first, n int) {
	at, present := c.slot(table, slot)
	if !present {
		return 0, 0
	}
	v, ok := c.follow(at)
	if !ok {
		return 0, 0
	}
	n, _ = c.u32(v)
	if n > (len(c.b)-v-4)/size {
		c.bad = true
		return 0, 0
	}
	return v + 4, n
}
