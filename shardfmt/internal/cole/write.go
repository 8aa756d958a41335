package cole

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// WriteOptions determine how a file is written. The zero value is valid.
type WriteOptions struct {
	// GroupRows of a row group, DefaultGroupRows if 0. One whose strings take more than 256 MiB ends earlier.
	GroupRows int
	// PageRows of a page; one page a chunk if 0, which is all that other readers see.
	PageRows int
	// Encodings by column; a column that is not named gets the one that suits its first row group.
	Encodings map[string]Encoding
	// Nulls are the values in place of nulls by column, as text; nulls of other columns are refused.
	Nulls map[string]string
	// Casts by column are CastText or CastBits.
	Casts map[string]string
}

// What becomes of columns of other types on request.
const (
	CastText = "text" // any value as text
	CastBits = "bits" // floats as integers of the same bits
)

// DefaultGroupRows is the usual size of a row group.
const DefaultGroupRows = 65_536

// Bounds of what a row group holds in memory.
const (
	maxGroupBytes = 256 << 20      // of strings, all columns together
	maxFileRows   = math.MaxUint32 // the number of rows has 32 bits
)

// Writer writes a file in one pass: it holds the values of one row group and the page headers.
type Writer struct {
	w       io.Writer
	o       WriteOptions
	columns []*buffered
	meta    metadata
	at      int64 // where the next byte goes
	rows    int   // of the row group available
	bytes   int   // of its strings
	report  arrowtype.Report
}

// buffered is one column of the row group available.
type buffered struct {
	column
	feed    feed
	chosen  bool
	ints    []int64
	strings []string
}

func newSink(w io.Writer, s *arrow.Schema, o fileformat.SinkOptions) (fileformat.Sink, error) {
	write, err := writeSettings(o.Settings)
	if err != nil {
		return nil, err
	}
	return NewWriter(w, s, write)
}

// writeSettings turns settings into options.
func writeSettings(s fileformat.Settings) (o WriteOptions, err error) {
	rows, err := s.Int(optionGroupRows, DefaultGroupRows, 1, math.MaxUint32)
	if err != nil {
		return o, err
	}
	pageRows, err := s.Int(optionPageRows, 0, 1, math.MaxUint32)
	if err != nil {
		return o, err
	}
	o.GroupRows, o.PageRows = int(rows), int(pageRows)
	if o.Nulls, err = s.Pairs(optionNull); err != nil {
		return o, err
	}
	if o.Casts, err = s.Pairs(optionCast); err != nil {
		return o, err
	}
	names, err := s.Pairs(optionEncoding)
	o.Encodings = map[string]Encoding{}
	for column, name := range names {
		e, ok := map[string]Encoding{"plain": Plain, "rle": RLE, "delta": Delta, "dictionary": Dictionary}[name]
		if !ok {
			return o, &fileformat.OptionError{Name: optionEncoding, Value: column + "=" + name, What: "plain, rle, delta or dictionary"}
		}
		o.Encodings[column] = e
	}
	return o, err
}

// NewWriter begins a file. Columns of types that the format can't hold are refused by name.
func NewWriter(w io.Writer, s *arrow.Schema, o WriteOptions) (*Writer, error) {
	if o.GroupRows <= 0 {
		o.GroupRows = DefaultGroupRows
	}
	if o.PageRows <= 0 {
		o.PageRows = o.GroupRows
	}
	if (o.GroupRows-1)/o.PageRows >= maxPages {
		return nil, &fileformat.OptionError{Name: optionPageRows, Value: fmt.Sprint(o.PageRows), What: fmt.Sprintf("at most %d pages in a row group of %d rows", maxPages, o.GroupRows)}
	}
	out := &Writer{w: w, o: o}
	if o.PageRows < o.GroupRows {
		out.report.Add("", "other readers see only the first of several pages of a chunk", 0)
	}
	if s.NumFields() > maxColumns {
		return nil, fmt.Errorf("%w: %d columns, more than the limit of %d of a COLE file", ErrType, s.NumFields(), maxColumns)
	}
	for _, f := range s.Fields() {
		if err := out.add(f); err != nil {
			return nil, err
		}
	}
	if err := o.check(s); err != nil {
		return nil, err
	}
	header := binary.LittleEndian.AppendUint16([]byte(headerMagic), major)
	return out, out.put(binary.LittleEndian.AppendUint16(header, 0))
}

// check refuses options for columns that are not there.
func (o WriteOptions) check(s *arrow.Schema) error {
	for name, given := range map[string][]string{optionNull: keys(o.Nulls), optionCast: keys(o.Casts), optionEncoding: keys(o.Encodings)} {
		for _, column := range given {
			if len(s.FieldIndices(column)) == 0 {
				return &fileformat.OptionError{Name: name, Value: column, What: "unknown column"}
			}
		}
	}
	return nil
}

func keys[V any](m map[string]V) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

