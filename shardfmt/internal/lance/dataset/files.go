package dataset

import (
	"context"
	"errors"
	"io"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
	"github.com/shardcat/shardcat/urlresolve"
)

// dataURL is where a data file lies.
func (d *Dataset) dataURL(f dataFile) string { return d.url + "/data/" + urlresolve.EscapeKey(f.path) }

// file opens a data file of a fragment, which has as many rows as the manifest states.
func (d *Dataset) file(ctx context.Context, f *fragment, i int) (*lance.File, error) {
	url := d.dataURL(f.files[i])
	file, err := lance.Open(ctx, d.st, url)
	if errors.Is(err, blobio.ErrNotFound) {
		return nil, d.fileError(url, corrupt.At(-1, "this data file of version %d is missing", d.m.version))
	}
	if err == nil && file.Rows() != f.physical {
		err = d.fileError(url, corrupt.At(-1, "%d rows, but the manifest says %d", file.Rows(), f.physical))
	}
	return file, err
}

// located puts an error of the manifest at its place.
func (d *Dataset) located(err error) error { return corrupt.Locate(err, d.at, 0) }

// fileError is an error of a data file that contradicts the manifest.
func (d *Dataset) fileError(url string, err error) error {
	if !isDamage(err) {
		err = &corrupt.Error{Kind: corrupt.ErrCorrupt, Offset: -1, What: "a data file does not match the manifest", Err: err}
	}
	return corrupt.Locate(err, url, 0)
}

// unexpected turns the end of a file where rows are due into damage.
func unexpected(url string, err error) error {
	if errors.Is(err, io.EOF) {
		return corrupt.Locate(corrupt.At(-1, "it ends before its last row"), url, 0)
	}
	return err
}

// isDamage reports whether an error is one of stored data.
func isDamage(err error) bool {
	var e *corrupt.Error
	return errors.As(err, &e)
}
