package metadataio

import (
	"bytes"
	"context"
	"sync"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/internal/icebergaccess"
)

// ReadBacks are files that were written and must be read back before a commit that names them. Safe for concurrent use; nil is none.
type ReadBacks struct {
	client *blobio.Client

	mu   sync.Mutex
	left []func(ctx context.Context, c *blobio.Client) error
}

// laterIO is a confinedIO whose files are read back later.
type laterIO struct {
	*confinedIO
	later *ReadBacks
}

// ReadBackLater gives an IO whose files are read back by Do of later; any IO but that of tables is left as it is.
func ReadBackLater(fs iceio.WriteFileIO) (iceio.WriteFileIO, *ReadBacks) {
	of, ok := fs.(*confinedIO)
	if !ok {
		return fs, nil
	}
	later := NewReadBacks(of.client)
	return &laterIO{of, later}, later
}

// WriteFile implements iceio.WriteFileIO.
func (l *laterIO) WriteFile(name string, p []byte) error {
	readBack, err := l.client.PutReadBackLater(l.ctx, icebergaccess.Canonical(name), p)
	if err != nil {
		return pathError(err)
	}
	l.later.Add(func(ctx context.Context, c *blobio.Client) error {
		if err := readBack(ctx, c); err != nil {
			return pathError(err)
		}
		l.keep(icebergaccess.Canonical(name), bytes.Clone(p))
		return nil
	})
	return nil
}

// NewReadBacks begins without files.
func NewReadBacks(client *blobio.Client) *ReadBacks { return &ReadBacks{client: client} }

// Add adds the read of a file.
func (r *ReadBacks) Add(readBack func(ctx context.Context, c *blobio.Client) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, readBack)
}

// Create implements iceio.WriteFileIO.
func (l *laterIO) Create(name string) (iceio.FileWriter, error) {
	return &fileWriter{io: l, name: name}, nil
}

// Do reads back all files that were not, at the same time. After an error it may be called again.
func (r *ReadBacks) Do(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	left := r.left
	r.mu.Unlock()
	err := r.client.Each(ctx, len(left), func(ctx context.Context, c *blobio.Client, i int) error { return left[i](ctx, c) })
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = r.left[len(left):]
	return nil
}