// add declares a column.
func (w *Writer) add(f arrow.Field) error {
	if len(f.Name) > maxNameBytes || !utf8.ValidString(f.Name) {
		return fmt.Errorf("%w: column %.40q: a name of %d bytes, more than the limit of %d bytes of UTF-8", ErrType, f.Name, len(f.Name), maxNameBytes)
	}
	for _, c := range w.columns {
		if c.name == f.Name {
			return fmt.Errorf("%w: two columns are called %q", ErrType, f.Name)
		}
	}
	feed, what, err := newFeed(f, w.o.Casts[f.Name])
	if err != nil {
		return err
	}
	if what != "" {
		w.report.Add(f.Name, what, 0)
	}
	c := &buffered{column: column{name: f.Name, typ: feed.typ}, feed: feed}
	if text, ok := w.o.Nulls[f.Name]; ok {
		if err := c.feed.replaceNull(text); err != nil {
			return err
		}
	}
	if e, ok := w.o.Encodings[f.Name]; ok {
		if !e.holds(c.typ) {
			return &fileformat.OptionError{Name: optionEncoding, Value: f.Name, What: fmt.Sprintf("%v does not hold %v", e, c.typ)}
		}
		c.encoding, c.chosen = e, true
	}
	w.columns = append(w.columns, c)
	return nil
}

// Report implements fileformat.Sink.
func (w *Writer) Report() *arrowtype.Report { return &w.report }

func (w *Writer) put(b []byte) error {
	_, err := w.w.Write(b)
	w.at += int64(len(b))
	return err
}

// Write implements fileformat.Sink.
func (w *Writer) Write(batch arrow.RecordBatch) error {
	take := make([]func(i int) (int64, string, error), len(w.columns))
	for c, column := range w.columns {
		take[c] = column.feed.from(batch.Column(c), &w.report)
	}
	for i := range int(batch.NumRows()) {
		for c, column := range w.columns {
			v, text, err := take[c](i)
			if err != nil {
				return &arrowtype.RowError{Field: column.name, Row: int64(i), Err: err}
			}
			if column.typ == String {
				column.strings = append(column.strings, text)
				w.bytes += len(text)
			} else {
				column.ints = append(column.ints, v)
			}
		}
		w.rows++
		if w.rows == w.o.GroupRows || w.bytes >= maxGroupBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the row group available.
func (w *Writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	if len(w.meta.groups) == maxRowGroups {
		return fmt.Errorf("%w: more than %d row groups of %d rows: make them larger (--%s)", ErrType, maxRowGroups, w.o.GroupRows, optionGroupRows)
	}
	if w.meta.rows += uint64(w.rows); w.meta.rows > maxFileRows {
		return fmt.Errorf("%w: more than %d rows, the limit of a COLE file", ErrType, uint64(maxFileRows))
	}
	g := rowGroup{rows: uint64(w.rows)}
	for _, c := range w.columns {
		chunk, err := w.chunk(c)
		if err != nil {
			return err
		}
		g.chunks = append(g.chunks, chunk)
		c.ints, c.strings = c.ints[:0], c.strings[:0]
	}
	w.meta.groups = append(w.meta.groups, g)
	w.rows, w.bytes = 0, 0
	return nil
}

// chunk writes the pages of a column.
func (w *Writer) chunk(c *buffered) (chunk, error) {
	if !c.chosen {
		if c.chosen = true; c.typ == String {
			c.encoding = chooseTexts(c.strings)
		} else {
			c.encoding = chooseIntegers(c.ints)
		}
	}
	out := chunk{offset: w.at}
	for at := 0; at < w.rows; at += w.o.PageRows {
		p, data := c.page(at, min(at+w.o.PageRows, w.rows))
		if len(data) > math.MaxUint32 {
			return out, fmt.Errorf("%w: column %q: a page of %d bytes", ErrType, c.name, len(data))
		}
		p.uncompressed, p.compressed = uint32(len(data)), uint32(len(data))
		out.pages = append(out.pages, p)
		if err := w.put(append(p.append(nil), data...)); err != nil {
			return out, err
		}
	}
	out.size = w.at - out.offset
	return out, nil
}

// page encodes values [start, end) of the row group.
func (c *buffered) page(start, end int) (page, []byte) {
	p := page{values: uint32(end - start), encoding: c.encoding}
	if c.typ == String {
		return p, encodeTexts(c.encoding, c.strings[start:end])
	}
	values := c.ints[start:end]
	p.stats = &statistics{hasMin: true, hasMax: true, min: values[0], max: values[0]}
	for _, v := range values {
		p.stats.min, p.stats.max = min(p.stats.min, v), max(p.stats.max, v)
	}
	return p, encodeIntegers(c.typ, c.encoding, values)
}

// Close implements fileformat.Sink: it writes the last row group, the metadata and the footer.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	for _, c := range w.columns {
		w.meta.columns = append(w.meta.columns, c.column)
	}
	start := w.at
	tail := append(w.meta.append(nil), footerMagic...)
	return w.put(binary.LittleEndian.AppendUint64(tail, uint64(start)))
}

// ErrType matches what the format has no place for.
var ErrType = fmt.Errorf("%w: not representable in a COLE file", corrupt.ErrUnsupported)
