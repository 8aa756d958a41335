package cole

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
)

// Type is the type of a column, by its number on the wire.
type Type uint8

// The types.
const (
	Int32 Type = iota
	Int64
	String
)

// String is the name that the published text gives a type.
func (t Type) String() string { return nameOf([]string{"INT32", "INT64", "STRING"}, uint8(t)) }

// width of an integer in bytes.
func (t Type) width() int {
	if t == Int32 {
		return 4
	}
	return 8
}

// Encoding is the encoding of a page, by its number on the wire.
type Encoding uint8

// The encodings.
const (
	Plain Encoding = iota
	RLE
	Delta
	Dictionary
)

// String is the name that the published text gives an encoding.
func (e Encoding) String() string {
	return nameOf([]string{"PLAIN", "RLE", "DELTA", "DICTIONARY"}, uint8(e))
}

func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprint(i)
}

// holds reports whether a column of type t may have pages of this encoding.
func (e Encoding) holds(t Type) bool {
	switch e {
	case Plain:
		return true
	case RLE, Delta:
		return t != String
	}
	return e == Dictionary && t == String
}

// Version is what a header states.
type Version struct{ Major, Minor uint16 }

// The two ends of a file.
const (
	headerMagic = "COLE"
	footerMagic = "TOOF" // u32 0x464F4F54 in little-endian
	headerSize  = 8
	footerSize  = 12
	major       = 1
)

// Limits bound what a file may hold. The zero value of each means its default.
type Limits struct {
	// Columns of a file, NameBytes of a column's name, RowGroups of a file, Pages of a chunk.
	Columns, NameBytes, RowGroups, Pages int
}

// The defaults of Limits; a writer never exceeds them.
const (
	maxColumns   = 10_000
	maxNameBytes = 1024
	maxRowGroups = 100_000
	maxPages     = 10_000
)

func (l Limits) withDefaults() Limits {
	for _, x := range []struct {
		limit    *int
		standard int
	}{{&l.Columns, maxColumns}, {&l.NameBytes, maxNameBytes}, {&l.RowGroups, maxRowGroups}, {&l.Pages, maxPages}} {
		if *x.limit <= 0 {
			*x.limit = x.standard
		}
	}
	return l
}

// column is one column of the schema.
type column struct {
	name     string
	typ      Type
	encoding Encoding // of the column as a whole; a page has its own
}

// statistics of a page.
type statistics struct {
	hasMin, hasMax bool
	min, max       int64
	nulls          uint32
}

// page is a page header. At is the offset of the header in the file; first is the page's first row in its row group.
type page struct {
	uncompressed, compressed, values uint32
	encoding                         Encoding
	stats                            *statistics
	at                               int64
	first                            uint64
}

// headerFixed is the size of a page header without statistics.
const headerFixed = 14

// headerSize of a page: 14, 20, 28 or 36 bytes.
func (p *page) headerSize() int64 {
	n := int64(headerFixed)
	if p.stats != nil {
		n += 6
		if p.stats.hasMin {
			n += 8
		}
		if p.stats.hasMax {
			n += 8
		}
	}
	return n
}

// size of a page with its header.
func (p *page) size() int64 { return p.headerSize() + int64(p.compressed) }

// append writes the header.
func (p *page) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.uncompressed)
	dst = binary.LittleEndian.AppendUint32(dst, p.compressed)
	dst = binary.LittleEndian.AppendUint32(dst, p.values)
	dst = append(dst, byte(p.encoding))
	if p.stats == nil {
		return append(dst, 0)
	}
	dst = appendBound(append(dst, 1), p.stats.hasMin, p.stats.min)
	dst = appendBound(dst, p.stats.hasMax, p.stats.max)
	return binary.LittleEndian.AppendUint32(dst, p.stats.nulls)
}

func appendBound(dst []byte, has bool, v int64) []byte {
	if !has {
		return append(dst, 0)
	}
	return binary.LittleEndian.AppendUint64(append(dst, 1), uint64(v))
}

// chunk is the pages of one column in one row group.
type chunk struct {
	offset, size int64
	pages        []page
}

type rowGroup struct {
	rows   uint64
	chunks []chunk
}

// metadata is all that a file states about itself. Start is its offset in the file.
type metadata struct {
	columns []column
	groups  []rowGroup
	rows    uint64 // summed up, for the stored number has 32 bits
	start   int64
	// spare is how many bytes lie between the metadata and the footer.
	spare int
}

// metaReader reads the metadata of a file.
type metaReader struct {
	cursor
	limits Limits
	out    metadata
}

// parseMetadata reads b, which lies at offset start, right behind the row groups.
func parseMetadata(b []byte, start int64, l Limits) (*metadata, error) {
	r := &metaReader{cursor: cursor{b: b, base: start}, limits: l, out: metadata{start: start}}
	if err := r.schema(); err != nil {
		return nil, err
	}
	groups, err := r.count("row groups", r.limits.RowGroups, 8)
	if err != nil {
		return nil, err
	}
	for range groups {
		g, err := r.group()
		if err != nil {
			return nil, err
		}
		r.out.groups = append(r.out.groups, g)
		r.out.rows += g.rows
	}
	total, err := r.u32("the number of rows")
	if err != nil {
		return nil, err
	}
	if total != uint32(r.out.rows) {
		return nil, r.corrupt("%d rows, but the row groups have %d", total, r.out.rows)
	}
	r.out.spare = r.left()
	return &r.out, nil
}

