package artifact

import (
	"context"
	"math"

	"github.com/shardcat/shardcat/internal/encode"
	"github.com/shardcat/shardcat/internal/write"
	"github.com/shardcat/shardcat/shardfmt/meta"
	"github.com/shardcat/shardcat/shardfmt/metapb"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Written is a finished artifact.
type Written struct {
	URL  string
	Size int64
}

// Create starts an artifact at url: one object, one stripe. Write and Close of the writer do the rest, Finish tells
// what became of it.
func Create(ctx context.Context, st write.Store, url string, s *schema.Schema, p encode.Profile) (*write.Writer, error) {
	return write.New(ctx, st, url, s, write.Options{
		Profile: p, Layout: write.Single, StripeRows: math.MaxInt, StripeBytes: math.MaxInt, Workers: 1, SmallLast: true,
	})
}

// Finish closes the writer of an artifact.
func Finish(ctx context.Context, w *write.Writer) (*Written, error) {
	out, err := w.Close(ctx)
	if err != nil {
		return nil, err
	}
	return &Written{out.URL, out.Size}, nil
}

// Schema is the schema of an artifact by the grammar that people write, and its canonical Arrow schema.
func Schema(text string) (*schema.Schema, error) {
	s, err := schema.Parse(text)
	if err == nil {
		s.Number()
	}
	return s, err
}

// directoryEnd is how many bytes of an object follow its directory: the magic.
const directoryEnd = uint64(len(meta.Magic))

// Describe is the description of an artifact in a message of the object root: a reference to all of it that matters,
// which ends where its directory does.
func Describe(root, name string, w *Written) *metapb.IndexArtifact {
	return &metapb.IndexArtifact{Name: name, DataRef: meta.NewRef(urlresolve.Relative(root, w.URL), 0, uint64(w.Size)-directoryEnd)}
}
