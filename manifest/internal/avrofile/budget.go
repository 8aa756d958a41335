package avrofile

import (
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Every entry of a manifest and of a list names another file, so a record takes some bytes however well it compresses:
// fewRecords are taken in any case, above them a record for every bytesPerRecord of the file.
const fewRecords, bytesPerRecord = 4096, 4

// Records is how many records the headers of the blocks promise. More than a file of this size can hold are corrupt data.
func (f *File) Records() (int64, error) {
	records := int64(0)
	c := Cursor{left: f.data[f.begin:]}
	for len(c.left) > 0 {
		at := int64(len(f.data) - len(c.left))
		n := c.Long()
		c.Bytes()
		c.Fixed(markerSize)
		if c.bad || n < 0 {
			return 0, corrupt.At(at, "the Avro block is cut off, or not followed by the file's marker")
		}
		if n > fewRecords+int64(len(f.data))/bytesPerRecord-records {
			return 0, corrupt.At(at, "more than %d records in a file of %d bytes", fewRecords+len(f.data)/bytesPerRecord, len(f.data))
		}
		records += n
	}
	return records, nil
}

// What values take in memory besides their bytes, about: a record, an item of an array or map, a slice or string.
const recordMemory, itemMemory, bytesMemory = 64, 96, 32

// Weigh passes over a value and estimates how many bytes of memory a decoder takes for it.
func (c *Cursor) Weigh(t *Type) int64 {
	switch t.Kind {
	case Bytes, String:
		return bytesMemory + int64(len(c.Bytes()))
	case Record:
		n := int64(recordMemory)
		for i := range t.Fields {
			n += c.Weigh(t.Fields[i].Type)
		}
		return n
	case Array, Map:
		return c.weighItems(t)
	case Union:
		if b := c.branch(t); b != nil {
			return bytesMemory + c.Weigh(b)
		}
		return 0
	}
	c.Skip(t)
	return int64(8 + t.Size)
}

func (c *Cursor) weighItems(t *Type) int64 {
	sum := int64(bytesMemory)
	for n := c.Items(); n > 0 && !c.bad; n = c.Items() {
		for ; n > 0 && !c.bad; n-- {
			before := len(c.left)
			sum += itemMemory
			if t.Kind == Map {
				sum += bytesMemory + int64(len(c.Bytes()))
			}
			if sum += c.Weigh(t.Items); len(c.left) == before {
				c.fail() // a count of items without bytes would cost memory and be no data
			}
		}
	}
	return sum
}

// maxRatio bounds what all blocks of a file may be decompressed to: minInflated, or so many times its size.
const minInflated, maxRatio = 64 << 20, 100

func errInflated(size int) error {
	return fmt.Errorf("larger than the limit of %d bytes for a file of %d bytes", minInflated+maxRatio*int64(size), size)
}
