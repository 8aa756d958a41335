package cole

import (
	"context"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
)

// Options determine how a file is read. The zero value is valid.
type Options struct {
	// BinaryStrings reads strings as bytes, which need be no UTF-8.
	BinaryStrings bool
	// StrictPages refuses pages with bytes behind their values, or with an uncompressed size that is not that of
	// their data.
	StrictPages bool
	Limits      Limits
}

// File is an open COLE file. Its methods may be called concurrently.
type File struct {
	st      fileformat.Store
	url     string
	o       Options
	size    int64
	version Version
	meta    *metadata
	schema  *arrow.Schema
}

// tailSize is how much of the end is read first, in bytes: the whole of a small file, the metadata of most.
const tailSize = 64 << 10

// Open reads the footer, the metadata and the header: two requests, three if the metadata is longer than 64 KiB, one
// if the file is shorter.
func Open(ctx context.Context, st fileformat.Store, url string, o Options) (*File, error) {
	f := &File{st: st, url: url, o: o}
	if err := f.open(ctx); err != nil {
		return nil, corrupt.Locate(err, url, 0)
	}
	return f, nil
}

func (f *File) open(ctx context.Context) error {
	tail, info, err := f.st.ReadSuffix(ctx, f.url, tailSize)
	if err != nil {
		return err
	}
	f.size = info.Size
	start, err := metadataOffset(tail, f.size)
	if err != nil {
		return err
	}
	head, meta, err := f.ends(ctx, tail, start)
	if err != nil {
		return err
	}
	if err := f.header(head); err != nil {
		return err
	}
	if f.meta, err = parseMetadata(meta, start, f.o.Limits.withDefaults()); err != nil {
		return err
	}
	f.schema = f.arrowSchema()
	return nil
}

// metadataOffset reads the footer: tail is the end of a file of size bytes.
func metadataOffset(tail []byte, size int64) (int64, error) {
	if size < headerSize+footerSize {
		return 0, corrupt.At(0, "%d bytes, less than the %d bytes of header and footer", size, headerSize+footerSize)
	}
	footer := tail[len(tail)-footerSize:]
	if string(footer[:4]) != footerMagic {
		return 0, corrupt.At(size-footerSize, "the footer begins with % x instead of %q: not a COLE file, or truncated", footer[:4], footerMagic)
	}
	start := binary.LittleEndian.Uint64(footer[4:])
	if start < headerSize || start > uint64(size-footerSize) {
		return 0, corrupt.At(size-8, "metadata at offset %d of a file of %d bytes", start, size)
	}
	return int64(start), nil
}

// ends gives the header and the metadata, as far as tail does not hold them by requests.
func (f *File) ends(ctx context.Context, tail []byte, start int64) (head, meta []byte, err error) {
	base := f.size - int64(len(tail))
	if base == 0 {
		return tail[:headerSize], tail[start : f.size-footerSize], nil
	}
	ranges := []blobio.Range{{Start: 0, End: headerSize}}
	if start < base {
		ranges = append(ranges, blobio.Range{Start: start, End: base})
	}
	parts, err := f.st.ReadRanges(ctx, f.url, ranges)
	if err != nil {
		return nil, nil, err
	}
	meta = tail[max(start-base, 0) : len(tail)-footerSize]
	if start < base {
		meta = append(parts[1], meta...)
	}
	return parts[0], meta, nil
}

func (f *File) header(b []byte) error {
	if string(b[:4]) != headerMagic {
		return corrupt.At(0, "the header begins with % x instead of %q", b[:4], headerMagic)
	}
	f.version = Version{binary.LittleEndian.Uint16(b[4:]), binary.LittleEndian.Uint16(b[6:])}
	if f.version.Major != major {
		return corrupt.Unsupported(4, "unsupported version %d.%d: expected major version %d", f.version.Major, f.version.Minor, major)
	}
	return nil
}

// arrowSchema is the columns as Arrow has them: none of them holds nulls.
func (f *File) arrowSchema() *arrow.Schema {
	fields := make([]arrow.Field, len(f.meta.columns))
	for i, c := range f.meta.columns {
		fields[i] = arrow.Field{Name: c.name, Type: f.arrowType(c.typ)}
	}
	return arrow.NewSchema(fields, nil)
}

func (f *File) arrowType(t Type) arrow.DataType {
	switch {
	case t == Int32:
		return arrow.PrimitiveTypes.Int32
	case t == Int64:
		return arrow.PrimitiveTypes.Int64
	case f.o.BinaryStrings:
		return arrow.BinaryTypes.Binary
	}
	return arrow.BinaryTypes.String
}

// Schema implements fileformat.File.
func (f *File) Schema() *arrow.Schema { return f.schema }

// Version of the file.
func (f *File) Version() Version { return f.version }

// Rows of the file.
func (f *File) Rows() uint64 { return f.meta.rows }

// Close implements fileformat.File.
func (f *File) Close() error { return nil }
