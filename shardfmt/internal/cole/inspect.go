package cole

import (
	"context"
	"fmt"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Inspect implements fileformat.File: from detail 1 on the row groups, from 2 on their chunks and pages.
func (f *File) Inspect(_ context.Context, detail int) (*fileformat.Inspection, error) {
	s, _, err := arrowtype.FromArrow(arrowtype.Named(f.schema))
	if err != nil {
		return nil, err
	}
	x := &fileformat.Inspection{
		URL: f.url, Format: Format.Name, Version: fmt.Sprintf("%d.%d", f.version.Major, f.version.Minor),
		Records: f.meta.rows, Schema: s.Fields, SizeBytes: f.size, Warnings: f.warnings(),
	}
	for i := range f.meta.groups {
		if detail < 1 {
			break
		}
		x.Parts = append(x.Parts, f.describeGroup(i, detail))
	}
	return x, nil
}

func (f *File) describeGroup(i, detail int) fileformat.Part {
	g := &f.meta.groups[i]
	part := fileformat.Part{Name: fmt.Sprintf("row group %d", i), Facts: []fileformat.Fact{{Name: "rows", Value: g.rows}}}
	for c, chunk := range g.chunks {
		if detail < 2 {
			break
		}
		column := f.meta.columns[c]
		p := fileformat.Part{Name: fmt.Sprintf("chunk %s", column.name), Facts: []fileformat.Fact{
			{Name: "type", Value: column.typ.String()}, {Name: "default", Value: column.encoding.String()},
			{Name: "offset", Value: chunk.offset}, {Name: "bytes", Value: chunk.size}}}
		for n, page := range chunk.pages {
			p.Parts = append(p.Parts, describePage(n, &page))
		}
		part.Parts = append(part.Parts, p)
	}
	return part
}

func describePage(n int, p *page) fileformat.Part {
	facts := []fileformat.Fact{
		{Name: "encoding", Value: p.encoding.String()}, {Name: "offset", Value: p.at},
		{Name: "bytes", Value: p.compressed}, {Name: "values", Value: p.values}}
	if s := p.stats; s != nil {
		if s.hasMin {
			facts = append(facts, fileformat.Fact{Name: "min", Value: s.min})
		}
		if s.hasMax {
			facts = append(facts, fileformat.Fact{Name: "max", Value: s.max})
		}
		facts = append(facts, fileformat.Fact{Name: "nulls", Value: s.nulls})
	}
	return fileformat.Part{Name: fmt.Sprintf("page %d", n), Facts: facts}
}

// warnings are what is legal, but unusual.
func (f *File) warnings() (out []string) {
	if f.meta.spare > 0 {
		out = append(out, fmt.Sprintf("%d bytes between the metadata and the footer are ignored", f.meta.spare))
	}
	var nulls, several, sizes int
	for _, g := range f.meta.groups {
		for _, c := range g.chunks {
			if len(c.pages) > 1 {
				several++
			}
			for _, p := range c.pages {
				if p.stats != nil && p.stats.nulls > 0 {
					nulls++
				}
				if p.uncompressed != p.compressed {
					sizes++
				}
			}
		}
	}
	for _, w := range []struct {
		n    int
		what string
	}{
		{several, "chunks have several pages, of which other readers see only the first"},
		{nulls, "pages count nulls, which the format does not support"},
		{sizes, "pages have an uncompressed size that is not that of their data"},
	} {
		if w.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", w.n, w.what))
		}
	}
	return out
}

// Verify implements fileformat.File: every page is read and decoded, its header compared with the copy, its
// statistics with its values. The format has no checksums: what decodes is not proven to be what was written.
func (f *File) Verify(ctx context.Context, o fileformat.VerifyOptions) (*corrupt.Report, error) {
	r := &corrupt.Report{Objects: 1, Bytes: f.size, UnprotectedBytes: f.size, Errors: []corrupt.Finding{}, Warnings: f.warnings()}
	for g := range f.meta.groups {
		for c := range f.meta.columns {
			for i := range f.meta.groups[g].chunks[c].pages {
				p := &f.meta.groups[g].chunks[c].pages[i]
				err := f.verifyPage(ctx, c, p)
				if err = r.Judge(corrupt.Locate(err, f.url, 0)); err != nil {
					return nil, err
				}
				if o.Progress != nil {
					o.Progress(p.size())
				}
			}
		}
	}
	r.OK = len(r.Errors) == 0
	return r, nil
}

// verifyPage decodes a page alone.
func (f *File) verifyPage(ctx context.Context, column int, p *page) error {
	parts, err := f.st.ReadRanges(ctx, f.url, []blobio.Range{{Start: p.at, End: p.at + p.size()}})
	if err != nil {
		return err
	}
	alone := *p
	alone.first = 0
	one := &rowGroup{rows: uint64(p.values)}
	r := &reader{f: f, column: column, pages: []fetched{{alone, parts[0]}}}
	for r.row < one.rows {
		n, err := r.fit(int(min(one.rows-r.row, fileformat.DefaultBatchRows)))
		if err != nil {
			return err
		}
		if err := r.verify(n, p); err != nil {
			return err
		}
	}
	return r.close()
}

// verify reads n values and compares them with the statistics of their page.
func (r *reader) verify(n int, p *page) error {
	if r.typ() == String {
		a, err := r.readTexts(n)
		if err == nil {
			a.Release()
		}
		return err
	}
	if err := r.settle(); err != nil {
		return err
	}
	values := make([]int64, n)
	r.row += uint64(n)
	if err := r.ints.next(values); err != nil {
		return err
	}
	for _, v := range values {
		if s := p.stats; s != nil && (s.hasMin && v < s.min || s.hasMax && v > s.max) {
			return corrupt.At(p.at, "the value %d is outside the statistics of its page", v)
		}
	}
	return nil
}
