package keyindex

import (
	"bufio"
	"context"
	"io"
	"iter"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/fileio/fileformat"
	"github.com/shardcat/shardcat/shardfmt/layer"
)

const (
	levelTypes = "bytes,()"
	// The blocks of a level: the index of a million keys lies in the end that opening reads.
	dataBlock, indexBlock = 16 << 10, 32 << 10
	// writeBuffer is how much is gathered before it is handed to the store.
	writeBuffer = 256 << 10
	// window is how much of a level that is read from its start to its end is read at a time.
	window = 1 << 20
)

// settings are what a level states about itself.
func settings(s *State, name string) []layer.Setting {
	return []layer.Setting{{Key: "table", Value: s.Table}, {Key: "key", Value: s.Key}, {Key: "level", Value: name}}
}

// Store is what a level is written to; a *blobio.Client is one.
type Store interface {
	fileformat.Store
	Create(ctx context.Context, url string, o blobio.CreateOptions) (blobio.Writer, error)
}

// WriteLevel writes rows, which are sorted, as a level of the index, and notes in l how many rows and bytes it has.
func (s *State) WriteLevel(ctx context.Context, st Store, url string, l *Level, rows iter.Seq2[[]byte, error]) error {
	to, err := st.Create(ctx, url, blobio.CreateOptions{})
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(to, writeBuffer)
	count := &counter{w: buffered}
	if err = writeRows(ctx, count, s, l, rows); err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		to.Abort()
		return err
	}
	l.Size = count.n
	return to.Close()
}

func writeRows(ctx context.Context, to io.Writer, s *State, l *Level, rows iter.Seq2[[]byte, error]) error {
	w, err := layer.NewWriter(to, levelTypes, layer.WriteOptions{
		MinDataBlock: dataBlock, MinIndexBlock: indexBlock, Compression: layer.Snappy, SelfDescribing: true, Settings: settings(s, l.Name),
	})
	if err != nil {
		return err
	}
	for row, err := range rows {
		if err == nil {
			err = w.Write(0, layer.Value{Bytes: row}, layer.Value{})
		}
		if l.Rows++; err == nil && l.Rows%(1<<16) == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}

type counter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// File is a level that is open. Not for concurrent use.
type File struct {
	f   *layer.File
	url string
}

// OpenLevel opens a level, one request, and makes sure that it is the one that the state names.
func (s *State) OpenLevel(ctx context.Context, st fileformat.Store, url string, l *Level) (*File, error) {
	f, err := layer.Open(ctx, st, url, "")
	if err != nil {
		return nil, err
	}
	d, want := f.Description(), settings(s, l.Name)
	if d.TypesText() != levelTypes || len(d.Settings) != len(want) || f.Rows(0) != uint64(l.Rows) {
		return nil, corrupt.Locate(corrupt.At(-1, "not a level of this key index"), url, 0)
	}
	for i := range want {
		if d.Settings[i] != want[i] {
			return nil, corrupt.Locate(corrupt.At(-1, "a level of another key index: its %s is %q", want[i].Key, d.Settings[i].Value), url, 0)
		}
	}
	return &File{f, url}, nil
}

// Find gives the records that have keys of spans, which ascend and are disjoint, span after span. About ahead bytes of blocks are read at a time.
func (f *File) Find(ctx context.Context, spans []Span, ahead int64, do func(span int, r Row) error) error {
	plain := make([]layer.Span, len(spans))
	for i := range spans {
		plain[i] = spans[i].Span
	}
	for from := 0; from < len(spans); {
		n, err := f.f.Warm(ctx, plain[from:], ahead)
		if err != nil {
			return err
		}
		for i := from; i < from+n; i++ {
			err := f.f.InSpan(ctx, plain[i], func(key layer.Value, _ uint64) error {
				r, ok := placeOf(key.Bytes)
				if !ok {
					return corrupt.Locate(corrupt.At(-1, "a row of %d bytes", len(key.Bytes)), f.url, 0)
				}
				if spans[i].Size != 0 && len(key.Bytes) != spans[i].Size {
					return nil
				}
				return do(i, r)
			})
			if err != nil {
				return err
			}
		}
		from += n
	}
	return nil
}

// All gives all rows of a level in order; each is valid until the next one. The store that it was opened with should be a Windowed one.
func (f *File) All(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f.f.KeepBlocks(window)
		c := f.f.Group().Cursor()
		err := c.First(ctx)
		for ; err == nil && c.Valid(); err = c.Next(ctx) {
			key, err := c.Key()
			if _, ok := placeOf(key.Bytes); err == nil && !ok {
				err = corrupt.Locate(corrupt.At(-1, "a row of %d bytes", len(key.Bytes)), f.url, 0)
			}
			if !yield(key.Bytes, err) || err != nil {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Verify reads and checks all of a level.
func (f *File) Verify(ctx context.Context) (*corrupt.Report, error) {
	return f.f.Verify(ctx, fileformat.VerifyOptions{})
}

// Windowed is a store of which one object is read from its start to its end, some of it at a time.
func Windowed(st fileformat.Store) fileformat.Store { return &windowed{Store: st} }

type windowed struct {
	fileformat.Store
	size, start int64
	data        []byte
}

// ReadSuffix implements fileformat.Store.
func (w *windowed) ReadSuffix(ctx context.Context, url string, n int64) ([]byte, blobio.Info, error) {
	data, info, err := w.Store.ReadSuffix(ctx, url, n)
	w.size = info.Size
	return data, info, err
}

// ReadRange implements fileformat.Store.
func (w *windowed) ReadRange(ctx context.Context, url string, off int64, dst []byte) (blobio.Info, error) {
	end := off + int64(len(dst))
	if off < w.start || end > w.start+int64(len(w.data)) {
		n := min(window, w.size-off)
		if int64(len(dst)) >= n {
			return w.Store.ReadRange(ctx, url, off, dst)
		}
		data := make([]byte, n)
		if info, err := w.Store.ReadRange(ctx, url, off, data); err != nil {
			return info, err
		}
		w.start, w.data = off, data
	}
	copy(dst, w.data[off-w.start:])
	return blobio.Info{URL: url, Size: w.size}, nil
}
