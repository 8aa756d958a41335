package lance

import (
	"strings"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Names of the messages in an Any, behind the last slash.
const (
	arrayEncodingType  = "lance.encodings.ArrayEncoding"
	columnEncodingType = "lance.encodings.ColumnEncoding"
)

// extent is where a buffer lies in the file.
type extent struct{ at, size int64 }

// stored is an encoding as the metadata hold it: its bytes, or where they are.
type stored struct {
	direct   []byte
	indirect *extent
	missing  bool
}

// page is one page of a column.
type page struct {
	buffers  []extent
	length   uint64
	encoding stored
	first    uint64 // of its values, counted over the column
}

// column is the metadata of one column.
type column struct {
	index    int
	encoding stored
	pages    []page
	buffers  []extent
	length   uint64 // of all pages
	blob     bool
	zones    *zoneIndex
}

// zoneIndex is what a column states about zones of rows, whose smallest and greatest values it holds.
type zoneIndex struct {
	rows   uint64 // of a zone
	buffer bufferRef
}

// parseColumn reads the metadata of a column. Buffers lie in [0, end).
func parseColumn(index int, b []byte, end int64) (*column, error) {
	c := &column{index: index, encoding: stored{missing: true}}
	var offsets, sizes []uint64
	err := walk("ColumnMetadata", b, func(f wireField) (err error) {
		switch {
		case f.message(1):
			c.encoding, err = parseStored(f.bytes, end)
		case f.message(2):
			var p page
			if p, err = parsePage(f.bytes, end); err != nil {
				return err
			}
			if p.first = c.length; c.length+p.length < c.length {
				return corrupt.At(-1, "pages of more values than 64 bits count")
			}
			c.length += p.length
			c.pages = append(c.pages, p)
		case f.num == 3:
			offsets, err = f.numbers(offsets)
		case f.num == 4:
			sizes, err = f.numbers(sizes)
		}
		return err
	})
	if err == nil {
		c.buffers, err = extents(offsets, sizes, end)
	}
	return c, err
}

func parsePage(b []byte, end int64) (p page, err error) {
	p.encoding.missing = true
	var offsets, sizes []uint64
	err = walk("Page", b, func(f wireField) (err error) {
		switch {
		case f.num == 1:
			offsets, err = f.numbers(offsets)
		case f.num == 2:
			sizes, err = f.numbers(sizes)
		case f.number(3):
			p.length = f.value
		case f.message(4):
			p.encoding, err = parseStored(f.bytes, end)
		}
		return err
	})
	if err == nil {
		p.buffers, err = extents(offsets, sizes, end)
	}
	return p, err
}

// extents checks that buffers lie in [0, end).
func extents(offsets, sizes []uint64, end int64) ([]extent, error) {
	if len(offsets) != len(sizes) {
		return nil, corrupt.At(-1, "%d offsets of buffers with %d sizes", len(offsets), len(sizes))
	}
	out := make([]extent, len(offsets))
	for i := range out {
		if sizes[i] > uint64(end) || offsets[i] > uint64(end)-sizes[i] {
			return nil, corrupt.At(-1, "a buffer of %d bytes at offset %d, outside the %d bytes of data", sizes[i], offsets[i], end)
		}
		out[i] = extent{int64(offsets[i]), int64(sizes[i])}
	}
	return out, nil
}

// parseStored reads an Encoding: direct, indirect or none.
func parseStored(b []byte, end int64) (s stored, err error) {
	s.missing = true
	err = walk("Encoding", b, func(f wireField) error {
		switch {
		case f.message(1):
			var at, size uint64
			err := walk("DeferredEncoding", f.bytes, func(f wireField) error {
				if f.number(1) {
					at = f.value
				} else if f.number(2) {
					size = f.value
				}
				return nil
			})
			if err != nil {
				return err
			}
			where, err := extents([]uint64{at}, []uint64{size}, end)
			if err != nil {
				return err
			}
			s = stored{indirect: &where[0]}
		case f.message(2):
			s = stored{}
			return walk("DirectEncoding", f.bytes, func(f wireField) error {
				if f.message(1) {
					s.direct = f.bytes
				}
				return nil
			})
		}
		return nil
	})
	return s, err
}

// message opens the Any that an encoding is stored as. Only what stands behind the last slash of its type counts.
func (s stored) message(want string) ([]byte, error) {
	if s.missing {
		return nil, corrupt.At(-1, "no encoding, expected one of %s", want)
	}
	var name string
	var value []byte
	err := walk("Any", s.direct, func(f wireField) error {
		if f.message(1) {
			name = string(f.bytes)
		} else if f.message(2) {
			value = f.bytes
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if name = name[strings.LastIndexByte(name, '/')+1:]; name != want {
		return nil, corrupt.Unsupported(-1, "an encoding of type %q, expected %s", name, want)
	}
	return value, nil
}

// describe reads the encoding of the column as a whole.
func (c *column) describe() error {
	if c.encoding.missing {
		return nil
	}
	b, err := c.encoding.message(columnEncodingType)
	if err != nil {
		return err
	}
	return c.parseColumnEncoding(b, 0)
}

func (c *column) parseColumnEncoding(b []byte, depth int) error {
	if depth > maxDepth {
		return corrupt.Unsupported(-1, "column encodings nested more than %d deep", maxDepth)
	}
	return walk("ColumnEncoding", b, func(f wireField) error {
		switch {
		case f.message(1):
			return nil
		case f.message(2):
			c.zones = &zoneIndex{}
			return walk("ZoneIndex", f.bytes, func(f wireField) (err error) {
				switch {
				case f.number(1):
					c.zones.rows = f.value
				case f.message(2):
					c.zones.buffer, err = parseBuffer(f.bytes)
				case f.message(3):
					err = c.parseColumnEncoding(f.bytes, depth+1)
				}
				return err
			})
		case f.message(3):
			c.blob = true
			return walk("Blob", f.bytes, func(f wireField) error {
				if f.message(1) {
					return c.parseColumnEncoding(f.bytes, depth+1)
				}
				return nil
			})
		}
		return corrupt.Unsupported(-1, "unknown column encoding %d", f.num)
	})
}
