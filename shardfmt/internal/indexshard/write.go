package indexshard

import (
	"context"
	"math"

	"github.com/shardcat/shardcat/shardfmt/internal/encode"
	"github.com/shardcat/shardcat/shardfmt/internal/meta"
	"github.com/shardcat/shardcat/shardfmt/internal/metapb"
	"github.com/shardcat/shardcat/shardfmt/internal/shardwriter"
	"github.com/shardcat/shardcat/shardfmt/schema"
	"github.com/shardcat/shardcat/urlresolve"
)

// Written is a finished artifact.
type Written struct {
	URL  string
	Size int64
}

// Options of an artifact.
type Options struct {
	Profile encode.Profile
	// Memory is about how many bytes are held until they are written, whatever the size: the rest waits in a temporary file. It is 0 where all may
	// be held.
	Memory int64
	// LongBlocks: runs of records are read, each found by where it lies. If they are very many they have longer blocks, so that the block map is
	// read with the end of the artifact.
	LongBlocks bool
}

// Create starts an artifact at url: one object, one stripe, with the statistics that the reference has and without range indexes, since nobody looks for values in it. Write and Close of the
// writer do the rest, Finish reports what became of it.
func Create(ctx context.Context, st shardwriter.Store, url string, s *schema.Schema, o Options) (*shardwriter.Writer, error) {
	return shardwriter.New(ctx, st, url, s, shardwriter.Options{
		Profile: o.Profile, Layout: shardwriter.Single, StripeRows: math.MaxInt, StripeBytes: math.MaxInt, Workers: 1, FromEnd: true,
		SpillBytes: SpillBytes(o.Memory), Unsearched: true, LongBlocks: o.LongBlocks,
	})
}

// An artifact has about a dozen buffers of data; each holds up to one of spillParts of the memory, within these bounds.
const (
	spillParts            = 32
	leastSpill, mostSpill = 4 << 10, 512 << 10
)

// SpillBytes is how many bytes of each buffer are held, of so much memory; 0 for all.
func SpillBytes(memory int64) int {
	if memory <= 0 {
		return 0
	}
	return int(min(mostSpill, max(leastSpill, memory/spillParts)))
}

// Finish closes the writer of an artifact.
func Finish(ctx context.Context, w *shardwriter.Writer) (*Written, error) {
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
