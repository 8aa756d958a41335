package fileio

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
)

// meter counts what is read of the inputs of a source. Nil counts nothing.
type meter struct {
	read, total atomic.Int64
	tell        func(read, total int64)
}

// metered gives the inputs one meter, if o requests it.
func metered(ctx context.Context, st fileformat.Store, inputs []input, o SourceOptions) error {
	if o.Progress == nil {
		return nil
	}
	m := &meter{tell: o.Progress}
	text := o.Format == NDJSON || o.Format == CSV
	passes := int64(1)
	if text && (o.UnknownFields == ExtendByUnknown || o.Schema == nil && o.InferRows == AllRows) {
		passes = 2
	}
	total := int64(0)
	for i := range inputs {
		in := &inputs[i]
		in.meter = m
		if in.size == 0 && in.stream == nil {
			var err error
			if in.size, err = storedSize(ctx, st, in.url); err != nil {
				return err
			}
		}
		if in.size == 0 {
			passes = 0 // a pipe
		}
		total += in.size
	}
	m.total.Store(passes * total)
	return nil
}

func (m *meter) add(n int) {
	if m != nil && n > 0 {
		m.tell(m.read.Add(int64(n)), m.total.Load())
	}
}

// reader counts what is read of r.
func (m *meter) reader(r io.ReadCloser) io.ReadCloser {
	if m == nil {
		return r
	}
	return &meteredReader{r, m}
}

type meteredReader struct {
	io.ReadCloser
	meter *meter
}

// Read implements io.Reader.
func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.meter.add(n)
	return n, err
}

// store counts what is read of the objects of st.
func (m *meter) store(st fileformat.Store) fileformat.Store {
	if m == nil {
		return st
	}
	return meteredStore{st, m}
}

type meteredStore struct {
	fileformat.Store
	meter *meter
}

// ReadRange implements fileformat.Store.
func (s meteredStore) ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	info, err := s.Store.ReadRange(ctx, url, off, dst)
	s.meter.add(len(dst))
	return info, err
}

// ReadSuffix implements fileformat.Store.
func (s meteredStore) ReadSuffix(ctx context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	data, info, err := s.Store.ReadSuffix(ctx, url, n)
	s.meter.add(len(data))
	return data, info, err
}

// ReadRanges implements fileformat.Store.
func (s meteredStore) ReadRanges(ctx context.Context, url string, ranges []blobio.Range) ([][]byte, error) {
	parts, err := s.Store.ReadRanges(ctx, url, ranges)
	for _, p := range parts {
		s.meter.add(len(p))
	}
	return parts, err
}

// storedSize is how many bytes a file has, or all objects of one that is a folder.
func storedSize(ctx context.Context, st fileformat.Store, url string) (int64, error) {
	info, err := st.Stat(ctx, url)
	if !errors.Is(err, blobio.ErrNotFound) {
		return info.Size, err
	}
	total := int64(0)
	for info, err := range st.List(ctx, url+"/") {
		if err != nil {
			return 0, err
		}
		total += info.Size
	}
	return total, nil
}
