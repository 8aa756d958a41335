package cole

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Stats counts what a Source did.
type Stats struct {
	// GroupsRead and GroupsSkipped are row groups of which something, or nothing, had to be read.
	GroupsRead, GroupsSkipped int
	// ChunksRead are column chunks, PagesRead and PagesSkipped the pages of those columns in all row groups.
	ChunksRead, PagesRead, PagesSkipped int
}

// Source reads rows in order. A row group's wanted pages are fetched together, and decoded as they are requested.
type Source struct {
	f       *File
	o       fileformat.ReadOptions
	columns []int
	schema  *arrow.Schema
	stats   Stats

	group   int       // the next row group
	runs    []span    // rows of the row group available that are left to read
	readers []*reader // of its columns
	batch   arrow.RecordBatch
}

// span is a range of rows of a row group.
type span struct{ start, end uint64 }

// Read implements fileformat.File.
func (f *File) Read(_ context.Context, o fileformat.ReadOptions) (fileformat.Source, error) {
	return f.NewSource(o)
}

// NewSource is Read with a Source that counts.
func (f *File) NewSource(o fileformat.ReadOptions) (*Source, error) {
	s := &Source{f: f, o: o, columns: o.Columns}
	if s.o.BatchRows <= 0 {
		s.o.BatchRows = fileformat.DefaultBatchRows
	}
	if s.columns == nil {
		for i := range f.meta.columns {
			s.columns = append(s.columns, i)
		}
	}
	var fields []arrow.Field
	for _, i := range s.columns {
		if i < 0 || i >= len(f.meta.columns) {
			return nil, fmt.Errorf("column %d of %d", i, len(f.meta.columns))
		}
		fields = append(fields, f.schema.Field(i))
	}
	s.schema = arrow.NewSchema(fields, nil)
	return s, nil
}

// Schema implements fileformat.Source.
func (s *Source) Schema() *arrow.Schema { return s.schema }

// Stats reports what was read so far.
func (s *Source) Stats() Stats { return s.stats }

// Report implements fileformat.Source: batches hold all that a file does.
func (s *Source) Report() *arrowtype.Report { return &arrowtype.Report{} }

// Close implements fileformat.Source.
func (s *Source) Close() error {
	s.release()
	return nil
}

func (s *Source) release() {
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
}

// Next implements fileformat.Source.
func (s *Source) Next(ctx context.Context) (arrow.RecordBatch, error) {
	s.release()
	for len(s.runs) == 0 {
		if s.group == len(s.f.meta.groups) {
			return nil, io.EOF
		}
		if err := s.begin(ctx); err != nil {
			return nil, corrupt.Locate(err, s.f.url, 0)
		}
	}
	if err := s.decode(); err != nil {
		return nil, corrupt.Locate(err, s.f.url, 0)
	}
	return s.batch, nil
}

// begin plans the next row group and fetches what is needed of it.
func (s *Source) begin(ctx context.Context) error {
	g := &s.f.meta.groups[s.group]
	s.group++
	s.runs = s.f.keep(g, s.o.MayMatch)
	if len(s.runs) == 0 {
		s.stats.GroupsSkipped++
		for _, i := range s.columns {
			s.stats.PagesSkipped += len(g.chunks[i].pages)
		}
		return nil
	}
	s.stats.GroupsRead++
	s.readers = s.readers[:0]
	var ranges []blobio.Range
	var owners []*reader
	for _, i := range s.columns {
		r := &reader{f: s.f, column: i}
		s.readers = append(s.readers, r)
		kept := len(ranges)
		for _, p := range g.chunks[i].pages {
			if !overlaps(s.runs, p.first, p.first+uint64(p.values)) {
				s.stats.PagesSkipped++
				continue
			}
			r.pages = append(r.pages, fetched{page: p})
			ranges, owners = append(ranges, blobio.Range{Start: p.at, End: p.at + p.size()}), append(owners, r)
		}
		s.stats.PagesRead += len(ranges) - kept
		s.stats.ChunksRead += min(len(ranges)-kept, 1)
	}
	parts, err := s.f.st.ReadRanges(ctx, s.f.url, ranges)
	if err != nil {
		return err
	}
	at := map[*reader]int{}
	for i, r := range owners {
		r.pages[at[r]].data = parts[i]
		at[r]++
	}
	return nil
}

// overlaps reports whether rows [start, end) meet any of the spans.
func overlaps(spans []span, start, end uint64) bool {
	return slices.ContainsFunc(spans, func(x span) bool { return start < x.end && x.start < end })
}

// maxBatchBytes is about the most that the strings of a column take in a batch: few stored bytes can stand for many.
const maxBatchBytes = 16 << 20

// decode makes a batch of the next rows.
func (s *Source) decode() error {
	run := &s.runs[0]
	n := int(min(run.end-run.start, uint64(s.o.BatchRows)))
	for _, r := range s.readers {
		if err := r.moveTo(run.start); err != nil {
			return err
		}
		fit, err := r.fit(n)
		if err != nil {
			return err
		}
		n = fit
	}
	columns := make([]arrow.Array, len(s.readers))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, r := range s.readers {
		var err error
		if columns[i], err = r.read(n); err != nil {
			return err
		}
	}
	s.batch = array.NewRecordBatch(s.schema, columns, int64(n))
	if run.start += uint64(n); run.start < run.end {
		return nil
	}
	if s.runs = s.runs[1:]; len(s.runs) > 0 {
		return nil
	}
	for _, r := range s.readers {
		if err := r.close(); err != nil {
			return err
		}
	}
	return nil
}

