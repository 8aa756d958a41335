package dataset

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/internal/fileformat"
	"github.com/shardcat/shardcat/shardfmt/internal/lance"
)

// The settings of datasets: of which version is read, and how long fragments are written.
const (
	optionVersion = "version"
	optionRows    = "fragment-rows"
)

// Format is Lance as the other packages see it: files and, where the path is a folder, datasets. A file is written, and
// a dataset where the path ends in a slash.
var Format = &fileformat.Format{
	Name:     lance.Format.Name,
	Suffixes: lance.Format.Suffixes,
	Options: append([]fileformat.Option{
		{Name: optionVersion, Read: true, Doc: "Lance: version of a dataset, by its number or the name of a tag (default: the newest)"},
		{Name: optionRows, Write: true, Doc: "Lance: maximum number of rows per fragment of a dataset (OUT ends in .lance/) (default 1048576)"},
	}, lance.Format.Options...),
	Sniff:        lance.Format.Sniff,
	Open:         open,
	Folders:      true,
	NewSink:      newSink,
	CreateFolder: create,
}

// newSink starts a file, which has no fragments.
func newSink(w io.Writer, s *arrow.Schema, o fileformat.SinkOptions) (fileformat.Sink, error) {
	if rows, given := o.Settings[optionRows]; given {
		return nil, &fileformat.OptionError{Name: optionRows, Value: rows, What: "only a dataset has fragments: its name ends in .lance/"}
	}
	return lance.Format.NewSink(w, s, o)
}

// create starts a dataset.
func create(ctx context.Context, st fileformat.Creator, url string, s *arrow.Schema, o fileformat.SinkOptions) (fileformat.Output, error) {
	files, err := lance.WriteSettings(o)
	if err != nil {
		return nil, err
	}
	rows, err := o.Settings.Int(optionRows, DefaultFragmentRows, 1, maxFragmentRows)
	if err != nil {
		return nil, err
	}
	return NewWriter(ctx, st, url, s, WriteOptions{Files: files, FragmentRows: rows})
}

// open opens a file or, where there is no object of that name, a dataset.
func open(ctx context.Context, st fileformat.Store, url string, o fileformat.OpenOptions) (fileformat.File, error) {
	version, given := o.Settings[optionVersion]
	if !given && !strings.HasSuffix(url, "/") {
		f, err := lance.Format.Open(ctx, st, url, o)
		if !errors.Is(err, blobio.ErrNotFound) {
			return f, err
		}
	}
	return Open(ctx, st, url, version)
}
