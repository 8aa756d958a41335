package lance

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// The footer.
const (
	footerSize = 40
	magic      = "LANC"
	tableEntry = 16 // position and size, u64 each
	// alignment of buffers that a writer keeps; a reader does not rely on it.
	alignment = 64
)

// Version is what a footer states. Version 2.0 of the format is written as 0.3, and 2.0 means the same.
type Version struct{ Major, Minor uint16 }

// Is20 reports whether the numbers stand for version 2.0 of the format.
func (v Version) Is20() bool { return v == Version{0, 3} || v == Version{2, 0} }

// IsStructural reports whether the numbers stand for version 2.1 or 2.2, whose columns hold nesting as levels.
func (v Version) IsStructural() bool { return v == Version{2, 1} || v == Version{2, 2} }

// String is the version as writers of Lance name it.
func (v Version) String() string {
	switch {
	case v.Is20():
		return "2.0"
	case v.Major == 0 && v.Minor < 3:
		return fmt.Sprintf("0.%d (legacy)", v.Minor)
	}
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

// container is the outermost layer of a file.
type container struct {
	version Version
	size    int64
	// dataEnd is where the column metadata begin: all buffers lie in front of it.
	dataEnd int64
	columns []extent // their metadata
	globals []extent
	// tail is the end of the file from base on, the column metadata and both tables in it.
	tail []byte
	base int64
}

// openContainer reads the end of a file: one request, two if more than tailSize bytes of it are metadata.
func openContainer(ctx context.Context, src source) (*container, error) {
	tail, total, err := src.suffix(ctx, tailSize)
	if err != nil {
		return nil, err
	}
	c := &container{size: total, tail: tail, base: total - int64(len(tail))}
	metadata, columnTable, globalTable, err := c.footer()
	if err != nil {
		return nil, err
	}
	if metadata < c.base {
		parts, err := src.ranges(ctx, []blobio.Range{{Start: metadata, End: c.base}})
		if err != nil {
			return nil, err
		}
		c.tail, c.base = append(parts[0], c.tail...), metadata
	}
	return c, c.tables(metadata, columnTable, globalTable)
}

// tailSize is how much of the end is read first, in bytes: the whole of a small file, the metadata of most.
const tailSize = 64 << 10

// footer reads the last 40 bytes, and gives the positions in it.
func (c *container) footer() (metadata, columnTable, globalTable int64, err error) {
	n := len(c.tail)
	if n < 8 || string(c.tail[n-4:]) != magic {
		return 0, 0, 0, corrupt.At(max(c.size-4, 0), "the file does not end with %q: not a Lance file, or truncated", magic)
	}
	c.version = Version{binary.LittleEndian.Uint16(c.tail[n-8:]), binary.LittleEndian.Uint16(c.tail[n-6:])}
	if !c.version.Is20() && !c.version.IsStructural() {
		return 0, 0, 0, corrupt.Unsupported(c.size-8, "unsupported Lance file version %s (supported: 2.0, 2.1, 2.2): write it with data_storage_version=\"2.1\"", c.version)
	}
	if n < footerSize {
		return 0, 0, 0, corrupt.At(0, "%d bytes, less than the %d bytes of the footer", c.size, footerSize)
	}
	footer := c.tail[n-footerSize:]
	a, b, g := binary.LittleEndian.Uint64(footer), binary.LittleEndian.Uint64(footer[8:]), binary.LittleEndian.Uint64(footer[16:])
	globals, columns := uint64(binary.LittleEndian.Uint32(footer[24:])), uint64(binary.LittleEndian.Uint32(footer[28:]))
	end := uint64(c.size - footerSize)
	switch {
	case a > b || b > g || g > end:
		return 0, 0, 0, corrupt.At(c.size-footerSize, "column metadata at %d, their table at %d, that of global buffers at %d, in a file of %d bytes", a, b, g, c.size)
	case columns*tableEntry > g-b:
		return 0, 0, 0, corrupt.At(c.size-12, "%d columns, but their table has %d bytes", columns, g-b)
	case globals*tableEntry > end-g:
		return 0, 0, 0, corrupt.At(c.size-16, "%d global buffers, but their table has %d bytes", globals, end-g)
	}
	c.dataEnd = int64(a)
	c.columns, c.globals = make([]extent, columns), make([]extent, globals)
	return int64(a), int64(b), int64(g), nil
}

// tables reads where the columns' metadata and the global buffers lie.
func (c *container) tables(metadata, columnTable, globalTable int64) error {
	for _, t := range []struct {
		of       []extent
		at       int64
		low, end int64
		what     string
	}{{c.columns, columnTable, metadata, globalTable, "the metadata of column"}, {c.globals, globalTable, 0, metadata, "global buffer"}} {
		for i := range t.of {
			at := t.at + int64(i)*tableEntry
			entry := c.tail[at-c.base:]
			start, size := binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:])
			if start < uint64(t.low) || start > uint64(t.end) || size > uint64(t.end)-start {
				return corrupt.At(at, "%s %d: %d bytes at offset %d, outside [%d, %d)", t.what, i, size, start, t.low, t.end)
			}
			t.of[i] = extent{int64(start), int64(size)}
		}
	}
	return nil
}

// fetch gives the bytes of extents: those of the tail available, others by one request.
func (c *container) fetch(ctx context.Context, src source, of []extent) ([][]byte, error) {
	out := make([][]byte, len(of))
	var missing []blobio.Range
	var owners []int
	for i, x := range of {
		if x.at >= c.base {
			out[i] = c.tail[x.at-c.base:][:x.size:x.size]
			continue
		}
		missing, owners = append(missing, blobio.Range{Start: x.at, End: x.at + x.size}), append(owners, i)
	}
	if len(missing) == 0 {
		return out, nil
	}
	parts, err := src.ranges(ctx, missing)
	if err != nil {
		return nil, err
	}
	for i, part := range parts {
		out[owners[i]] = part
	}
	return out, nil
}