// count reads a number of things that take at least size bytes each.
func (r *metaReader) count(what string, limit, size int) (int, error) {
	n, err := r.u32("the number of " + what)
	if err != nil {
		return 0, err
	}
	if int64(n) > int64(limit) {
		return 0, corrupt.Unsupported(r.base+int64(r.at)-4, "%d %s, more than the limit of %d", n, what, limit)
	}
	if int64(n)*int64(size) > int64(r.left()) {
		return 0, r.corrupt("%d %s do not fit into the remaining %d bytes", n, what, r.left())
	}
	return int(n), nil
}

func (r *metaReader) schema() error {
	n, err := r.count("columns", r.limits.Columns, 6)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for range n {
		size, err := r.u32("the length of a name")
		if err != nil {
			return err
		}
		if int64(size) > int64(r.limits.NameBytes) {
			return corrupt.Unsupported(r.base+int64(r.at)-4, "a column name of %d bytes, more than the limit of %d", size, r.limits.NameBytes)
		}
		name, err := r.take(int(size), "a column name")
		if err != nil {
			return err
		}
		if !utf8.Valid(name) {
			return r.corrupt("a column name that is not UTF-8")
		}
		if known[string(name)] {
			return r.corrupt("two columns are called %q", name)
		}
		known[string(name)] = true
		kind, err := r.take(2, "the type of a column")
		if err != nil {
			return err
		}
		c := column{string(name), Type(kind[0]), Encoding(kind[1])}
		if c.typ > String {
			return corrupt.Unsupported(r.base+int64(r.at)-2, "column %q has unknown type %d: must be 0, 1 or 2", name, c.typ)
		}
		if c.encoding > Dictionary {
			return corrupt.Unsupported(r.base+int64(r.at)-1, "column %q has unknown encoding %d: must be 0 to 3", name, c.encoding)
		}
		r.out.columns = append(r.out.columns, c)
	}
	return nil
}

func (r *metaReader) group() (g rowGroup, err error) {
	rows, err := r.u32("the rows of a row group")
	if err != nil {
		return g, err
	}
	columns, err := r.u32("the columns of a row group")
	if err != nil {
		return g, err
	}
	if int64(columns) != int64(len(r.out.columns)) {
		return g, r.corrupt("a row group of %d columns in a file of %d", columns, len(r.out.columns))
	}
	g.rows = uint64(rows)
	for i := range r.out.columns {
		c, err := r.chunk(i, g.rows)
		if err != nil {
			return g, err
		}
		g.chunks = append(g.chunks, c)
	}
	return g, nil
}

// chunk reads where the pages of a column lie: inside the row groups, one behind the other.
func (r *metaReader) chunk(i int, rows uint64) (c chunk, err error) {
	offset, err := r.u64("the offset of a chunk")
	if err != nil {
		return c, err
	}
	size, err := r.u64("the size of a chunk")
	if err != nil {
		return c, err
	}
	end := uint64(r.out.start)
	if offset < headerSize || offset > end || size > end-offset {
		return c, r.corrupt("a chunk of %d bytes at offset %d, outside [%d, %d)", size, offset, headerSize, end)
	}
	c.offset, c.size = int64(offset), int64(size)
	n, err := r.count("pages", r.limits.Pages, headerFixed)
	if err != nil {
		return c, err
	}
	at, first := c.offset, uint64(0)
	for range n {
		p, err := r.page(i)
		if err != nil {
			return c, err
		}
		p.at, p.first = at, first
		at, first = at+p.size(), first+uint64(p.values)
		c.pages = append(c.pages, p)
	}
	if at-c.offset != c.size {
		return c, r.corrupt("a chunk of %d bytes with pages of %d", c.size, at-c.offset)
	}
	if first != rows {
		return c, r.corrupt("column %q has %d values in a row group of %d rows", r.out.columns[i].name, first, rows)
	}
	return c, nil
}

// page reads a page header.
func (r *metaReader) page(column int) (p page, err error) {
	at := r.base + int64(r.at)
	b, err := r.take(headerFixed, "a page header")
	if err != nil {
		return p, err
	}
	p.uncompressed, p.compressed, p.values = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	p.encoding = Encoding(b[12])
	if c := r.out.columns[column]; !p.encoding.holds(c.typ) {
		return p, corrupt.Unsupported(at+12, "column %q: encoding %v of %v", c.name, p.encoding, c.typ)
	}
	switch b[13] {
	case 0:
		return p, nil
	case 1:
		p.stats = &statistics{}
	default:
		return p, corrupt.At(at+13, "invalid presence flag %d of statistics: must be 0 or 1", b[13])
	}
	s := p.stats
	if s.hasMin, s.min, err = r.bound(); err == nil {
		s.hasMax, s.max, err = r.bound()
	}
	if err == nil {
		s.nulls, err = r.u32("the number of nulls")
	}
	return p, err
}

func (r *metaReader) bound() (has bool, v int64, err error) {
	flag, err := r.u8("a bound")
	if err != nil || flag == 0 {
		return false, 0, err
	}
	if flag != 1 {
		return false, 0, corrupt.At(r.base+int64(r.at)-1, "invalid presence flag %d of a bound: must be 0 or 1", flag)
	}
	u, err := r.u64("a bound")
	return true, int64(u), err
}

// append writes the metadata.
func (m *metadata) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.columns)))
	for _, c := range m.columns {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(c.name)))
		dst = append(append(dst, c.name...), byte(c.typ), byte(c.encoding))
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(m.groups)))
	for _, g := range m.groups {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(g.rows))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(g.chunks)))
		for _, c := range g.chunks {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(c.offset))
			dst = binary.LittleEndian.AppendUint64(dst, uint64(c.size))
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(c.pages)))
			for _, p := range c.pages {
				dst = p.append(dst)
			}
		}
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(m.rows))
}
