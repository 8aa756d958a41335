package lance

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// File is an open Lance file. Its methods may be called concurrently.
type File struct {
	src     source
	url     string
	c       *container
	desc    descriptor
	nodes   []*Node
	schema  *arrow.Schema
	columns []*column
	top     []*layout
}

// Open reads the footer, the schema and the metadata of the columns: one request for a file below 64 KiB, else two,
// and one more if the metadata are longer than that.
func Open(ctx context.Context, st fileformat.Store, url string) (*File, error) {
	f := &File{src: object{st, url}, url: url}
	if err := f.open(ctx); err != nil {
		return nil, corrupt.Locate(err, url, 0)
	}
	return f, nil
}

func (f *File) open(ctx context.Context) (err error) {
	if f.c, err = openContainer(ctx, f.src); err != nil {
		return err
	}
	if len(f.c.globals) == 0 {
		return corrupt.At(f.c.size-footerSize, "no global buffers, the first of which is the schema")
	}
	schema, err := f.c.fetch(ctx, f.src, f.c.globals[:1])
	if err != nil {
		return err
	}
	if f.desc, err = parseDescriptor(schema[0]); err != nil {
		return corrupt.Locate(err, "", f.c.globals[0].at)
	}
	if f.nodes, err = Tree(f.desc.fields); err != nil {
		return err
	}
	if f.schema, err = ArrowSchema(f.nodes, f.desc.metadata); err != nil {
		return err
	}
	return f.describe(ctx)
}

// describe reads the metadata of all columns.
func (f *File) describe(ctx context.Context) error {
	metadata, err := f.c.fetch(ctx, f.src, f.c.columns)
	if err != nil {
		return err
	}
	for i, b := range metadata {
		c, err := parseColumn(i, b, f.c.dataEnd)
		if err == nil {
			err = f.describeColumn(ctx, c)
		}
		if err != nil {
			return corrupt.Locate(err, "", f.c.columns[i].at)
		}
		f.columns = append(f.columns, c)
	}
	return f.layouts()
}

// describeColumn reads the encoding of a column as a whole, wherever it is.
func (f *File) describeColumn(ctx context.Context, c *column) error {
	if x := c.encoding.indirect; x != nil {
		parts, err := f.c.fetch(ctx, f.src, []extent{*x})
		if err != nil {
			return err
		}
		c.encoding = stored{direct: parts[0]}
	}
	return c.describe()
}

// Schema implements fileformat.File.
func (f *File) Schema() *arrow.Schema { return f.schema }

// Fields are the fields as the file stores them, with their ids, in the order of Schema.
func (f *File) Fields() []*Node { return f.nodes }

// Version of the file.
func (f *File) Version() Version { return f.c.version }

// Rows of the file.
func (f *File) Rows() uint64 { return f.desc.rows }

// Close implements fileformat.File.
func (f *File) Close() error { return nil }
