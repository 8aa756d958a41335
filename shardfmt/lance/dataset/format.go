package dataset

import (
	"context"
	"errors"
	"strings"

	"github.com/shardcat/shardcat/blobio"
	"github.com/shardcat/shardcat/shardfmt/fileformat"
	"github.com/shardcat/shardcat/shardfmt/lance"
)

// optionVersion is the setting that names a version.
const optionVersion = "version"

// Format is Lance as the other packages see it: files and, where the path is a folder, datasets. A file is written.
var Format = &fileformat.Format{
	Name:     lance.Format.Name,
	Suffixes: lance.Format.Suffixes,
	Options: append([]fileformat.Option{{Name: optionVersion, Read: true,
		Doc: "Lance: version of a dataset, by its number or the name of a tag (default: the newest)"}}, lance.Format.Options...),
	Sniff:   lance.Format.Sniff,
	Open:    open,
	Folders: true,
	NewSink: lance.Format.NewSink,
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
