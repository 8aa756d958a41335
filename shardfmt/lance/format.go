package lance

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/shardcat/shardcat/shardfmt/fileformat"
)

// Format is the format as the other packages see it.
var Format = &fileformat.Format{
	Name:     "lance",
	Suffixes: []string{".lance"},
	Sniff: func(_, tail []byte) bool {
		return len(tail) >= 4 && string(tail[len(tail)-4:]) == magic
	},
	Open: func(ctx context.Context, st fileformat.Store, url string, _ fileformat.OpenOptions) (fileformat.File, error) {
		return Open(ctx, st, url)
	},
	NewSink: func(io.Writer, *arrow.Schema, fileformat.SinkOptions) (fileformat.Sink, error) {
		return nil, fmt.Errorf("lance: %w: its writer is not there yet", fileformat.ErrMissing)
	},
}
