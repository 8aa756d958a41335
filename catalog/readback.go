package catalog

import (
	"bytes"
	"context"
	"sync"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/manifest"
)

// readBacks are files that were written and must be read back before a commit that names them. Safe for concurrent use; nil is none.
type readBacks struct {
	client *blobio.Client

	mu   sync.Mutex
	left []func(ctx context.Context, c *blobio.Client) error
}

// laterIO is a tableIO whose files are read back later.
type laterIO struct {
	*tableIO
	later *readBacks
}

// readBackLater gives an IO whose files are read back by do of later; any IO but that of tables is left as it is.
func readBackLater(fs iceio.WriteFileIO) (iceio.WriteFileIO, *readBacks) {
	of, ok := fs.(*tableIO)
	if !ok {
		return fs, nil
	}
	later := &readBacks{client: of.client}
	return &laterIO{of, later}, later
}

// WriteFile implements iceio.WriteFileIO.
func (l *laterIO) WriteFile(name string, p []byte) error {
	readBack, err := l.client.PutReadBackLater(l.ctx, canonical(name), p)
	if err != nil {
		return pathError(err)
	}
	l.later.add(func(ctx context.Context, c *blobio.Client) error {
		if err := readBack(ctx, c); err != nil {
			return pathError(err)
		}
		l.keep(canonical(name), bytes.Clone(p))
		return nil
	})
	return nil
}

func (r *readBacks) add(readBack func(ctx context.Context, c *blobio.Client) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, readBack)
}

// Create implements iceio.WriteFileIO.
func (l *laterIO) Create(name string) (iceio.FileWriter, error) {
	return &metadataWriter{io: l, name: name}, nil
}

// do reads back all files that were not, at the same time. After an error it may be called again.
func (r *readBacks) do(ctx context.Context) error {
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

// commitTable sends a change to the catalog after its manifests were read back: where this process writes the metadata file, at the same
// time.
func (c *Catalog) commitTable(ctx context.Context, ident table.Identifier, staged *manifest.Staged, later *readBacks) (table.Metadata, string, error) {
	if own, ok := c.ice.(*sqlTables); ok {
		return own.commitAfter(ctx, ident, staged.Requirements, staged.Updates, later)
	}
	if err := later.do(ctx); err != nil {
		return nil, "", unsent(err)
	}
	return c.ice.CommitTable(ctx, ident, staged.Requirements, staged.Updates)
}
