package avrofile

import (
	"encoding/binary"
	"math"
)

// Cursor reads values one after the other from the bytes of a block. After the first value that is not there, or is
// malformed, every further one is zero and Bad reports true. What it returns as bytes belongs to the block.
type Cursor struct {
	left []byte
	bad  bool
}

// Bad reports whether something was read that is not there.
func (c *Cursor) Bad() bool { return c.bad }

// fail ends the reading.
func (c *Cursor) fail() { c.left, c.bad = nil, true }

// Long reads an int or a long.
func (c *Cursor) Long() int64 {
	if len(c.left) > 0 && c.left[0] < 0x80 { // most are small
		v := c.left[0]
		c.left = c.left[1:]
		return int64(v>>1) ^ -int64(v&1)
	}
	v, n := binary.Varint(c.left) // Avro's zigzag is encoding/binary's
	if n <= 0 {
		c.fail()
		return 0
	}
	c.left = c.left[n:]
	return v
}

// Until are the bytes between c, a copy of a cursor, and where that cursor is now.
func (c *Cursor) Until(now *Cursor) []byte {
	if now.bad {
		return nil
	}
	return c.left[:len(c.left)-len(now.left)]
}

// Fixed reads n bytes.
func (c *Cursor) Fixed(n int) []byte {
	if n < 0 || n > len(c.left) {
		c.fail()
		return nil
	}
	b := c.left[:n:n]
	c.left = c.left[n:]
	return b
}

// Bytes reads bytes or a string.
func (c *Cursor) Bytes() []byte {
	n := c.Long()
	if n < 0 || n > int64(len(c.left)) {
		c.fail()
		return nil
	}
	return c.Fixed(int(n))
}

// Boolean reads a boolean.
func (c *Cursor) Boolean() bool {
	b := c.Fixed(1)
	return len(b) == 1 && b[0] != 0
}

// Float reads a float.
func (c *Cursor) Float() float32 {
	if b := c.Fixed(4); b != nil {
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// Double reads a double.
func (c *Cursor) Double() float64 {
	if b := c.Fixed(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// Present reads which branch of an optional field follows, and reports whether it is a value: after true the value is
// to be read as t.Value(), after false nothing. A type that is not a union is always present.
func (c *Cursor) Present(t *Type) bool {
	if t.Kind != Union {
		return t.Kind != Null
	}
	b := c.branch(t)
	return b != nil && b.Kind != Null
}

func (c *Cursor) branch(t *Type) *Type {
	i := c.Long()
	if i < 0 || i >= int64(len(t.Branches)) {
		c.fail()
		return nil
	}
	return t.Branches[i]
}

// Items reads how many items of an array or map follow before Items is to be retried; 0 ends it. Every item takes
// a byte at least.
func (c *Cursor) Items() int {
	n := c.Long()
	if n < 0 {
		n = -n
		c.Long() // the length in bytes
	}
	if n < 0 || n > int64(len(c.left)) {
		c.fail()
		return 0
	}
	return int(n)
}

// Skip passes over a value.
func (c *Cursor) Skip(t *Type) {
	switch t.Kind {
	case Boolean:
		c.Fixed(1)
	case Int, Long, Enum:
		c.Long()
	case Float:
		c.Fixed(4)
	case Double:
		c.Fixed(8)
	case Bytes, String:
		c.Bytes()
	case Fixed:
		c.Fixed(t.Size)
	case Record:
		for i := range t.Fields {
			c.Skip(t.Fields[i].Type)
		}
	case Array, Map:
		c.skipItems(t)
	case Union:
		if b := c.branch(t); b != nil {
			c.Skip(b)
		}
	}
}

// skipItems passes over an array or map, whole blocks of it where their lengths are given. Items without bytes are refused: a
// count of them would cost time and be no data.
func (c *Cursor) skipItems(t *Type) {
	for !c.bad {
		n := c.Long()
		if n < 0 {
			size := c.Long()
			if size < 0 || size > int64(len(c.left)) {
				c.fail()
				return
			}
			c.left = c.left[size:]
			continue
		}
		if n == 0 {
			return
		}
		if n > int64(len(c.left)) {
			c.fail()
			return
		}
		for ; n > 0 && !c.bad; n-- {
			before := len(c.left)
			if t.Kind == Map {
				c.Bytes()
			}
			if c.Skip(t.Items); len(c.left) == before {
				c.fail()
			}
		}
	}
}
