package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/arrowtype"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/schema"
)

// Inspect implements fileformat.File: the manifest, versions and tags; from detail 1 on the fragments; from 2 on what
// their data files consist of.
func (d *Dataset) Inspect(ctx context.Context, detail int) (*fileformat.Inspection, error) {
	x := &fileformat.Inspection{URL: d.url, Format: Format.Name, Version: d.m.storage, Records: d.Rows(), Schema: []*schema.Node{}}
	s, _, err := arrowtype.FromArrow(arrowtype.Named(d.schema))
	if err != nil {
		return nil, err
	}
	x.Schema = s.Fields
	versions, err := Versions(ctx, d.st, d.url)
	if err != nil {
		return nil, err
	}
	tags, err := Tags(ctx, d.st, d.url)
	if err != nil {
		return nil, err
	}
	facts := []fileformat.Fact{{Name: "version", Value: d.m.version}, {Name: "of", Value: fmt.Sprint(versions)}, {Name: "written_by", Value: d.m.writer},
		{Name: "time", Value: d.m.written.Format(time.RFC3339)}, {Name: "fragments", Value: len(d.m.fragments)}}
	for _, name := range sorted(tags) {
		facts = append(facts, fileformat.Fact{Name: "tag " + name, Value: tags[name]})
	}
	x.Parts = append(x.Parts, fileformat.Part{Name: "manifest", Facts: facts})
	for i := range d.m.fragments {
		p, size, err := d.describe(ctx, &d.m.fragments[i], detail)
		if err != nil {
			return nil, err
		}
		x.SizeBytes += size
		if detail >= 1 {
			x.Parts = append(x.Parts, p)
		}
	}
	return x, nil
}

func sorted(m map[string]uint64) (out []string) {
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// describe is a fragment and the bytes of its files.
func (d *Dataset) describe(ctx context.Context, f *fragment, detail int) (p fileformat.Part, size int64, err error) {
	p = fileformat.Part{Name: fmt.Sprintf("fragment %d", f.id), Facts: []fileformat.Fact{{Name: "rows", Value: f.rows()}, {Name: "deleted", Value: f.physical - f.rows()}}}
	for i, file := range f.files {
		info, err := d.st.Stat(ctx, d.dataURL(file))
		if err != nil {
			return p, 0, err
		}
		size += info.Size
		part := fileformat.Part{Name: file.path, Facts: []fileformat.Fact{{Name: "bytes", Value: info.Size}, {Name: "fields", Value: fmt.Sprint(file.fields)}}}
		if detail >= 2 {
			open, err := d.file(ctx, f, i)
			if err != nil {
				return p, 0, err
			}
			x, err := open.Inspect(ctx, detail-1)
			if err != nil {
				return p, 0, err
			}
			part.Parts = x.Parts
		}
		p.Parts = append(p.Parts, part)
	}
	return p, size, nil
}

// Verify implements fileformat.File: every data file of this version is read and checked, every list of deleted rows, and
// what the manifest states about both; then all rows are read as a reader would.
func (d *Dataset) Verify(ctx context.Context, o fileformat.VerifyOptions) (*corrupt.Report, error) {
	total := &corrupt.Report{Objects: 1, Errors: []corrupt.Finding{}}
	files := fileformat.VerifyOptions{}
	if o.Progress != nil {
		files.Progress = func(bytes int64) { o.Progress(bytes / 2) } // the other half is reading the rows
	}
	for i := range d.m.fragments {
		if err := d.verifyFragment(ctx, &d.m.fragments[i], files, total); err != nil {
			return nil, err
		}
	}
	if len(total.Errors) == 0 {
		if err := total.Judge(d.readAll(ctx, o.Progress, total.Bytes/2)); err != nil {
			return nil, err
		}
	}
	total.OK = len(total.Errors) == 0
	return total, nil
}

func (d *Dataset) verifyFragment(ctx context.Context, f *fragment, o fileformat.VerifyOptions, total *corrupt.Report) error {
	if f.deleted != nil {
		total.Objects++
		if _, err := d.deletions(ctx, f); err != nil {
			if err := total.Judge(err); err != nil {
				return err
			}
		}
	}
	for i := range f.files {
		total.Objects++
		file, err := d.file(ctx, f, i)
		if err != nil {
			if err := total.Judge(err); err != nil {
				return err
			}
			continue
		}
		r, err := file.Verify(ctx, o)
		if err != nil {
			return err
		}
		total.Bytes += r.Bytes
		total.UnprotectedBytes += r.UnprotectedBytes
		total.Errors = append(total.Errors, r.Errors...)
		total.Warnings = append(total.Warnings, r.Warnings...)
	}
	return nil
}

// readAll reads all rows, and reports progress, if not nil, of bytes in proportion to them.
func (d *Dataset) readAll(ctx context.Context, progress func(bytes int64), bytes int64) error {
	s, err := d.NewSource(ReadOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	rows := uint64(0)
	for {
		b, err := s.Next(ctx)
		if errors.Is(err, io.EOF) && rows == d.Rows() {
			return nil
		}
		if err != nil {
			return unexpected(d.url, err)
		}
		if progress != nil {
			progress(bytes * b.NumRows() / max(int64(d.Rows()), 1))
		}
		rows += uint64(b.NumRows())
	}
}