// fetched is a page with its bytes, header included.
type fetched struct {
	page
	data []byte
}

// values is what both kinds of pages offer.
type values interface {
	skip(n uint64) error
	end() (spare int, err error)
}

// reader decodes one column of a row group. Its pages are in order, those that are not needed are left out.
type reader struct {
	f      *File
	column int
	pages  []fetched // from the current one on
	row    uint64    // of the row group, that comes next
	opened bool
	ints   *integers
	texts  *texts
	ahead  [][]byte // strings decoded for fit, not read yet
}

func (r *reader) typ() Type { return r.f.meta.columns[r.column].typ }

// open begins the current page.
func (r *reader) open() (err error) {
	p := &r.pages[0]
	if err := r.f.sameHeader(&p.page, p.data); err != nil {
		return err
	}
	data, base := p.data[p.headerSize():], p.at+p.headerSize()
	if r.opened = true; r.typ() == String {
		r.texts, err = newTexts(p.encoding, data, base, uint64(p.values))
	} else {
		r.ints, err = newIntegers(r.typ(), p.encoding, data, base, uint64(p.values))
	}
	return err
}

// sameHeader compares the header in front of a page with that in the metadata.
func (f *File) sameHeader(p *page, data []byte) error {
	if want := p.append(nil); !bytes.Equal(data[:len(want)], want) {
		return corrupt.At(p.at, "the page header differs from its copy in the metadata")
	}
	if f.o.StrictPages && p.uncompressed != p.compressed {
		return corrupt.At(p.at, "an uncompressed size of %d bytes for data of %d", p.uncompressed, p.compressed)
	}
	return nil
}

// end leaves the current page, which was read to its end or cut short.
func (r *reader) end() error {
	p := &r.pages[0]
	if r.opened && r.row == p.first+uint64(p.values) {
		spare, err := r.content().end()
		if err != nil {
			return err
		}
		if spare > 0 && r.f.o.StrictPages {
			return corrupt.At(p.at+p.size()-int64(spare), "%d bytes after the values of a page", spare)
		}
	}
	r.pages, r.opened = r.pages[1:], false
	return nil
}

func (r *reader) content() values {
	if r.typ() == String {
		return r.texts
	}
	return r.ints
}

// settle makes the page that holds the next row the current one, begun.
func (r *reader) settle() error {
	for {
		if !r.opened {
			if err := r.open(); err != nil {
				return err
			}
		}
		if r.row < r.pages[0].first+uint64(r.pages[0].values) {
			return nil
		}
		if err := r.end(); err != nil {
			return err
		}
	}
}

// moveTo leaves out the rows before row.
func (r *reader) moveTo(row uint64) error {
	if r.opened && row == r.row-uint64(len(r.ahead)) {
		return nil
	}
	for r.pages[0].first+uint64(r.pages[0].values) <= row {
		if err := r.end(); err != nil {
			return err
		}
	}
	if !r.opened {
		r.row = r.pages[0].first
		if err := r.open(); err != nil {
			return err
		}
	}
	n := row - r.row
	r.row = row
	return r.content().skip(n)
}

// fit is how many of the next n rows should go into one batch.
func (r *reader) fit(n int) (int, error) {
	if r.typ() != String {
		return n, nil
	}
	for len(r.ahead) < n {
		if err := r.settle(); err != nil {
			return 0, err
		}
		of := min(uint64(n-len(r.ahead)), r.texts.left)
		had := len(r.ahead)
		r.ahead = slices.Grow(r.ahead, int(of))[:had+int(of)]
		if err := r.texts.next(r.ahead[had:]); err != nil {
			return 0, err
		}
		r.row += of
	}
	bytes := 0
	for i, v := range r.ahead[:n] {
		if bytes += len(v); bytes > maxBatchBytes && i > 0 {
			return i, nil
		}
	}
	return n, nil
}

// read makes an array of the next n rows.
func (r *reader) read(n int) (arrow.Array, error) {
	if r.typ() == String {
		return r.readTexts(n)
	}
	out := make([]int64, n)
	for at := 0; at < n; {
		if err := r.settle(); err != nil {
			return nil, err
		}
		of := int(min(uint64(n-at), r.ints.left))
		if err := r.ints.next(out[at : at+of]); err != nil {
			return nil, err
		}
		at, r.row = at+of, r.row+uint64(of)
	}
	if r.typ() == Int64 {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		b.AppendValues(out, nil)
		return b.NewArray(), nil
	}
	b := array.NewInt32Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(n)
	for _, v := range out {
		b.UnsafeAppend(int32(v))
	}
	return b.NewArray(), nil
}

func (r *reader) readTexts(n int) (arrow.Array, error) {
	values := r.ahead[:n]
	defer func() { r.ahead = append(r.ahead[:0], r.ahead[n:]...) }()
	if r.f.o.BinaryStrings {
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		defer b.Release()
		b.AppendValues(values, nil)
		return b.NewArray(), nil
	}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	for _, v := range values {
		if !utf8.Valid(v) {
			return nil, corrupt.At(-1, "column %q: the string %.40q is not UTF-8: --%s reads it as bytes", r.f.meta.columns[r.column].name, v, optionBinary)
		}
		b.BinaryBuilder.Append(v)
	}
	return b.NewArray(), nil
}

// close ends the last page of a row group, and those of no values behind it.
func (r *reader) close() error {
	for len(r.pages) > 0 {
		if !r.opened {
			if err := r.open(); err != nil {
				return err
			}
		}
		if err := r.end(); err != nil {
			return err
		}
	}
	return nil
}
