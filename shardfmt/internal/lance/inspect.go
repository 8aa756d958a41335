package lance

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Inspect implements fileformat.File: from detail 1 on the columns, from 2 on their pages, from 3 on the buffers.
func (f *File) Inspect(ctx context.Context, detail int) (*fileformat.Inspection, error) {
	s, _, err := arrowtype.FromArrow(arrowtype.Named(f.schema))
	if err != nil {
		return nil, err
	}
	x := &fileformat.Inspection{
		URL: f.url, Format: Format.Name, Version: f.c.version.String(), Records: f.desc.rows, Schema: s.Fields, SizeBytes: f.c.size,
	}
	if detail < 1 {
		return x, nil
	}
	for _, l := range f.top {
		part, err := f.describeLayout(ctx, l, detail)
		if err != nil {
			return nil, corrupt.Locate(err, f.url, 0)
		}
		x.Parts = append(x.Parts, part)
	}
	return x, nil
}

func (f *File) describeLayout(ctx context.Context, l *layout, detail int) (fileformat.Part, error) {
	c := l.column
	if c == nil {
		part := fileformat.Part{Name: "field " + l.node.Name, Facts: []fileformat.Fact{{Name: "type", Value: l.node.LogicalType}, {Name: "bytes", Value: l.bytes()}}}
		err := f.describeChildren(ctx, l, &part, detail)
		return part, err
	}
	part := fileformat.Part{Name: fmt.Sprintf("column %d %s", c.index, l.node.Name), Facts: []fileformat.Fact{
		{Name: "type", Value: l.node.LogicalType}, {Name: "values", Value: c.length}, {Name: "pages", Value: len(c.pages)}, {Name: "bytes", Value: c.bytes()}}}
	if c.blob {
		part.Facts = append(part.Facts, fileformat.Fact{Name: "blobs", Value: true})
	}
	if c.zones != nil {
		part.Facts = append(part.Facts, fileformat.Fact{Name: "zone_rows", Value: c.zones.rows})
	}
	if detail >= 2 {
		encodings, err := f.pageTexts(ctx, c)
		if err != nil {
			return part, corrupt.Locate(err, "", f.c.columns[c.index].at)
		}
		for i := range c.pages {
			part.Parts = append(part.Parts, describePage(i, &c.pages[i], encodings[i], detail))
		}
	}
	err := f.describeChildren(ctx, l, &part, detail)
	return part, err
}

func (f *File) describeChildren(ctx context.Context, l *layout, part *fileformat.Part, detail int) error {
	for _, child := range l.children {
		p, err := f.describeLayout(ctx, child, detail)
		if err != nil {
			return err
		}
		part.Parts = append(part.Parts, p)
	}
	return nil
}

// pageTexts are the encodings of the pages of a column as text.
func (f *File) pageTexts(ctx context.Context, c *column) ([]string, error) {
	out := make([]string, len(c.pages))
	if f.c.version.IsStructural() {
		layouts, err := f.pageLayouts(ctx, c)
		for i, p := range layouts {
			out[i] = p.String()
		}
		return out, err
	}
	encodings, err := f.encodings(ctx, c)
	for i, e := range encodings {
		out[i] = e.String()
	}
	return out, err
}

// bytes of all buffers of a column.
func (c *column) bytes() (total int64) {
	for _, b := range c.buffers {
		total += b.size
	}
	for _, p := range c.pages {
		for _, b := range p.buffers {
			total += b.size
		}
	}
	return total
}

func describePage(i int, p *page, encoding string, detail int) fileformat.Part {
	part := fileformat.Part{Name: fmt.Sprintf("page %d", i), Facts: []fileformat.Fact{
		{Name: "values", Value: p.length}, {Name: "encoding", Value: encoding}}}
	if detail < 3 {
		return part
	}
	for n, b := range p.buffers {
		part.Parts = append(part.Parts, fileformat.Part{Name: fmt.Sprintf("buffer %d", n), Facts: []fileformat.Fact{
			{Name: "offset", Value: b.at}, {Name: "bytes", Value: b.size}}})
	}
	return part
}

// Verify implements fileformat.File: every value of every column is read and decoded. The format has no checksums: what
// decodes is not proven to be what was written.
func (f *File) Verify(ctx context.Context, o fileformat.VerifyOptions) (*corrupt.Report, error) {
	r := &corrupt.Report{Objects: 1, Bytes: f.c.size, UnprotectedBytes: f.c.size, Errors: []corrupt.Finding{}}
	for i, l := range f.top {
		if err := r.Judge(f.verifyColumn(ctx, i)); err != nil {
			return nil, err
		}
		if o.Progress != nil {
			o.Progress(l.bytes())
		}
	}
	r.OK = len(r.Errors) == 0
	return r, nil
}

func (l *layout) bytes() (total int64) {
	if l.column != nil {
		total = l.column.bytes()
	}
	for _, c := range l.children {
		total += c.bytes()
	}
	return total
}

// verifyColumn decodes a field from its first row to its last.
func (f *File) verifyColumn(ctx context.Context, i int) error {
	s, err := f.NewSource(ctx, ReadOptions{Columns: []int{i}})
	if err != nil {
		return err
	}
	defer s.Close()
	for len(s.runs) > 0 {
		if _, err := s.Next(ctx); err != nil {
			if len(s.runs) == 0 {
				return nil // the end
			}
			return err
		}
	}
	return nil
}
