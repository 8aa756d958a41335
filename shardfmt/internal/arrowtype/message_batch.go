package arrowtype

import "errors"

// ErrBatch is an Arrow message of a record batch or a dictionary that contradicts itself.
var ErrBatch = errors.New("invalid Arrow batch")

// Slots of the messages that hold data.
const (
	messageKind     = 1
	messageMetadata = 4
	kindDictionary  = 2
	kindRecordBatch = 3
	dictionaryID    = 0
	dictionaryBatch = 1
	dictionaryDelta = 2
	batchNodes      = 1
	batchBuffers    = 2
	batchPacked     = 3
	packedCodec     = 0
	codecZstd       = 1
	batchVariadic   = 4
	nodeSize        = 16
	bufferSize      = 16
	variadicSize    = 8
)

// CheckBatchMessage reports whether the metadata of an IPC message of a record batch or a dictionary, without the length
// in front, may be given to Arrow's reader, which makes space for as much as is claimed. It gives the length of the
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
	batch, ok := c.batch(root)
	if !ok || body < 0 {
		return 0, ErrBatch
	}
	c.sized(batch, batchNodes, nodeSize)
	_, buffers := c.sized(batch, batchBuffers, bufferSize)
	first, n := c.sized(batch, batchVariadic, variadicSize)
	variadic := int64(0)
	for i := range n {
		if count := c.i64(first + variadicSize*i); count < 0 || count > int64(buffers)-variadic {
			c.bad = true
		} else {
			variadic += count
		}
	}
	if c.bad {
		return 0, ErrBatch
	}
	return body, nil
}

// IsDictionary reports whether a message that CheckBatchMessage takes is a dictionary, not a record batch.
func IsDictionary(metadata []byte) bool {
	c := flatCheck{b: metadata}
	root, ok := c.follow(0)
	if !ok {
		return false
	}
	kind, known := c.slot(root, messageKind)
	return known && kind < len(metadata) && metadata[kind] == kindDictionary
}

// DictionaryOf gives the number of the dictionary that a message for which IsDictionary holds fills, and whether it
// adds to what is there.
func DictionaryOf(metadata []byte) (id int64, delta bool) {
	c := flatCheck{b: metadata}
	root, _ := c.follow(0)
	at, ok := c.table(root, messageHeader)
	if !ok {
		return 0, false
	}
	if slot, present := c.slot(at, dictionaryID); present {
		id = c.i64(slot)
	}
	if slot, present := c.slot(at, dictionaryDelta); present && slot < len(metadata) {
		delta = metadata[slot] != 0
	}
	return id, delta
}

// batch is the table of the record batch that a message holds, by itself or as a dictionary.
func (c *flatCheck) batch(root int) (at int, ok bool) {
	at, ok = c.table(root, messageHeader)
	kind, known := c.slot(root, messageKind)
	if !ok || !known || kind >= len(c.b) {
		return 0, false
	}
	switch c.b[kind] {
	case kindDictionary:
		return c.table(at, dictionaryBatch)
	case kindRecordBatch:
		return at, true
	}
	return 0, false
}

// ZstdBuffers gives where the buffers lie in the body, as [start, end) in bytes, that a batch message states to be compressed by
// zstd; none if they are not. The message is one that CheckBatchMessage takes; what it states about the body may be untrue.
func ZstdBuffers(metadata []byte) (ranges [][2]int64) {
	c := flatCheck{b: metadata}
	root, _ := c.follow(0)
	batch, ok := c.batch(root)
	if !ok {
		return nil
	}
	packed, ok := c.table(batch, batchPacked)
	if !ok {
		return nil
	}
	if codec, present := c.slot(packed, packedCodec); !present || codec >= len(c.b) || c.b[codec] != codecZstd {
		return nil
	}
	first, n := c.sized(batch, batchBuffers, bufferSize)
	for i := range n {
		start := c.i64(first + bufferSize*i)
		ranges = append(ranges, [2]int64{start, start + c.i64(first+bufferSize*i+8)})
	}
	return ranges
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
