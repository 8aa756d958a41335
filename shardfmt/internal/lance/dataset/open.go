package dataset

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/corrupt"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
)

// Dataset is one version of a dataset. Its methods may be called concurrently.
type Dataset struct {
	st     fileformat.Store
	url    string
	at     string // of the manifest
	m      *manifest
	nodes  []*lance.Node
	schema *arrow.Schema
}

// Open opens the newest version of the dataset at url, or the one that version names: a number or a tag. It takes a
// listing and a request, or the request alone where the version is given.
func Open(ctx context.Context, st fileformat.Store, url, version string) (*Dataset, error) {
	d := &Dataset{st: st, url: strings.TrimSuffix(url, "/")}
	var err error
	if d.m, d.at, err = find(ctx, st, d.url, version); err != nil {
		return nil, err
	}
	if d.nodes, err = lance.Tree(d.m.fields); err == nil {
		d.schema, err = lance.ArrowSchema(d.nodes, d.m.metadata)
	}
	if err != nil {
		return nil, corrupt.Locate(err, d.at, 0)
	}
	return d, nil
}

// Schema implements fileformat.File.
func (d *Dataset) Schema() *arrow.Schema { return d.schema }

// Version of the dataset.
func (d *Dataset) Version() uint64 { return d.m.version }

// Rows that are not deleted.
func (d *Dataset) Rows() (n uint64) {
	for i := range d.m.fragments {
		n += d.m.fragments[i].rows()
	}
	return n
}

// Close implements fileformat.File.
func (d *Dataset) Close() error { return nil }
